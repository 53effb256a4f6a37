"""Two robots whose tools hold on to each other, each with a command and a force sensor of its own.

Nothing is divided: the clock is sent the pose of the mock-up, the other robot that of the hand which holds it. The loop gets
both measured motions and both wrenches; what acts between the tools is real, and only the sensors know it.
"""

from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.pairing import Joined
from hilt.core.signals import POSE
from hilt.device.paired_rig import PairedRig, advanced
from hilt.device.protocol import RobotDriver, SensorDriver
from hilt.device.rigfile import RigFile
from hilt.device.two_sensors import TwoSensors
from hilt.maths import spatial


@jit
def brought_forward(seen, age, out):
    """A pose measured `age` before."""
    spatial.store(out, advanced(seen.X, seen.V, age))


class JoinedRig(PairedRig):
    """The rig of a scenario with two robots that are joined by a grip."""

    def __init__(self, file: RigFile, pairing: Joined) -> None:
        super().__init__(file, pairing)
        self._command, self._measured = pairing.command, pairing.measured
        self._felt, self._felt_by_other = pairing.sensors[pairing.clock], pairing.sensors[pairing.other]
        self._another = file.with_second_sensor
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
        if not self._together:
            super()._feel(row)
            return
        row[self._felt][0] = self._wrench
        assert isinstance(self._sensor, TwoSensors)
        row[self._felt_by_other][0] = self._sensor.second

    def _divide(self, row: np.ndarray) -> Any:
        wanted = row[self._command][0]
        self._others["p"], self._others["q"] = wanted["p"], wanted["q"]
        return row["X_WB_cmd"][0]

    def counters(self) -> dict[str, dict[str, int]]:
        found = super().counters()
        if isinstance(self._sensor, TwoSensors):
            found[f"sensor-{self._pairing.other}"] = self._sensor.other_counters()
        return found
