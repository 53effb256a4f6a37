"""The second robot's set-points in virtual time: clocks that drift, packets that are late, a loop that is late or silent."""

import os

import numpy as np
import pytest

from hilt.core import faults
from hilt.core.clock import SteadyClock
from hilt.core.guard import GUARD
from hilt.core.signals import POSE
from hilt.device.course import Course
from hilt.device.partner import following
from hilt.device.partner.following import DRY, WHOLE, Following, read_curve
from hilt.device.partner.memory import KNOTS, Memory

LOOP, CYCLE, LATER, SPEED = 0.004, 0.001, 0.008, 0.02


@pytest.fixture
def memory():
    made = Memory(f"test-{os.getpid()}", make=True)
    yield made
    made.close()


def pose(x):
    found = np.zeros(1, POSE)[0]
    found["p"][0], found["q"][0] = x, 1.0
    return found


def arrivals(period, until, first, seed):
    """When packets are sent, and when they are read: half of them soon, half after up to half a cycle, on a busy machine."""
    sent = first + period * np.arange(int((until - first) / period))
    draw = np.random.default_rng(seed)
    late = 30e-6 + draw.exponential(10e-6, len(sent))
    return sent, sent + late + np.where(draw.random(len(sent)) < 0.5, draw.uniform(0, 0.5 * period, len(sent)), 0)


@pytest.mark.parametrize(("drift", "until"), [(5e-5, 120.0), (-5e-5, 60.0)])
def test_minutes_of_drifting_clocks(memory, drift, until):
    """A loop of 4 ms and a robot of 1 ms whose clocks drift by 50 ppm: phase within 0.1 ms, no step left out or made twice."""
    ticks, ticks_read = arrivals(LOOP, until, 1.0, 1)
    cycles, cycles_read = arrivals(CYCLE * (1.0 + drift), until, 1.0003, 2)
    out, loop, robot = pose(0.0), SteadyClock(LOOP), SteadyClock(CYCLE)
    steps, phase_errors, k, last = [], [], 0, 0.0
    for n, read in enumerate(cycles_read):
        while k < len(ticks) and ticks_read[k] + 0.0005 < read:  # a tick takes half a millisecond
            loop.arrived(k, ticks_read[k])
            memory.push(loop.began + LOOP, pose(SPEED * (LOOP * k)))
            if k > 250:
                behind = (loop.began - robot.began) % CYCLE
                true = (ticks[k] - cycles[n - 1]) % CYCLE
                phase_errors.append((behind - true + 0.5 * CYCLE) % CYCLE - 0.5 * CYCLE)
            k += 1
        robot.arrived(n, read)
        found = read_curve(memory.row, robot.began + CYCLE - LATER, LOOP, out)
        if n > 1000:
            assert found == WHOLE
            steps.append(out["p"][0] - last)
        last = float(out["p"][0])
    assert np.abs(phase_errors).max() < 1e-4
    # Even steps: a missing one would be 0, a double one 2; the clocks' own errors are below a tenth of a cycle.
    assert np.abs(np.array(steps) / (SPEED * CYCLE) - 1.0).max() < 0.1
    # None lost in all: it has gone as far as the loop's set-points, `later` ago, within the phase's 0.1 ms.
    there = SPEED * (robot.began + CYCLE - LATER - 1.0 - LOOP)
    assert last == pytest.approx(there, abs=SPEED * 1e-4)


def test_a_late_loop_ends_the_curve_and_a_gap_is_crossed(memory):
    out = pose(0.0)
    for k in range(10):
        memory.push(1.0 + LOOP * k, pose(SPEED * LOOP * k))
    newest = 1.0 + LOOP * 9
    assert read_curve(memory.row, newest - LOOP, LOOP, out) == WHOLE
    assert out["p"][0] == pytest.approx(SPEED * (newest - LOOP - 1.0), abs=1e-15)
    assert read_curve(memory.row, newest + 1.0, LOOP, out) == DRY
    assert out["p"][0] == pytest.approx(SPEED * LOOP * 8.5, abs=1e-15), "the curve ends between the last two set-points"
    memory.push(newest + 3 * LOOP, pose(SPEED * LOOP * 10))  # two ticks were missed
    memory.push(newest + 4 * LOOP, pose(SPEED * LOOP * 11))
    assert read_curve(memory.row, newest + 2 * LOOP, LOOP, out) == following.GAP
    assert SPEED * LOOP * 9 < out["p"][0] < SPEED * LOOP * 10


def test_before_the_first_set_point_it_stays_and_old_ones_are_overwritten(memory):
    out = pose(0.7)
    assert read_curve(memory.row, 5.0, LOOP, out) == WHOLE
    assert out["p"][0] == 0.7
    for k in range(3 * KNOTS):
        memory.push(LOOP * k, pose(float(k)))
    assert read_curve(memory.row, LOOP * (3 * KNOTS - 20), LOOP, out) == WHOLE
    assert out["p"][0] == pytest.approx(3 * KNOTS - 20)


def test_set_points_that_come_too_late_are_waited_for_and_a_loop_that_makes_none_is_a_fault(memory):
    """A patience of 0.1 s: 0.4 s of set-points that are each 20 ms late are no fault, 0.1 s without one are."""
    followed = Following(memory, Course(LOOP), LOOP)
    row = followed.bench(pose(0.0), np.zeros(1, GUARD.params)[0], LATER, LOOP, 0.1).row
    late, silent = 0.020, 100  # s, cycles
    for k in range(silent + 26):
        followed.clock.arrived(k, 1.0 + LOOP * k)
        if k < silent:
            memory.push(1.0 + LOOP * k - late, pose(SPEED * LOOP * k))
        followed._tick(row)
        assert (row["fault"][0] == faults.LATENESS) == (k == silent + 25), k  # 26 cycles of 4 ms are more than 0.1 s
    assert row["X_WB_cmd"]["p"][0, 0] == pytest.approx(SPEED * LOOP * (silent - 1.5)), "it waits where the curve ends"
