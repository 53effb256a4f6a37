"""Whether a payload scenario can work: the operator's speed compared with the limits of the table."""

from hilt.analysis.check import Remark, limit
from hilt.systems.payload.payload import Payload


def check(scenario: Payload) -> list[Remark]:
    """A payload that follows a step reaches its speed; with a wall or a person the speed is not known in advance."""
    if scenario.operator.kind != "step":
        return []
    speed, limits = scenario.operator.speed, scenario.limits
    energy = 0.5 * scenario.payload.mass * speed**2
    return [
        limit("speed", "The operator commands", speed, "limits.speed", limits.speed, "m/s"),
        limit("energy", "The payload then has", energy, "limits.energy", limits.energy, "J"),
    ]
