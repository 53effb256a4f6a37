"""A robot that bends, as the twin believes it to be: command, motor, tip, and the frame that the tip may press on.

    T2 ẍ_m + T1 ẋ_m + x_m = u                                          motor, as seen by the encoders; without dead time
    ẍ = ω_f² (x_m - x) + 2ζ_f ω_f (ẋ_m - ẋ) - e f̂(x, ẋ)/m_t           tip, m_t = K_f/ω_f²

Implicit midpoint for both, so any step is stable. The frame's force acts on the tip in a step that would end inside the frame.
"""

from typing import NamedTuple

from hilt.compiled import jit
from hilt.systems.docking.twin import model


class Tip(NamedTuple):
    """Bending of the robot."""

    k: float  # K_f
    w: float  # ω_f
    z: float  # ζ_f

    # m_t = k/w²


class Moving(NamedTuple):
    """Motor and tip."""

    x_m: float
    v_m: float
    x: float
    v: float


@jit
def move_motor(x, v, T1, T2, u_before, u_after, dt):
    """(x_m, ẋ_m) one step later; a motor without inertia or lag is at the command."""
    if T1 <= 0.0:
        return u_after, (u_after - u_before) / dt
    middle = (0.5 * (u_before + u_after) - x + 2.0 * T2 / dt * v) / (2.0 * T2 / dt + T1 + 0.5 * dt)
    return x + dt * middle, 2.0 * middle - v


@jit
def move_free(tip, x, v, x_m, v_m, force, dt):
    """(x, ẋ) of the tip one step later; motor values and force on the tip are means over the step."""
    stiff, rub = tip.w * tip.w, tip.z * tip.w
    a = stiff * (x_m - x - 0.5 * dt * v) + 2.0 * rub * (v_m - v) + force * stiff / tip.k
    a /= 1.0 + rub * dt + 0.25 * stiff * dt * dt
    return x + dt * (v + 0.5 * dt * a), v + dt * a


@jit
def move_tip(tip, frame, x, v, x_m, v_m, dt):
    """The same against the frame; for a tip that does not bend see `move`."""
    stiff, rub = tip.w * tip.w, tip.z * tip.w
    push = stiff * (x_m - x - 0.5 * dt * v) + 2.0 * rub * (v_m - v)
    whole = 1.0 + rub * dt + 0.25 * stiff * dt * dt
    a = push / whole
    if model.depth_in(frame, x + dt * (v + 0.5 * dt * a)) > 0.0:
        middle, over = x + 0.5 * dt * v, stiff / tip.k
        c = frame.c if frame.model == model.LINEAR else 0.0
        f, k = model.force(frame, middle, v), model.slope(frame, middle)
        a = (push - over * frame.e * f) / (whole + over * (0.25 * dt * dt * k + 0.5 * dt * c))
    return x + dt * (v + 0.5 * dt * a), v + dt * a


@jit
def move(tip, frame, now, T1, T2, u_before, u_after, dt):
    """Motor and tip one step later; a tip that does not bend is where the encoders see it."""
    x_m, v_m = move_motor(now.x_m, now.v_m, T1, T2, u_before, u_after, dt)
    if tip.k <= 0.0:
        return Moving(x_m, v_m, x_m, v_m)
    x, v = move_tip(tip, frame, now.x, now.v, 0.5 * (now.x_m + x_m), 0.5 * (now.v_m + v_m), dt)
    return Moving(x_m, v_m, x, v)
