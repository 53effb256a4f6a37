"""The force sensor at the wrist of a hand that a robot carries: its reading, and the wrench of the hand on the payload.

It feels the payload's wrench on the hand, at its own origin Q and in its own axes, and the load of the hand itself:

    F_Q = -(f, τ)_hand at Q + weight and inertia forces of the hand
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre3, Quaternion
from hilt.maths import so3, vec
from hilt.sense.tool_load import LOAD, MOTION, TOOL_LOAD, Load, Mounting, ToolLoad, accelerations, load_wrench, unload
from hilt.systems.payload.arm import show_hand


class Wrist(Section):
    """Force sensor of the hand, where a robot carries it."""

    position: Metre3 = Field(default=(0.0, 0.0, 0.0), description="of the sensor's origin, from the hand, in the hand's frame")
    attitude: Quaternion = Field(default=(1.0, 0.0, 0.0, 0.0), description="of the sensor in that frame, w x y z")
    load: Load | None = Field(default=None, description="true load on the sensor: the hand itself; none if not given")


@jit
def wrist_step(sig, x, p, dt):
    """The sensor's reading: noise and bias are those of the hand's force (`arm.force_noise`, `arm.force_bias`)."""
    q, w = so3.load(sig.hands[3:7]), vec.load(sig.hand_twists[3:6])
    q_WQ = so3.multiply(q, so3.load(p.q_HQ))
    f, tau = vec.scale(-1.0, vec.load(sig.f_hands)), vec.scale(-1.0, vec.load(sig.hand_wrenches[3:6]))
    tau = vec.sub(tau, vec.cross(so3.rotate(q, vec.load(p.position)), f))
    f, tau = so3.rotate_back(q_WQ, f), so3.rotate_back(q_WQ, tau)
    if p.loaded:
        accelerations(x, q, vec.load(sig.hand_twists), w, vec.load(p.position), 1.0, dt)
        load_f, load_tau = load_wrench(q_WQ, vec.load(x.a), w, vec.load(x.alpha), p.load)
        f, tau = vec.add(f, load_f), vec.add(tau, load_tau)
    vec.store(sig.F_Qo_Q.f, f)
    vec.store(sig.F_Qo_Q.tau, tau)


def _pack(p: np.record, wrist: Wrist, loop: Cycle) -> None:
    p.position, p.q_HQ, p.loaded = wrist.position, wrist.attitude, wrist.load is not None
    if wrist.load is not None:
        for name in ("mass", "centre_of_mass", "inertia", "gravity"):
            p.load[name] = getattr(wrist.load, name)


WRIST = StageKind(
    "wrist",
    wrist_step,
    reads=("hands", "hand_twists", "f_hands", "hand_wrenches"),
    writes=("F_Qo_Q",),
    state=MOTION,
    params=record(position=3, q_HQ=4, loaded="i8", load=LOAD),
    pack=_pack,
)


@jit
def hand_observed_step(sig, x, p, dt):
    """The hand as its robot's encoders and its wrist sensor see it."""
    place, q, v, w = vec.load(sig.x_s), so3.load(sig.q_s), vec.load(sig.v_s), vec.load(sig.w_s)
    show_hand(sig, 0, place, q, v, w)
    f, tau = vec.load(sig.F_Qo_Q.f), vec.load(sig.F_Qo_Q.tau)
    q_WQ = so3.multiply(q, so3.load(p.q_BS))
    if p.present:
        accelerations(x, q, v, w, vec.load(p.position), p.share, dt)
        f, tau = unload(f, tau, q_WQ, vec.load(x.a), w, vec.load(x.alpha), p)
    f, tau = so3.rotate(q_WQ, f), so3.rotate(q_WQ, tau)
    tau = vec.add(tau, vec.cross(so3.rotate(q, vec.load(p.position)), f))
    f, tau = vec.scale(-1.0, f), vec.scale(-1.0, tau)
    vec.store(sig.f_s, f)
    vec.store(sig.tau_s, tau)
    vec.store(sig.f_hands, f)
    vec.store(sig.hand_wrenches, f)
    vec.store(sig.hand_wrenches[3:], tau)


@dataclass(frozen=True)
class ObservedHand:
    """Where the wrist sensor sits, and the load to subtract from its readings."""

    wrist: Wrist
    tool: ToolLoad | None


def _pack_observed(p: np.record, hand: ObservedHand, loop: Cycle) -> None:
    TOOL_LOAD.pack(p, Mounting(hand.wrist.position, hand.wrist.attitude, (0.0, 0.0, 0.0), hand.tool), loop)


HAND_OBSERVED = StageKind(
    "hand-observed",
    hand_observed_step,
    reads=("x_s", "q_s", "v_s", "w_s", "F_Qo_Q", "hands", "hand_twists", "hand_wrenches", "f_hands"),
    writes=("hands", "hand_twists", "hand_wrenches", "f_hands", "f_s", "tau_s"),
    state=MOTION,
    params=TOOL_LOAD.params,
    pack=_pack_observed,
)
