"""A robot and a sensor of your own: two small drivers, named in a rig file as module:Class, and a docking run on them.

Here both are pretended: the robot answers at once every 4 ms, the sensor is a spring. Yours would talk to a socket or a bus.
"""

from pathlib import Path

from hilt import job
from hilt.core import clock
from hilt.core.scenario import Section
from hilt.device import own, rigfile
from hilt.device.protocol import Reply
from hilt.live import session


class Lab:
    """Robot and sensor in one; every method that may fail returns 0 or a code of hilt.core.faults."""

    place, next = (0.0, 0.0, 0.0), 0.0

    def wait(self, X_WB, V_WB):  # the robot is the clock
        self.next = max(self.next, clock.now()) + 0.004
        clock.pause(self.next - clock.now())
        self.sent(X_WB)
        return Reply(0, round(self.next / 0.004))

    def sent(self, X_WB):
        X_WB["p"], X_WB["q"] = self.place, (1, 0, 0, 0)

    def send(self, X_WB_cmd):
        self.place = tuple(X_WB_cmd["p"])
        return 0

    def read(self, wrench):
        x = self.place[0]
        wrench["f"] = (176_275 * max(0.0, abs(x) - 0.010) * (1 if x > 0 else -1), 0, 0)
        return 0

    hold = lambda self: 0  # noqa: E731
    bias = stop = close = lambda self: None
    counters = lambda self: {}  # noqa: E731


class Device(Section):
    """[robot] and [sensor] of the rig file: their keys, and `connect`, which returns an open driver."""

    driver: str
    cycle: float = 0.004

    def connect(self, lab=Lab()):  # noqa: B008  (both are the same lab)
        return lab


if __name__ == "__main__":
    own.allow("__main__:Device")  # this program's; a module beside the rig file needs no leave
    template = (Path(__file__).parent.parent / "rigs" / "dry-lab.toml").read_text()
    devices = "[robot]\ndriver = '__main__:Device'\n[sensor]\ndriver = '__main__:Device'\n"
    Path("rig.toml").write_text(devices + template[template.index("[lab]") :])
    rig = rigfile.load(Path("rig.toml"))
    found = job.find("docking", "table1", [*rig.settings("docking"), "frames.gap='15 mm'", "collisions=2"])
    print("CoV", session.run(*found, Path("runs"), rig).metrics["cov"])
