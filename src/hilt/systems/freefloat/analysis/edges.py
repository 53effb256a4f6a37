"""The edges of `freefloat`: the delay, stiffness or mass at which a wall begins to speed up a body with every contact.

A wall of stiffness k that is felt τ late makes each rebound exp(πωτ/2) times as fast, ω = √(k/m), whatever the speed
(tests/theory/test_wall.py). τ is that of the whole loop, and here the tick is part of it: a force held over a tick, and the
integrator, add T/2 for the passive one and 0 to 3T/2 for the others (dynamics/integrators.py). After n contacts the loop has
made the share 1 - exp(-nπωτ) of the body's energy.

Left out: terms of (ωτ)², where in a tick a contact begins (at most (ωT)²/8 of the speed), damping of the wall, and the lead of
a robot, which removes delay only while the force changes slowly.
"""

import math

from hilt.core.verdict import DIVERGED_ENERGY
from hilt.metrics import delays
from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Form, Vital, around
from hilt.systems.freefloat.freefloat import FREEFLOAT, FreeFloat

LEAVES_OUT = "terms of (ωτ)², where in a tick a contact begins, and the guard's limits"


def limits(scenario: FreeFloat) -> tuple[Limit, ...]:
    """A verdict of `diverged`: speeds 25 % too high because of energy that the loop made."""
    return (Limit("energy_made", DIVERGED_ENERGY, words="diverged"),)


def goals(scenario: FreeFloat) -> tuple[Limit, ...]:
    """The scenario's own goal: energy neither made nor lost."""
    energy = scenario.goal.energy
    return (
        Limit("energy_made", energy),
        Limit("energy_made", -energy, below=True),
        Limit("position_error_m", scenario.goal.drift),
    )


def growth(scenario: FreeFloat) -> float:
    """ln of the speed after a contact over that before it: π ω τ/2."""
    assert scenario.wall is not None
    omega = math.sqrt(scenario.wall.stiffness / scenario.body.mass)
    return 0.5 * math.pi * omega * delays.table(FREEFLOAT, scenario)["whole"]


def forms(scenario: FreeFloat, limit: Limit) -> list[Form]:
    wall = scenario.wall
    simple = wall is not None and wall.damping == 0.0 and not scenario.push and not scenario.robot.lead
    if not simple or scenario.rotates or limit.below:
        return []
    if limit.metric == "energy_made" and limit.value < 1.0:
        enough = -0.5 * math.log1p(-limit.value)  # of ln of the speed
        name = "n π ω τ = -ln(1 - limit)"
        return [Form("wall", name, LEAVES_OUT, lambda each: each.collisions * growth(each) - enough)]
    if limit.metric in ("rebound_gain", "rebound_gain_error"):
        return [Form("wall", "π ω τ/2 = ln(1 + limit)", LEAVES_OUT, lambda each: growth(each) - math.log1p(limit.value))]
    return []


def vital(scenario: FreeFloat) -> list[Vital]:
    found = [around("robot.delay", scenario.robot.delay, most=0.1), around("body.mass", scenario.body.mass)]
    if scenario.wall is not None:
        found.append(around("wall.stiffness", scenario.wall.stiffness))
        found.append(
            around("wall.damping", scenario.wall.damping, most=math.sqrt(scenario.wall.stiffness * scenario.body.mass))
        )
    found.append(around("sensor.delay", scenario.sensor.delay, most=0.1))
    found.append(around("loop.period", scenario.loop.period, chosen=True))
    return found


def metrics(scenario: FreeFloat) -> list[str]:
    return ["energy_made", "rebound_gain_error"] if scenario.wall is not None else ["energy_made", "position_error_m"]
