"""Whether an aerial scenario can work: stiffness of the human's hand, compared with the loop's stability limit."""

import math

from hilt.analysis.check import Remark, si
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.metrics import hand_limit


def check(scenario: Aerial) -> list[Remark]:
    most, hand = hand_limit(scenario), scenario.hand.stiffness
    key = "hand.stiffness"
    if not math.isfinite(most):
        return [Remark("hand", True, "No hand is too stiff for this loop.", key, hand)]
    start = f"The loop is stable with a hand of up to {si(most, 'N/m')}"
    if hand <= most:
        return [Remark("hand", True, f"{start}; this one has {si(hand, 'N/m')}.", key, hand, most)]
    if scenario.port_passivity.enabled:
        return [
            Remark(
                "hand", True, f"{start}; for this one of {si(hand, 'N/m')} the guard at the port adds damping.", key, hand, most
            )
        ]
    sentence = f"{start}, but this one has {si(hand, 'N/m')}: a softer hand or port_passivity.enabled = true is needed."
    return [Remark("hand", False, sentence, key, hand, most)]
