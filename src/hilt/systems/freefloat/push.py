"""Pushes on the mock-up: a list of smooth pulses, F(t) = F_peak sin²(π (t - t0)/d), at a point of the body.

The pulse of 32 s and the one of 18 s of the scenario `paper` give the drifts of [DeStefano2017, fig. 3].
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre3, Newton3, Second
from hilt.maths import so3, vec

CAPACITY = 16
_PULSE = record(start="f8", duration="f8", force=3, arm_B=3)


class Push(Section):
    """One smooth pulse of force."""

    start: Second = Field(ge=0)
    duration: Second = Field(gt=0)
    force: Newton3 = Field(description="largest force, in the world frame")
    point: Metre3 | None = Field(default=None, description="where it acts, in the body frame; the centre of mass if not given")


@jit
def push_step(sig, x, p, dt):
    """Set the true wrench at the centre of mass; other parts of the world add to it."""
    f, tau = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    q_WB = so3.load(sig.X_WB_true.q)
    for n in range(p.count):
        pulse = p.pulses[n]
        into = sig.t - pulse.start
        if 0.0 < into < pulse.duration:
            s = math.sin(math.pi * into / pulse.duration)
            f_n = vec.scale(s * s, vec.load(pulse.force))
            f = vec.add(f, f_n)
            tau = vec.add(tau, vec.cross(so3.rotate(q_WB, vec.load(pulse.arm_B)), f_n))
    vec.store(sig.F_Bcm_true_W.f, f)
    vec.store(sig.F_Bcm_true_W.tau, tau)


@dataclass(frozen=True)
class Pushes:
    """The pulses, and the body that they push."""

    pushes: tuple[Push, ...]
    centre_of_mass: Metre3


def _pack(p: np.record, config: Pushes, loop: Cycle) -> None:
    p.count = len(config.pushes)
    for pulse, push in zip(p.pulses, config.pushes, strict=False):
        pulse.start, pulse.duration = push.start, push.duration
        pulse.force = push.force
        if push.point is not None:
            pulse.arm_B = [a - c for a, c in zip(push.point, config.centre_of_mass, strict=True)]


PUSH = StageKind(
    "push",
    push_step,
    reads=("t", "X_WB_true"),
    writes=("F_Bcm_true_W",),
    params=record(count="i8", pulses=(_PULSE, (CAPACITY,))),
    pack=_pack,
)
