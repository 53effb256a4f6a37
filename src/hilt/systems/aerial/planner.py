"""The path of the base: minimum jerk from way-point to way-point, at rest in each.

    s = (t - t_a)/(t_b - t_a):   p = p_a + (p_b - p_a)(10 s³ - 15 s⁴ + 6 s⁵);   v, a its derivatives;   yaw alike

Yaw is interpolated as a number, so 0 to 2π is a whole turn. Before the first and after the last arrival the base hovers.
"""

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre3, Radian, Second
from hilt.maths.quintic import quintic, quintic_bend

CAPACITY = 32  # way-points


class WayPoint(Section):
    """A position at which the base is at rest, and its time."""

    arrival: Second = Field(ge=0)
    position: Metre3 = Field(description="of the base, in N")
    yaw: Radian = 0.0


class Planner(Section):
    """The planned path of the base; it starts at the first way-point."""

    waypoints: tuple[WayPoint, ...] = Field(min_length=1, max_length=CAPACITY)

    @model_validator(mode="after")
    def _in_order(self) -> "Planner":
        for number, (a, b) in enumerate(zip(self.waypoints, self.waypoints[1:], strict=False), 1):
            if b.arrival <= a.arrival:
                raise Unfit(
                    f"planner.waypoints.{number}.arrival is {b.arrival:g} s, not later than the {a.arrival:g} s of the "
                    "previous way-point; give increasing arrivals",
                    f"planner.waypoints.{number}.arrival",
                )
        return self


@jit
def minimum_jerk(t, start, end):
    """Fraction of the path, and its first and second time derivatives, of a move from rest at `start` to rest at `end`."""
    if t <= start:
        return 0.0, 0.0, 0.0
    if t >= end:
        return 1.0, 0.0, 0.0
    rate = 1.0 / (end - start)
    s = (t - start) * rate
    place, slope = quintic(s)
    return place, slope * rate, quintic_bend(s) * rate * rate


@jit
def planner_step(sig, x, p, dt):
    while x.leg < p.count - 2 and sig.t >= p.arrival[x.leg + 1]:
        x.leg += 1
    a = x.leg
    b = min(a + 1, p.count - 1)
    place, speed, acceleration = minimum_jerk(sig.t, p.arrival[a], p.arrival[b])
    for i in range(3):
        span = p.place[b, i] - p.place[a, i]
        sig.p_bd_N[i] = p.place[a, i] + place * span
        sig.v_bd_N[i] = speed * span
        sig.a_bd_N[i] = acceleration * span
    turn = p.place[b, 3] - p.place[a, 3]
    sig.yaw_bd = p.place[a, 3] + place * turn
    sig.yaw_rate_bd = speed * turn
    sig.yaw_acc_bd = acceleration * turn


def _pack(p: np.record, planner: Planner, loop: Cycle) -> None:
    waypoints = planner.waypoints
    p.count = len(waypoints)
    for k, point in enumerate(waypoints):
        p.arrival[k] = point.arrival
        p.place[k] = (*point.position, point.yaw)


PLANNER = StageKind(
    "planner",
    planner_step,
    reads=("t",),
    writes=("p_bd_N", "v_bd_N", "a_bd_N", "yaw_bd", "yaw_rate_bd", "yaw_acc_bd"),
    state=record(leg="i8"),
    params=record(count="i8", arrival=CAPACITY, place=("f8", (CAPACITY, 4))),
    pack=_pack,
)
