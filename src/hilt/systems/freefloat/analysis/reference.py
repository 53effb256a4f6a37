"""The continuous case: the same body, pushes and walls without samples, delays and sensor.

Offline only: a high-order Runge-Kutta method, to a tolerance far below the loop's errors, written independently of the
stages as a cross-check.
"""

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp


def _rotation(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def continuous(scenario: Any, t: np.ndarray) -> dict[str, np.ndarray]:
    """Position `p`, velocity `v`, attitude `q`, body rates `w_B` and kinetic energies `H`, `H_rot` at the times t."""
    body, wall = scenario.body, scenario.wall
    inertia = np.array(body.inertia)
    com = np.array(body.centre_of_mass)
    free_axes = np.array([1.0, 0.0, 0.0]) if body.dof == 1 else np.ones(3)
    start_x = body.position[0] - com[0] + (wall.point[0] if wall else 0.0)

    def wrench(time: float, p: np.ndarray, v: np.ndarray, R: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        f, tau = np.zeros(3), np.zeros(3)
        for push in scenario.push:
            into = time - push.start
            if 0.0 < into < push.duration:
                f_n = np.array(push.force) * np.sin(np.pi * into / push.duration) ** 2
                f += f_n
                if push.point is not None:
                    tau += np.cross(R @ (np.array(push.point) - com), f_n)
        if wall is not None:
            arm = R @ (np.array(wall.point) - com)
            at, rate = p[0] + arm[0] - start_x, v[0] + np.cross(w, arm)[0]
            if abs(at) > wall.gap:
                side = np.sign(at)
                f_n = np.array([-side * max(0.0, wall.stiffness * (abs(at) - wall.gap) + wall.damping * side * rate), 0, 0])
                f += f_n
                tau += np.cross(arm, f_n)
        return f, tau

    def slope(time: float, y: np.ndarray) -> np.ndarray:
        p, v, q, w_B = y[:3], y[3:6], y[6:10], y[10:]
        R = _rotation(q)
        f, tau = wrench(time, p, v, R, R @ w_B)
        if body.dof != 6:
            return np.concatenate([v, free_axes * f / body.mass, np.zeros(7)])
        q_rate = 0.5 * np.array([-q[1:] @ w_B, *(q[0] * w_B + np.cross(q[1:], w_B))])
        return np.concatenate([v, f / body.mass, q_rate, np.linalg.solve(inertia, R.T @ tau - np.cross(w_B, inertia @ w_B))])

    y0 = np.concatenate([body.position, body.velocity, body.attitude, body.angular_velocity])
    # Short enough that no push and no contact falls between two steps.
    spans = [push.duration / 8 for push in scenario.push]
    if wall is not None:
        spans.append(np.pi / np.sqrt(wall.stiffness / body.mass) / 8)
    longest = min([*spans, float(t[-1] - t[0]) / 20]) if len(t) > 1 else np.inf
    found = solve_ivp(slope, (t[0], t[-1] or 1e-9), y0, "DOP853", t_eval=t, rtol=1e-10, atol=1e-12, max_step=longest)
    p, v, q, w_B = (found.y[a:b].T for a, b in ((0, 3), (3, 6), (6, 10), (10, 13)))
    return {
        "p": p,
        "v": v,
        "q": q / np.linalg.norm(q, axis=1, keepdims=True),
        "w_B": w_B,
        "H": 0.5 * body.mass * np.einsum("ij,ij->i", v, v),
        "H_rot": 0.5 * np.einsum("ij,jk,ik->i", w_B, inertia, w_B),
    }
