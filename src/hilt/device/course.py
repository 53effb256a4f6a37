"""What is sent to the robot: the loop's set-point, plus a remaining offset that is worked off, and the guard on the sum.

The robot's set-point differs from the loop's by the remaining distance to the start of the scenario, and by every step that
came too late for its cycle. This offset is worked off gently, never in one step. A robot whose set-point has stood still, at
the start or because an answer was lost, is brought back to speed within the limits; what it falls behind in the meantime is
worked off the same way.

The tick's guard has checked the loop's set-point. The same guard checks once more what is really sent, against the robot's own
set-points, starting from rest.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core import faults, guard
from hilt.core.faults import InputError
from hilt.core.guard import GUARD, guard_step
from hilt.core.signals import POSE, record, row_type
from hilt.core.system import Bench
from hilt.maths import so3, vec

BLEND = 0.3  # s in which most of the offset is worked off
SHARE = 0.99  # of a limit that the correction may use, so that rounding does not exceed it
TINY = 1e-7  # m, rad: too small to correct; in one cycle of 4 ms it is 6 mm/s²
TURN_TOLERANCE = 1e-3  # rad, for a robot at its start pose
_COURSE = record(v=3, w=3, away=3, turned=3, resumes="i8", waits="i8", guard=GUARD.state)
_CHECKED = row_type((*GUARD.reads, *GUARD.writes))


@jit
def _within(displacement, before, dt, speed, acceleration):
    """Return the step of one cycle, shortened so that neither its speed nor its acceleration exceeds a limit."""
    wanted = vec.scale(1.0 / dt, displacement)
    change = vec.sub(wanted, before)
    most = acceleration * dt
    size = math.sqrt(vec.dot(change, change))
    fast = math.sqrt(vec.dot(wanted, wanted))
    if size <= most and fast <= speed:
        return displacement
    if size > most:
        wanted = vec.add(before, vec.scale(most / size, change))
        fast = math.sqrt(vec.dot(wanted, wanted))
    return vec.scale(dt * min(1.0, speed / max(fast, 1e-300)), wanted)


@jit
def _left(left, keep):
    """Return the offset that remains after the next cycle."""
    return vec.scale(keep, left) if vec.dot(left, left) > TINY * TINY else (0.0, 0.0, 0.0)


@jit
def advance(x, limits, last, now, keep, dt):
    """Change `now` from the loop's set-point to the one to send; the next one will be closer to the loop's."""
    away, turned = vec.load(x.away), vec.load(x.turned)
    if x.resumes == 0 and vec.dot(away, away) + vec.dot(turned, turned) == 0.0:
        return
    p, q, last_q = vec.load(now.p), so3.load(now.q), so3.load(last.q)
    displacement = vec.sub(vec.add(p, away), vec.load(last.p))
    share = 0.0 if x.waits else 1.0
    most = share * min(SHARE * limits.acceleration, 0.5 * limits.jerk * dt)
    step = _within(displacement, vec.load(x.v), dt, SHARE * limits.speed, most)
    turn = so3.between(last_q, so3.multiply(so3.exp(turned), q))
    spin = _within(turn, vec.load(x.w), dt, SHARE * limits.angular_speed, share * SHARE * limits.angular_acceleration)
    x.resumes, x.waits = 1 if step != displacement or spin != turn else 0, 0
    next_p, next_q = vec.add(vec.load(last.p), step), so3.normalise(so3.multiply(so3.exp(spin), last_q))
    vec.store(x.away, _left(vec.sub(next_p, p), keep))
    vec.store(x.turned, _left(so3.between(q, next_q), keep))
    vec.store(now.p, next_p)
    so3.store(now.q, next_q)


@jit
def follow(x, last, sent, dt):
    """Make the set-point that was really sent the last one, and store its speed."""
    p, q = vec.load(sent.p), so3.load(sent.q)
    vec.store(x.v, vec.scale(1.0 / dt, vec.sub(p, vec.load(last.p))))
    vec.store(x.w, vec.scale(1.0 / dt, so3.between(so3.load(last.q), q)))
    vec.store(last.p, p)
    so3.store(last.q, q)


@jit
def check(checked, x, limits, now, dt):
    """Run the guard on what is sent; returns its fault code. Force and energy are checked in the tick."""
    vec.store(checked.X_WB_cmd.p, vec.load(now.p))
    so3.store(checked.X_WB_cmd.q, so3.load(now.q))
    checked.fault, checked.fault_axis = 0, -1
    guard_step(checked, x, limits, dt)
    return checked.fault


class Course:
    """`last` is the robot's present set-point, `now` the next one."""

    def __init__(self, cycle: float) -> None:
        self.cycle, self._keep = cycle, math.exp(-cycle / BLEND)
        self.last, self.now = np.zeros(1, POSE)[0], np.zeros(1, POSE)[0]
        self.checked = np.zeros(1, _CHECKED)[0]  # includes the fault, if there is one
        self._x = np.zeros(1, _COURSE)[0]
        self.limits = np.zeros(1, GUARD.params)[0]
        self.last["q"] = self.now["q"] = (1.0, 0.0, 0.0, 0.0)
        self.start(self.last)
        self.next(self.now)  # compile now: the first packet must be answered in time
        self.record_sent(self.now)
        self.lose(self.last)

    def start(self, planned: Any) -> None:
        """Start from `last`, at rest, on a course that begins at `planned`."""
        self._x["away"] = self.last["p"] - planned["p"]
        self._x["turned"] = so3.between(tuple(planned["q"]), tuple(self.last["q"]))
        self.stand_still()

    def stand_still(self) -> None:
        self._x["v"] = self._x["w"] = 0.0
        self._x["resumes"], self._x["waits"] = 1, 0
        zero = (0.0, 0.0, 0.0)
        guard.start(self._x["guard"], tuple(self.last["p"]), tuple(self.last["q"]), zero, zero, 0)

    def resume(self) -> None:
        """Approach the next set-point within the limits, as after standing still: it may be more than one step away."""
        self._x["resumes"] = 1

    def lose(self, stayed: Any, waits: bool = False) -> None:
        """Record that the robot did not move to `last` but stayed at `stayed`. If it moves there only now (`waits`), the next
        set-point stays there, too: a robot that is in time again might take both at once."""
        self._x["away"] += stayed["p"] - self.last["p"]
        self._x["turned"] += so3.between(tuple(self.last["q"]), tuple(stayed["q"]))
        self.last["p"], self.last["q"] = stayed["p"], stayed["q"]
        self.stand_still()
        self._x["waits"] = waits

    def next(self, pose: Any) -> int:
        """Write the set-point to send for the loop's into `now`; returns the guard's code."""
        self.now["p"], self.now["q"] = pose["p"], pose["q"]
        advance(self._x, self.limits, self.last, self.now, self._keep, self.cycle)
        return int(check(self.checked, self._x["guard"], self.limits, self.now, self.cycle))

    def record_sent(self, sent: Any) -> None:
        """Record what was really sent, rounded as in the packet, and its speed."""
        follow(self._x, self.last, sent, self.cycle)

    @property
    def moving(self) -> bool:
        return bool(self._x["v"].any() or self._x["w"].any())

    def slow_down(self, deceleration: float, angular_deceleration: float) -> bool:
        """Write the next step of a soft stop into `now`; False if the stop is complete. Call `slowed` once it is sent."""
        v, w = self._x["v"], self._x["w"]
        needed = max(float(np.linalg.norm(v)) / deceleration, float(np.linalg.norm(w)) / angular_deceleration)
        if needed <= self.cycle:
            self.stand_still()
            return False
        self._slower = 1.0 - self.cycle / needed  # translation and turn end together
        self.now["p"] = self.last["p"] + self.cycle * self._slower * v
        self.now["q"] = so3.multiply(so3.exp(tuple(self.cycle * self._slower * w)), tuple(self.last["q"]))
        return True

    def slowed(self) -> None:
        self._x["v"] *= self._slower
        self._x["w"] *= self._slower
        self.last["p"], self.last["q"] = self.now["p"], self.now["q"]


