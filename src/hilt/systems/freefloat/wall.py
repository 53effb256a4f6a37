"""Two spring-damper walls across the x axis, in front of and behind a point of the body.

f = -max(0, k δ + c δ')        δ' from the last two positions; a wall only pushes
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Metre3, NewtonPerMetre, NewtonSecondPerMetre
from hilt.dynamics.body import Body
from hilt.maths import so3, vec


class Wall(Section):
    """A wall in front (+x) and one behind (-x)."""

    stiffness: NewtonPerMetre = Field(gt=0)
    damping: NewtonSecondPerMetre = Field(default=0.0, ge=0)
    gap: Metre = Field(gt=0, description="distance from the start to each wall")
    point: Metre3 = Field(default=(0.0, 0.0, 0.0), description="point that touches the walls, in the body frame")


@jit
def wall_step(sig, x, p, dt):
    if not p.present:
        return
    q_WB = so3.load(sig.X_WB_true.q)
    r_W = so3.rotate(q_WB, vec.load(p.point_B))
    at = sig.X_WB_true.p[0] + r_W[0]
    if not x.started:
        x.at = at
        x.started = 1
    rate = (at - x.at) / dt
    x.at = at

    side = 0
    force = 0.0
    if at > p.front:
        side = 1
        force = -max(0.0, p.stiffness * (at - p.front) + p.damping * rate)
    elif at < p.rear:
        side = -1
        force = max(0.0, p.stiffness * (p.rear - at) - p.damping * rate)
    # A collision is counted when the point is back in the middle third of the gap.
    if sig.contact != 0 and side == 0:
        x.left += 1
    sig.contact = side
    if x.left >= p.collisions and abs(2.0 * at - p.front - p.rear) < (p.front - p.rear) / 3.0:
        sig.done = 1

    f = (force, 0.0, 0.0)
    arm_W = so3.rotate(q_WB, vec.load(p.p_BcmPoint_B))
    vec.store(sig.F_Bcm_true_W.f, vec.add(vec.load(sig.F_Bcm_true_W.f), f))
    vec.store(sig.F_Bcm_true_W.tau, vec.add(vec.load(sig.F_Bcm_true_W.tau), vec.cross(arm_W, f)))


@dataclass(frozen=True)
class Walls:
    """The walls, the body between them, and the contacts after which the run ends."""

    wall: Wall | None
    body: Body
    collisions: int


def _pack(p: np.record, config: Walls, loop: Cycle) -> None:
    wall, body = config.wall, config.body
    p.present = wall is not None
    if wall is None:
        return
    start = body.position[0] - body.centre_of_mass[0] + wall.point[0]
    p.front, p.rear = start + wall.gap, start - wall.gap
    p.stiffness, p.damping = wall.stiffness, wall.damping
    p.point_B = wall.point
    p.p_BcmPoint_B = [a - c for a, c in zip(wall.point, body.centre_of_mass, strict=True)]
    p.collisions = config.collisions


WALL = StageKind(
    "wall",
    wall_step,
    reads=("X_WB_true", "F_Bcm_true_W", "contact", "done"),
    writes=("F_Bcm_true_W", "contact", "done"),
    state=record(at="f8", started="i8", left="i8"),
    params=record(
        present="i8", front="f8", rear="f8", stiffness="f8", damping="f8", collisions="i8", point_B=3, p_BcmPoint_B=3
    ),
    pack=_pack,
)
