"""Steps 4 and 5: friction. The force measured across n acts on the bodies as long as it does not exceed their energy.

    J_t = T_b F_t acts only if E + J_t·(v + v⁺)/2 ≥ D, so it is passive whatever was measured
    W_t = Σ J_t·(v + v⁺)/2                                  if above the noise, it is not returned at the exit

A frame whose force across n was never clearly above the noise has no friction.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import vec
from hilt.systems.docking.twin.space.mobility import answers

SLIDES = 5.0  # deviations of the noise
NOTHING = (0.0, 0.0, 0.0)

FRICTION = record(work="f8", variance="f8", rubs=("i8", (2,)))


@jit
def begin(x):
    x.work = x.variance = 0.0


@jit
def work(x):
    """W_t of this contact."""
    return x.work if x.work > 2.0 * math.sqrt(x.variance) else 0.0


@jit
def rub(x, i, force, noise, n, levers, q, tip, v, room, step):
    """(force across n, velocity of the tip after it, energy absorbed); `room` is E - D, i the frame's index."""
    across = vec.sub(force, vec.scale(vec.dot(n, force), n))
    square = vec.dot(across, across)
    if square > (SLIDES * noise) ** 2:
        x.rubs[i] = 1
    if not x.rubs[i] or not math.isfinite(square):
        return NOTHING, v, 0.0
    per_impulse, _ = answers(levers, q, tip, across)
    after = vec.sub(v, vec.scale(step, per_impulse))
    travel = vec.scale(0.5 * step, vec.add(v, after))
    taken = vec.dot(across, travel)
    if not room + taken >= 0.0:
        return NOTHING, v, 0.0
    x.work += taken
    x.variance += noise * noise * vec.dot(travel, travel)
    return across, after, taken
