"""The lowest possible peak force of a first touch on a robot that bends, as a linear programme.

    motor   T2 ẍm + T1 ẋm + xm = w
    tip     m_t ẍt = K_f (xm - xt) + C_f (ẋm - ẋt) - F,   m_t = K_f/ω_f²,   F = k xt + c ẋt

Motor and tip move at βv0 until the touch, and the command cannot react before t_b. Then its rates ẇ_i at the nodes of a grid
are chosen, with |ẇ_i| ≤ V and |ẇ_{i+1} - ẇ_i| ≤ A h, to minimise the largest force. F is the force on a tip that stays in
contact: no command can lift it off before a peak higher than in space (test_bound_bending.py), and the time after it has left
is not counted. On a stiff robot (bound_lp.py) the contact does not move the tip; here it does, and the tip swings.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import linprog

from hilt.core.faults import InputError
from hilt.systems.docking.analysis.bound import Touch
from hilt.systems.docking.analysis.bound_lp import TOO_FAR_APART

STEPS = 200
_XM, _VM, _XT, _VT, _W, _RATE, _CHANGE = range(7)  # w, ẇ and ẅ are those that reach the motor, after the dead time


@dataclass(frozen=True)
class Tip:
    """Bending of the robot; SI units."""

    stiffness: float  # K_f
    omega: float  # ω_f
    damping_ratio: float  # ζ_f

    @property
    def mass(self) -> float:
        return self.stiffness / self.omega**2


def tip_of(values: Any) -> Tip | None:
    """The tip of a scenario's robot; None if it does not swing."""
    robot = values.robot
    if robot.mode_frequency == 0.0:
        return None
    return Tip(robot.stiffness, 2.0 * math.pi * robot.mode_frequency, robot.mode_damping_ratio)


def _system(touch: Touch, tip: Tip) -> np.ndarray:
    """Matrix A of ż = A z for motor, tip and command in contact."""
    A = np.zeros((7, 7))
    A[_XT, _VT] = A[_W, _RATE] = A[_RATE, _CHANGE] = 1.0
    if touch.T2 == 0.0:  # xm = w
        A[_XM, _RATE] = A[_VM, _CHANGE] = 1.0
    else:
        A[_XM, _VM] = 1.0
        A[_VM, [_XM, _VM, _W]] = np.array([-1.0, -touch.T1, 1.0]) / touch.T2
    pull, drag = tip.omega**2, 2.0 * tip.damping_ratio * tip.omega
    A[_VT, [_XM, _VM]] = pull, drag
    A[_VT, [_XT, _VT]] = -pull - touch.stiffness / tip.mass, -drag - touch.damping / tip.mass
    return A


@dataclass(frozen=True)
class Least:
    """The touch with the lowest peak."""

    peak: float  # N
    t: np.ndarray  # s after the touch
    force: np.ndarray  # N
    rates: np.ndarray  # ẇ after t_b, at the last nodes of t


@dataclass(frozen=True)
class Forces:
    """The force of a tip in contact: fixed until t_b, then `given + caused @ rates` at the nodes."""

    t: np.ndarray  # s after the touch, up to t_b
    early: np.ndarray  # N
    step: float  # s between two nodes; the first node is t_b
    given: np.ndarray
    caused: np.ndarray

    def late(self, rates: np.ndarray) -> np.ndarray:
        return self.given + self.caused @ rates


def forces(touch: Touch, tip: Tip, steps: int = STEPS) -> Forces:
    v, A = touch.tip_speed, _system(touch, tip)
    felt = np.zeros(7)
    felt[_XT], felt[_VT] = touch.stiffness, touch.damping
    swing = 2.0 * math.pi / math.sqrt(tip.omega**2 + touch.stiffness / tip.mass)
    horizon = touch.braking + 4.0 * (touch.T1 + math.sqrt(touch.T2)) + swing
    step, before = horizon / steps, max(2, math.ceil(touch.t_b * steps / horizon))
    early, whole = expm(A * (touch.t_b / before)), expm(A * step)
    z = np.zeros(7)
    z[[_VM, _VT, _RATE]], z[_W] = v, touch.T1 * v
    begun = [z]
    for _ in range(before):
        begun.append(early @ begun[-1])
    # One column of the state for each rate, and one for the given part; the rate is linear over a step.
    state = np.zeros((7, steps + 2))
    state[:, -1] = begun[-1]
    state[[_RATE, _CHANGE]] = 0.0
    to_end = whole[:, _CHANGE] / step
    to_begin = whole[:, _RATE] - to_end
    rows = [felt @ state]
    for i in range(steps):
        state = whole @ state
        state[:, i] += to_begin
        state[:, i + 1] += to_end
        state[[_RATE, _CHANGE]] = 0.0
        rows.append(felt @ state)
    all_rows = np.array(rows)
    return Forces(np.linspace(0.0, touch.t_b, before + 1), np.array(begun) @ felt, step, all_rows[:, -1], all_rows[:, :-1])


def least_touch(touch: Touch, tip: Tip, steps: int = STEPS) -> Least:
    """Find the command with the lowest peak; linear contacts only."""
    try:
        found = forces(touch, tip, steps)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        raise InputError(TOO_FAR_APART) from None
    if not (np.isfinite(found.caused).all() and np.isfinite(found.given).all()):
        raise InputError(TOO_FAR_APART)
    rates = _best(touch, found, len(found.given))
    left = found.late(rates) < 0.0
    if left.any():
        rates = _best(touch, found, int(np.argmax(left)))
    force = np.concatenate([found.early, found.late(rates)[1:]])
    t = np.concatenate([found.t, touch.t_b + found.step * np.arange(1, steps + 1)])
    until = int(np.argmax(force < 0.0)) if (force < 0.0).any() else len(force)
    return Least(float(force[:until].max()), t[:until], force[:until], rates)


def _best(touch: Touch, found: Forces, nodes: int) -> np.ndarray:
    """Rates that minimise the largest force at the first nodes; scaled to values near 1 for the solver."""
    v, count = touch.tip_speed, len(found.given)
    A, b = limits(touch, found.step, count)
    judged = np.column_stack([found.caused[:nodes] * v / touch.ideal, -np.ones(nodes)])
    most = touch.fastest / v
    solved = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.vstack([judged, np.column_stack([A, np.zeros(len(A))])]),
        b_ub=np.concatenate([-found.given[:nodes] / touch.ideal, b]),
        bounds=[(1.0, 1.0), *[(-most, most)] * (count - 1), (None, None)],
        method="highs",
    )
    if solved.x is None:
        raise InputError(TOO_FAR_APART)
    return v * np.asarray(solved.x[:-1])


def limits(touch: Touch, step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A ẇ/βv0 ≤ b: the change of the rate from node to node."""
    change = np.diff(np.eye(count), axis=0)
    return np.vstack([change, -change]), np.full(2 * (count - 1), touch.acceleration * step / touch.tip_speed)


def least_cof(touch: Touch, tip: Tip, steps: int = STEPS) -> float:
    return max(1.0, least_touch(touch, tip, steps).peak / touch.ideal)
