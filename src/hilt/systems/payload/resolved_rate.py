"""From the twist of the hands to the speeds of the joints, using only the measured joint angles.

    v_i = v_sc + w_sc × r_i - K_i (f_i - mean f),  w_i = w_sc     hand i at r_i from the reference point; it turns with the hand
    q̇_i = J⁺(q_i) [v_i; w_i]                       damped near singular postures, joints kept off their limits: maths/chain.py

Two hands that hold one payload would press against each other ever harder, since each drifts differently: the difference of
their forces does not move the payload, and each hand yields to it.

A hand that moves slower than commanded because its joints are too slow keeps its direction, and nothing else happens. But when
a joint at its limit blocks most of a hand's motion, the operator would steer an arm that no longer follows: after a while
that is a fault.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, MetrePerSecond, Number, Radian, Second
from hilt.maths import chain, so3, vec
from hilt.maths.chain import CHAIN, CHAIN_WORK
from hilt.systems.payload.arm_model import JOINTS, JointedArm, pack_arm_chain, stands

ARMS = 2


class ResolvedRate(Section):
    """Mapping from the motion of the hands to the joints."""

    near: Number = Field(default=0.05, gt=0, description="smallest singular value of the Jacobian without damping")
    damping: Number = Field(default=0.05, gt=0, description="damping in a singular posture, in the same unit")
    lever: Metre = Field(default=0.5, gt=0, description="weight of 1 rad/s in m/s, where translation and rotation compete")
    band: Radian = Field(default=0.15, gt=0, description="range before a limit in which a joint is slowed")
    centring: Number = Field(default=1.0, ge=0, description="1/s, rate of moving out of the band without moving the hand")
    relief: Number = Field(default=1.0 / 1400.0, ge=0, description="K_i, m/(s·N), of two hands against each other")
    missing: Number = Field(default=0.5, gt=0, lt=1, description="fraction of a hand's commanded motion that a limit may block")
    patience: Second = Field(default=0.5, ge=0, description="time for which a limit may block more")
    least: MetrePerSecond = Field(default=1e-3, gt=0, description="commanded speeds below this are never counted as blocked")


@jit
def _pressing(sig, i, arms):
    """Difference of the force of hand i from the mean."""
    if arms < 2:
        return (0.0, 0.0, 0.0)
    other = 3 * (1 - i)
    return vec.scale(0.5, vec.sub(vec.load(sig.f_hands[3 * i : 3 * i + 3]), vec.load(sig.f_hands[other : other + 3])))


@jit
def _watch(sig, x, i, p, commanded, dt):
    """Trip a fault when joint limits have blocked too much of the commanded speed of hand i for too long."""
    lost, allowed = x.work.missing * commanded, p.missing * commanded
    x.stuck[i] = x.stuck[i] + dt if x.work.limited >= 0 and lost > allowed and commanded > p.least else 0.0
    if x.stuck[i] > p.patience:
        faults.trip(sig, faults.ARM_JOINT, JOINTS * i + x.work.limited, lost, allowed)


@jit
def resolved_rate_step(sig, x, p, dt):
    v, w = vec.load(sig.v_sc), vec.load(sig.w_sc)
    sig.arm_damping = 0.0
    for i in range(ARMS):
        first = JOINTS * i
        if i < p.arms:
            q, own, work = sig.q_arm[first : first + JOINTS], p.chain[i], x.work
            chain.forward(work, own, q, vec.load(p.base_p[i]), so3.load(p.base_q[i]))
            chain.jacobian(work, own)
            r = so3.rotate(so3.load(work.q), vec.load(p.offset[i]))
            v_i = vec.sub(vec.add(v, vec.cross(w, r)), vec.scale(p.relief, _pressing(sig, i, p.arms)))
            chain.solve(work, own, q, v_i, w, dt)
            sig.arm_damping = max(sig.arm_damping, work.damping)
            commanded = work.slowed * math.sqrt(vec.dot(v_i, v_i) + p.lever * p.lever * vec.dot(w, w))
            _watch(sig, x, i, p, commanded, dt)
        for j in range(JOINTS):
            sig.qd_arm_c[first + j] = x.work.qd[j] if i < p.arms else 0.0


def pack_rates(p, section: ResolvedRate) -> None:
    """Fill a chain's parameters."""
    p.weight[:3], p.weight[3:] = 1.0, section.lever
    p.near, p.damping, p.band, p.centring = section.near**2, section.damping, section.band, section.centring


@dataclass(frozen=True)
class RatesOfArms:
    """The mapping, and the arms that it applies to."""

    section: ResolvedRate
    jointed: JointedArm | None  # None: a point arm takes the twist unchanged
    grips: tuple[tuple[float, ...], ...]  # m, one for each hand, in the payload's frame
    middle: tuple[float, ...]  # m, between them, in the same frame
    start: tuple[float, ...]  # m, of the middle in W


def _pack(p: np.record, config: RatesOfArms, loop: Cycle) -> None:
    section, jointed, count = config.section, config.jointed, len(config.grips)
    if jointed is None:
        return
    p.arms = count
    p.offset[:count] = [vec.sub(grip, config.middle) for grip in config.grips]
    hands = [vec.add(config.start, vec.load(offset)) for offset in p.offset[:count]]
    for i, stand in enumerate(stands(jointed, hands)):
        pack_arm_chain(p.chain[i], jointed, stand.tool_q)
        pack_rates(p.chain[i], section)
        p.base_p[i], p.base_q[i] = stand.p, stand.q
    p.relief = section.relief
    p.lever, p.missing, p.patience, p.least = section.lever, section.missing, section.patience, section.least


RESOLVED_RATE = StageKind(
    "resolved-rate",
    resolved_rate_step,
    reads=("v_sc", "w_sc", "f_hands", "q_arm", "arm_damping", "fault"),
    writes=("qd_arm_c", "arm_damping", "fault", "fault_axis", "fault_value", "fault_limit"),
    state=record(work=CHAIN_WORK, stuck=ARMS),
    params=record(
        arms="i8",
        chain=(CHAIN, (ARMS,)),
        base_p=("f8", (ARMS, 3)),
        base_q=("f8", (ARMS, 4)),
        offset=("f8", (ARMS, 3)),
        relief="f8",
        lever="f8",
        missing="f8",
        patience="f8",
        least="f8",
    ),
    pack=_pack,
)
