"""The robot of a contact, which may yield under load."""

import math

from pydantic import Field, model_validator

from hilt.core.faults import Unfit
from hilt.core.units import Count, Hertz, Metre, Newton, NewtonPerMetre, Number, Second
from hilt.plant.robot import Robot, RobotResponse
from hilt.systems.docking.arm import Arm, SecondMode, damping_range
from hilt.systems.docking.bending import Bending
from hilt.systems.docking.servo import HIGHEST_ORDER, LONGEST_WINDOW, Servo, ticks_of_window

HIGHEST = 100  # times the first mode: above this the second mode acts like a massless spring


class GivingRobot(Robot):
    """Robot of a contact, which may yield under load."""

    stiffness: NewtonPerMetre = Field(
        default=0.0, ge=0, description="stiffness of the robot under a load at the tip, not seen by its encoders; 0 for rigid"
    )
    mode_frequency: Hertz = Field(
        default=0.0, ge=0, description="natural frequency of the bending robot with its motors held; 0: a massless spring"
    )
    mode_damping_ratio: Number = Field(default=0.05, ge=0, le=1, description="of that mode")

    second_mode_frequency: Hertz = Field(
        default=0.0, ge=0, description="natural frequency of a second mode, motors held; 0: none"
    )
    second_mode_share: Number = Field(
        default=0.2, gt=0, lt=1, description="part of the compliance 1/robot.stiffness that is due to the second mode"
    )
    second_mode_damping_ratio: Number | None = Field(
        default=None, ge=0, description="of the second mode; if not given, in proportion to its frequency"
    )
    backlash: Metre = Field(
        default=0.0, ge=0, description="total play between motors and arm, measured at the tip; not seen by the encoders"
    )
    stiffness_slope: Number = Field(
        default=0.0,
        ge=-1000,
        le=1000,
        description="1/m: relative change of robot.stiffness with the posture, per metre along frames.normal",
    )
    gear_friction: Newton = Field(
        default=0.0, ge=0, description="dry friction in the gears as a force at the tip, opposing the motion"
    )
    order: Count = Field(
        default=2,
        ge=2,
        le=HIGHEST_ORDER,
        description="of the response; each order above two adds a lag of 1/ω_n to robot.delay, unknown to the controllers",
    )
    interpolation: Second = Field(
        default=0.0, ge=0, description="time over which the robot averages set-points; half of it is added to robot.delay"
    )
    motor_stiffness: NewtonPerMetre = Field(
        default=0.0, ge=0, description="of the position control against a load at the tip, seen by the encoders; 0 for rigid"
    )

    @property
    def bends(self) -> bool:
        """Whether the tip swings on its own."""
        return self.stiffness > 0.0 and self.mode_frequency > 0.0

    @property
    def bending(self) -> Bending:
        return Bending(self.stiffness, 2.0 * math.pi * self.mode_frequency, self.mode_damping_ratio)

    @property
    def is_arm(self) -> bool:
        """Whether there is more than one mode, or play or friction, between motors and tip."""
        return (
            self.second_mode_frequency > 0.0 or self.backlash > 0.0 or self.stiffness_slope != 0.0 or self.gear_friction > 0.0
        )

    @property
    def arm(self) -> Arm:
        return Arm(self.bending, self._second, self.backlash, self.stiffness_slope, self.gear_friction)

    @property
    def is_servo(self) -> bool:
        """Whether its controller is more than dead time and second order."""
        return self.order > 2 or self.interpolation > 0.0 or self.motor_stiffness > 0.0

    def servo(self, own: float, rotates: bool) -> Servo:
        """The robot's controller; `own` is the robot's own lag [s]."""
        return Servo(RobotResponse(self, own, rotates), self.order, self.interpolation, self.motor_stiffness)

    def check(self, own: float, period: float, name: str = "robot") -> None:
        super().check(own, period, name)
        if self.order > 2 and self.natural_frequency(own) == 0.0:
            raise Unfit(
                f"robot.order is {self.order}, but robot.kind is {self.kind}, which has no natural frequency; "
                "set robot.kind = 'second-order', or leave out robot.order",
                "robot.order",
                "robot.kind",
            )
        ticks = ticks_of_window(self.interpolation, period)
        if self.interpolation > 0.0 and not 1 <= ticks <= LONGEST_WINDOW:
            raise Unfit(
                f"robot.interpolation is {self.interpolation:g} s; at loop.period = {period:g} s it must be {period:g} to "
                f"{LONGEST_WINDOW * period:g} s; change it or loop.period",
                "robot.interpolation",
                "loop.period",
            )

    @property
    def _second(self) -> SecondMode | None:
        if not (self.bends and self.second_mode_frequency > 0.0):
            return None
        zeta = self.second_mode_damping_ratio
        if zeta is None:  # dampers in proportion to the springs
            zeta = self.mode_damping_ratio * self.second_mode_frequency / self.mode_frequency
        return SecondMode(2.0 * math.pi * self.second_mode_frequency, zeta, self.second_mode_share)

    @model_validator(mode="after")
    def _mode_of_a_spring(self) -> "GivingRobot":
        if self.mode_frequency > 0.0 and self.stiffness == 0.0:
            raise Unfit(
                f"robot.mode_frequency is {self.mode_frequency:g} Hz but robot.stiffness is 0, which means rigid; "
                "give robot.stiffness, or leave out robot.mode_frequency",
                "robot.mode_frequency",
                "robot.stiffness",
            )
        return self

    @model_validator(mode="after")
    def _arm_with_a_mode(self) -> "GivingRobot":
        for key, unit in (
            ("second_mode_frequency", " Hz"),
            ("backlash", " m"),
            ("stiffness_slope", "/m"),
            ("gear_friction", " N"),
        ):
            if getattr(self, key) != 0.0 and not self.bends:
                raise Unfit(
                    f"robot.{key} is {getattr(self, key):g}{unit}, but the robot has no mode; "
                    f"give robot.stiffness and robot.mode_frequency, or leave out robot.{key}",
                    f"robot.{key}",
                    "robot.mode_frequency",
                )
        return self

    @model_validator(mode="after")
    def _two_modes(self) -> "GivingRobot":
        second = self._second
        if second is None:
            return self
        if not 1.01 <= self.second_mode_frequency / self.mode_frequency <= HIGHEST:
            raise Unfit(
                f"robot.second_mode_frequency is {self.second_mode_frequency:g} Hz; it must be 1.01 to {HIGHEST} times "
                f"robot.mode_frequency, which is {self.mode_frequency:g} Hz; change it, or set it to 0 for one mode",
                "robot.second_mode_frequency",
                "robot.mode_frequency",
            )
        low, high = damping_range(self.bending, second)
        if self.second_mode_damping_ratio is not None and not low <= self.second_mode_damping_ratio <= high:
            raise Unfit(
                f"robot.second_mode_damping_ratio is {self.second_mode_damping_ratio:g}; with robot.mode_damping_ratio = "
                f"{self.mode_damping_ratio:g} two dampers allow {low:.3g} to {high:.3g}; choose a value in this range",
                "robot.second_mode_damping_ratio",
                "robot.mode_damping_ratio",
            )
        return self
