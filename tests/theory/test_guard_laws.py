"""No set-point that passes the guard is beyond a limit, from the first one on, whatever the sequence.

The limits are measured here by other means: matrices of scipy in place of the guard's quaternions.
"""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hilt.core.guard import GUARD, NEVER, guard_step, start
from hilt.core.signals import row_type

DT = 0.004
BOX = 0.05
ROUNDING = 1e-9  # relative, and the rounding of three differences of numbers of the size of the box
SPEED, RATE, ACCELERATION, ANGULAR_ACCELERATION, JERK = 0.1, 0.2, 10.0, 30.0, 2500.0
# Steps from far below to far above the limits, so that sequences pass, end late and end at once.
STEP = st.floats(-1.0, 1.0)
STEPS = st.lists(st.tuples(*[STEP] * 6), min_size=1, max_size=30)
ORDER = st.sampled_from([-2.0, -1.0, -0.3, 0.0, 0.3, 1.0])


def passed(steps, twist, order):
    """The poses that pass, from a start with a twist on; each step changes the twist at random."""
    row, x, p = (np.zeros(1, t).view(np.recarray) for t in (row_type((*GUARD.reads, *GUARD.writes)), GUARD.state, GUARD.params))
    sig, x, p = row[0], x[0], p[0]
    p.force = p.torque = p.energy = NEVER
    p.speed, p.angular_speed, p.acceleration, p.angular_acceleration, p.jerk = (
        SPEED,
        RATE,
        ACCELERATION,
        ANGULAR_ACCELERATION,
        JERK,
    )
    p.workspace_min, p.workspace_max = (-BOX,) * 3, (BOX,) * 3
    sig.fault_axis = -1
    v, w = np.array(twist[:3]), np.array(twist[3:])
    start(x, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), tuple(v), tuple(w), 0)
    place, turn, found = np.zeros(3), Rotation.identity(), []
    for step in steps:
        v = v + 10.0**order * ACCELERATION * DT * np.array(step[:3])
        w = w + 10.0**order * ANGULAR_ACCELERATION * DT * np.array(step[3:])
        place, turn = place + DT * v, Rotation.from_rotvec(DT * w) * turn
        sig.X_WB_cmd.p[:], sig.X_WB_cmd.q[:] = place, turn.as_quat(scalar_first=True)
        guard_step(sig, x, p, DT)
        if sig.fault:
            break
        found.append((place, turn))
    return found


@settings(max_examples=300, deadline=None)
@given(STEPS, st.tuples(*[STEP] * 6), ORDER, st.sampled_from([0.0, 0.01, 0.1]))
def test_what_passes_is_within_every_limit(steps, twist, order, share):
    twist = tuple(share * part for part in twist)
    poses = passed(steps, twist, order)
    p = np.array([np.zeros(3), *(place for place, _ in poses)])
    turns = [Rotation.identity(), *(turn for _, turn in poses)]
    v = np.vstack([twist[:3], np.diff(p, axis=0) / DT])
    a = np.vstack([np.zeros(3), np.diff(v, axis=0) / DT])
    w = np.array([twist[3:], *((after * before.inv()).as_rotvec() / DT for before, after in pairwise(turns))])
    jerk, spin = np.diff(a, axis=0) / DT, np.diff(w, axis=0) / DT
    assert np.abs(p).max() <= BOX
    measured = ((v[1:], SPEED, 1), (w[1:], RATE, 1), (a[1:], ACCELERATION, 2), (spin, ANGULAR_ACCELERATION, 2), (jerk, JERK, 3))
    for rows, limit, order_of_difference in measured:
        rounding = ROUNDING * limit + 1e-15 / DT**order_of_difference
        assert (np.linalg.norm(rows, axis=1) <= limit + rounding).all()


@settings(max_examples=100, deadline=None)
@given(STEPS, ORDER)
def test_gentle_sequences_pass(steps, order):
    """The guard is not too strict: a sequence that stays a third below every limit passes."""
    gentle = min(10.0**order, 0.02)
    steps = [tuple(gentle * (-1) ** k * part for part in step) for k, step in enumerate(steps)]
    assert len(passed(steps, (0.0,) * 6, 0.0)) == len(steps)
