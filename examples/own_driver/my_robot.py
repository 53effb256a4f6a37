"""A robot and a sensor of your own, for the rig file next to this one: hilt run docking --rig rig.toml

Both are simulated: a robot that is some cycles late, and a spring that it runs into. Yours would talk to a socket or a bus.
Every method that may fail returns 0 or a code of hilt.core.faults.
"""

import hilt
from hilt.core import clock
from hilt.device.protocol import Reply

FREE, STIFFNESS = 0.010, 176_275.0  # m to the frames on both sides, N/m
place = [0.0, 0.0, 0.0]  # of the robot [m]; shared by robot and sensor


class Robot(hilt.Section):
    """[robot] of the rig file: its keys, and `connect`, which returns an open driver."""

    driver: str
    cycle: float = 0.004  # s
    late: int = 1  # cycles

    def connect(self):
        return RobotDriver(self.cycle, self.late)


class RobotDriver:
    def __init__(self, cycle, late):
        self.cycle, self.next, self.queue = cycle, clock.now(), [tuple(place)] * (late + 1)

    def wait(self, X_WB, V_WB):  # until its next packet: the robot is the clock
        self.next = max(self.next, clock.now()) + self.cycle
        clock.pause(self.next - clock.now())
        X_WB["p"], X_WB["q"] = place, (1, 0, 0, 0)
        return Reply(0, round(self.next / self.cycle))

    def sent(self, X_WB):
        X_WB["p"], X_WB["q"] = self.queue[-1], (1, 0, 0, 0)

    def send(self, X_WB_cmd):
        self.queue = [*self.queue[1:], tuple(X_WB_cmd["p"])]
        place[:] = self.queue[0]
        return 0

    hold = lambda self: 0  # noqa: E731
    stop = close = lambda self: None
    counters = lambda self: {}  # noqa: E731


class Sensor(hilt.Section):
    driver: str

    def connect(self):
        return self

    def read(self, wrench):
        wrench["f"] = (STIFFNESS * (max(place[0] - FREE, 0.0) + min(place[0] + FREE, 0.0)), 0, 0)
        return 0

    bias = stop = lambda self: None
    counters = lambda self: {}  # noqa: E731
