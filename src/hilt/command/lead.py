"""A set-point that leads: a table that answers τ late stands where the body is if it is told where the body will be.

x + τ v + ½ τ² a
"""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import vec


@jit
def lead_step(sig, x, p, dt):
    if p.tau == 0.0:
        return
    v = vec.load(sig.V_WB_cmd.v)
    a = vec.scale(1.0 / p.mass, vec.load(sig.F_Bcm_W.f))
    ahead = vec.add(vec.scale(p.tau, v), vec.scale(0.5 * p.tau * p.tau, a))
    vec.store(sig.X_WB_cmd.p, vec.add(vec.load(sig.X_WB_cmd.p), ahead))
    vec.store(sig.V_WB_cmd.v, vec.add(v, vec.scale(p.tau, a)))


@dataclass(frozen=True)
class Lead:
    """How far the command is ahead of the body, and the mass that the force accelerates meanwhile."""

    time: float  # s, 0 for no lead
    mass: float  # kg


def _pack(p: np.record, lead: Lead, loop: Cycle) -> None:
    p.tau, p.mass = lead.time, lead.mass


@jit
def _reset(sig, x, p):
    """A robot that is led has been led before: no jump in the first tick."""
    v = vec.load(sig.V_WB_cmd.v)
    vec.store(sig.X_WB_cmd.p, vec.add(vec.load(sig.X_WB_cmd.p), vec.scale(p.tau, v)))


LEAD = StageKind(
    "lead",
    lead_step,
    reads=("X_WB_cmd", "V_WB_cmd", "F_Bcm_W"),
    writes=("X_WB_cmd", "V_WB_cmd"),
    params=record(tau="f8", mass="f8"),
    pack=_pack,
    reset=_reset,
)
