"""A robot that is not the clock of the loop: it has its own cycle, whose phase relative to the tick drifts.

At its n-th cycle, at time s_n, it gets the command for s_n + cycle - `later`, read from the smooth curve through the loop's
set-points, and moves to it within the cycle.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import POSE, record
from hilt.maths import delay, pair, so3, spatial, vec

OWN_CLOCK = record(line=delay.MOTION_LINE, before=POSE, next=POSE, t="f8", due="f8", began="f8", cycles="i8")
OWN_CLOCK_PARAMS = record(cycle="f8", true_cycle="f8", phase="f8", later="f8")


@jit
def _knot(line, age):
    """The command `age` samples ago, on the smooth curve through the samples."""
    near = int(age + 0.5)
    before = delay.read_position(line, near + 1.0), delay.read_attitude(line, near + 1.0)
    here = delay.read_position(line, float(near)), delay.read_attitude(line, float(near))
    after = delay.read_position(line, near - 1.0), delay.read_attitude(line, near - 1.0)
    return pair.smooth(before, here, after, near - age + 0.5)


@jit
def _cycle(x, p, dt):
    """Begin a cycle: compute its next set-point."""
    spatial.store(x.before, spatial.load(x.next))
    spatial.store(x.next, _knot(x.line, (x.t - x.due - p.cycle + p.later) / dt))
    x.began = x.due
    x.due += p.true_cycle
    x.cycles += 1


@jit
def mean_twist(before, after, dt):
    """Mean twist from one pose to the next."""
    rate = 1.0 / dt
    w = so3.between(before[1], after[1]) if before[1] != after[1] else (0.0, 0.0, 0.0)
    return vec.scale(rate, vec.sub(after[0], before[0])), vec.scale(rate, w)


@jit
def held(x, p, X, V, dt):
    """Pose and twist commanded to the robot at x.t, given the loop's newest command."""
    delay.push_motion(x.line, X[0], V[0], X[1], V[1])
    while x.due <= x.t:
        _cycle(x, p, dt)
    before, after = spatial.load(x.before), spatial.load(x.next)
    return pair.between(before, after, (x.t - x.began) / p.true_cycle), mean_twist(before, after, p.true_cycle)


@jit
def begin(x, p, X, V, dt):
    """Its command at the start: its cycles have been running for a while, and its line ends with the last command before."""
    back = vec.sub(X[0], vec.scale(dt, V[0])), so3.multiply(so3.exp(vec.scale(-dt, V[1])), X[1])
    delay.fill_motion(x.line, back[0], V[0], back[1], V[1], dt)
    x.t = -dt
    x.due = p.phase - 2.0 * p.true_cycle
    _cycle(x, p, dt)
    _cycle(x, p, dt)
    x.cycles = 0
    return pair.between(spatial.load(x.before), spatial.load(x.next), (0.0 - x.began) / p.true_cycle)


def pack(p: np.record, cycle: float, phase: float, drift: float, later: float) -> None:
    p.cycle, p.true_cycle = cycle, cycle * (1.0 + drift)
    p.phase, p.later = phase % cycle, later
