"""The ledger of the grips: what the hands put in, what the payload gets, and what the fingers make by closing or opening.

    hands + fingers = payload + damping + change of the stored energy U,    U = ½ s (K e² + K_r θ²),  s = share of closing

Over a tick forces act with their mean, as in the world's ledger. For the spring, with s⁻ and e⁻ one tick ago,

    ½ K (s⁻ e⁻ + s e)·(e - e⁻) = U - U⁻ - ½ K (s - s⁻) e⁻·e

exactly, so the last term is what a changing stiffness makes. The play of a grip and large turns add errors of second order.
Damping is the rest: the wrench minus the spring's part.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.systems.payload.grip import GrippedPayload, stretched


@jit
def _mean(a, b):
    return vec.scale(0.5, vec.add(a, b))


@jit
def _book_hand(x, last, p, share, hand, wrench, x_g, q_g):
    """One hand over the last tick; returns the energy stored in its grip."""
    x_s, q_s, f, tau = vec.load(hand), so3.load(hand[3:]), vec.load(wrench), vec.load(wrench[3:])
    e, turn = stretched(p, x_s, x_g), so3.between(q_g, q_s)
    spring, twist = vec.scale(share * p.stiffness, e), vec.scale(share * p.K_r, turn)
    if x.started:
        f_mean, tau_mean = _mean(vec.load(last.f), f), _mean(vec.load(last.tau), tau)
        moved, turned = vec.sub(x_s, vec.load(last.x_s)), so3.between(so3.load(last.q_s), q_s)
        carried, rolled = vec.sub(x_g, vec.load(last.x_g)), so3.between(so3.load(last.q_g), q_g)
        ledger.book_wrench(x.hands, f_mean, tau_mean, moved, turned)
        ledger.book_wrench(x.grips, f_mean, tau_mean, carried, rolled)
        f_lost = vec.sub(f_mean, _mean(vec.load(last.spring), spring))
        tau_lost = vec.sub(tau_mean, _mean(vec.load(last.twist), twist))
        ledger.book_wrench(x.damping, f_lost, tau_lost, vec.sub(moved, carried), vec.sub(turned, rolled))
        square = p.stiffness * vec.dot(e, vec.load(last.e)) + p.K_r * vec.dot(turn, vec.load(last.turn))
        ledger.book(x.fingers, 0.5 * (share - x.share) * square, 1.0, 1.0)
    vec.store(last.x_s, x_s)
    so3.store(last.q_s, q_s)
    vec.store(last.x_g, x_g)
    so3.store(last.q_g, q_g)
    vec.store(last.f, f)
    vec.store(last.tau, tau)
    vec.store(last.e, e)
    vec.store(last.turn, turn)
    vec.store(last.spring, spring)
    vec.store(last.twist, twist)
    return 0.5 * (vec.dot(spring, e) + vec.dot(twist, turn))


@jit
def grip_ledger_step(sig, x, p, dt):
    q, share, stored = so3.load(sig.X_WB_true.q), 1.0 - sig.grip_open, 0.0
    for i in range(p.hands):
        x_g = vec.add(vec.load(sig.X_WB_true.p), so3.rotate(q, vec.load(p.grips_B[i])))
        hand, wrench = sig.hands[7 * i : 7 * i + 7], sig.hand_wrenches[6 * i : 6 * i + 6]
        stored += _book_hand(x, x.last[i], p, share, hand, wrench, x_g, q)
    x.share, x.started = share, 1
    sig.E_grip = stored
    ledger.publish(sig.W_hands, x.hands)
    ledger.publish(sig.W_grips, x.grips)
    ledger.publish(sig.W_fingers, x.fingers)
    ledger.publish(sig.W_grip_damping, x.damping)


def _pack(p: np.record, config: GrippedPayload, loop: Cycle) -> None:
    if config.gripped:
        grip = config.grip
        p.stiffness, p.K_r, p.play = grip.stiffness, grip.rotational_stiffness, grip.play
    p.hands = len(config.grips)
    p.grips_B[: p.hands] = config.grips


GRIP_LEDGER = StageKind(
    "grip-ledger",
    grip_ledger_step,
    reads=("hands", "hand_wrenches", "X_WB_true", "grip_open"),
    writes=("E_grip", "W_hands", "W_grips", "W_fingers", "W_grip_damping"),
    state=record(
        last=(record(x_s=3, q_s=4, x_g=3, q_g=4, f=3, tau=3, e=3, turn=3, spring=3, twist=3), (2,)),
        share="f8",
        started="i8",
        hands=PORT,
        grips=PORT,
        fingers=PORT,
        damping=PORT,
    ),
    params=record(stiffness="f8", K_r="f8", play="f8", hands="i8", grips_B=("f8", (2, 3))),
    pack=_pack,
)
