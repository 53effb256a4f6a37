"""What is counted during a freefloat run; metrics.py turns it into metrics."""

import math
from typing import Any

from hilt.compiled import jit
from hilt.core.flight import begin_flight, fly, room, speed_at
from hilt.core.signals import record
from hilt.maths import vec
from hilt.systems.freefloat.push import CAPACITY

KEPT = 4096  # speeds of a flight
SPARE = 256  # flights beyond the collisions that end a run: a body that chatters on a wall has many
EVENT = record(speed="f8")  # in the middle of a flight
TURNING = record(L_W=3, impulse=3, work="f8", H_first="f8", H_last="f8", error="f8", t="f8", w=3, tau=3)
STATE = record(
    count="i8",
    p=3,  # of the first row
    v=3,
    force=3,  # of the previous row
    accelerations=3,  # summed: the exact solution
    steps=3,
    away2="f8",  # squares of the largest distance and speed
    speed2="f8",
    v_pc="f8",
    E_obs="f8",  # smallest
    E_obs_free="f8",
    energy="f8",  # of the body in the first row, and the largest
    most_energy="f8",
    made="f8",
    over="i8",  # pushes, and the squares of the drift at the end of each
    drifts2=CAPACITY,
    flights="i8",  # completed
    turning=TURNING,
    **room(KEPT),
)
PARAMS = record(period="f8", mass="f8", axes="i8", wall="i8", rotates="i8", observed="i8", pushes="i8", ends=CAPACITY)


def pack(q: Any, scenario: Any) -> None:
    q.period, q.mass = scenario.loop.period, scenario.body.mass
    q.axes = 1 if scenario.body.dof == 1 else 3
    q.wall = scenario.wall is not None
    q.rotates = scenario.rotates
    q.observed = scenario.body_fmu is None  # observer and controller are hilt's own
    ends = sorted({push.start + push.duration for push in scenario.push})
    q.pushes = len(ends)
    q.ends[: len(ends)] = ends


def events(scenario: Any) -> int:
    """Largest number of flights: one before each contact and one after the last, at most one every second tick."""
    if scenario.wall is None:
        return 1
    ticks = round(scenario.loop.duration / scenario.loop.period) + 1
    return int(min(scenario.collisions + 1 + SPARE, ticks // 2 + 1))


@jit
def larger(before, new):
    """The larger of two; stays NaN once one of them is NaN."""
    return before if new <= before or before != before else new


@jit
def smaller(before, new):
    return before if new >= before or before != before else new


@jit
def _begin(sig, m):
    vec.store(m.p, vec.load(sig.X_WBcm.p))
    vec.store(m.v, vec.load(sig.V_WBcm.v))
    m.E_obs = math.inf
    m.E_obs_free = math.inf
    m.energy = sig.H + sig.H_rot
    begin_flight(m)


@jit
def _exact_step(m, q):
    """Advance the exact solution by one tick under the held force of the previous row."""
    for i in range(3):
        a = m.force[i] / q.mass
        m.steps[i] += q.period * (m.v[i] + q.period * m.accelerations[i]) + 0.5 * (q.period * q.period) * a
        m.accelerations[i] += a


@jit
def _away2(sig, m, q):
    """Squared distance between the simulated position and the exact one."""
    total = 0.0
    for i in range(q.axes):
        away = sig.X_WBcm.p[i] - (m.p[i] + m.steps[i])
        total += away * away
    return total


@jit
def _ends_of_pushes(m, q, t, away2):
    """The drift at the end of each push, as the paper reads it from its Fig. 3."""
    while m.over < q.pushes and t >= q.ends[m.over] - 1e-9:
        m.drifts2[m.over] = away2
        m.over += 1


@jit
def _extremes(sig, m, q):
    v = vec.load(sig.V_WBcm.v)
    m.speed2 = larger(m.speed2, vec.dot(v, v))
    for i in range(3):
        m.v_pc = larger(m.v_pc, abs(sig.v_pc[i]))
    for i in range(q.axes):
        m.E_obs = smaller(m.E_obs, sig.E_obs[i])
        m.E_obs_free = smaller(m.E_obs_free, sig.E_obs_free[i])


@jit
def _flights(sig, m, each):
    """Stretches of free motion between contacts, the first and the last included."""
    if sig.contact == 0:
        fly(m, sig.V_WBcm.v[0])
    elif m.flight > 0:
        if m.flights < len(each):
            each[m.flights].speed = speed_at(m, m.flight // 2)
            m.flights += 1
        begin_flight(m)


@jit
def _turn(sig, m, period, first):
    """Add work (trapezoid of its rates) and impulse of the measured torque on the rotating body."""
    w, tau, L = vec.load(sig.V_WBcm.w), vec.load(sig.F_Bcm_W.tau), vec.load(sig.L_W)
    if first:
        vec.store(m.L_W, L)
        m.H_first = sig.H_rot
    else:
        before = vec.load(m.tau)
        m.work += vec.dot(before, vec.scale(0.5, vec.add(vec.load(m.w), w))) * (sig.t - m.t)
        vec.store(m.impulse, vec.add(vec.load(m.impulse), before))
    for i in range(3):
        m.error = larger(m.error, abs(L[i] - (m.L_W[i] + m.impulse[i] * period)))
    vec.store(m.w, w)
    vec.store(m.tau, tau)
    m.t = sig.t
    m.H_last = sig.H_rot


@jit
def count_step(sig, m, each, q):
    """Count one row. Squares are compared: a root costs as much as the rest of a metric."""
    if m.count == 0:
        _begin(sig, m)
    else:
        _exact_step(m, q)
    away2, energy = _away2(sig, m, q), sig.H + sig.H_rot
    m.away2 = larger(m.away2, away2)
    _ends_of_pushes(m, q, sig.t, away2)
    _extremes(sig, m, q)
    m.most_energy = larger(m.most_energy, energy)
    m.made = energy - (sig.W_environment.into - sig.W_environment.out) - m.energy
    if q.wall:
        _flights(sig, m, each)
    if q.rotates:
        _turn(sig, m.turning, q.period, m.count == 0)
    vec.store(m.force, vec.load(sig.F_Bcm_W.f))
    m.count += 1


@jit
def feed(rows, m, each, q):
    for k in range(len(rows)):
        count_step(rows[k], m[0], each, q[0])
