"""Settings of a robot with RSI in a rig file."""

from typing import Literal

from pydantic import Field, field_validator

from hilt.device import peer
from hilt.device.joints.settings import JointedRobot


class RsiSettings(JointedRobot):
    """What the driver must know about the robot and its RSI program."""

    correction: Literal["relative", "absolute"] = Field(
        description="as in the RSI program: relative to the last cycle, or to the pose at its start; the packets do not "
        "show which, and with the wrong choice the robot runs away up to its own limit"
    )
    peer: str = Field(default="", description="the robot's own address, or address:port; other senders are ignored")
    sen_type: str = Field(default="ImFree", pattern=r"^\w+$", description="SENTYPE of the RSI configuration")

    @field_validator("peer")
    @classmethod
    def _one_sender(cls, text: str) -> str:
        if text:
            peer.parse(text)
        return text
