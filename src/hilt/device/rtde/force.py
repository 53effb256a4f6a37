"""Driver of the force sensing of a Universal Robots robot: the wrench at its tool, over its own RTDE connection.

The controller reports force and torque at the tool centre point in the axes of the robot's base, without the payload that was
set on it. The bias is subtracted here and not in the controller, so that other programs still see the same values.
"""

from typing import Any

import numpy as np

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device.rtde import codec
from hilt.device.rtde.link import Link
from hilt.device.rtde.settings import RtdeForceSettings
from hilt.maths import so3

FIELDS = ("timestamp", "actual_TCP_force", "actual_TCP_pose")
_T, _FORCE, _TORQUE, _TURN = 0, slice(1, 4), slice(4, 7), slice(10, 13)
_DRAIN_MAX = 1000  # packages in one tick


class RtdeForce:
    """One sensor. `stop` may be called at any time, also after a failed `open`."""

    def __init__(self, settings: RtdeForceSettings) -> None:
        self.settings = settings
        self.received = self.used = self.rejected = self.duplicates = 0
        self._line = Link()
        self._recipe, self._fields = 0, codec.Fields(())
        self._wrench, self._zero, self._last = np.zeros(6), np.zeros(6), np.zeros(6)
        self._t = self._arrived = self._changed = -np.inf

    def open(self, address: str, port: int, rate: float, time_limit: float) -> None:
        deadline, line = clock.now() + time_limit, self._line
        try:
            line.connect(address, port, deadline)
            self._recipe, self._fields = line.outputs(FIELDS, rate, deadline)
            line.begin(deadline)
            while not (line.receive(deadline) and self._take()):
                if line.broken or clock.now() > deadline:
                    raise TimeoutError("it sent no data")
        except OSError as error:
            self.stop()
            raise InputError(
                f"the robot's force sensing at {address}:{port} cannot be reached: {error}; check address, cable and power"
            ) from None
        except InputError:
            self.stop()
            raise

    def _take(self) -> bool:
        """Keep the package just received if it is newer than the newest."""
        self.received += 1
        values = self._fields.values
        if self._fields.read(self._line.buffer, self._line.at, self._line.to, self._recipe) != codec.OK:
            self.rejected += 1
            return False
        if not values[_T] > self._t:
            self.duplicates += 1
            return False
        self._t, self._arrived = float(values[_T]), clock.now()
        self._turn(values)
        if (self._wrench != self._last).any():
            self._changed = self._arrived
        self._last[:] = self._wrench
        return True

    def _turn(self, values: np.ndarray) -> None:
        """Store the wrench in the axes of settings.frame."""
        f, tau = tuple(values[_FORCE].tolist()), tuple(values[_TORQUE].tolist())
        if self.settings.frame == "tool":
            q = so3.exp(tuple(values[_TURN].tolist()))
            f, tau = so3.rotate_back(q, f), so3.rotate_back(q, tau)
        sign = -1.0 if self.settings.reverse else 1.0
        self._wrench[:3], self._wrench[3:] = f, tau
        self._wrench *= sign

    def read(self, wrench: Any) -> int:
        """Write the newest wrench; 0 or a fault code. Never blocks."""
        fresh = False
        for _ in range(_DRAIN_MAX):
            if self._line.broken or not self._line.receive(0.0):
                break
            fresh = self._take() or fresh
        self.used += fresh
        wrench["f"][...] = self._wrench[:3] - self._zero[:3]
        wrench["tau"][...] = self._wrench[3:] - self._zero[3:]
        if clock.now() - self._arrived > self.settings.stale:
            return faults.SENSOR_STALE
        frozen = 0.0 < self.settings.frozen < self._arrived - self._changed
        return faults.SENSOR_FROZEN if frozen else faults.NONE

    @property
    def samples(self) -> int:
        return self.received

    def counters(self) -> dict[str, int]:
        return {name: int(getattr(self, name)) for name in ("received", "used", "rejected", "duplicates")}

    def bias(self) -> None:
        """Zero the sensor at its present load. Only on the user's request."""
        self._zero[:] = self._wrench

    def stop(self) -> None:
        """Disconnect. Never raises, never waits, safe to call twice."""
        self._line.close()
