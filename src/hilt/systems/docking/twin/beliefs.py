"""The twin's prior knowledge before any measurement: its stages are packed from this alone.

Created once per run (believe.py) from the scenario as the controller believes it to be and the errors of `prior`; no stage of
the twin has access to the true values.
"""

from dataclasses import dataclass

import numpy as np

from hilt.systems.docking.bending import Bending
from hilt.systems.docking.twin.prior import RobotParameters

Vector = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class TwinBeliefs:
    """Prior knowledge of the twin in SI units; positions and velocities in W."""

    rotates: bool
    # Frames
    normal: Vector  # from the rear to the front; the robot is also identified along it
    normal_doubt: float  # rad
    surfaces: tuple[float, float]  # front and rear along the normal
    gap: float
    stiffness: float
    threshold: float  # N, above which a force is a contact
    # Bodies
    mass: float  # reduced
    first_mass: float  # effective at the first touch
    lever_arms: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    tip_B: Vector
    start_of_tip: Vector
    approach: Vector  # velocity
    approach_speed: float
    # Robot
    robot: RobotParameters
    give: float  # m/N
    bending: Bending | None  # of a robot whose tip swings
    at_rest: bool  # at the start
    most_acceleration: float  # A
    most_speed: float  # V
    # Sensor and encoder
    sensor_position: Vector
    sensor_attitude: Vector  # w x y z
    sensor_delay: float
    force_noise: float
    position_noise: float
    velocity_noise: float
    realtime: bool  # the clock never runs slower

    @property
    def middle(self) -> float:
        """Midpoint between the frames, along the normal [m]."""
        return 0.5 * sum(self.surfaces)

    @property
    def start(self) -> float:
        """Initial position of the tip along the normal [m]."""
        return along(self.normal, self.start_of_tip)

    @property
    def start_speed(self) -> float:
        """Initial velocity of the robot's tip along the normal [m/s]."""
        return 0.0 if self.at_rest else along(self.normal, self.approach)


def along(n: Vector, a: Vector) -> float:
    return sum(part * other for part, other in zip(n, a, strict=True))
