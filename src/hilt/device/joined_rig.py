"""Two robots whose tools hold on to each other, each with its own command and force sensor.

The command is not divided: the clock is sent the pose of the mock-up, the other robot that of the hand which holds it. The loop
gets both measured motions and both wrenches; the forces between the tools are real, and only the sensors measure them.

They drive home on one path: when the clock has covered a share of its path, the other robot is sent to the same share of its
own, so that the grip between them is not strained.
"""

from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.faults import InputError
from hilt.core.pairing import Joined
from hilt.core.signals import POSE
from hilt.core.system import Bench
from hilt.device import path
from hilt.device.live_rig import STOP_TIME, check_home
from hilt.device.paired_rig import PairedRig, advanced
from hilt.device.path import Path
from hilt.device.protocol import RobotDriver, SensorDriver
from hilt.device.rigfile import RigFile
from hilt.device.two_sensors import TwoSensors
from hilt.loop import Overseer
from hilt.maths import spatial

SETTLE = 0.2  # [s] at the end of the path home, in which the other robot arrives


@jit
def brought_forward(seen, age, out):
    """Write the present pose, from one measured `age` seconds ago and its twist."""
    spatial.store(out, advanced(seen.X, seen.V, age))


class JoinedRig(PairedRig):
    """The rig of a scenario with two robots that are joined by a grip."""

    def __init__(self, file: RigFile, pairing: Joined) -> None:
        super().__init__(file, pairing)
        self._command, self._measured = pairing.command, pairing.measured
        self._felt, self._felt_by_other = pairing.sensors[pairing.clock], pairing.sensors[pairing.other]
        self._another = file.with_second_sensor
        self._taken_along, self._progress, self._reached = np.zeros(1, POSE), np.zeros(1), 0.0
        self._hand = np.zeros(1, POSE)[0]
        self._hand["q"][0] = self._partner.seen["X"]["q"][0] = 1.0
        brought_forward(self._partner.seen, 0.0, self._hand)  # compile now: the first packet must be answered in time

    def _connect(self) -> tuple[RobotDriver, SensorDriver]:
        second = self._another.sensor_section.connect()
        try:
            robot, first = super()._connect()
        except BaseException:
            second.stop()
            raise
        return robot, TwoSensors(first, second)

    def _begin(self, row: Any) -> None:
        for part, wanted in ((self._own, row["X_WB_cmd"][0]), (self._others, row[self._command][0])):
            part["p"], part["q"] = wanted["p"], wanted["q"]

    def _meet(self, row: np.ndarray, age: float) -> None:
        row["X_WB_meas"][0], row["V_WB_meas"][0] = self._here, self._twist
        seen, hand = self._partner.seen, self._hand
        brought_forward(seen, age, hand)
        place, attitude, velocity, turn = self._measured
        row[place][0], row[attitude][0] = hand["p"], hand["q"]
        row[velocity][0], row[turn][0] = seen["V"]["v"], seen["V"]["w"]

    def _feel(self, row: np.ndarray) -> None:
        if self._alone:
            super()._feel(row)
            return
        row[self._felt][0] = self._wrench
        assert isinstance(self._sensor, TwoSensors)
        row[self._felt_by_other][0] = self._sensor.second

    def _divide(self, row: np.ndarray) -> Any:
        if self._alone:  # on the way home; if the clock goes back by a step after standing still, the other one does not
            self._reached = max(self._reached, float(self._progress[0]))
            wanted = path.pose_at(self._taken_along, self._reached)
        else:
            wanted = row[self._command][0]
        self._others["p"], self._others["q"] = wanted["p"], wanted["q"]
        return row["X_WB_cmd"][0]

    def home(self, bench: Bench, speed: float, overseer: Overseer | None = None) -> None:
        """Drive both home at once, each straight to its start, side by side."""
        self._begin(bench.row)
        ends, begin, limits = (self._own.copy(), self._others.copy()), self._partner.place(), self._limits_home()
        speed = min(speed, self.file.limits.speed)

        def plan(has: Any) -> Path:
            lines = [(has, ends[0]), (begin, ends[1])]
            count = max(len(path.straight(*line, self.cycle, self.file.limits, speed)) for line in lines)
            own, other = (path.straight(*line, self.cycle, self.file.limits, speed, count) for line in lines)
            still = round(SETTLE / self.cycle)
            self._taken_along = np.concatenate([np.array([begin], POSE), other, other[-1:].repeat(still)])
            self._progress, self._reached = np.zeros(1), 0.0
            return Path(np.concatenate([own, own[-1:].repeat(still)]), limits, boxed=False, progress=self._progress)

        self._partner.arm(begin, limits, self._pairing.later(self._pairing.other), self.cycle, gently=True)
        self._lead_both(alone=True)
        try:
            check_home(self.follow(plan, overseer=overseer))
        except InputError:
            self._partner.stop()
            self._partner.await_rest(STOP_TIME)
            raise
        finally:
            self._together = False

    def counters(self) -> dict[str, dict[str, int]]:
        found = super().counters()
        if isinstance(self._sensor, TwoSensors):
            found[f"sensor-{self._pairing.other}"] = self._sensor.other_counters()
        return found
