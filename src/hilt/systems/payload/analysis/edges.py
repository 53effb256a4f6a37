"""The edges of `payload`: how far the slave hand may be from the virtual one, and when a link returns more than it received.

There is no closed form: the loop through the table is led and filtered, and that through the link is closed by a human.
"""

from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Vital, around
from hilt.systems.payload.goal import LEDGER_ROUNDING
from hilt.systems.payload.payload import Payload


def limits(scenario: Payload) -> tuple[Limit, ...]:
    """With a hand on the master: energy made by the link, or forces that settle too late; otherwise the hands too far apart."""
    if scenario.bilateral_mode:
        made = Limit("books_min_J", -LEDGER_ROUNDING, below=True, words="the link makes energy")
        return made, Limit("settling_time_s", scenario.goal.settling)
    if scenario.link.outage_duration > 0.0:
        return (Limit("travel_after_outage_m", scenario.goal.travel),)
    return (Limit("position_error_m", scenario.goal.following),)


def vital(scenario: Payload) -> list[Vital]:
    found = [around("link.delay", scenario.link.delay, most=10.0)]
    if scenario.bilateral_mode:
        found.append(around("hand.stiffness", scenario.hand.stiffness))
        found.append(around("force_arm.wall_stiffness", scenario.force_arm.wall_stiffness, most=1e6))
        return found
    found.append(around("payload.mass", scenario.payload.mass))
    found.append(around("table.delay", scenario.table.delay, most=0.2))
    found.append(around("arm.delay", scenario.arm.delay, most=0.05))
    found.append(around("operator.speed", scenario.operator.speed, chosen=True))
    return found


def metrics(scenario: Payload) -> list[str]:
    return ["settling_time_s", "peak_force_N"] if scenario.bilateral_mode else ["position_error_m", "peak_force_N"]
