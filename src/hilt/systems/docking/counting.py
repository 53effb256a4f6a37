"""Quantities accumulated during a docking run; metrics.py computes the metrics from them."""

import math
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.verdict import DIVERGED_SPEED
from hilt.maths import so3, vec
from hilt.systems.docking import collisions, lead
from hilt.systems.docking.collisions import collide, larger
from hilt.systems.docking.lead import correlate

IDENTIFIED = record(k="f8", c="f8", found="i8")
STATE = record(
    count="i8",
    t="f8",  # of the last row
    step="f8",  # from the first row to the second
    P_N=3,  # at the start
    L_N=3,
    H="f8",
    linear="f8",  # largest change of the momentum
    angular="f8",
    energy="f8",  # of the last row
    most_energy="f8",
    fastest2="f8",  # squares of speeds
    fast="i8",  # whether the bodies were too fast at any time, and when first
    fast_t="f8",
    before=3,  # velocity and position of the command in the previous row
    place=3,
    command_speed2="f8",
    command_change2="f8",  # from one tick to the next
    behind="f8",  # of the robot, times its speed, summed in flight
    power="f8",
    time_slip="f8",
    front=IDENTIFIED,
    rear=IDENTIFIED,
    collisions=collisions.STATE,
    lead=lead.STATE,
)
PARAMS = record(
    period="f8",
    normal=3,
    tip=3,
    start="f8",  # speed
    twin="i8",
    rotates="i8",
    collisions="i8",
    k="f8",
    k_rear="f8",
    c="f8",
    mass="f8",
    lead=lead.PARAMS,
)


def pack(q: Any, scenario: Any) -> None:
    contact = scenario.contact
    q.period = scenario.loop.period
    q.normal[:] = scenario.frames.n_W
    q.tip[:] = scenario.rod.tip
    q.start = math.hypot(*scenario.approach.velocity)
    q.twin = scenario.compensate.method == "twin"
    q.rotates = scenario.rotates
    q.collisions = scenario.collisions
    q.k, q.k_rear, q.c = contact.stiffness, contact.stiffness * contact.rear_stiffness_ratio, contact.damping
    q.mass = scenario.reduced_mass
    q.lead.reach = lead.reach(scenario.robot.delay, scenario.loop.period)


def events(scenario: Any) -> int:
    """Number of events to allocate: collisions are numbered from 1, and one more may follow the last."""
    return int(scenario.collisions) + 2


@jit
def _largest_change(before, now, first):
    return larger(before, max(abs(now[0] - first[0]), abs(now[1] - first[1]), abs(now[2] - first[2])))


@jit
def _twin_command(sig, m, q):
    """Largest speed and acceleration of the twin's command, from its differences."""
    a = so3.load(sig.X_WB_cmd.q)
    known = a[0] != 0.0 or a[1] != 0.0 or a[2] != 0.0 or a[3] != 0.0  # attitudes are not in every recording
    turned = so3.rotate(a, vec.load(q.tip)) if known else (math.nan, math.nan, math.nan)
    place = vec.add(vec.load(sig.X_WB_cmd.p), turned)
    v = vec.scale(1.0 / q.period, vec.sub(place, vec.load(m.place)))
    if m.count >= 1:
        m.command_speed2 = larger(m.command_speed2, vec.dot(v, v))
    if m.count >= 2:
        change = vec.sub(v, vec.load(m.before))
        m.command_change2 = larger(m.command_change2, vec.dot(change, change))
    vec.store(m.place, place)
    vec.store(m.before, v)


@jit
def _command(m, v, speed2):
    """The same without the twin, where the robot gets the motion of the simulated tip."""
    m.command_speed2 = larger(m.command_speed2, speed2)
    if m.count >= 1:
        change = vec.sub(v, vec.load(m.before))
        m.command_change2 = larger(m.command_change2, vec.dot(change, change))
    vec.store(m.before, v)


@jit
def _identification(sig, m):
    """The last valid estimate at each frame."""
    if sig.identified == 1 and sig.contact != 0:
        side = m.front if sig.contact == 1 else m.rear
        side.k = sig.k_hat
        side.c = sig.c_hat
        side.found = 1


@jit
def count_step(sig, m, each, q):
    """Accumulate one row. Squares are compared where possible: a root costs as much as the rest of a metric."""
    v, n, F = vec.load(sig.v_C_des_W), vec.load(q.normal), vec.load(sig.F_C_true_W)
    energy, speed2 = sig.H + sig.H_rot, vec.dot(v, v)
    if m.count == 0:
        vec.store(m.P_N, vec.load(sig.P_N))
        vec.store(m.L_N, vec.load(sig.L_N))
        m.H = energy
        m.fast_t = math.nan
        m.step = -sig.t
    elif m.count == 1:
        m.step += sig.t
    collide(sig, m.collisions, each, vec.dot(v, n), vec.dot(F, F))
    m.linear = _largest_change(m.linear, sig.P_N, m.P_N)
    m.angular = _largest_change(m.angular, sig.L_N, m.L_N)
    if q.twin:
        _twin_command(sig, m, q)
        m.fastest2 = larger(m.fastest2, speed2)
        m.most_energy = larger(m.most_energy, energy)
    else:
        _command(m, v, speed2)
    correlate(m.lead, q.lead, sig.in_contact == 1, vec.load(sig.F_mea_W), vec.load(sig.F_hat_W))
    _identification(sig, m)
    # The tip of a turning body may leave faster than it arrived, but the bodies may not.
    growth2, start2 = (energy, m.H) if q.rotates else (speed2, q.start * q.start)
    if m.fast == 0 and growth2 > DIVERGED_SPEED * DIVERGED_SPEED * start2:
        m.fast = 1
        m.fast_t = sig.t
    if sig.contact == 0 and sig.collision > 0:
        m.power += speed2
        m.behind += vec.dot(vec.sub(vec.load(sig.p_C_des_W), vec.load(sig.p_C_true_W)), v)
    m.energy = energy
    m.time_slip = sig.time_slip
    m.t = sig.t
    m.count += 1


@jit
def feed(rows, m, each, q):
    for k in range(len(rows)):
        count_step(rows[k], m[0], each, q[0])


def counted(rows: np.ndarray, scenario: Any, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Accumulated record and events for rows in memory."""
    m, q = np.zeros(1, STATE), np.zeros(1, PARAMS)
    each = np.zeros((1, events(scenario) if most is None else most + 1), collisions.EVENT)
    pack(q[0], scenario)
    feed(rows, m, each[0], q)
    return m, collisions.finished(m["collisions"], each)
