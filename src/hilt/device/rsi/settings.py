"""Settings of a robot with RSI in a rig file."""

from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator

from hilt.core.scenario import Section
from hilt.core.signals import POSE
from hilt.core.units import Count, Metre, Metre3, Quaternion, Radian
from hilt.device import peer


class Place(Section):
    """A pose that never changes."""

    p: Metre3
    q: Quaternion


class RsiSettings(Section):
    """What the driver must know about the robot and its RSI program."""

    correction: Literal["relative", "absolute"] = Field(
        description="as in the RSI program: relative to the last cycle, or to the pose at its start; the packets do not show "
        "which, and the wrong choice makes the robot run away up to its own limit"
    )
    X_WR: Place = Field(description="robot's base in the world")
    X_TB: Place = Field(description="mock-up in the controller's tool frame")
    step_limit: Metre = Field(gt=0, description="largest correction per cycle")
    turn_limit: Radian = Field(gt=0, description="largest correction per cycle")
    patience: Count = Field(gt=0, description="cycles without a packet after which the robot counts as silent")
    peer: str = Field(default="", description="the robot's own address, or address:port; other senders are ignored")
    sen_type: str = Field(default="ImFree", pattern=r"^\w+$", description="SENTYPE of the RSI configuration")

    @field_validator("peer")
    @classmethod
    def _one_sender(cls, text: str) -> str:
        if text:
            peer.parse(text)
        return text


def pose_of(place: Place) -> Any:
    pose = np.zeros(1, POSE)[0]
    pose["p"], pose["q"] = place.p, place.q
    return pose
