"""Share the true motion of the mock-up with another process: not a pose that becomes stale, but the motion itself.

The emulated robot follows its set-points in closed form (rsi/response.py). Once a cycle it writes the inputs of that form,
state and pending set-points, to shared memory, protected by a seqlock; the reader can then compute the exact pose at any time,
whichever process is late.
"""

from contextlib import suppress
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.compiled.records import raw
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.core.signals import POSE, TWIST
from hilt.device import frames
from hilt.device.placed import PlacedRobot, pose_of
from hilt.device.rsi.response import RESPONSE, Response
from hilt.host.seqlock import SeqLock
from hilt.host.shared import Segment
from hilt.maths import pair, so3, spatial, vec

SUFFIX = ".motion"
_MOTION = np.dtype(
    [
        ("count", "i8"),
        ("session", "i8"),  # number of times that hilt has started to answer
        ("began", "f8"),  # [s] time of the last start
        ("response", RESPONSE),
    ],
    align=True,
)


class PublishedResponse(Response):
    """A response that other processes of this host can follow."""

    def __init__(self, name: str, X: Any, t: float, dead_time: float, natural_frequency: float, damping_ratio: float) -> None:
        super().__init__(X, t, dead_time, natural_frequency, damping_ratio)
        self._segment = Segment.create(name + SUFFIX, _MOTION.itemsize)
        self._shared = np.frombuffer(self._segment.memory, _MOTION, 1)
        self._bytes, self._place = raw(self.record), raw(self._shared["response"])
        self._lock = SeqLock(self._shared["count"])
        self._publish()
        self._segment.publish()

    def begin(self, t: float) -> None:
        """Note that hilt has started to answer, at time t."""
        self._shared["began"][0] = t
        self._shared["session"][0] += 1

    def command(self, X: Any, begin: float, end: float) -> None:
        super().command(X, begin, end)
        self._publish()

    def settle(self, t: float) -> None:
        super().settle(t)
        self._publish()

    def close(self) -> None:
        self._segment.close()

    def _publish(self) -> None:
        with self._lock.writing():
            self._place[...] = self._bytes


class FollowedResponse(Response):
    """The same response in another process."""

    def __init__(self, name: str) -> None:
        self._segment = Segment.open(name + SUFFIX, _MOTION.itemsize)
        self._shared = np.frombuffer(self._segment.memory, _MOTION, 1)
        super().__init__(frames.identity(), 0.0, 0.0, 1.0, 1.0)
        self._bytes, self._place = raw(self.record), raw(self._shared["response"])
        self._lock, self._seen = SeqLock(self._shared["count"]), -1

    @property
    def alive(self) -> bool:
        """Whether the robot's process is alive; a killed one leaves its memory behind."""
        return self._segment.owner_alive

    @property
    def session(self) -> tuple[int, float]:
        """Number and start time of hilt's session; 0 before the first."""
        return int(self._shared["session"][0]), float(self._shared["began"][0])

    def place_at(self, t: float) -> Any:
        if self._lock.count != self._seen:
            whole = self._lock.read(self._place.copy)
            if whole is not None:  # otherwise the writer was stopped half-way: the previous read is still valid
                self._seen, self._bytes[...] = whole
        return super().place_at(t)


def follow(name: str) -> FollowedResponse:
    """Wait for the motion of a robot that may not have started yet. The parent of this process decides when to give up."""
    while True:
        with suppress(InputError):
            found = FollowedResponse(name)
            if found.alive:
                return found
        clock.pause(0.01)


class MockUp:
    """Pose and twist of the mock-up in W from those of the tool in the robot's base."""

    def __init__(self, settings: PlacedRobot, response: Response) -> None:
        self._X_WR, self._X_TB = pose_of(settings.X_WR), pose_of(settings.X_TB)
        self._response = response
        self.X_WB, self.V_WB = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]

    def move_to(self, t: float) -> None:
        """Write X_WB and V_WB at time t."""
        _carry(self._response.place_at(t), self._X_WR, self._X_TB, self.X_WB, self.V_WB)


@jit
def _carry(tool, X_WR, X_TB, X_WB, V_WB):
    """Write the motion of what a tool carries, from its motion in the base of its robot."""
    q_WR, X_WT = so3.load(X_WR.q), spatial.compose(spatial.load(X_WR), spatial.load(tool))
    spatial.store(X_WB, spatial.compose(X_WT, spatial.load(X_TB)))
    v, w = so3.rotate(q_WR, vec.load(tool.v)), so3.rotate(q_WR, vec.load(tool.w))
    vec.store(V_WB.v, vec.add(v, vec.cross(w, vec.sub(vec.load(X_WB.p), X_WT[0]))))
    vec.store(V_WB.w, w)


class Met:
    """The same relative to what it meets, which another robot moves."""

    def __init__(self, moving: MockUp, met: MockUp) -> None:
        self._moving, self._met = moving, met
        self.X_WB, self.V_WB = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]

    def move_to(self, t: float) -> None:
        """Write X_WB and V_WB at time t."""
        parts = []
        for each in (self._moving, self._met):
            each.move_to(t)
            X, V = each.X_WB, each.V_WB
            parts += [(_three(X["p"]), tuple(map(float, X["q"]))), (_three(V["v"]), _three(V["w"]))]
        spatial.store(self.X_WB, pair.relative(parts[0], parts[2]))
        self.V_WB["v"], self.V_WB["w"] = pair.relative_twist(*parts)


def _three(parts: Any) -> tuple[float, float, float]:
    x, y, z = map(float, parts)
    return x, y, z
