"""Response of the robot: ideal, delayed, second-order, or both in series, with limits on speed and acceleration.

`delay` is the total lag: pure delay plus 2ζ/ω_n. The second-order part is x'' + 2ζω_n x' + ω_n² x = ω_n² u with u linear
between the samples, solved exactly, so discretisation adds no delay; attitudes go through the same filter in the tangent
space of the current attitude.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import MetrePerSecond, MetrePerSecond2, Number, Second
from hilt.maths import delay, noise, so3, vec


class Robot(Section):
    """Response of the robot to set-points."""

    kind: Literal["ideal", "delay", "second-order", "delay+second-order"] = "delay"
    delay: Second = Field(default=0.0, ge=0, description="total lag: pure delay plus 2ζ/ω_n")
    pure_delay: Second = Field(default=0.0, ge=0, description="pure part of `delay`, for kind delay+second-order")
    damping_ratio: Number = Field(default=1.0, gt=0, le=1000)
    jitter: Second = Field(default=0.0, ge=0, description="the pure delay varies from tick to tick by up to ± this")
    speed_limit: MetrePerSecond = Field(default=0.0, ge=0, description="of the robot's own controller; 0 for none")
    acceleration_limit: MetrePerSecond2 = Field(default=0.0, ge=0, description="of the robot's own controller; 0 for none")
    start_at_rest: bool = Field(default=False, description="the robot is at rest at the start; otherwise it is already moving")
    lead: bool = Field(default=False, description="command x + τ v + ½ τ² a instead of x; τ is the total delay")

    @model_validator(mode="after")
    def _consistent(self) -> "Robot":
        if self.kind == "ideal" and self.delay > 0:
            raise Unfit(
                f"robot.delay is {self.delay:g} s but an ideal robot has none; set robot.kind = 'delay'",
                "robot.delay",
                "robot.kind",
            )
        if self.jitter > 0 and self.jitter > self.pure(self.delay):
            raise Unfit(
                f"robot.jitter is {self.jitter:g} s; it may be at most the pure delay of {self.pure(self.delay):g} s; lower it",
                "robot.jitter",
            )
        return self

    def pure(self, own: float) -> float:
        """The pure part of the robot's own lag."""
        return {"ideal": 0.0, "delay": own, "second-order": 0.0}.get(self.kind, self.pure_delay)

    def natural_frequency(self, own: float) -> float:
        """ω_n [rad/s] of the second-order part, 0 without one."""
        # A response so quick that its lag vanishes in the sum with the pure delay is treated as absent.
        lag = own - self.pure(own) if "second-order" in self.kind else 0.0
        return 2.0 * self.damping_ratio / lag if lag > 0.0 else 0.0

    def check(self, own: float, period: float, name: str = "robot") -> None:
        """Check the robot's own lag `own` [s]. It may be less than the scenario's delay, part of which is the sensor's."""
        if "second-order" in self.kind and own <= self.pure(own):
            raise Unfit(
                f"{name}.delay leaves {own:g} s for a {self.kind} robot, which needs more than its pure delay of "
                f"{self.pure(own):g} s; raise {name}.delay",
                f"{name}.delay",
            )
        check_fits(self.pure(own) + self.jitter, period, f"{name}.delay")


def check_fits(seconds: float, period: float, key: str, name: str = "") -> None:
    """Check that a delay fits into the delay line; `name` is given if the delay is not simply the value of the key."""
    name = name or key
    longest = (delay.CAPACITY - 2) * period
    if seconds > longest:
        raise Unfit(
            f"{name} is {seconds:g} s; at loop.period = {period:g} s the delay line holds at most {longest:g} s; "
            f"shorten {name} or lengthen loop.period",
            key,
            "loop.period",
        )


@jit
def response_row(p, row, position, rate, u_before, u_after):
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
def _limit(x, p, u, u_v, dt):
    """Follow u within the limits: approach it no faster than the robot can still brake."""
    error = vec.sub(u, vec.add(vec.load(x.limited), vec.scale(dt, u_v)))
    distance = math.sqrt(vec.dot(error, error))
    v = vec.load(x.limited_v)
    if distance > 0.0:
        speed = min(distance / dt, math.sqrt(2.0 * p.acceleration_limit * distance))
        u_v = vec.add(u_v, vec.scale(speed / distance, error))
    v = vec.add(v, vec.shortened(vec.sub(u_v, v), p.acceleration_limit * dt))
    v = vec.shortened(v, p.speed_limit)
    vec.store(x.limited_v, v)
    vec.store(x.limited, vec.add(vec.load(x.limited), vec.scale(dt, v)))
    return vec.load(x.limited), v


