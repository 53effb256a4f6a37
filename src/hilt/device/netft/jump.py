"""Detect a change between records that no contact can cause: something else has zeroed the sensor.

A contact of stiffness k and damping d, met at speed v, changes the force by at most

    ΔF = (k T_s + d) v + noise        T_s time between two records

in one record. A bias command removes the whole load at once. Missing records in between widen the bound; the sensor's own
sample counter says how many there were, also where a box sends only every seventh.
"""

import math

from hilt.core import clock
from hilt.device.netft.codec import Record

OWN_BIAS = 0.5  # [s] within which our own bias command takes effect
LEARNT = 16  # records after which the number of samples per record is known
_STEP_MAX = 100_000  # samples; a larger jump of the counter is rejected


class Jump:
    """Bounds on the change in a record, 0 for none."""

    def __init__(self, force: float, torque: float) -> None:
        self._force, self._torque = force, torque
        self._stride, self._seen = _STEP_MAX, 0  # samples per record: the fewest seen so far
        self._expected = -math.inf  # [s] until when a jump is our own

    def expect(self) -> None:
        """The next jump is our own bias."""
        self._expected = clock.now() + OWN_BIAS

    def beyond(self, before: Record, after: Record, records: int) -> bool:
        """Whether `after`, a number of records later than `before`, differs by more than a contact can cause."""
        passed = max(records, self._records(after.ft_sequence - before.ft_sequence & 0xFFFFFFFF, records))
        jumped = 0.0 < self._force * passed < math.dist(before.f, after.f)
        jumped = jumped or 0.0 < self._torque * passed < math.dist(before.tau, after.tau)
        if jumped and clock.now() < self._expected:
            self._expected = -math.inf
            return False
        return jumped

    def _records(self, samples: int, records: int) -> float:
        """Records that the sensor could have sent in a number of samples."""
        if not 0 < samples <= _STEP_MAX:
            return 0.0
        self._stride = min(self._stride, max(samples // records, 1))
        self._seen += 1
        return samples / (self._stride if self._seen > LEARNT else 1)
