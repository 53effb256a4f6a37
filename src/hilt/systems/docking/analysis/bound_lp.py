"""The lowest possible peak force of a first touch as a linear programme, without assuming the best command.

Unknown are the rates ẇ_i of the command at the nodes of a grid that starts at t_b, linear in between, and the peak s:
    minimise s   subject to   k x_i + c ẋ_i ≤ s,   |ẇ_i| ≤ V,   |ẇ_{i+1} - ẇ_i| ≤ A h,   ẇ_0 = βv0,   T2 ẍ + T1 ẋ + x = w
x_i and ẋ_i are exact at the nodes for such a command. The error of the grid is of order h²: the peak and the corners of the
best command may be between two nodes.
"""

import math

import numpy as np
from scipy.linalg import expm, toeplitz
from scipy.optimize import linprog

from hilt.core.faults import InputError
from hilt.systems.docking.analysis.bound import Touch

STEPS = 160
TOO_FAR_APART = (
    "the bound of the contact force cannot be computed: the time scales of robot, limits and contact are too far apart; "
    "choose robot.delay, limits.command_acceleration_ratio and contact.stiffness so that their time scales are closer"
)


def _response(touch: Touch, step: float, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Depth and rate at the nodes: their values for ẇ = 0 after t_b, and the contribution of each ẇ_i."""
    v, T1, T2 = touch.tip_speed, touch.T1, touch.T2
    start = v * touch.t_b
    if T2 == 0.0:  # x = w
        depth = step * (np.tril(np.ones((count, count))) - 0.5 * np.eye(count))
        depth[:, 0] -= 0.5 * step
        depth[0] = 0.0
        return np.full(count, start), np.zeros(count), depth, np.eye(count)
    # States x, ẋ, w, then ẇ and ẅ; the input is linear over a step.
    system = np.zeros((5, 5))
    system[0, 1] = system[2, 3] = system[3, 4] = 1.0
    system[1, :3] = [-1.0 / T2, -T1 / T2, 1.0 / T2]
    whole = expm(system * step)
    phi, slope = whole[:3, :3], whole[:3, 4] / step
    before, after = whole[:3, 3] - slope, slope
    free, early, late = np.array([start, v, start + T1 * v]), before, after
    rows = np.zeros((count, 3, 2))
    for i in range(count):
        rows[i, 0] = free[:2]
        if i + 1 < count:
            rows[i + 1, 1], rows[i + 1, 2] = early[:2], late[:2]
        free, early, late = phi @ free, phi @ early, phi @ late
    added = []
    for part in (0, 1):
        begun = toeplitz(rows[:, 1, part], np.zeros(count))  # ẇ_j as the start of step j
        ended = np.zeros((count, count))  # ẇ_j as the end of step j - 1
        ended[:, 1:] = toeplitz(np.append(rows[1:, 2, part], 0.0), np.zeros(count - 1))[np.arange(count) - 1]
        ended[0] = 0.0
        added.append(begun + ended)
    return rows[:, 0, 0], rows[:, 0, 1], added[0], added[1]


def least_peak_lp(touch: Touch, steps: int = STEPS) -> tuple[float, np.ndarray, float]:
    """Lowest possible peak force [N], the rates ẇ_i that reach it, the grid's step [s]; Hertz only without damping."""
    horizon = touch.braking + 4.0 * (touch.T1 + math.sqrt(touch.T2))
    step, count = horizon / steps, steps + 1
    try:
        depth, rate, to_depth, to_rate = _response(touch, step, count)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        raise InputError(TOO_FAR_APART) from None
    # Scaled by βv0 and the spring's force: values near 1 for the solver. For a Hertz contact the depth is minimised.
    v, c = touch.tip_speed, 0.0 if touch.hertz else touch.damping / touch.stiffness
    force = np.column_stack([to_depth + c * to_rate, -np.full(count, horizon)])
    change = np.zeros((steps, count + 1))
    change[np.arange(steps), np.arange(steps)], change[np.arange(steps), np.arange(1, count)] = -1.0, 1.0
    most = np.full(steps, touch.acceleration * step / v)
    limit = touch.fastest / v
    if not all(np.isfinite(part).all() for part in (force, depth, rate, most)):
        raise InputError(TOO_FAR_APART)
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.vstack([force / horizon, change, -change]),
        b_ub=np.concatenate([-(depth + c * rate) / (v * horizon), most, most]),
        bounds=[(1.0, 1.0), *[(-limit, limit)] * steps, (None, None)],
        method="highs",
    )
    if found.x is None:
        raise InputError(TOO_FAR_APART)
    deepest = float(found.x[-1]) * v * horizon
    touched = touch.damping * v + touch.stiffness * v * touch.t_b  # at t_b, before any command can have an effect
    peak = touch.spring(deepest) if touch.hertz else max(touch.stiffness * deepest, touched)
    return peak, v * found.x[:-1], step


def least_cof_lp(touch: Touch, steps: int = STEPS) -> float:
    return max(1.0, least_peak_lp(touch, steps)[0] / touch.ideal)
