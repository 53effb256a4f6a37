"""A simulated rig in wall time, with the states of a real one: used by the cockpit when there is no robot."""

from typing import Any

import numpy as np

from hilt.core import faults
from hilt.core.clock import PeriodicClock
from hilt.core.faults import InputError
from hilt.core.rig import SimulatedRig
from hilt.core.system import Bench, System
from hilt.loop import Overseer
from hilt.record.letters import LIVE, OFF, READY, STATES, STOPPED


class PacedRig:
    """The system's simulated plant, stepped once per period of wall time. It stops at once: there is no hardware to protect."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._plant: SimulatedRig | None = None
        self.state, self.trouble = OFF, faults.NONE
        self.clock = PeriodicClock()

    def open(self) -> None:
        self.state = READY

    def bias(self) -> None:
        """Does nothing: the simulated sensor's bias is the scenario's."""

    def check_start(self, bench: Bench) -> None:
        if self.state != READY:
            raise InputError(f"the rig is {STATES[self.state]}; only a READY rig can be armed; reset it first")

    def arm(self, bench: Bench) -> None:
        self.check_start(bench)
        self._plant, self.clock = SimulatedRig(self._system, bench), PeriodicClock()
        self.state = LIVE

    def read(self, row: np.ndarray) -> int:
        return faults.DEVICE if self._plant is None else self._plant.read(row)

    def write(self, row: np.ndarray) -> int:
        return faults.NONE

    def stop(self) -> None:
        if self.state == LIVE:
            self.state = STOPPED

    def rest(self) -> None:
        """Does nothing: it is already at rest."""

    def reset(self) -> None:
        if self.state == STOPPED:
            self.state = READY

    def home(self, bench: Bench, speed: float, overseer: Overseer | None = None) -> None:
        """Does nothing: a new run begins at its start anyway."""

    def close(self) -> None:
        self.state = OFF

    def timing(self) -> dict[str, Any]:
        return {**self.clock.counts(), "devices": {}}

    def notes(self) -> list[str]:
        return []
