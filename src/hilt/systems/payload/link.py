"""The link between ground and orbit: two channels of equal delay, jitter, loss and outage, with independent noise.

`LINK` goes up and carries the operator's references, `DOWNLINK` comes down and carries what the slave arm measures and learns.
References and reports are played out evenly; the bilateral laws read the newest packet (names in `_newest`).
A packet sent in a tick holds the row's values at the time when the link's stage runs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Block, Blocks, Cycle, StageKind
from hilt.maths import channel, so3, vec
from hilt.maths.channel import CAPACITY as CAPACITY
from hilt.plant.link import Link

# Offset of each signal in a packet. Add a new one at the end, in the `_load` below and in the reads of its stage.
V_R, X_VIR, W_R, Q_VIR, V_TVIR, F_VIR, M_VIR, X_M, V_M, E_M, HAND = 0, 3, 6, 9, 13, 16, 19, 20, 23, 26, 27
UP_NUMBERS = 28
X_S, V_S, F_S, M_HAT, M_SIGMA, K_GRIP, PUSHED, OFFSET, E_S, FINGERS = 0, 3, 6, 9, 10, 11, 12, 13, 16, 17
DOWN_NUMBERS = 18


class OrbitLink(Link):
    """Between ground and orbit."""

    outage_policy: Literal["hold", "soft-stop", "freeze", "brake"] = Field(
        default="soft-stop", description="what the slave does during an outage"
    )


@jit
def _put(packet, first, a):
    packet[first] = a[0]
    packet[first + 1] = a[1]
    packet[first + 2] = a[2]


@jit
def _get(packet, first):
    return (packet[first], packet[first + 1], packet[first + 2])


@jit
def _load_up(packet, sig):
    _put(packet, V_R, sig.v_r)
    _put(packet, X_VIR, sig.x_vir_up)
    _put(packet, W_R, sig.w_r)
    so3.store(packet[Q_VIR : Q_VIR + 4], so3.load(sig.q_vir))
    _put(packet, V_TVIR, sig.v_tvir)
    _put(packet, F_VIR, sig.f_vir)
    packet[M_VIR] = sig.m_vir
    _put(packet, X_M, sig.x_m)
    _put(packet, V_M, sig.v_m)
    packet[E_M] = sig.W_master.into
    packet[HAND] = sig.hand_open_r


@jit
def _load_down(packet, sig):
    _put(packet, X_S, sig.x_s)
    _put(packet, V_S, sig.v_s)
    _put(packet, F_S, sig.f_s)
    packet[M_HAT], packet[M_SIGMA] = sig.m_hat, sig.m_var**0.5
    packet[K_GRIP], packet[PUSHED] = sig.k_grip_hat, sig.pushed
    _put(packet, OFFSET, sig.offset)
    packet[E_S] = sig.W_slave.into
    packet[FINGERS] = sig.grip_open


@jit
def link_step(sig, x, p, dt):
    _load_up(channel.packet(x, sig.tick), sig)
    channel.send(x, p.channel, sig.tick, sig.t, dt)
    channel.receive(x, sig.tick, dt)
    if channel.play_out(x, p.channel, sig.tick, sig.t, dt):
        vec.store(sig.v_r_orbit, channel.played_vector(x, V_R))
        vec.store(sig.x_vir_orbit, channel.played_vector(x, X_VIR))
        vec.store(sig.w_r_orbit, channel.played_vector(x, W_R))
        so3.store(sig.q_vir_orbit, channel.played_attitude(x, Q_VIR))
        vec.store(sig.v_tvir_orbit, channel.played_vector(x, V_TVIR))
        vec.store(sig.f_vir_orbit, channel.played_vector(x, F_VIR))
        sig.m_vir_orbit = channel.played(x, M_VIR)
        sig.hand_open_orbit = channel.played(x, HAND)
    if x.newest >= 0:
        packet = channel.newest(x)
        vec.store(sig.x_m_newest, _get(packet, X_M))
        vec.store(sig.v_m_newest, _get(packet, V_M))
        sig.E_m_newest = packet[E_M]
    sig.link_silence, sig.link_age = x.silence, channel.age(x, sig.t, dt)
    sig.link_sent, sig.link_lost = x.sent, x.lost
    sig.link_duplicated, sig.link_reordered = x.duplicated, x.reordered
    sig.link_delay_mean, sig.link_delay_max = channel.mean_delay(x), x.delay_max


@jit
def downlink_step(sig, x, p, dt):
    _load_down(channel.packet(x, sig.tick), sig)
    channel.send(x, p.channel, sig.tick, sig.t, dt)
    channel.receive(x, sig.tick, dt)
    if channel.play_out(x, p.channel, sig.tick, sig.t, dt):
        vec.store(sig.x_s_ground, channel.played_vector(x, X_S))
        vec.store(sig.f_s_ground, channel.played_vector(x, F_S))
        sig.m_ground, sig.m_sigma_ground = channel.played(x, M_HAT), channel.played(x, M_SIGMA)
        sig.k_ground, sig.pushed_ground = channel.played(x, K_GRIP), channel.played(x, PUSHED)
        vec.store(sig.offset_ground, channel.played_vector(x, OFFSET))
        sig.grip_open_ground = channel.played(x, FINGERS)
    if x.newest >= 0:
        packet = channel.newest(x)
        vec.store(sig.x_s_newest, _get(packet, X_S))
        vec.store(sig.v_s_newest, _get(packet, V_S))
        sig.E_s_newest = packet[E_S]
    sig.down_silence, sig.down_age = x.silence, channel.age(x, sig.t, dt)
    sig.down_sent, sig.down_lost = x.sent, x.lost
    sig.down_duplicated, sig.down_reordered = x.duplicated, x.reordered
    sig.down_delay_mean, sig.down_delay_max = channel.mean_delay(x), x.delay_max


def playout_ticks(scenario: Any) -> int:
    """Ticks from sending a packet on the ground until orbit uses it; the same in the other direction."""
    return channel.playout_ticks(scenario.link, scenario.loop.period)


def playout_delay(scenario: Any) -> float:
    """The same in seconds."""
    return playout_ticks(scenario) * float(scenario.loop.period)


@dataclass(frozen=True)
class LinkedHands:
    """A link, and the hand's position that both ends assume before the first packet."""

    link: Link
    start: tuple[float, ...]  # m, in W
    open_first: bool  # whether both ends assume an open hand before it


