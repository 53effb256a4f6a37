"""Settings of a Franka robot, and of the wrench that it estimates, in a rig file."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.units import (
    Metre,
    MetrePerSecond2,
    MetrePerSecondCubed,
    Newton,
    NewtonMetre,
    Number,
    Positive,
    Radian,
    RadianPerSecond2,
    Second,
)
from hilt.device.fci.codec import JOINTS
from hilt.device.joints.settings import JointedRobot, JointSettings

# Limits of a Franka Research 3 for the pose of its tool: a command beyond one of them triggers a reflex.
SPEED, ACCELERATION, JERK = 3.0, 9.0, 4500.0  # [m/s], [m/s²], [m/s³]
TURN_SPEED, TURN_ACCELERATION, TURN_JERK = 2.5, 17.0, 8500.0  # the same in rad
JOINT_ACCELERATION, JOINT_JERK = 10.0, 5000.0  # [rad/s²], [rad/s³], of every joint; speeds are in its URDF
_OF_POSES = ("acceleration", "jerk", "angular_acceleration", "angular_jerk")


class FciJoints(JointSettings):
    """The arm of a Franka robot. Commands are bounded by these, so that they trigger no reflex."""

    acceleration: RadianPerSecond2 = Field(default=6.5, gt=0, le=JOINT_ACCELERATION, description="largest, of every joint")
    jerk: Number = Field(default=3250.0, gt=0, le=JOINT_JERK, description="largest, of every joint, rad/s³")


class FciSettings(JointedRobot):
    """What the driver must know about the robot. Its commands are bounded by these, whatever the loop commands."""

    JOINTS: ClassVar[int] = JOINTS
    joints: FciJoints | None = Field(default=None, description="the arm, for command = 'joints'")
    step_limit: Metre = Field(gt=0, le=1e-3 * SPEED, description="largest step per cycle")
    turn_limit: Radian = Field(gt=0, le=1e-3 * TURN_SPEED, description="largest turn per cycle")
    acceleration: MetrePerSecond2 = Field(default=6.0, gt=0, le=ACCELERATION, description="of commands")
    jerk: MetrePerSecondCubed = Field(default=3000.0, gt=0, le=JERK, description="of commands")
    angular_acceleration: RadianPerSecond2 = Field(default=11.0, gt=0, le=TURN_ACCELERATION, description="of commands")
    angular_jerk: Number = Field(default=5500.0, gt=0, le=TURN_JERK, description="of commands, rad/s³")
    controller: Literal["joint", "cartesian"] = Field(
        default="joint", description="impedance controller of the robot that follows the commands"
    )
    collision_force: Positive[Newton] | None = Field(
        default=None, description="force at the tool that the robot treats as a collision; if not given, its own setting"
    )
    collision_torque: Positive[NewtonMetre] | None = Field(
        default=None, description="the same for the torque of a joint; give both or neither"
    )

    @model_validator(mode="after")
    def _of_the_command(self) -> "FciSettings":
        given = [name for name in _OF_POSES if name in self.model_fields_set]
        if self.command == "joints" and given:
            raise Unfit(
                f"{given[0]} is given, which limits pose commands, but command is 'joints'; give joints.acceleration and "
                "joints.jerk instead",
                *given,
            )
        return self

    @model_validator(mode="after")
    def _both(self) -> "FciSettings":
        if (self.collision_force is None) != (self.collision_torque is None):
            raise Unfit(
                "only one of collision_force and collision_torque is given, but the robot needs both; add the other",
                "collision_force",
                "collision_torque",
            )
        return self


class FciForceSettings(Section):
    """What the driver must know about the wrench that the robot estimates."""

    frame: Literal["stiffness", "base"] = Field(
        default="stiffness", description="axes of the wrench: of the robot's stiffness frame K, or of its base"
    )
    reverse: bool = Field(default=False, description="reverse its sign; push the tool to find out")
    stale: Second = Field(gt=0, description="it is a fault if the newest sample is older than this")
    frozen: Second = Field(ge=0, description="it is a fault if the numbers stay the same for this long; 0 disables the check")
