"""The independent node of ROS 2 (listener.py) as a process: it subscribes, lists topics, and publishes on request."""

import json
import subprocess
from pathlib import Path

from hilt.record import rosmsg
from tests.peers import python_with

PROGRAM = Path(__file__).parent / "listener.py"
LONG = 60.0


class Peer:
    """Subscribed to topics by their names: type and definition."""

    def __init__(self, here, topics):
        asked = [{"name": name, "type": kind, "definition": text} for name, (kind, text) in topics.items()]
        self.process = subprocess.Popen(
            [python_with("zenoh_ros2_sdk"), "-P", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.tell({"port": here.port, "topics": asked})
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def tell(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def wait(self, name, count):
        """Wait until this many messages of a topic have come; a minute at most."""
        self.tell({"name": name, "count": count})
        assert self.process.stdout.readline() == "waited\n"

    def publish(self, name, kind, **content):
        self.tell({"name": name, "type": kind, "definition": rosmsg.definition(kind), "content": content})
        assert self.process.stdout.readline() == "published\n"

    def wrench(self, name, force, torque):
        """A WrenchStamped."""
        vector = [made(rosmsg.VECTOR, **dict(zip("xyz", map(float, each), strict=True))) for each in (force, torque)]
        stamp = made(rosmsg.TIME, sec=0, nanosec=0)
        header = made(rosmsg.HEADER, stamp=stamp, frame_id="hand")
        self.publish(
            name,
            rosmsg.WRENCH_STAMPED,
            header=header,
            wrench=made("geometry_msgs/msg/Wrench", force=vector[0], torque=vector[1]),
        )

    def end(self):
        """Return what it has received, listed and computed."""
        said, _ = self.process.communicate(timeout=LONG)
        assert self.process.returncode == 0
        return json.loads(said.splitlines()[-1])


def made(kind, **fields):
    return {"type": kind, "fields": fields}
