"""Feedback of the base's motion to the human: part of the port, since the hardware shows it. Offline.

A force f at the tool moves the base by e, sideways through the attitude (A), upwards at once (A = 1):

    m s² e = f - A [(K_v s + K_p) e + E f],     A = K_R/(I s² + K_ω s + K_R),     E = w²/(s + w)², 0 without the estimator
    e/f = (1 - A E)/(m s² + A (K_v s + K_p))

and comes back one tick later through the low-pass on the displayed motion. The lever of the force and the box are neglected.
"""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class BasePath:
    """One axis of flight control, and the low-pass on the motion that the hardware shows."""

    mass: float
    stiffness: float  # K_p
    damping: float  # K_v
    attitude: tuple[float, float, float] | None  # I, K_ω, K_R of the turn that a sideways force needs; None upwards
    estimator: float  # rad/s, 0 for none
    bandwidth: float  # rad/s, of what is shown

    def shown(self, s: np.ndarray, z: np.ndarray, period: float) -> np.ndarray:
        """Metres of commanded hardware motion per newton held over a tick."""
        A = np.ones_like(s)
        if self.attitude is not None:
            inertia, damping, stiffness = self.attitude
            A = stiffness / (inertia * s**2 + damping * s + stiffness)
        E = self.estimator**2 / (s + self.estimator) ** 2 if self.estimator > 0.0 else 0.0 * s
        moves = (1.0 - A * E) / (self.mass * s**2 + A * (self.damping * s + self.stiffness))
        held = (1.0 - np.exp(-s * period)) / (s * period)
        b = 1.0 - math.exp(-self.bandwidth * period)
        return np.asarray(moves * held * b * z / (z - 1.0 + b) / z)


def base_paths(scenario) -> list[BasePath]:
    """Sideways and upwards; empty if the hardware does not show the base's motion."""
    if scenario.hardware.base_box == 0.0:
        return []
    flight, estimator = scenario.flight, scenario.estimator
    turn = (scenario.vehicle.inertia[1][1], flight.attitude_damping[1], flight.attitude_stiffness[1])
    return [
        BasePath(
            mass=scenario.vehicle.mass,
            stiffness=flight.stiffness[axis],
            damping=flight.damping[axis],
            attitude=turn if axis == 0 else None,
            estimator=estimator.bandwidth if estimator.enabled else 0.0,
            bandwidth=scenario.hardware.base_bandwidth,
        )
        for axis in (0, 2)
    ]
