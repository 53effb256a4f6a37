"""The fingers of a hand: what a command to close or to open does to the grip.

    k(t) = share(t) K,   d(t) = share(t) D        share: a quintic from 0, open, to 1, closed, in `grip.closing`

The spring's rest position is the grip's middle, as for a hand that is closed from the start: fingers that close on a
grip beside the middle pull it in, smoothly, since the stiffness rises from 0 without a step in its rate. The same law opens
them. A changing stiffness makes energy, ½ K e² per unit of share, at the stretch e: grip_ledger.py counts it.

A grip further away than the fingers reach when they begin to close is missed: they close on nothing, and stay without force
until they have been opened.
"""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths.quintic import quintic

HALF = 0.5  # a command above this opens the hand
FINGERS = record(open="f8", closing="i8", holds="i8")
FINGERS_PARAMS = record(open_first="i8", rate="f8", reach="f8")


def pack(p, closing: float, reach: float, open_first: bool) -> None:
    p.rate, p.reach, p.open_first = 1.0 / closing, reach, open_first


@jit
def reset(x, p):
    x.open = 1.0 if p.open_first else 0.0
    x.closing = x.holds = 0 if p.open_first else 1


@jit
def move(x, p, command_open, distance, dt):
    """Move the fingers towards the command; return how far they are open, as the grip feels it: 0 closed, 1 open.

    `distance`: from the hand to its grip, the largest of all hands.
    """
    if command_open:
        x.closing = x.holds = 0
    elif not x.closing:
        x.closing = 1
        x.holds = 1 if distance <= p.reach else 0
    x.open += -p.rate * dt if x.holds else p.rate * dt
    x.open = min(max(x.open, 0.0), 1.0)
    opened, _ = quintic(x.open)
    return opened
