"""The robot of a contact, which may yield under load."""

import math

from pydantic import Field, model_validator

from hilt.core.faults import Unfit
from hilt.core.units import Hertz, NewtonPerMetre, Number
from hilt.plant.robot import Robot
from hilt.systems.docking.bending import Bending


class GivingRobot(Robot):
    """Robot of a contact, which may yield under load."""

    stiffness: NewtonPerMetre = Field(
        default=0.0, ge=0, description="stiffness of the robot under a load at the tip, not seen by its encoders; 0 for rigid"
    )
    mode_frequency: Hertz = Field(
        default=0.0, ge=0, description="natural frequency of the bending robot with its motors held; 0: a massless spring"
    )
    mode_damping_ratio: Number = Field(default=0.05, ge=0, le=1, description="of that mode")

    @property
    def bends(self) -> bool:
        """Whether the tip has a motion of its own."""
        return self.stiffness > 0.0 and self.mode_frequency > 0.0

    @property
    def bending(self) -> Bending:
        return Bending(self.stiffness, 2.0 * math.pi * self.mode_frequency, self.mode_damping_ratio)

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
