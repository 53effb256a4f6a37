"""Steps 8 to 10 in space on a robot that bends: the plan along the contact normal, the governor across it and for rotations.

The robot yields along the normal. There the twin is a body of mass m_eff, 1/m_eff = n·G_q (mobility.py), and the plan is that
of a line. The rest of the motion is as on a stiff robot, within the limits that the plan leaves.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.bending.command import (
    BENDING_READS,
    PLAN_PARAMS,
    PLAN_STATE,
    bending_of,
    pack_plan,
    planned,
    remember,
    reset_plan,
)
from hilt.systems.docking.twin.command import (
    COMMAND_IN_SPACE,
    SPACE_PARAMS,
    SPACE_READS,
    SPACE_STATE,
    bodies_of,
    closing_speed,
    motions_ahead,
    pack_in_space,
    reset_in_space,
    send,
)
from hilt.systems.docking.twin.space.govern import braked, left_for_normal, steer_beside, steer_turn, too_fast


@jit
def command_bending_in_space_step(sig, x, p, dt):
    ledger.publish(sig.W_twin, x.port)
    T1, T2, bodies = sig.T1_hat, sig.T2_hat, bodies_of(sig, p)
    remember(sig, x, bodies.n)
    c, dc = vec.load(x.tip), vec.load(x.rate)
    frame = model.frame_of(sig, sig.touch if sig.touch != 0 else 1 if bodies.v > 0.0 else -1)
    most = left_for_normal(bodies.n, dc, p.V)
    _, du = planned(sig, x, p, bending_of(sig), frame, bodies.mass, bodies.at, bodies.v, sig.learnt != 0, most, dt)

    tip_now, tip_later, turn_now, turn_later, _ = motions_ahead(sig, x, p, frame, bodies, dt)
    if too_fast(dc, p.V):
        c_next, dc = braked(c, dc, p.A, p.V, dt)
    else:
        closing = closing_speed(sig, bodies.v)
        c_next, dc = steer_beside(bodies.n, c, dc, du, tip_now, tip_later, closing, T1, T2, x.preview, p.A, p.V, dt)
    Q, W = steer_turn(so3.load(x.q), vec.load(x.turning), turn_now, turn_later, T1, T2, x.preview, p.A_turn, p.V_turn, dt)
    send(sig, x, p, bodies, c_next, dc, Q, W, x.r[0])


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    pack_in_space(p, beliefs, loop)
    pack_plan(p, beliefs, loop)
    p.give = 0.0  # the plan accounts for the bending


@jit
def _reset(sig, x, p):
    reset_in_space(sig, x, p)
    reset_plan(sig, x, p)


COMMAND_BENDING_IN_SPACE = StageKind(
    "twin-command-bending-in-space",
    command_bending_in_space_step,
    reads=tuple(dict.fromkeys((*SPACE_READS, *BENDING_READS))),
    writes=COMMAND_IN_SPACE.writes,
    state=record(**SPACE_STATE, **PLAN_STATE),
    params=record(**SPACE_PARAMS, **PLAN_PARAMS),
    pack=_pack,
    reset=_reset,
    looks_back=lambda p: p["back"],
)
