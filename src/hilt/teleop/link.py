"""The link from the ground to orbit: delay, jitter, loss and outages; packets carry their time and are played out evenly.

A packet goes out every tick. It arrives after the delay and up to the jitter more, or not at all; jitter longer than a tick
reorders packets. On orbit everything is played out one delay and one jitter after it was sent: late enough for every packet
that comes at all. What is missing in between is interpolated by the times of its neighbours; what is missing at the end shows
as silence.
"""

import math
from typing import Literal

from pydantic import Field

from hilt.compiled import jit
from hilt.maths import noise
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.units import Number, Second

CAPACITY = 32768  # packets, a power of two
NUMBERS = 6  # reference velocity and virtual hand
_NEVER = 1e300
_SEARCH = 4096  # packets that may be missing in a row before it counts as silence


class Link(Section):
    """Ground to orbit."""

    delay: Second = Field(default=0.0, ge=0, description="one way")
    jitter: Second = Field(default=0.0, ge=0, description="a packet may take up to this much longer")
    loss: Number = Field(default=0.0, ge=0, le=1, description="share of packets that never arrive")
    outage_start: Second = Field(default=0.0, ge=0)
    outage_duration: Second = Field(default=0.0, ge=0, description="nothing arrives that is sent in this time; 0 for no outage")
    outage_policy: Literal["hold", "soft-stop", "freeze"] = Field(default="soft-stop", description="what the slave does then")


@jit
def _send(sig, x, p):
    slot = sig.tick & (CAPACITY - 1)
    packet = x.packets[slot]
    for i in range(3):
        packet[i] = sig.v_r[i]
        packet[3 + i] = sig.x_vir[i]
    lost = p.loss > 0.0 and noise.uniform(x.noise) <= p.loss
    late = p.jitter * noise.uniform(x.noise) if p.jitter > 0.0 else 0.0
    if p.outage_duration > 0.0 and p.outage_start <= sig.t < p.outage_start + p.outage_duration:
        lost = True
    x.arrival[slot] = _NEVER if lost else sig.t + p.delay + late
    sig.link_sent += 1
    if lost:
        sig.link_lost += 1


@jit
def link_step(sig, x, p, dt):
    _send(sig, x, p)
    wanted = sig.tick - p.playout
    if wanted < 0:
        return  # nothing was sent so early: the arm waits where it is
    now = sig.t + 1e-9  # rounding must not make a packet late
    older = wanted
    last = max(0, older - _SEARCH)
    while older > last and x.arrival[older & (CAPACITY - 1)] > now:
        older -= 1
    if x.arrival[older & (CAPACITY - 1)] > now:
        sig.link_silence = (wanted - x.played) * dt
        return
    x.played = older
    newer = wanted + 1
    end = min(sig.tick, wanted + p.ahead)
    while newer < end and x.arrival[newer & (CAPACITY - 1)] > now:
        newer += 1
    a, b = x.packets[older & (CAPACITY - 1)], x.packets[newer & (CAPACITY - 1)]
    known = newer <= sig.tick and x.arrival[newer & (CAPACITY - 1)] <= now
    share = (wanted - older) / (newer - older) if known else 0.0
    sig.link_silence = 0.0 if known else (wanted - older) * dt
    for i in range(3):
        sig.v_r_orbit[i] = a[i] + share * (b[i] - a[i])
        sig.x_vir_orbit[i] = a[3 + i] + share * (b[3 + i] - a[3 + i])


def playout_ticks(scenario) -> int:
    """From the ground to the moment at which a packet is used on orbit, in whole ticks."""
    return math.ceil((scenario.link.delay + scenario.link.jitter) / scenario.loop.period - 1e-9)


def playout_delay(scenario) -> float:
    """The same in seconds."""
    return playout_ticks(scenario) * float(scenario.loop.period)


def _pack(p, scenario):
    link = scenario.link
    for name in ("delay", "jitter", "loss", "outage_start", "outage_duration"):
        p[name] = getattr(link, name)
    p.playout = playout_ticks(scenario)
    p.ahead = math.ceil(link.jitter / scenario.loop.period) + 64
    p.x0 = scenario.start_of_grip
    p.key = scenario.noise_key("link")


@jit
def _reset(sig, x, p):
    x.noise.key = p.key
    for i in range(3):
        sig.x_vir_orbit[i] = p.x0[i]


LINK = StageKind(
    "link",
    link_step,
    reads=("t", "tick", "v_r", "x_vir", "link_sent", "link_lost", "v_r_orbit", "x_vir_orbit"),
    writes=("v_r_orbit", "x_vir_orbit", "link_silence", "link_sent", "link_lost"),
    state=record(packets=("f8", (CAPACITY, NUMBERS)), arrival=("f8", (CAPACITY,)), played="i8", noise=noise.NOISE),
    params=record(
        delay="f8", jitter="f8", loss="f8", outage_start="f8", outage_duration="f8", playout="i8", ahead="i8", x0=3, key="u8",
    ),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
