"""How the robot answers: at once, late, as a second-order system, or both in series.

`delay` is the whole lag: pure delay plus 2ζ/ω_n. The second-order part is x'' + 2ζω_n x' + ω_n² x = ω_n² u with u linear
between the samples, solved exactly, so the model adds no delay of its own; attitudes go through the same filter in the
tangent space of the present attitude.
"""

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.maths import delay, so3, vec
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.units import Number, Second


class Robot(Section):
    """Response of the robot to set-points."""

    kind: Literal["ideal", "delay", "second-order", "delay+second-order"] = "delay"
    delay: Second = Field(default=0.0, ge=0, description="whole lag: pure delay plus 2ζ/ω_n")
    pure_delay: Second = Field(default=0.0, ge=0, description="part of `delay` that is pure, for delay+second-order")
    damping_ratio: Number = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _consistent(self) -> "Robot":
        if self.kind == "ideal" and self.delay > 0:
            raise ValueError(f"robot.delay is {self.delay:g} s but an ideal robot has none; set robot.kind = 'delay'")
        if "second-order" in self.kind and self.delay <= self.pure:
            raise ValueError(
                f"robot.delay is {self.delay:g} s; a {self.kind} robot needs more than its pure delay of {self.pure:g} s; "
                "raise robot.delay"
            )
        return self

    @property
    def pure(self) -> float:
        return {"ideal": 0.0, "delay": self.delay, "second-order": 0.0}.get(self.kind, self.pure_delay)

    @property
    def natural_frequency(self) -> float:
        """ω_n [rad/s] of the second-order part, 0 without one."""
        return 2.0 * self.damping_ratio / (self.delay - self.pure) if "second-order" in self.kind else 0.0


def check_fits(seconds: float, period: float, key: str) -> None:
    """A delay must fit into the delay line."""
    longest = (delay.CAPACITY - 2) * period
    if seconds > longest:
        raise ValueError(
            f"{key} is {seconds:g} s; at loop.period = {period:g} s the delay line holds at most {longest:g} s; "
            f"shorten {key} or lengthen loop.period"
        )


@jit
def _filter(p, row, position, rate, u_before, u_after):
    """One row of the exact solution: state [x, x'] and input, linear from u_before to u_after."""
    a = p.phi[row, 0]
    b = p.phi[row, 1]
    c = p.gamma[row, 0]
    d = p.gamma[row, 1]
    return (
        a * position[0] + b * rate[0] + c * u_before[0] + d * u_after[0],
        a * position[1] + b * rate[1] + c * u_before[1] + d * u_after[1],
        a * position[2] + b * rate[2] + c * u_before[2] + d * u_after[2],
    )


@jit
def robot_step(sig, x, p, dt):
    delay.push_pose(x.line, sig.X_WB_des.p, sig.X_WB_des.q)
    u = delay.read_position(x.line, p.samples)
    u_q = delay.read_attitude(x.line, p.samples)
    if p.second_order:
        position, rate, u_before = vec.load(x.p), vec.load(x.v), vec.load(x.u)
        vec.store(x.u, u)
        u_after = u
        u = _filter(p, 0, position, rate, u_before, u_after)
        vec.store(x.v, _filter(p, 1, position, rate, u_before, u_after))
        q, turn_rate, zero = so3.load(x.q), vec.load(x.w), (0.0, 0.0, 0.0)
        before, after = so3.between(q, so3.load(x.u_q)), so3.between(q, u_q)
        so3.store(x.u_q, u_q)
        u_q = so3.normalise(so3.multiply(so3.exp(_filter(p, 0, zero, turn_rate, before, after)), q))
        vec.store(x.w, _filter(p, 1, zero, turn_rate, before, after))
    vec.store(x.p, u)
    so3.store(x.q, u_q)
    vec.store(sig.X_WB_true.p, u)
    so3.store(sig.X_WB_true.q, u_q)
    vec.store(sig.X_WB_meas.p, u)
    so3.store(sig.X_WB_meas.q, u_q)


def second_order_matrices(omega: float, zeta: float, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Exact step of x'' + 2ζω x' + ω² x = ω² u for an input that is linear over the step."""
    from scipy.linalg import expm

    # States x, x', u, u': the input's slope is constant over the step.
    system = np.zeros((4, 4))
    system[0, 1] = system[2, 3] = 1.0
    system[1] = [-(omega**2), -2 * zeta * omega, omega**2, 0.0]
    step = expm(system * dt)
    slope = step[:2, 3] / dt
    return step[:2, :2], np.column_stack([step[:2, 2] - slope, slope])


def _pack(p, scenario):
    robot, dt = scenario.robot, scenario.loop.period
    p.dt = dt
    p.samples = robot.pure / dt
    p.second_order = robot.natural_frequency > 0
    if p.second_order:
        p.phi, p.gamma = second_order_matrices(robot.natural_frequency, robot.damping_ratio, dt)
        p.lag = robot.delay - robot.pure


@jit
def _reset(sig, x, p):
    """Under way already at the body's first velocity: a robot that lags has been lagging before."""
    position, q = vec.load(sig.X_WB_des.p), so3.load(sig.X_WB_des.q)
    v, w = vec.load(sig.V_WBcm.v), vec.load(sig.V_WBcm.w)
    delay.fill_pose(x.line, vec.sub(position, vec.scale(p.dt, v)), so3.multiply(so3.exp(vec.scale(-p.dt, w)), q), v, w, p.dt)
    back = -(p.samples + 1.0) * p.dt
    vec.store(x.u, vec.add(position, vec.scale(back, v)))
    so3.store(x.u_q, so3.multiply(so3.exp(vec.scale(back, w)), q))
    behind = back - p.lag
    vec.store(x.p, vec.add(position, vec.scale(behind, v)))
    so3.store(x.q, so3.multiply(so3.exp(vec.scale(behind, w)), q))
    vec.store(x.v, v)
    vec.store(x.w, w)


ROBOT = StageKind(
    "robot",
    robot_step,
    reads=("X_WB_des",),
    writes=("X_WB_true", "X_WB_meas"),
    state=record(line=delay.POSE_LINE, p=3, v=3, q=4, w=3, u=3, u_q=4),
    params=record(dt="f8", samples="f8", lag="f8", second_order="i8", phi=("f8", (2, 2)), gamma=("f8", (2, 2))),
    pack=_pack,
    reset=_reset,
)
