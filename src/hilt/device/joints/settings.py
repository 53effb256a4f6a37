"""Settings of a robot that takes joint angles, in a rig file: `[robot.joints]`."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from hilt.core.faults import InputError, Unfit
from hilt.core.scenario import Section
from hilt.core.units import Metre, Number, Positive, Radian, RadianPerSecond, RadianPerSecond2
from hilt.device.joints import urdf
from hilt.device.joints.urdf import Kinematics
from hilt.device.placed import PlacedRobot

SHIPPED = Path(__file__).parents[1] / "rigs"


class JointSettings(Section):
    """The robot's arm, and joint limits that the URDF lacks or that should be tighter."""

    urdf: str = Field(min_length=1, description="file with the arm: beside the rig file, or one that comes with hilt")
    base: str = Field(description="link of the URDF at which X_WR is")
    tip: str = Field(description="link of the URDF that is the tool frame")
    posture: tuple[Radian, ...] = Field(
        description="joint angles near the scenario's start; they select one of the arm's postures"
    )
    acceleration: RadianPerSecond2 = Field(gt=0, description="largest, of every joint")
    speed: Positive[RadianPerSecond] | None = Field(default=None, description="largest, of every joint, if below the URDF's")
    margin: Radian = Field(default=0.0, ge=0, description="distance that every joint keeps from the URDF's limits")
    singular: Number = Field(
        default=0.03, gt=0, le=1, description="smallest singular value of the Jacobian (m, rad) that is allowed"
    )
    tolerance: Metre = Field(
        default=0.005, gt=0, description="largest distance between the URDF's tip and the tool that the controller reports"
    )

    def kinematics(self) -> Kinematics:
        """Read the file; an InputError says what does not fit."""
        found = urdf.read(SHIPPED / self.urdf, self.base, self.tip)  # an absolute path is not changed
        if len(self.posture) != found.joints:
            raise InputError(
                f"joints.posture has {len(self.posture)} angles, but {self.urdf} has {found.joints} joints from {self.base} "
                f"to {self.tip}; give one for each",
                "joints.posture",
            )
        for name, angle, low, high in zip(found.names, self.posture, found.lower, found.upper, strict=True):
            if not low + self.margin <= angle <= high - self.margin:
                raise InputError(
                    f"joints.posture is {angle:g} rad for {name}, which may turn from {low + self.margin:g} to "
                    f"{high - self.margin:g} rad; change it",
                    "joints.posture",
                )
        return found


class JointedRobot(PlacedRobot):
    """A robot that takes poses of its tool, or angles of its joints."""

    JOINTS: ClassVar[int] = 6  # that the driver's protocol has
    command: Literal["pose", "joints"] = Field(default="pose", description="what is sent to the robot")
    joints: JointSettings | None = Field(default=None, description="the arm, for command = 'joints'")

    @model_validator(mode="after")
    def _has_arm(self) -> "JointedRobot":
        if self.command == "joints" and self.joints is None:
            raise Unfit(
                "command is 'joints', but the table joints is missing; add [robot.joints] with urdf, base and tip", "joints"
            )
        if self.command == "pose" and self.joints is not None:
            raise Unfit("joints is given, but command is 'pose'; set command = 'joints', or remove the table", "command")
        if self.joints is not None and len(self.joints.posture) != self.JOINTS:
            raise Unfit(
                f"joints.posture has {len(self.joints.posture)} angles, but robots of this driver have {self.JOINTS} joints; "
                "give one for each",
                "joints.posture",
            )
        return self
