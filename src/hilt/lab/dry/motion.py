"""Share the true motion of the mock-up with another process: not a pose that becomes stale, but the motion itself.

The emulated robot follows its set-points in closed form (rsi/response.py). Once a cycle it writes the inputs of that form,
state and pending set-points, to shared memory, protected by a seqlock; the reader can then compute the exact pose at any time,
whichever process is late.
"""

from contextlib import suppress
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.core.signals import POSE, TWIST
from hilt.device import frames
from hilt.device.placed import PlacedRobot, pose_of
from hilt.device.rsi.response import Response
from hilt.host.seqlock import SeqLock
from hilt.host.shared import Segment
from hilt.maths import pair, so3, spatial, vec

KNOTS = 256
SUFFIX = ".motion"
_MOTION = np.dtype(
    [
        ("count", "i8"),
        ("session", "i8"),  # number of times that hilt has started to answer
        ("began", "f8"),  # [s] time of the last start
        ("settings", "f8", (3,)),  # dead time, natural frequency, damping ratio
        ("q0", "f8", (4,)),
        ("t", "f8"),
        ("u", "f8", (6,)),
        ("x", "f8", (6,)),
        ("v", "f8", (6,)),
        ("knots", "i8"),
        ("knot_t", "f8", (KNOTS,)),
        ("knot_u", "f8", (KNOTS, 6)),
    ],
    align=True,
)


class PublishedResponse(Response):
    """A response that other processes of this host can follow."""

    def __init__(self, name: str, X: Any, t: float, dead_time: float, natural_frequency: float, damping_ratio: float) -> None:
        super().__init__(X, t, dead_time, natural_frequency, damping_ratio)
        self._segment = Segment.create(name + SUFFIX, _MOTION.itemsize)
        self._shared = np.frombuffer(self._segment.memory, _MOTION, 1)
        self._shared["settings"][0] = dead_time, natural_frequency, damping_ratio
        self._shared["q0"][0] = self._q0
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
        with self._lock:
            shared, knots = self._shared, list(self._knots)[:KNOTS]
            with SeqLock(shared["count"]).writing():
                shared["t"][0], shared["u"][0], shared["x"][0], shared["v"][0] = self._t, self._u, self._x, self._v
                shared["knots"][0] = len(knots)
                for k, (t, u) in enumerate(knots):
                    shared["knot_t"][0, k], shared["knot_u"][0, k] = t, u


class FollowedResponse(Response):
    """The same response in another process."""

    def __init__(self, name: str) -> None:
        self._segment = Segment.open(name + SUFFIX, _MOTION.itemsize)
        self._shared = np.frombuffer(self._segment.memory, _MOTION, 1)
        X = frames.identity()
        X["q"] = self._shared["q0"][0]
        super().__init__(X, 0.0, *(float(part) for part in self._shared["settings"][0]))
        self._seen = -1

    @property
    def alive(self) -> bool:
        """Whether the robot's process is alive; a killed one leaves its memory behind."""
        return self._segment.owner_alive

    @property
    def session(self) -> tuple[int, float]:
        """Number and start time of hilt's session; 0 before the first."""
        return int(self._shared["session"][0]), float(self._shared["began"][0])

    def at(self, t: float) -> tuple[Any, Any, Any, Any]:
        self._refresh()
        return super().at(t)

    def _refresh(self) -> None:
        lock = SeqLock(self._shared["count"])
        if lock.count == self._seen:
            return
        whole = lock.read(self._copy)
        if whole is not None:  # otherwise the writer was stopped half-way: the previous read is still valid
            self._seen, ((t, self._u, self._x, self._v), times, inputs) = whole
            self._t = float(t)
            self._knots.clear()
            self._knots.extend(zip(times, inputs, strict=True))

    def _copy(self) -> tuple[list[np.ndarray], list[float], np.ndarray]:
        shared = self._shared
        state = [np.array(shared[name][0]) for name in ("t", "u", "x", "v")]
        knots = min(int(shared["knots"][0]), KNOTS)
        return state, shared["knot_t"][0, :knots].tolist(), shared["knot_u"][0, :knots].copy()


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
        self._X_WR, self._X_TB, self._X_RT = pose_of(settings.X_WR), pose_of(settings.X_TB), np.zeros(1, POSE)[0]
        self._X_WT, self._still = np.zeros(1, POSE)[0], frames.identity()
        self._q_WR = tuple(float(part) for part in settings.X_WR.q)
        self._response = response
        self.X_WB, self.V_WB = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]

    def move_to(self, t: float) -> None:
        """Write X_WB and V_WB at time t."""
        p, q, v, w = self._response.at(t)
        self._X_RT["p"], self._X_RT["q"] = p, q
        frames.to_world(self._X_WR, self._X_RT, self._still, self._X_WT)
        frames.to_world(self._X_WR, self._X_RT, self._X_TB, self.X_WB)
        v_W, w_W = so3.rotate(self._q_WR, tuple(map(float, v))), so3.rotate(self._q_WR, tuple(map(float, w)))
        arm = tuple((self.X_WB["p"] - self._X_WT["p"]).tolist())
        self.V_WB["v"], self.V_WB["w"] = vec.add(v_W, vec.cross(w_W, arm)), w_W


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
