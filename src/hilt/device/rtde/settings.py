"""Settings of a Universal Robots robot, and of its force sensing, in a rig file."""

from typing import Literal

from pydantic import Field

from hilt.core.scenario import Section
from hilt.core.units import Count, Number, RadianPerSecond2, Second
from hilt.device.joints.settings import JointedRobot
from hilt.device.rtde.fields import REGISTERS
from hilt.device.rtde.script import POSE

CYCLES = (0.002, 0.008)  # [s] of e-Series and CB3 controllers


class RtdeSettings(JointedRobot):
    """What the driver must know about the robot, and passes on to the script on its controller."""

    lookahead: Second = Field(default=0.03, ge=0.03, le=0.2, description="lookahead_time of servoj, by which the robot lags")
    gain: Number = Field(default=300.0, ge=100, le=2000, description="gain of servoj")
    watchdog: Count = Field(
        default=10, ge=1, le=10_000, description="cycles without a set-point before the script stops the arm"
    )
    deceleration: RadianPerSecond2 = Field(default=3.0, gt=0, le=40, description="of the joints, when the script stops the arm")
    registers: Count = Field(
        default=24, ge=0, le=REGISTERS - POSE, description="first of six float and three integer registers, inputs and outputs"
    )


class RtdeForceSettings(Section):
    """What the driver must know about the robot's force sensing."""

    frame: Literal["tool", "base"] = Field(
        default="tool", description="axes of the wrench: of the tool, or of the robot's base"
    )
    reverse: bool = Field(default=False, description="reverse its sign; push the tool to find out")
    stale: Second = Field(gt=0, description="it is a fault if the newest sample is older than this")
    frozen: Second = Field(ge=0, description="it is a fault if the numbers stay the same for this long; 0 disables the check")
