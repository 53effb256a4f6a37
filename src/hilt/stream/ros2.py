"""The rows and the standard messages of a session as topics of ROS 2."""

from hilt.core import clock
from hilt.stream.child import Line
from hilt.stream.link import Link, Publisher
from hilt.stream.places import Place
from hilt.stream.rmw import Endpoint
from hilt.stream.source import ROWS_A_READ, Source

LOOK = 0.01  # s between two checks of the ring


class Topics:
    """A publisher for each topic of a source."""

    def __init__(self, source: Source, link: Link) -> None:
        self._source = source
        self._publishers: list[Publisher] = [
            link.publisher(Endpoint(link.domain, topic.name, topic.type, topic.types)) for topic in source.topics
        ]

    def pump(self) -> int:
        """Publish new rows; returns how many there were."""
        batch = self._source.read()
        if len(batch.rows):
            some = self._source.thinned(batch)
            for topic, publisher in zip(self._source.topics, self._publishers, strict=True):
                part = batch if topic is self._source.rows_topic else some
                for message in topic.encode(part.rows, part.stamps):
                    publisher.put(message.data)
        return len(batch.rows)

    @property
    def account(self) -> str:
        late = f"; {self._source.lost} rows were lost while this process stalled" if self._source.lost else ""
        return f"ROS 2: {sum(each.count for each in self._publishers)} messages on {len(self._publishers)} topics{late}"


def main() -> None:
    with Line.open() as line:
        place = Place(**line.config["place"])
        source = Source(line.config["session"])
        link = Link(place, f"hilt_{source.system}")
        topics = Topics(source, link)
        how = "routing at" if link.routes else "through the router at"
        line.tell(ready=f"ROS 2: {len(source.topics)} topics, {how} {place.address}, domain {link.domain}")
        over = False
        while not over:
            over = line.over or source.over  # checked before reading: rows from before the end are still published
            while topics.pump() == ROWS_A_READ:
                pass
            clock.pause(LOOK)
        line.tell(account=topics.account)
        link.close()


if __name__ == "__main__":
    main()
