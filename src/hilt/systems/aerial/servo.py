"""The position servo of the hardware arm: a first-order lag or a second-order system, after a pure delay.

    lag           e^(-s t_d) / (1 + s t_l)
    second-order  e^(-s t_d) ω_n² / (s² + 2ζ ω_n s + ω_n²)

Both are solved exactly by the step of `plant/robot.py` with their own matrices. The controller inside the arm either holds a
set-point from its arrival (`zero`) or moves to it linearly within the tick (`linear`), half a tick later.
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Number, RadianPerSecond, Second
from hilt.plant.robot import ROBOT, check_fits, robot_step, second_order_matrices


class Servo(Section):
    """Response of the hardware arm to its set-points."""

    kind: Literal["lag", "second-order"]
    delay: Second = Field(default=0.0, ge=0, description="pure delay t_d")
    lag: Second = Field(default=0.0, ge=0, description="t_l, for kind lag")
    natural_frequency: RadianPerSecond = Field(default=0.0, ge=0, description="ω_n, for kind second-order")
    damping_ratio: Number = Field(default=1.0, gt=0, le=1000, description="ζ, for kind second-order")
    hold: Literal["zero", "linear"] = Field(default="linear", description="what the arm does between two set-points")

    @model_validator(mode="after")
    def _consistent(self) -> "Servo":
        if self.kind == "lag" and self.lag == 0.0:
            raise Unfit("servo.lag is 0 s; a servo of kind lag needs more than 0 s; give its time constant", "servo.lag")
        if self.kind == "second-order" and self.natural_frequency == 0.0:
            raise Unfit(
                "servo.natural_frequency is 0 rad/s; a second-order servo needs more; give the identified one",
                "servo.natural_frequency",
            )
        return self

    @property
    def whole_lag(self) -> float:
        """Lag of the servo behind a slow motion [s]."""
        own = self.lag if self.kind == "lag" else 2.0 * self.damping_ratio / self.natural_frequency
        return self.delay + own

    def check(self, period: float) -> None:
        check_fits(self.delay, period, "servo.delay")

    def matrices(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Exact step: state [x, x'] after dt from the state and the set-points at both ends."""
        if self.kind == "lag":
            keep = math.exp(-dt / self.lag)
            after = 1.0 - self.lag / dt * (1.0 - keep)
            before = 1.0 - keep - after
            phi = np.array([[keep, 0.0], [-keep / self.lag, 0.0]])
            gamma = np.array([[before, after], [-before / self.lag, (1.0 - after) / self.lag]])
        else:
            phi, gamma = second_order_matrices(self.natural_frequency, self.damping_ratio, dt)
        if self.hold == "zero":
            gamma = np.column_stack([np.zeros(2), gamma.sum(axis=1)])
        return phi, gamma


def _pack(p: np.record, servo: Servo, loop: Cycle) -> None:
    dt = loop.period
    p.dt = dt
    p.samples = servo.delay / dt
    p.rotates = 1
    p.second_order = 1
    p.phi, p.gamma = servo.matrices(dt)
    p.lag = servo.whole_lag - servo.delay
    p.speed_limit = p.acceleration_limit = 1e12


SERVO = StageKind(
    "servo",
    robot_step,
    reads=ROBOT.reads,
    writes=ROBOT.writes,
    state=ROBOT.state,
    params=ROBOT.params,
    pack=_pack,
    reset=ROBOT.reset,
)
