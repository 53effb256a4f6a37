"""A robot's controller beyond dead time and second order: an interpolation filter, further lags, motors that yield.

    u ── dead time, second order ── mean over the last W ── 1/(1 + s/ω_n), once for each order above two ── x_m
    motors under load            e'' + 2ζω_n e' + ω_n² e = -ω_n² F/K_m, added to x_m; the encoders see it

All of it is linear, so the order of the filters does not matter; the limits of the robot's own controller come first.
The force is that of the last tick. Without a second order the motors yield immediately.
"""

import math
from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import delay, so3, vec
from hilt.plant.robot import ROBOT, RobotResponse, response_row, robot_step

HIGHEST_ORDER = 6
LONGEST_WINDOW = 127  # ticks: capacity of its delay line
reset_robot = ROBOT.reset


@jit
def _averaged(x, p, position, v, q, w):
    """Mean of pose and velocities over the window, by the trapezoidal rule: a set-point is linear from tick to tick."""
    delay.push_motion(x.window, position, v, q, w)
    sums, turned, turning = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    moving = (0.0, 0.0, 0.0)
    for age in range(p.window + 1):
        share = (0.5 if age in (0, p.window) else 1.0) / p.window
        sums = vec.add(sums, vec.scale(share, delay.read_position(x.window, age)))
        moving = vec.add(moving, vec.scale(share, delay.read_velocity(x.window, age)))
        if p.rotates:
            turned = vec.add(turned, vec.scale(share, so3.between(q, delay.read_attitude(x.window, age))))
            turning = vec.add(turning, vec.scale(share, delay.read_angular_velocity(x.window, age)))
    if p.rotates:
        q, w = so3.multiply(so3.exp(turned), q), turning
    return sums, moving, q, w


@jit
def _lagged(p, here, before, after):
    """x + (after - x) of a first-order lag 1/ω_n, exact for an input that is linear over the tick."""
    return vec.add(vec.add(vec.scale(p.keep, here), vec.scale(p.take_before, before)), vec.scale(p.take_after, after))


@jit
def _more_lags(x, p, position, v, q, w):
    for i in range(p.lags):
        here, before = vec.load(x.lag_p[i]), vec.load(x.lag_u[i])
        vec.store(x.lag_u[i], position)
        there = _lagged(p, here, before, position)
        v = vec.scale(p.corner, vec.sub(position, there))
        position = there
        vec.store(x.lag_p[i], position)
        if p.rotates:
            now, zero = so3.load(x.lag_q[i]), (0.0, 0.0, 0.0)
            before, after = so3.between(now, so3.load(x.lag_u_q[i])), so3.between(now, q)
            so3.store(x.lag_u_q[i], q)
            turn = _lagged(p, zero, before, after)
            w = vec.scale(p.corner, vec.sub(after, turn))
            q = so3.normalise(so3.multiply(so3.exp(turn), now))
            so3.store(x.lag_q[i], q)
    return position, v, q, w


@jit
def _yield(x, p, force, dt):
    """(position, velocity) added by the load."""
    load, before = vec.scale(-p.motor_give, force), vec.load(x.load)
    vec.store(x.load, load)
    e, rate = vec.load(x.sag), vec.load(x.sag_v)
    if p.second_order:
        sag, sag_v = response_row(p, 0, e, rate, before, load), response_row(p, 1, e, rate, before, load)
    else:
        sag, sag_v = load, vec.scale(1.0 / dt, vec.sub(load, before))
    vec.store(x.sag, sag)
    vec.store(x.sag_v, sag_v)
    return sag, sag_v


@jit
def servo_step(sig, x, p, dt):
    robot_step(sig, x, p, dt)
    position, v = vec.load(sig.X_WB_true.p), vec.load(sig.V_WB_true.v)
    q, w = so3.load(sig.X_WB_true.q), vec.load(sig.V_WB_true.w)
    if p.window > 0:
        position, v, q, w = _averaged(x, p, position, v, q, w)
    position, v, q, w = _more_lags(x, p, position, v, q, w)
    if p.motor_give > 0.0:
        sag, sag_v = _yield(x, p, vec.load(sig.F_C_true_W), dt)
        position, v = vec.add(position, sag), vec.add(v, sag_v)
    vec.store(sig.X_WB_true.p, position)
    vec.store(sig.V_WB_true.v, v)
    so3.store(sig.X_WB_true.q, q)
    vec.store(sig.V_WB_true.w, w)


@dataclass(frozen=True)
class Servo:
    """A robot whose controller is more than dead time and second order."""

    response: RobotResponse
    order: int
    window: float  # s, of the interpolation filter
    motor_stiffness: float  # N/m, 0 for motors that do not yield


def ticks_of_window(window: float, period: float) -> int:
    return round(window / period)


def _pack(p: np.record, servo: Servo, loop: Cycle) -> None:
    ROBOT.pack(p, servo.response, loop)
    p.window = ticks_of_window(servo.window, loop.period)
    omega = servo.response.robot.natural_frequency(servo.response.lag)
    p.motor_give = 1.0 / servo.motor_stiffness if servo.motor_stiffness > 0.0 else 0.0
    p.lags = servo.order - 2 if omega > 0.0 else 0
    if p.lags > 0:
        step = omega * loop.period
        p.corner, p.keep = omega, math.exp(-step)
        p.take_after = 1.0 - (1.0 - p.keep) / step
        p.take_before = (1.0 - p.keep) / step - p.keep


@jit
def _reset(sig, x, p):
    """Start in motion with the steady lag of every part, or at rest."""
    reset_robot(sig, x, p)
    position, q = vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q)
    v, w = vec.load(sig.V_WB_cmd.v), vec.load(sig.V_WB_cmd.w)
    if p.at_rest:
        v = w = (0.0, 0.0, 0.0)
    behind = -(p.samples + 1.0) * p.dt - p.lag
    late = vec.add(position, vec.scale(behind, v))
    late_q = so3.multiply(so3.exp(vec.scale(behind, w)), q)
    delay.fill_motion(x.window, late, v, late_q, w, p.dt)
    behind -= 0.5 * p.window * p.dt
    for i in range(p.lags):
        vec.store(x.lag_u[i], vec.add(position, vec.scale(behind, v)))
        so3.store(x.lag_u_q[i], so3.multiply(so3.exp(vec.scale(behind, w)), q))
        behind -= 1.0 / p.corner
        vec.store(x.lag_p[i], vec.add(position, vec.scale(behind, v)))
        so3.store(x.lag_q[i], so3.multiply(so3.exp(vec.scale(behind, w)), q))


SERVO = StageKind(
    "servo",
    servo_step,
    reads=(*ROBOT.reads, "F_C_true_W"),
    writes=ROBOT.writes,
    state=record(
        **{name: ROBOT.state[name] for name in ROBOT.state.names or ()},
        window=record(buffer=("f8", (LONGEST_WINDOW + 1, 13)), newest="i8"),
        **dict.fromkeys(("lag_p", "lag_u"), ("f8", (HIGHEST_ORDER - 2, 3))),
        **dict.fromkeys(("lag_q", "lag_u_q"), ("f8", (HIGHEST_ORDER - 2, 4))),
        **dict.fromkeys(("load", "sag", "sag_v"), 3),
    ),
    params=record(
        **{name: ROBOT.params[name] for name in ROBOT.params.names or ()},
        **dict.fromkeys(("window", "lags"), "i8"),
        **dict.fromkeys(("motor_give", "corner", "keep", "take_before", "take_after"), "f8"),
    ),
    pack=_pack,
    reset=_reset,
    looks_back=ROBOT.looks_back,
)
