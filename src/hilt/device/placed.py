"""Where a robot stands and what it carries: the part of a rig file that every robot's driver has."""

from typing import Any

import numpy as np
from pydantic import Field

from hilt.core.scenario import Section
from hilt.core.signals import POSE
from hilt.core.units import Count, Metre, Metre3, Quaternion, Radian


class Place(Section):
    """A pose that never changes."""

    p: Metre3
    q: Quaternion


class PlacedRobot(Section):
    """What every driver must know about its robot."""

    X_WR: Place = Field(description="robot's base in the world")
    X_TB: Place = Field(description="mock-up in the controller's tool frame")
    step_limit: Metre = Field(gt=0, description="largest correction per cycle")
    turn_limit: Radian = Field(gt=0, description="largest correction per cycle")
    patience: Count = Field(gt=0, description="cycles without a packet after which the robot counts as silent")


def pose_of(place: Place) -> Any:
    pose = np.zeros(1, POSE)[0]
    pose["p"], pose["q"] = place.p, place.q
    return pose
