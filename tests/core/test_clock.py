"""Clocks, on a simulated time: no test here sleeps. Periods are powers of two, so that sums are exact."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.clock import DeviceClock, Monotonic, PeriodicClock, SteadyClock

PERIOD = 2.0**-10


class Made:
    """A time that advances only by sleeping and working."""

    def __init__(self):
        self.t = 1000.0
        self.oversleep = 0.0  # of the next sleeps

    def now(self):
        return self.t

    def sleep_until(self, t):
        if t > self.t:
            self.t = t + self.oversleep


def run(clock, made, works, oversleeps=None):
    """Run ticks that take `works`; return when each began, in periods after the start, and its reported lateness."""
    clock.start()
    origin = made.t
    begun, reported = [], []
    for k, work in enumerate(works):
        made.oversleep = oversleeps[k] * PERIOD if oversleeps else 0.0
        reported.append(clock.wait_until(k * PERIOD) / PERIOD)
        begun.append((made.t - origin) / PERIOD)
        made.t += work * PERIOD
    return begun, reported


@pytest.mark.parametrize(
    ("works", "oversleeps", "begun", "reported", "counts", "worst"),
    [
        pytest.param([0.5, 0, 0.875, 0.25, 0], None, [0, 1, 2, 3, 4], [0] * 5, (0, 0, 0), (0, 0, 0, 0), id="in time"),
        # Begun at 1, over at 4.5: the deadlines 2, 3 and 4 have passed; the row of the late tick has its lateness after its own
        # deadline, and there is no burst.
        pytest.param(
            [0.5, 3.5, 0.5, 0.5, 0.5], None, [0, 1, 5, 6, 7], [0, 0, 3, 0, 0], (3, 0, 3), (2.5, 2, 0, 0), id="overrun"
        ),
        # A sixteenth is within the tolerance.
        pytest.param(
            [0.25] * 5,
            [0, 0.0625, 0.5, 0, 0.25],
            [0, 1.0625, 2.5, 3, 4.25],
            [0, 0.0625, 0.5, 0, 0.25],
            (0, 2, 0),
            (0, 0, 0.5, 2),
            id="woken late",
        ),
        # Not blamed on the tick.
        pytest.param(
            [0.25] * 3, [0, 0.875, 0], [0, 1.875, 3], [0, 0.875, 1], (0, 1, 1), (0, 0, 0.875, 1), id="missed after it"
        ),
        pytest.param([0.25] * 4, [0, 5.5, 0, 0], [0, 6.5, 7, 8], [0, 5.5, 0, 0], (0, 1, 5), (0, 0, 5.5, 1), id="slept through"),
    ],
)
def test_deadlines_are_a_period_apart_and_missed_ones_are_skipped(works, oversleeps, begun, reported, counts, worst):
    made = Made()
    clock = PeriodicClock(source=made)
    assert run(clock, made, works, oversleeps) == (begun, reported)
    assert (clock.overruns, clock.oversleeps, clock.missed) == counts
    found = (clock.worst_overrun, clock.worst_overrun_at, clock.worst_oversleep, clock.worst_oversleep_at)
    assert tuple(each / PERIOD for each in found) == worst, "size and place of the worst overrun and oversleep"


SIXTEENTHS = st.integers(0, 64).map(lambda n: n / 16)


@given(st.lists(st.tuples(SIXTEENTHS, st.one_of(st.just(0.0), SIXTEENTHS)), min_size=2, max_size=30))
def test_every_deadline_is_met_once_or_counted_as_missed_and_every_miss_is_explained(story):
    works, oversleeps = zip(*story, strict=True)
    made = Made()
    clock = PeriodicClock(source=made)
    begun, reported = run(clock, made, works, oversleeps)
    places = [math.floor(b) for b in begun]
    assert all(after > before for before, after in itertools.pairwise(places))  # one tick a period at most
    assert places[-1] == len(story) - 1 + clock.missed
    assert clock.missed == 0 or clock.overruns + clock.oversleeps > 0
    assert all(late >= 0 for late in reported)
    # The rows add up: a tick is late by the oversleep and by the deadlines it skipped.
    if not any(oversleeps):
        assert clock.oversleeps == 0
        assert clock.overruns == clock.missed == sum(reported)


def test_a_device_clock_never_waits_and_says_how_late_the_packet_was():
    made = Made()
    clock = DeviceClock(PERIOD, source=made)
    clock.start()
    reported = []
    for arrival in [0.0, 1.0, 2.5, 3.0]:  # the third packet is half a period late
        before = made.t
        clock.wait_until(0.0)
        assert made.t == before
        made.t = 1000.0 + arrival * PERIOD
        reported.append(clock.arrived() / PERIOD)
    assert reported == pytest.approx([0, 0, 0.5, 0], abs=1e-9)
    assert (clock.overruns, clock.oversleeps, clock.missed) == (0, 1, 0)
    assert clock.worst_oversleep == pytest.approx(0.5 * PERIOD)


def test_a_device_clock_counts_a_long_tick_as_an_overrun_and_lost_packets_as_missed():
    made = Made()
    clock = DeviceClock(PERIOD, source=made)
    clock.start()
    clock.wait_until(0.0)
    clock.arrived()
    made.t += 1.5 * PERIOD  # the tick; its packet waits in the socket
    assert clock.wait_until(PERIOD) == 0.5 * PERIOD
    clock.arrived()
    assert (clock.overruns, clock.oversleeps, clock.missed) == (1, 0, 0)
    clock.wait_until(2 * PERIOD)
    made.t += 3.75 * PERIOD
    clock.arrived()
    assert (clock.overruns, clock.oversleeps) == (1, 1)
    assert clock.missed == 3


def test_a_device_whose_clock_runs_slow_is_not_reported_late_for_ever():
    """One part in a thousand: the expected time follows by a hundredth of each lateness: it settles at a tenth of a period."""
    made = Made()
    clock = DeviceClock(PERIOD, source=made)
    clock.start()
    late = 0.0
    for k in range(2000):
        clock.wait_until(0.0)
        made.t = 1000.0 + 1.001 * k * PERIOD
        late = clock.arrived() / PERIOD
    assert late == pytest.approx(0.1, rel=0.02)
    assert clock.missed == 0


def test_the_host_clock_sleeps_to_an_absolute_time():
    """Never early, which holds on any machine; the doctor measures how late."""
    source = Monotonic()
    until = source.now() + 0.002
    source.sleep_until(until)
    assert source.now() >= until
    source.sleep_until(until)  # already past: returns


def test_a_steady_clock_follows_the_earliest_packets_and_the_devices_own_count():
    clock, draw = SteadyClock(0.004), np.random.default_rng(3)
    began = []
    for n in range(2000):
        if 500 < n < 510 or n % 7 == 3:
            continue  # lost, or read late together with the next
        clock.arrived(n, 10.0 + 0.004 * n + draw.uniform(0.0, 0.002))
        began.append(clock.began - (10.0 + 0.004 * n))
    # Half a second has about 100 packets: the earliest of them is rarely later than 5 % of their scatter.
    assert min(began[125:]) > -1e-9
    assert max(began[125:]) < 2e-4
    # Half a per cent of a cycle, for each that has passed.
    assert np.abs(np.diff(began[125:])).max() <= 0.005 * 0.004 * 11 + 1e-12


@pytest.mark.parametrize("period", [0.001, 0.004])
def test_a_steady_clock_that_begins_with_late_packets_has_caught_up_after_half_a_second(period):
    """Its first packets come in a burst, the first 10 ms late: the host stalled while the robot was being armed."""
    clock = SteadyClock(period)
    for n in range(round(0.5 / period) + 1):
        clock.arrived(n, max(period * n, 0.01 + 0.3 * period * n))
    assert clock.began == pytest.approx(period * n, abs=1e-9)


def test_a_steady_clock_finds_a_device_again_whose_clock_has_jumped():
    clock = SteadyClock(0.004)
    for n in range(1000):
        clock.arrived(n, 0.004 * n + (0.003 if n >= 500 else 0.0))
    assert clock.began == pytest.approx(0.004 * 999 + 0.003, abs=1e-9)  # the window and 3 ms at 20 µs a cycle: 275 cycles