def _pack(p: np.record, config: LinkedHands, loop: Cycle) -> None:
    channel.pack(p.channel, config.link, loop.period, loop.noise_key("link"), loop.noise_key("link.duplication"))
    p.x0, p.open_first = config.start, config.open_first


def _pack_down(p: np.record, config: LinkedHands, loop: Cycle) -> None:
    channel.pack(p.channel, config.link, loop.period, loop.noise_key("downlink"), loop.noise_key("downlink.duplication"))
    p.x0, p.open_first = config.start, config.open_first


@jit
def _reset(sig, x, p):
    channel.reset(x, p.channel)
    vec.store(sig.x_vir_orbit, vec.load(p.x0))
    so3.store(sig.q_vir_orbit, (1.0, 0.0, 0.0, 0.0))
    vec.store(sig.x_m_newest, vec.load(p.x0))
    sig.hand_open_orbit = p.open_first


@jit
def _reset_down(sig, x, p):
    channel.reset(x, p.channel)
    vec.store(sig.x_s_ground, vec.load(p.x0))
    vec.store(sig.x_s_newest, vec.load(p.x0))
    sig.grip_open_ground = p.open_first


_PARAMS = record(channel=channel.PARAMS, x0=3, open_first="i8")

_ON_ORBIT = (
    "v_r_orbit",
    "x_vir_orbit",
    "w_r_orbit",
    "q_vir_orbit",
    "v_tvir_orbit",
    "f_vir_orbit",
    "m_vir_orbit",
    "hand_open_orbit",
    "x_m_newest",
    "v_m_newest",
    "E_m_newest",
    "link_silence",
    "link_age",
    "link_sent",
    "link_lost",
    "link_duplicated",
    "link_reordered",
    "link_delay_mean",
    "link_delay_max",
)
LINK = StageKind(
    "link",
    link_step,
    reads=(
        "t",
        "tick",
        "v_r",
        "w_r",
        "x_vir_up",
        "q_vir",
        "v_tvir",
        "f_vir",
        "m_vir",
        "x_m",
        "v_m",
        "W_master",
        "hand_open_r",
        *_ON_ORBIT,
    ),
    writes=_ON_ORBIT,
    state=channel.memory(UP_NUMBERS, channel.CAPACITY),
    params=_PARAMS,
    pack=_pack,
    reset=_reset,
)

_ON_GROUND = (
    "x_s_ground",
    "f_s_ground",
    "m_ground",
    "m_sigma_ground",
    "k_ground",
    "pushed_ground",
    "offset_ground",
    "grip_open_ground",
    "x_s_newest",
    "v_s_newest",
    "E_s_newest",
    "down_silence",
    "down_age",
    "down_sent",
    "down_lost",
    "down_duplicated",
    "down_reordered",
    "down_delay_mean",
    "down_delay_max",
)
DOWNLINK = StageKind(
    "downlink",
    downlink_step,
    reads=(
        "t",
        "tick",
        "x_s",
        "v_s",
        "f_s",
        "m_hat",
        "m_var",
        "k_grip_hat",
        "pushed",
        "offset",
        "W_slave",
        "grip_open",
        *_ON_GROUND,
    ),
    writes=_ON_GROUND,
    state=channel.memory(DOWN_NUMBERS, channel.CAPACITY),
    params=_PARAMS,
    pack=_pack_down,
    reset=_reset_down,
)


def link_blocks(name: str, kind: StageKind, numbers: int, section: Callable[[Any], Any]) -> Blocks:
    """One block per memory size; a scenario uses the smallest that is sufficient for its delay."""

    def fits(size: int) -> Callable[[Any], bool]:
        return lambda scenario: channel.size_for(scenario.link, scenario.loop.period) == size

    kinds = ((size, replace(kind, name=f"{kind.name}-{size}", state=channel.memory(numbers, size))) for size in channel.SIZES)
    return tuple(Block(name, sized, section, when=fits(size)) for size, sized in kinds)
