"""Convert the mock-up's pose in the world to the correction of a cycle, and back; and the base class of robot drivers.

    X_WB = X_WR · X_RT · X_TB        W world, R robot's base, T the controller's tool frame, B mock-up

A correction c moves a pose in the axes of R:  p + p_c,  q_c · q.  Relative ones start from the last set-point and add up in
the controller; absolute ones start from the pose at which the run began.
"""

import math
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import POSE, TWIST
from hilt.device.placed import PlacedRobot, pose_of
from hilt.maths import so3, vec


@jit
def to_world(X_WR, X_RT, X_TB, X_WB):
    """Write the pose of the mock-up when the tool is at X_RT."""
    q_WR, q_WT = so3.load(X_WR.q), so3.multiply(so3.load(X_WR.q), so3.load(X_RT.q))
    p_T = vec.add(vec.load(X_WR.p), so3.rotate(q_WR, vec.load(X_RT.p)))
    vec.store(X_WB.p, vec.add(p_T, so3.rotate(q_WT, vec.load(X_TB.p))))
    so3.store(X_WB.q, so3.normalise(so3.multiply(q_WT, so3.load(X_TB.q))))


@jit
def to_robot(X_WR, X_WB, X_TB, X_RT):
    """Write the pose of the tool that puts the mock-up at X_WB."""
    q_WR, q_WT = so3.load(X_WR.q), so3.multiply(so3.load(X_WB.q), so3.inverse(so3.load(X_TB.q)))
    p_T = vec.sub(vec.load(X_WB.p), so3.rotate(q_WT, vec.load(X_TB.p)))
    vec.store(X_RT.p, so3.rotate_back(q_WR, vec.sub(p_T, vec.load(X_WR.p))))
    so3.store(X_RT.q, so3.normalise(so3.multiply(so3.inverse(q_WR), q_WT)))


@jit
def correct(origin, sent, wanted, step_limit, turn_limit, correction):
    """Write the correction of `origin` that moves the set-point from `sent` towards `wanted`; True if it was shortened."""
    step = vec.sub(vec.load(wanted.p), vec.load(sent.p))
    turn = so3.between(so3.load(sent.q), so3.load(wanted.q))
    short_step, short_turn = vec.shortened(step, step_limit), vec.shortened(turn, turn_limit)
    target = so3.multiply(so3.exp(short_turn), so3.load(sent.q))
    vec.store(correction.p, vec.sub(vec.add(vec.load(sent.p), short_step), vec.load(origin.p)))
    so3.store(correction.q, so3.normalise(so3.multiply(target, so3.inverse(so3.load(origin.q)))))
    return short_step != step or short_turn != turn


@jit
def apply(origin, correction, out):
    """Write the pose that results from a correction of `origin`."""
    vec.store(out.p, vec.add(vec.load(origin.p), vec.load(correction.p)))
    so3.store(out.q, so3.normalise(so3.multiply(so3.load(correction.q), so3.load(origin.q))))


@jit
def twist_between(before, after, dt, V):
    """Write the mean twist from one pose to another."""
    vec.store(V.v, vec.scale(1.0 / dt, vec.sub(vec.load(after.p), vec.load(before.p))))
    vec.store(V.w, vec.scale(1.0 / dt, so3.between(so3.load(before.q), so3.load(after.q))))


@jit
def distance(a, b):
    """Return the distance between the positions of two poses [m]."""
    d = vec.sub(vec.load(a.p), vec.load(b.p))
    return math.sqrt(vec.dot(d, d))


def identity() -> Any:
    """Return a new identity pose to write into."""
    X = np.zeros(1, POSE)[0]
    X["q"][0] = 1.0
    return X


def copy(X: Any, out: Any) -> None:
    out["p"][...], out["q"][...] = X["p"], X["q"]


def warm_up() -> None:
    """Compile everything before the first packet, which must be answered within a cycle."""
    X = identity()
    to_world(X, X, X, identity())
    to_robot(X, X, X, identity())
    correct(X, X, X, 1.0, 1.0, identity())
    apply(X, X, identity())
    twist_between(X, X, 1.0, np.zeros(1, TWIST)[0])
    distance(X, X)


class DrivenRobot:
    """What every driver of a robot has: its base pose, its set-point, and at most one answer for each packet.

    A subclass implements the protocol. `stop` may be called at any time, also after a failed `open`.
    """

    def __init__(self, place: PlacedRobot) -> None:
        self._X_WR, self._X_TB = pose_of(place.X_WR), pose_of(place.X_TB)
        self._sent, self._twin = identity(), identity()  # its set-point in R; a work pose in W
        self._answered = True  # whether no answer is due

    def hold(self) -> int:
        """Answer without moving; 0 or a fault code."""
        raise NotImplementedError

    def sent(self, X_WB: Any) -> None:
        """Write the robot's present set-point, from which the next one must start."""
        to_world(self._X_WR, self._sent, self._X_TB, self._twin)
        copy(self._twin, X_WB)

    def stop(self) -> None:
        """Answer without moving if an answer is due. Never raises, never waits, safe to call twice."""
        if not self._answered:
            self.hold()