def check_near(here: Any, there: Any, allowed: float, name: str, advice: str) -> None:
    """Refuse a robot that is too far from a pose."""
    apart, turned = math.dist(here["p"], there["p"]), math.hypot(*so3.between(tuple(here["q"]), tuple(there["q"])))
    if apart > allowed or turned > TURN_TOLERANCE:
        raise InputError(
            f"the robot is {1e3 * apart:.3g} mm and {turned:.2g} rad from {name}; allowed are "
            f"{1e3 * allowed:g} mm and {TURN_TOLERANCE:g} rad; {advice}"
        )


def check_first(bench: Bench, feel: Callable[[np.ndarray], None]) -> None:
    """Refuse a scenario whose first set-point exceeds a limit for a robot at rest. `feel` writes the present wrench into a row:
    a sensor that carries a tool does not read zero."""
    row, x, w = bench.row.copy(), bench.x.copy(), bench.w.copy()
    start = row[0]["X_WB_cmd"].copy()
    row["X_WB_meas"][0] = start
    feel(row)
    bench.code.observe(row, w, bench.p)
    bench.code.tick(row, x, bench.p)
    checked, state, limits = np.zeros(1, _CHECKED)[0], np.zeros(1, GUARD.state)[0], bench.p[0]["guard"]
    zero = (0.0, 0.0, 0.0)
    guard.start(state, tuple(start["p"]), tuple(start["q"]), zero, zero, 0)
    check(checked, state, limits, row[0]["X_WB_cmd"], float(bench.p[0]["dt"]))
    if checked["fault"] != faults.NONE:
        fault = faults.read_fault({name: checked[name] for name in GUARD.writes} | {"t": 0.0, "tick": 0})
        assert fault is not None
        what = fault.sentence.partition(": ")[2].partition(";")[0]
        raise InputError(
            f"the robot is at rest, and the first set-point of the scenario cannot be sent: {what}; "
            "let the scenario start more slowly, or from rest"
        )
