"""The streams of a session, from before it opens its devices until after its last row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from hilt.stream.child import Child
from hilt.stream.places import Place, places

MODULES = {"foxglove": "hilt.stream.foxglove", "ros2": "hilt.stream.ros2"}
LIVE_IN = "hilt.stream.live_in"


@dataclass(frozen=True)
class Wanted:
    """The requested streams: outgoing ones, and incoming requests with the wrench of a full deflection of the joystick."""

    out: tuple[Place, ...] = ()
    live_in: Place | None = None
    force: float = 20.0  # N
    torque: float = 2.0  # N·m

    def __bool__(self) -> bool:
        return bool(self.out) or self.live_in is not None

    @classmethod
    def of(cls, stream: str, live_in: str, force: float, torque: float) -> "Wanted":
        """Read the options of the command line; empty ones request nothing."""
        out = tuple(places(stream, "--stream")) if stream else ()
        inward = places(live_in, "--live-in", ("ros2",))[0] if live_in else None
        return cls(out, inward, force, torque)


@contextmanager
def streaming(session: str, wanted: Wanted, say: Callable[[str], None]) -> Iterator[None]:
    """Run the streams while something else runs; `say` gets a sentence from each, at the beginning and at the end."""
    children: list[Child] = []
    running = False
    try:
        # Requests first: if no ROS 2 router is running, this process becomes the router, and no slow viewer can delay it.
        if wanted.live_in is not None:
            scale = {"force": wanted.force, "torque": wanted.torque}
            children.append(Child(LIVE_IN, {"session": session, "place": asdict(wanted.live_in), **scale}))
            say(children[-1].ready())
        begun = [Child(MODULES[place.kind], {"session": session, "place": asdict(place)}) for place in wanted.out]
        children += begun
        for child in begun:
            say(child.ready())
        running = True
        yield
    finally:
        for account in [child.end() for child in children]:
            if running:
                say(account)
