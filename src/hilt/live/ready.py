"""Before a robot is armed: watch the rig while it is held, and ask the user."""

import math
from collections.abc import Callable

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device.protocol import LiveRig

LOOK = 0.02  # s between two checks of a READY rig
Ask = Callable[[], bool | None]  # polled while the robot is held: yes, no, or not answered yet


def watch_ready(rig: LiveRig, seconds: float, until: Callable[[], bool] = lambda: True, most: float = math.inf) -> None:
    """Watch the rig for `seconds`, and until a condition holds, at most for `most` [s]; trouble here prevents arming."""
    begin = clock.now()
    while clock.now() < begin + seconds or (not until() and clock.now() < begin + most):
        clock.pause(LOOK)
        if rig.trouble:
            raise InputError(f"the rig is not ready: {faults.explain(rig.trouble)}")


def check_ask(arm: str, ask: Ask | None) -> Ask | None:
    """Return the question to ask under `lab.arm`: none if the command itself is the consent; refused if it cannot be asked."""
    if arm == "ask" and ask is None:
        raise InputError("lab.arm is 'ask' but there is no terminal to ask at; run this in a terminal, or set lab.arm = 'run'")
    return ask if arm == "ask" else None


def wait_for_yes(rig: LiveRig, ask: Ask) -> None:
    """Hold the robot until there is an answer; anything but yes is a refusal."""
    while (answer := ask()) is None:
        watch_ready(rig, LOOK)
    if not answer:
        raise InputError("the robot was not armed; answer yes to arm it, or set lab.arm = 'run' in the rig file")
