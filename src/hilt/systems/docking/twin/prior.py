"""Prior knowledge of the controller before any measurement, and its errors.

The controller knows the kind of robot, its identified parameters, the approximate contact stiffness, the nominal positions of
the frames, and its own limits. Errors are relative to the true values of the scenario; the controller does not know them.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from hilt.core.guard import UNLIMITED, Limits
from hilt.core.scenario import Section
from hilt.core.units import Metre, Number, Radian
from hilt.systems.docking.bending import Bending


class CommandLimits(Limits):
    """Limits of the hardware; method `twin` keeps its commands within the two ratios by itself."""

    command_acceleration_ratio: Number = Field(
        default=5.0, gt=0, description="n: commanded acceleration is at most n·v0·ω, with ω = √(k/m) of the front frame"
    )
    command_speed_ratio: Number = Field(
        default=1.5, gt=1, description="commanded speed is at most this multiple of the approach speed"
    )


UNLIMITED_COMMANDS = CommandLimits.model_construct(**UNLIMITED.model_dump())


@dataclass(frozen=True)
class RobotParameters:
    """T2 ẍ + T1 ẋ + x = u(t - t_d)"""

    t_d: float
    T1: float
    T2: float

    @property
    def lag(self) -> float:
        return self.t_d + self.T1


class Prior(Section):
    """Errors of the controller's prior knowledge, for method twin."""

    stiffness_error: Number = Field(default=0.0, gt=-1, le=1000, description="relative, of the contact's stiffness")
    delay_error: Number = Field(default=0.0, ge=-1, le=1000, description="relative, of the robot's dead time")
    frequency_error: Number = Field(default=0.0, gt=-1, le=1000, description="relative, of the robot's natural frequency")
    damping_error: Number = Field(default=0.0, gt=-1, le=1000, description="relative, of the robot's damping ratio")
    surface_error: Metre = Field(default=0.0, description="both frames are believed to be this much further out than they are")
    compliance_error: Number = Field(
        default=0.0, ge=-1, le=1000, description="relative, of the robot's compliance; -1: not known"
    )
    mode_frequency_error: Number = Field(
        default=0.0, gt=-1, le=1000, description="relative, of the frequency of the robot's bending"
    )
    mode_damping_error: Number = Field(default=0.0, ge=-1, le=1000, description="relative, of the damping of that mode")
    normal_error: Radian = Field(default=0.0, description="angle by which the believed normal of the frames is turned")
    normal_azimuth: Radian = Field(default=0.0, description="direction of that turn, as an angle about the normal")
    normal_doubt: Radian = Field(default=0.0, ge=0, lt=0.5, description="uncertainty of the normal; 0: exact")

    def stiffness(self, scenario: Any) -> float:
        return float(scenario.contact.stiffness * (1.0 + self.stiffness_error))

    def give(self, scenario: Any) -> float:
        """Compliance C of the robot [m/N]."""
        stiffness = scenario.robot.stiffness
        return float((1.0 + self.compliance_error) / stiffness) if stiffness > 0 else 0.0

    def bending(self, scenario: Any) -> Bending | None:
        """Believed bending of a robot whose tip swings; None if the compliance is unknown."""
        give, robot = self.give(scenario), scenario.robot
        if not (robot.bends and give > 0.0):
            return None
        true = robot.bending
        frequency = true.frequency * (1.0 + self.mode_frequency_error)
        return Bending(1.0 / give, frequency, true.damping_ratio * (1.0 + self.mode_damping_error))

    def robot(self, scenario: Any) -> RobotParameters:
        robot, own = scenario.robot, scenario.robot_lag
        t_d, omega = robot.pure(own) * (1.0 + self.delay_error), robot.natural_frequency(own) * (1.0 + self.frequency_error)
        zeta = robot.damping_ratio * (1.0 + self.damping_error)
        return RobotParameters(t_d, 2.0 * zeta / omega, omega**-2) if omega > 0 else RobotParameters(t_d, 0.0, 0.0)

    def normal(self, scenario: Any) -> tuple[float, ...]:
        """Believed normal of the frames; in one degree of freedom the x axis."""
        if not scenario.rotates:
            return tuple(scenario.frames.n_W)
        n = np.array(scenario.frames.n_W)
        first = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        first /= np.linalg.norm(first)
        towards = math.cos(self.normal_azimuth) * first + math.sin(self.normal_azimuth) * np.cross(n, first)
        return tuple(float(a) for a in math.cos(self.normal_error) * n + math.sin(self.normal_error) * towards)

    def surfaces(self, scenario: Any) -> tuple[float, float]:
        """Believed positions of front and rear frame along the believed normal [m]."""
        middle = sum(n * a for n, a in zip(self.normal(scenario), scenario.start_of_tip, strict=True))
        free = scenario.frames.gap - scenario.rod.radius + self.surface_error
        return middle + free, middle - free


def limits_of(scenario: Any) -> tuple[float, float]:
    """A = n·v0·ω and V. These are hardware limits, so ω is the true one, whatever the controller believes."""
    speed = scenario.approach.speed
    omega = math.sqrt(scenario.contact.stiffness / scenario.reduced_mass)
    limits = scenario.limits
    return limits.command_acceleration_ratio * speed * omega, limits.command_speed_ratio * speed
