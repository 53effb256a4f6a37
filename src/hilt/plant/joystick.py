"""A joystick in shared memory: another process writes it, the plant reads it, the recording keeps what was read.

Eight numbers: a counter that is odd during a write, six axes from -1 to 1 (three of speed, three of turn), and a heartbeat
that changes while a writer is present. Without a new beat for a fifth of a second the stick counts as released: all axes are 0.

Without a name there is no shared memory: the loop's mailbox moves the signal itself (live/overseer.py).
"""

import atexit
from collections.abc import Sequence

import numpy as np

from hilt.compiled import jit, memcpy
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.host import machine
from hilt.host.seqlock import SeqLock
from hilt.host.shared import Segment

NUMBERS = 8
BYTES = 8 * NUMBERS
COUNT, AXES, BEAT = 0, 1, 7
PATIENCE = 0.2  # s without a beat


def _joined() -> dict[str, Segment]:
    return machine.own("joysticks", dict[str, Segment])


_numbers: dict[str, list[np.ndarray]] = {}  # never freed: the parameters of an old run may still point there


def _memory(name: str) -> np.ndarray:
    """The shared numbers, created if they do not exist yet."""
    if name not in _joined():
        segment = _joined()[name] = Segment.join(name, BYTES)
        _numbers.setdefault(name, []).append(np.frombuffer(segment.memory, np.float64))
    return _numbers[name][-1]


@atexit.register
def release() -> None:
    """Release all names; the last process that holds one removes it. Safe to call twice."""
    while _joined():
        _joined().popitem()[1].close()


class Joystick:
    """The writer's side: `Joystick("joystick").move([1, 0, 0])`, repeatedly, or the loop treats the stick as released."""

    def __init__(self, name: str) -> None:
        self._numbers = _memory(name)
        self._lock = SeqLock(self._numbers[COUNT : COUNT + 1])

    def move(self, speed: Sequence[float], turn: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        with self._lock.writing():
            self._numbers[AXES:BEAT] = np.clip([*speed, *turn], -1.0, 1.0)
            self._numbers[BEAT] += 1.0


@jit
def joystick_step(sig, x, p, dt):
    if p.address == 0:
        return
    memcpy(x.read.ctypes.data, p.address, BYTES)
    memcpy(x.again.ctypes.data, p.address, BYTES)
    whole = x.read[COUNT] == x.again[COUNT] and x.read[COUNT] % 2.0 == 0.0
    x.quiet += dt
    if whole and x.read[BEAT] != x.beat:
        x.beat, x.quiet = x.read[BEAT], 0.0
        for i in range(6):
            sig.joystick[i] = x.read[AXES + i]
    if x.quiet > PATIENCE >= x.quiet - dt:  # only once: the mailbox may have moved the stick since
        for i in range(6):
            sig.joystick[i] = 0.0


def _pack(p: np.record, name: str | None, loop: Cycle) -> None:
    """`name` is that of the shared memory, empty for a stick moved only by the mailbox, None without a stick."""
    p.present = name is not None
    if name:
        numbers = _memory(name)
        p.address, p.beat = numbers.ctypes.data, numbers[BEAT]


@jit
def _reset(sig, x, p):
    x.beat, x.quiet = p.beat, PATIENCE


JOYSTICK = StageKind(
    "joystick",
    joystick_step,
    reads=("joystick",),
    writes=("joystick",),
    state=record(read=NUMBERS, again=NUMBERS, beat="f8", quiet="f8"),
    params=record(present="i8", address="i8", beat="f8"),
    pack=_pack,
    reset=_reset,
)
