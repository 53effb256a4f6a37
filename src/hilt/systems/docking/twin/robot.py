"""Step 7: identify the robot's dead time and second-order response by recursive prediction error.

    T2 ẍ + T1 ẋ + x = u(t - t_d)                           implicit midpoint
    sensitivities: same left side; right side -u̇(t - t_d) for t_d, -ẋ for T1, -ẍ for T2

The model runs freely on the commands; its difference from the encoder corrects θ = (t_d, T1, T2). Each correction also shifts
the model's state by sensitivity × Δθ, as if it had run with the new θ all along; without that θ drifts. The lead, which becomes
active in free flight, is enough excitation. A robot believed to be a pure delay has only t_d.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import vec
from hilt.maths.delay import CAPACITY
from hilt.systems.docking.twin import line
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.fit import FIT_3, update_3


@jit
def _midpoint(x, w, T1, T2, right, dt):
    """One step of T2 ẍ + T1 ẋ + x = right; also returns velocity and acceleration at the midpoint."""
    middle = (right - x + 2.0 * T2 / dt * w) / (2.0 * T2 / dt + T1 + 0.5 * dt)
    return x + dt * middle, 2.0 * middle - w, middle, 2.0 * (middle - w) / dt


@jit
def advance(x, second_order, dt):
    """Advance model and sensitivities by one tick, to the time of the newest command in the line."""
    t_d, T1, T2 = x.fit.theta[0], x.fit.theta[1], x.fit.theta[2]
    now, step_now = line.read(x.line, t_d / dt, 0)
    if not second_order:
        x.x, x.s[0] = now, -step_now / dt
        return
    before, step_before = line.read(x.line, t_d / dt + 1.0, 0)
    x.x, x.w, speed, acceleration = _midpoint(x.x, x.w, T1, T2, 0.5 * (now + before), dt)
    x.s[0], x.sw[0], _, _ = _midpoint(x.s[0], x.sw[0], T1, T2, -0.5 * (step_now + step_before) / dt, dt)
    x.s[1], x.sw[1], _, _ = _midpoint(x.s[1], x.sw[1], T1, T2, -speed, dt)
    x.s[2], x.sw[2], _, _ = _midpoint(x.s[2], x.sw[2], T1, T2, -acceleration, dt)


@jit
def correct(x, p, measured, dt):
    """Correct θ by the prediction error, within its bounds, and the state accordingly."""
    theta, P = x.fit.theta, x.fit.P
    old0, old1, old2 = theta[0], theta[1], theta[2]
    for i in range(3):
        P[i, i] += p.drift * dt * theta[i] * theta[i]
    update_3(x.fit, (x.s[0], x.s[1], x.s[2]), measured - x.x, p.variance)
    for i in range(3):
        theta[i] = min(max(theta[i], p.least[i]), p.most[i])
    d0, d1, d2 = theta[0] - old0, theta[1] - old1, theta[2] - old2
    x.x += x.s[0] * d0 + x.s[1] * d1 + x.s[2] * d2
    x.w += x.sw[0] * d0 + x.sw[1] * d1 + x.sw[2] * d2


@jit
def robot_step(sig, x, p, dt):
    line.push(x.line, sig.u_twin, 0.0)
    advance(x, p.second_order, dt)
    measured = vec.dot(vec.load(p.n_W), vec.load(sig.p_C_W))
    if abs(measured - x.x) < p.believed:
        correct(x, p, measured, dt)
    sig.t_d_hat, sig.T1_hat, sig.T2_hat = x.fit.theta[0], x.fit.theta[1], x.fit.theta[2]
    sig.x_m_hat, sig.v_m_hat = x.x, x.w


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    dt, believed = loop.period, beliefs.robot
    p.n_W, p.dt = beliefs.normal, dt  # one fixed direction, even if the normal is corrected later
    p.second_order = believed.T2 > 0
    p.theta = (believed.t_d, believed.T1, believed.T2)
    p.deviation = (max(0.1 * believed.t_d, 0.8e-3), 0.14 * believed.T1, 0.2 * believed.T2)
    p.least = (0.0, 0.4 * believed.T1, 0.3 * believed.T2)
    p.most = (min(1.6 * believed.t_d + 3e-3, (CAPACITY - 3) * dt), 2.5 * believed.T1, 3.0 * believed.T2)
    p.drift = 1e-5
    p.variance = beliefs.position_noise**2 + (20e-6) ** 2
    p.believed = beliefs.gap  # a larger error of the robot cannot be explained by θ


@jit
def _reset(sig, x, p):
    """Start with the steady lag: on a ramp the robot is t_d + T1 behind."""
    v = sig.du_twin
    u = sig.u_twin - p.dt * v  # the first tick pushes the first command
    line.fill(x.line, u, v, p.dt)
    for i in range(3):
        x.fit.theta[i], x.fit.P[i, i] = p.theta[i], p.deviation[i] ** 2
    x.x, x.w = u - v * (p.theta[0] + p.theta[1]), v
    x.s[0] = -v
    x.s[1] = -v if p.second_order else 0.0
    sig.t_d_hat, sig.T1_hat, sig.T2_hat = p.theta[0], p.theta[1], p.theta[2]


TWIN_ROBOT = StageKind(
    "twin-robot",
    robot_step,
    reads=("u_twin", "p_C_W"),
    writes=("t_d_hat", "T1_hat", "T2_hat", "x_m_hat", "v_m_hat"),
    state=record(line=line.PAIR_LINE, x="f8", w="f8", s=3, sw=3, fit=FIT_3),
    params=record(
        **dict.fromkeys(("n_W", "theta", "deviation", "least", "most"), 3),
        **dict.fromkeys(("dt", "drift", "variance", "believed"), "f8"),
        second_order="i8",
    ),
    pack=_pack,
    reset=_reset,
    looks_back=lambda p: p["most"][:, 0] / p["dt"] + 1.0,
)
