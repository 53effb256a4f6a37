"""Other forces on the payload: drag, and an obstacle that it may run into. The slave arm's wrist measures neither.

f = -c v - e max(0, k δ + d δ')        δ: how deep the centre of mass is beyond the obstacle, along the operator's direction e
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, NewtonPerMetre, NewtonSecondPerMetre
from hilt.dynamics.body import Body
from hilt.maths import so3, vec


class Hindrance(Section):
    """Unintended forces on the payload."""

    drag: NewtonSecondPerMetre = Field(default=0.0, ge=0)
    obstacle_distance: Metre | None = Field(
        default=None, ge=0, description="distance of an obstacle from the start; no obstacle by default"
    )
    obstacle_stiffness: NewtonPerMetre = Field(default=20e3, gt=0)
    obstacle_damping: NewtonSecondPerMetre = Field(default=1000.0, ge=0)


@jit
def hindrance_step(sig, x, p, dt):
    if not p.present:
        return
    q, e = so3.load(sig.X_WB_true.q), vec.load(p.direction)
    com_W = so3.rotate(q, vec.load(p.com_B))
    v = vec.add(vec.load(sig.V_WB_true.v), vec.cross(vec.load(sig.V_WB_true.w), com_W))
    f = vec.scale(-p.drag, v)
    depth = vec.dot(vec.add(vec.load(sig.X_WB_true.p), com_W), e) - p.wall
    if depth > 0.0:
        f = vec.sub(f, vec.scale(max(0.0, p.stiffness * depth + p.damping * vec.dot(v, e)), e))
    vec.store(sig.hindrance_W, f)
    vec.store(sig.F_Bcm_true_W.f, vec.add(vec.load(sig.F_Bcm_true_W.f), f))


@dataclass(frozen=True)
class HinderedPayload:
    """The payload, its hindrances, and the direction."""

    hindrance: Hindrance
    payload: Body
    direction: tuple[float, ...]  # of any length


def _pack(p: np.record, config: HinderedPayload, loop: Cycle) -> None:
    hindrance = config.hindrance
    p.present = hindrance.drag > 0 or hindrance.obstacle_distance is not None
    size = math.hypot(*config.direction)
    p.direction = [part / size for part in config.direction]
    p.com_B = config.payload.centre_of_mass
    p.drag, p.stiffness, p.damping = hindrance.drag, hindrance.obstacle_stiffness, hindrance.obstacle_damping
    start = sum(a * b for a, b in zip(p.direction, config.payload.position, strict=True))
    distance = hindrance.obstacle_distance
    p.wall = start + (math.inf if distance is None else distance)


HINDRANCE = StageKind(
    "hindrance",
    hindrance_step,
    reads=("X_WB_true", "V_WB_true", "F_Bcm_true_W", "hindrance_W"),
    writes=("F_Bcm_true_W", "hindrance_W"),
    params=record(present="i8", direction=3, com_B=3, drag="f8", wall="f8", stiffness="f8", damping="f8"),
    pack=_pack,
)