@jit
def robot_step(sig, x, p, dt):
    q, w = so3.load(sig.X_WB_cmd.q), vec.load(sig.V_WB_cmd.w)
    delay.push_motion(x.line, sig.X_WB_cmd.p, sig.V_WB_cmd.v, q, w)
    samples = p.samples
    if p.jitter > 0.0:
        samples += p.jitter * (2.0 * noise.uniform(x.noise) - 1.0)
    u, v = delay.read_position(x.line, samples), delay.read_velocity(x.line, samples)
    if p.limited:
        u, v = _limit(x, p, u, v, dt)
    if p.second_order:
        position, rate, before = vec.load(x.p), vec.load(x.v), vec.load(x.u)
        vec.store(x.u, u)
        v = response_row(p, 1, position, rate, before, u)
        u = response_row(p, 0, position, rate, before, u)
        vec.store(x.p, u)
        vec.store(x.v, v)
    if p.rotates:
        q, w = delay.read_attitude(x.line, samples), delay.read_angular_velocity(x.line, samples)
        if p.second_order:
            now, rate, zero = so3.load(x.q), vec.load(x.w), (0.0, 0.0, 0.0)
            before, after = so3.between(now, so3.load(x.u_q)), so3.between(now, q)
            so3.store(x.u_q, q)
            w = response_row(p, 1, zero, rate, before, after)
            q = so3.normalise(so3.multiply(so3.exp(response_row(p, 0, zero, rate, before, after)), now))
            so3.store(x.q, q)
            vec.store(x.w, w)
    vec.store(sig.X_WB_true.p, u)
    vec.store(sig.V_WB_true.v, v)
    so3.store(sig.X_WB_true.q, q)
    vec.store(sig.V_WB_true.w, w)


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


@dataclass(frozen=True)
class RobotResponse:
    """A robot as used by a system."""

    robot: Robot
    lag: float  # s, the robot's own
    rotates: bool


def _pack(p: np.record, response: RobotResponse, loop: Cycle) -> None:
    robot, own, dt = response.robot, response.lag, loop.period
    p.dt = dt
    p.samples = robot.pure(own) / dt
    p.jitter = robot.jitter / dt
    p.key = loop.noise_key("robot.jitter")
    p.rotates = response.rotates
    p.at_rest = robot.start_at_rest
    p.limited = robot.speed_limit > 0 or robot.acceleration_limit > 0
    p.speed_limit = robot.speed_limit or 1e12
    p.acceleration_limit = robot.acceleration_limit or 1e12
    omega = robot.natural_frequency(own)
    p.second_order = omega > 0
    if p.second_order:
        p.phi, p.gamma = second_order_matrices(omega, robot.damping_ratio, dt)
        p.lag = own - robot.pure(own)


@jit
def robot_reset(sig, x, p):
    """Start already moving at the set-point's first velocity, with the steady lag; or at rest."""
    position, q = vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q)
    v, w = vec.load(sig.V_WB_cmd.v), vec.load(sig.V_WB_cmd.w)
    if p.at_rest:
        v = w = (0.0, 0.0, 0.0)
    last = so3.multiply(so3.exp(vec.scale(-p.dt, w)), q)
    delay.fill_motion(x.line, vec.sub(position, vec.scale(p.dt, v)), v, last, w, p.dt)
    back = -(p.samples + 1.0) * p.dt
    vec.store(x.u, vec.add(position, vec.scale(back, v)))
    vec.store(x.limited, vec.load(x.u))
    vec.store(x.limited_v, v)
    so3.store(x.u_q, so3.multiply(so3.exp(vec.scale(back, w)), q))
    behind = back - p.lag
    vec.store(x.p, vec.add(position, vec.scale(behind, v)))
    so3.store(x.q, so3.multiply(so3.exp(vec.scale(behind, w)), q))
    vec.store(x.v, v)
    vec.store(x.w, w)
    x.noise.key = p.key


ROBOT = StageKind(
    "robot",
    robot_step,
    reads=("X_WB_cmd", "V_WB_cmd"),
    writes=("X_WB_true", "V_WB_true"),
    state=record(
        line=delay.MOTION_LINE,
        p=3,
        v=3,
        q=4,
        w=3,
        u=3,
        u_q=4,
        limited=3,
        limited_v=3,
        noise=noise.NOISE,
    ),
    params=record(
        dt="f8",
        samples="f8",
        jitter="f8",
        lag="f8",
        rotates="i8",
        at_rest="i8",
        second_order="i8",
        limited="i8",
        key="u8",
        speed_limit="f8",
        acceleration_limit="f8",
        phi=("f8", (2, 2)),
        gamma=("f8", (2, 2)),
    ),
    pack=_pack,
    reset=robot_reset,
    looks_back=lambda p: p["samples"] + p["jitter"],
)
