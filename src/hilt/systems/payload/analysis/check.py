"""Can a payload scenario work at all? The speed that the operator asks for against what the table is allowed."""

from hilt.analysis.check import Remark, limit
from hilt.systems.payload.payload import Payload


def check(scenario: Payload) -> list[Remark]:
    """A payload that follows a step of speed reaches it; a hand that meets a wall, or a person, decides by itself."""
    if scenario.operator.kind != "step":
        return []
    speed, limits = scenario.operator.speed, scenario.limits
    energy = 0.5 * scenario.payload.mass * speed**2
    return [
        limit("speed", "The operator asks for", speed, "limits.speed", limits.speed, "m/s"),
        limit("energy", "The payload then has", energy, "limits.energy", limits.energy, "J"),
    ]
