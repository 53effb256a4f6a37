"""The command: the pose of the simulated body, or a pose ahead of it.

To be where the body is now, a robot with a lag of τ must be sent to where the body will be in τ:

    x + τ v + ½ τ² a
"""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec


@jit
def lead_step(sig, x, p, dt):
    position, v = vec.load(sig.X_WB_sim.p), vec.load(sig.V_WB_sim.v)
    if p.tau != 0.0:
        a = vec.scale(1.0 / p.mass, vec.load(sig.F_Bcm_W.f))
        position = vec.add(position, vec.add(vec.scale(p.tau, v), vec.scale(0.5 * p.tau * p.tau, a)))
        v = vec.add(v, vec.scale(p.tau, a))
    _command(sig, position, v)


@jit
def _command(sig, position, v):
    vec.store(sig.X_WB_cmd.p, position)
    so3.store(sig.X_WB_cmd.q, so3.load(sig.X_WB_sim.q))
    vec.store(sig.V_WB_cmd.v, v)
    vec.store(sig.V_WB_cmd.w, vec.load(sig.V_WB_sim.w))


@dataclass(frozen=True)
class Lead:
    """How far ahead of the body the command is, and the mass that the force accelerates meanwhile."""

    time: float  # s, 0 for no lead
    mass: float  # kg


def _pack(p: np.record, lead: Lead, loop: Cycle) -> None:
    p.tau, p.mass = lead.time, lead.mass


@jit
def _reset(sig, x, p):
    """The lead applies from the start, so the first tick has no jump."""
    v = vec.load(sig.V_WB_sim.v)
    _command(sig, vec.add(vec.load(sig.X_WB_sim.p), vec.scale(p.tau, v)), v)


LEAD = StageKind(
    "lead",
    lead_step,
    reads=("X_WB_sim", "V_WB_sim", "F_Bcm_W"),
    writes=("X_WB_cmd", "V_WB_cmd"),
    params=record(tau="f8", mass="f8"),
    pack=_pack,
    reset=_reset,
)
