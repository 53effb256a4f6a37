"""One direction of a link: a packet of numbers every tick, with its time; delay, jitter, loss, duplication and outage.

A packet arrives after the delay plus up to the jitter, or not at all; jitter longer than a tick reorders packets. Some arrive
a second time, later: a duplicate has the time stamp of a known packet, and changes only the statistics. There are two read
modes:

`play_out`  each packet one delay plus one jitter after it was sent: late enough for every packet that arrives at all. Packets
            missing in between are interpolated in time from their neighbours; packets missing at the end count as silence.
`newest`    the packet with the newest time stamp that has arrived so far: as fresh as possible, but uneven.

Arrivals wait in lists, one per future tick, so a read costs as much as the arrivals of its tick, however long the jitter.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.compiled.records import record
from hilt.maths import noise, so3

SIZES = (1024, 4096, 8192, 32768)  # packets and future ticks, powers of two
CAPACITY = SIZES[-1]
_NEVER = 1e300
_SEARCH = 4096  # packets that may be missing in a row before it counts as silence, if the memory holds as many
_SPARE = 256  # packets in addition to those a link needs while nothing is lost
_ROUNDING = 1e-9  # s: rounding must not make a packet late

PARAMS = record(
    delay="f8",
    jitter="f8",
    loss="f8",
    duplication="f8",
    outage_start="f8",
    outage_duration="f8",
    playout="i8",
    ahead="i8",
    key="u8",
    repeat_key="u8",
)


def memory(numbers: int, size: int = CAPACITY) -> np.dtype:
    """The state of a channel whose packets hold `numbers` numbers each."""
    return record(
        packets=("f8", (size, numbers)),
        arrival=("f8", (size,)),
        due=("i8", (size,)),  # one plus the first entry that arrives in a tick; 0 for none
        behind=("i8", (2 * size,)),  # the same for the next entry; the upper half is for second copies
        noise=noise.NOISE,
        repeats=noise.NOISE,  # separate, so that duplicates do not change the delays
        looked="i8",  # ticks whose arrivals have been taken
        newest="i8",
        played="i8",
        older="i8",
        newer="i8",
        share="f8",
        silence="f8",
        sent="i8",
        lost="i8",
        arrived="i8",
        duplicated="i8",
        reordered="i8",
        delay_sum="f8",
        delay_max="f8",
    )


def pack(p, link, period: float, key: int, repeat_key: int) -> None:
    """Fill PARAMS from the section of a link."""
    for name in ("delay", "jitter", "loss", "duplication", "outage_start", "outage_duration"):
        p[name] = getattr(link, name)
    p.playout = playout_ticks(link, period)
    p.ahead = math.ceil(link.jitter / period) + 64
    p.key, p.repeat_key = key, repeat_key


def size_for(link, period: float) -> int:
    """The smallest memory that holds the packets in flight and the gap of an outage."""
    needed = playout_ticks(link, period) + math.ceil((link.jitter + 1.1 * link.outage_duration) / period) + 64 + _SPARE
    return next((size for size in SIZES if needed <= size), CAPACITY)


def playout_ticks(link, period: float) -> int:
    """Time from sending to play-out of a packet, in whole ticks."""
    return math.ceil((link.delay + link.jitter) / period - 1e-9)


@jit
def reset(x, p):
    x.noise.key, x.repeats.key = p.key, p.repeat_key
    x.newest = -1


@jit
def _slot(x, tick):
    return tick & (len(x.arrival) - 1)


@jit
def packet(x, tick):
    """The numbers of the packet that is sent in a tick; fill it before `send`."""
    return x.packets[_slot(x, tick)]


@jit
def _expect(x, entry, arrival, dt):
    """Put an entry on the list of the first tick that will see it."""
    seen = _slot(x, max(math.ceil((arrival - _ROUNDING) / dt), x.looked))
    x.behind[entry] = x.due[seen]
    x.due[seen] = entry + 1


@jit
def send(x, p, tick, t, dt):
    if tick < x.looked:
        return  # the packet of this tick has already been sent
    slot = _slot(x, tick)
    lost = p.loss > 0.0 and noise.uniform(x.noise) <= p.loss
    late = p.jitter * noise.uniform(x.noise) if p.jitter > 0.0 else 0.0
    if p.outage_duration > 0.0 and p.outage_start <= t < p.outage_start + p.outage_duration:
        lost = True
    x.sent += 1
    again = p.duplication > 0.0 and noise.uniform(x.repeats) <= p.duplication
    if lost:
        x.lost += 1
        x.arrival[slot] = _NEVER
        return
    x.arrival[slot] = t + p.delay + late
    _expect(x, slot, x.arrival[slot], dt)
    if again:
        later = late + (p.jitter - late) * noise.uniform(x.repeats)
        _expect(x, len(x.arrival) + slot, t + p.delay + later + dt, dt)


@jit
def _arrive(x, entry, tick, before, dt):
    slot = _slot(x, entry)
    if entry >= len(x.arrival):
        x.duplicated += 1
        return
    stamp = tick - _slot(x, tick - slot)
    delay = x.arrival[slot] - stamp * dt
    x.arrived += 1
    x.delay_sum += delay
    x.delay_max = max(x.delay_max, delay)
    if stamp < before:
        x.reordered += 1
    x.newest = max(x.newest, stamp)


@jit
def receive(x, tick, dt):
    """Process all arrivals up to now; a packet counts as reordered if a newer one arrived a tick before it."""
    while x.looked <= tick:
        place, before = _slot(x, x.looked), x.newest
        entry = x.due[place]
        x.due[place] = 0
        while entry > 0:
            _arrive(x, entry - 1, x.looked, before, dt)
            entry = x.behind[entry - 1]
        x.looked += 1


@jit
def newest(x):
    """The newest packet; valid only if something has arrived, x.newest >= 0."""
    return x.packets[_slot(x, x.newest)]


@jit
def age(x, t, dt):
    """Time since the newest packet was sent; since the start, if there is none."""
    return t - max(x.newest, 0) * dt


@jit
def mean_delay(x):
    return x.delay_sum / max(x.arrived, 1)


@jit
def play_out(x, p, tick, t, dt):
    """Find the two packets around the time that is due; False while nothing new can be played out."""
    wanted = tick - p.playout
    if wanted < 0:
        return False  # nothing had been sent by then
    now = t + _ROUNDING
    older = wanted
    last = max(0, older - _SEARCH, tick - len(x.arrival) + 1)  # older packets have been overwritten
    while older > last and x.arrival[_slot(x, older)] > now:
        older -= 1
    if x.arrival[_slot(x, older)] > now:
        x.silence = (wanted - x.played) * dt
        return False
    x.played = older
    newer = wanted + 1
    end = min(tick, wanted + p.ahead)
    while newer < end and x.arrival[_slot(x, newer)] > now:
        newer += 1
    known = newer <= tick and x.arrival[_slot(x, newer)] <= now
    x.older, x.newer = older, newer
    x.share = (wanted - older) / (newer - older) if known else 0.0
    x.silence = 0.0 if known else (wanted - older) * dt
    return True


@jit
def played(x, i):
    """Number i as it is played out."""
    a, b = x.packets[_slot(x, x.older)], x.packets[_slot(x, x.newer)]
    return a[i] + x.share * (b[i] - a[i])


@jit
def played_vector(x, first):
    return (played(x, first), played(x, first + 1), played(x, first + 2))


@jit
def played_attitude(x, first):
    """Four numbers as a quaternion, interpolated at a constant rate between its neighbours."""
    a, b = x.packets[_slot(x, x.older)], x.packets[_slot(x, x.newer)]
    q = (a[first], a[first + 1], a[first + 2], a[first + 3])
    return so3.interpolate(q, (b[first], b[first + 1], b[first + 2], b[first + 3]), x.share) if x.share > 0.0 else q
