"""The simulated body, as a scenario describes it."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.units import Inertia, Kilogram, Metre3, MetrePerSecond3, Newton, Quaternion, RadianPerSecond3

Kind = Literal["euler", "explicit", "passive", "passive-literal", "trapezoid", "momentum"]


def _diagonal(value: Any) -> Any:
    if isinstance(value, list | tuple) and len(value) == 3 and not any(isinstance(v, list | tuple) for v in value):
        return [[value[0], 0, 0], [0, value[1], 0], [0, 0, value[2]]]
    return value


# For a field called `inertia`: three numbers are the diagonal of the tensor.
diagonal_inertia = field_validator("inertia", mode="before")(_diagonal)


def check_inertia(inertia: np.ndarray, key: str) -> None:
    """Refuse a tensor that no rigid body can have."""
    if not np.allclose(inertia, inertia.T, rtol=1e-9, atol=0):
        raise Unfit(f"{key} is not symmetric; give Ixy = Iyx, Ixz = Izx and Iyz = Izy", key)
    small, middle, large = np.linalg.eigvalsh(inertia)
    if small <= 0:
        raise Unfit(
            f"{key} has the principal moment {small:g} kg·m²; all three must be greater than 0; correct the tensor", key
        )
    if large > (small + middle) * (1 + 1e-9):
        raise Unfit(
            f"{key} has principal moments {small:g}, {middle:g} and {large:g} kg·m², which no rigid body can have; "
            "the largest may be at most the sum of the others; correct the tensor",
            key,
        )


class Body(Section):
    """A free rigid body with 1 (along x), 3 (translation) or 6 degrees of freedom."""

    mass: Kilogram = Field(gt=0, description="of the simulated body")
    dof: Literal[1, 3, 6] = Field(default=6, description="along x, without turning, or free")
    inertia: Inertia = Field(
        default=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        description="about the centre of mass, in the body frame; three numbers are its diagonal",
        validate_default=True,
    )
    centre_of_mass: Metre3 = Field(default=(0.0, 0.0, 0.0), description="in the body frame")
    position: Metre3 = Field(default=(0.0, 0.0, 0.0), description="of the centre of mass at the start")
    velocity: MetrePerSecond3 = (0.0, 0.0, 0.0)
    attitude: Quaternion = Field(default=(1.0, 0.0, 0.0, 0.0), description="q_WB at the start, w x y z")
    angular_velocity: RadianPerSecond3 = Field(default=(0.0, 0.0, 0.0), description="at the start, in the body frame")

    _diagonal = diagonal_inertia

    @model_validator(mode="after")
    def _possible(self) -> "Body":
        check_inertia(np.array(self.inertia), "body.inertia")
        if self.dof != 6 and any(self.angular_velocity):
            raise Unfit(
                f"body.angular_velocity is given but body.dof is {self.dof}; set body.dof = 6 to let it turn",
                "body.angular_velocity",
                "body.dof",
            )
        if self.dof == 1 and any(self.velocity[1:]):
            raise Unfit(
                "body.velocity has parts along y or z but body.dof is 1; set body.dof = 3 or leave them 0 m/s",
                "body.velocity",
                "body.dof",
            )
        return self


class Integrator(Section):
    """The rule that advances the body from tick to tick.

    kind             velocity of the position     rotation
    euler            v(k+1)   [eq. 5]             Euler, attitude with the new angular velocity
    explicit         v(k)                         Euler, attitude with the old angular velocity
    passive          v(k+1) - v_pc, held force    momentum
    passive-literal  v(k+1) - v_pc, as printed    momentum
    trapezoid        the mean of both             momentum
    momentum         the mean of both             momentum
    """

    kind: Kind = "passive"
    force_threshold: Newton = Field(default=1e-9, ge=0, description="|F| below this counts as 0 in the controller")


@dataclass(frozen=True)
class SimulatedBody:
    """A body and the rule that computes its motion."""

    body: Body
    integrator: Integrator
