"""Clocks: the only place where time is read.

A clock's `wait_until(t)` returns t seconds after its start and says how late it was; the loop records that.

Two things make a tick late, and they have different cures, so they are counted separately. An *overrun* is caused by the loop:
its tick took too long. An *oversleep* is caused by the host: the loop was waiting and was woken late (or the packet arrived
late). No clock makes up for lost time with a burst of ticks, which would make a robot jump: a missed deadline is skipped, and
the next one is the next multiple of the period in the future.
"""

import ctypes
import math
import time
from datetime import UTC, datetime
from typing import Any, Protocol

_TIMER_ABSTIME = 1
TOLERANCE = 0.2  # of a period: woken later than this is an oversleep
_time: Any = time  # of the machine: Python's, or a virtual machine's with the same functions


def ask(source: Any) -> None:
    """Read time from an object with the functions of Python's `time`; None for that one (host/machine.py)."""
    global _time
    _time = source or time


class Clock(Protocol):
    def start(self) -> None: ...
    def wait_until(self, t: float) -> float: ...
    def busy(self) -> float: ...


class TimeSource(Protocol):
    def now(self) -> float: ...
    def sleep_until(self, t: float) -> None: ...


class FreeClock:
    """As fast as the processor allows: simulation. Never late."""

    def start(self) -> None:
        pass

    def wait_until(self, t: float) -> float:
        return 0.0

    def busy(self) -> float:
        return 0.0


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Monotonic:
    """The host's monotonic clock. It sleeps until an absolute time, so a delay before the sleep does not add to it."""

    def __init__(self) -> None:
        self._until = _Timespec()
        self._address = ctypes.byref(self._until)
        self._sleep: Any = getattr(ctypes.CDLL(None), "clock_nanosleep", None)  # not on every system

    def now(self) -> float:
        return float(_time.monotonic())

    def sleep_until(self, t: float) -> None:
        while (left := t - _time.monotonic()) > 0.0:  # a signal ends a sleep early
            if self._sleep is None or _time is not time:
                _time.sleep(left)
            else:
                seconds = int(t)
                self._until.seconds = seconds
                self._until.nanoseconds = min(math.ceil((t - seconds) * 1e9), 999_999_999)
                self._sleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, self._address, None)


class _Tally:
    """What a clock counts: overruns and oversleeps separately, each with the worst case and when in the run it happened."""

    def __init__(self, tolerance: float, source: TimeSource | None) -> None:
        self._tolerance = tolerance
        self._source = source or Monotonic()
        self._asked = self._left = 0.0
        self.missed = 0  # deadlines that passed without a tick, for either reason
        self.overruns = self.oversleeps = 0
        self.worst_overrun = self.worst_oversleep = 0.0
        self.worst_overrun_at = self.worst_oversleep_at = 0.0

    def busy(self) -> float:
        """Seconds since the tick began: since the loop was woken, or its packet arrived."""
        return self._source.now() - self._left

    def _overrun(self, came: float, period: float, late: float, deadlines: int) -> None:
        """The loop came back after its deadline: an overrun if the tick used up its period, otherwise an oversleep."""
        if came - self._left > (1.0 - self._tolerance) * period:
            self.overruns += deadlines
            if late > self.worst_overrun:
                self.worst_overrun, self.worst_overrun_at = late, self._asked

    def _oversleep(self, period: float, late: float) -> None:
        if late > self._tolerance * period:
            self.oversleeps += 1
            if late > self.worst_oversleep:
                self.worst_oversleep, self.worst_oversleep_at = late, self._asked

    def counts(self) -> dict[str, Any]:
        """Counts for the report of a run: what was missed and why, and the worst case."""
        everything = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {"overruns": self.overruns, "oversleeps": self.oversleeps, "missed": self.missed, "clock": everything}


class PeriodicClock(_Tally):
    """Wall time with absolute deadlines, a period apart. The period is the step from one requested time to the next.

    After missed deadlines the requested times shift later on the wall clock, by whole periods; the lateness of the tick that
    missed them is counted from its own deadline, so no row hides it.
    """

    def __init__(self, tolerance: float = TOLERANCE, source: TimeSource | None = None) -> None:
        super().__init__(tolerance, source)
        self._origin = 0.0

    def start(self) -> None:
        self._origin = self._left = self._source.now()
        self._asked = 0.0

    def wait_until(self, t: float) -> float:
        period, self._asked = t - self._asked, t
        deadline = target = self._origin + t
        came = self._source.now()
        if came > deadline and period > 0.0:
            deadlines = math.floor((came - deadline) / period) + 1
            self._overrun(came, period, came - deadline, deadlines)
            target += self._skip(deadlines, period)
        self._source.sleep_until(target)
        self._left = self._source.now()
        late = self._left - target
        if period > 0.0:
            self._oversleep(period, late)
            if late >= period:  # slept through whole periods: suspended, or a host that cannot keep time
                self._skip(math.floor(late / period), period)
        return self._left - deadline

    def _skip(self, deadlines: int, period: float) -> float:
        self.missed += deadlines
        self._origin += deadlines * period
        return deadlines * period


class DeviceClock(_Tally):
    """The device's packet is the clock: the rig waits for it, and calls `arrived` when it arrives.

    Packets are expected a period apart. The phase follows the earliest ones, since a packet may be delayed but never arrives
    before it was sent; a small fraction of each lateness shifts the phase, to follow a device whose clock runs slower.
    """

    DRIFT = 0.01

    def __init__(self, period: float, tolerance: float = TOLERANCE, source: TimeSource | None = None) -> None:
        super().__init__(tolerance, source)
        self._period = period
        self._expected = self._came = math.inf

    def start(self) -> None:
        self._left = self._source.now()
        self._expected = self._came = math.inf

    def wait_until(self, t: float) -> float:
        """Returns at once, with the time since the packet was expected, or 0 if that is still ahead."""
        self._asked, self._came = t, self._source.now()
        late = max(0.0, self._came - self._expected)
        if late > 0.0:
            self._overrun(self._came, self._period, late, 1)
        return late

    def arrived(self) -> float:
        """The packet has arrived: how much later than expected [s]."""
        now = self._left = self._source.now()
        late = max(0.0, now - self._expected)
        if self._came <= self._expected:  # the loop was already waiting
            self._oversleep(self._period, late)
        if late > 0.0:
            lost = math.floor(late / self._period)
            self.missed += lost
            self._expected += lost * self._period + self.DRIFT * (late - lost * self._period)
        else:
            self._expected = now
        self._expected += self._period
        return late


class SteadyClock:
    """Estimates when a device's cycles begin, from its own cycle count and the earliest packets of the last half second.

    A packet may be delayed but never arrives before it was sent, so the earliest one of a window is the best; with a clock that
    drifts by 50 ppm the estimate is then off by up to 25 µs. The estimate moves by at most half a per cent of a cycle per
    cycle, so that no cycle is much longer or shorter than another, even after the device's clock has jumped. Only in the first
    half second, when the first packet may have been arbitrarily late, does it move by up to five per cent.
    """

    WINDOW = 0.25  # s; the earliest packet of two windows counts: the current one and the one before
    RATE, FIRST_RATE = 0.005, 0.05

    def __init__(self, period: float) -> None:
        self._period = period
        self.start()

    def start(self) -> None:
        self._count = 0  # cycles since the first packet
        self._first = self._offset = 0.0  # [s] time of the first packet; correction to the cycles counted from it
        self._last = -1
        self._earliest = [math.inf, math.inf]  # of the previous window and of the current one
        self._until = 0.0

    def arrived(self, cycle: int, at: float) -> None:
        """Report that the packet of this device cycle arrived at this time [s, monotonic]."""
        if self._last < 0:
            self._first, self._until = at, at + self.WINDOW
        else:
            self._count += cycle - self._last
        passed, self._last = max(cycle - self._last, 1), cycle
        late = at - self._first - self._count * self._period
        if at > self._until:
            self._earliest = [self._earliest[1], late]
            self._until = at + self.WINDOW
        self._earliest[1] = min(self._earliest[1], late)
        begins = at < self._first + 2.0 * self.WINDOW
        most = (self.FIRST_RATE if begins else self.RATE) * self._period * passed
        self._offset += min(max(min(self._earliest) - self._offset, -most), most)

    @property
    def began(self) -> float:
        """The beginning of the current cycle [s, monotonic]."""
        return self._first + self._count * self._period + self._offset


def now() -> float:
    """Seconds of a monotonic clock, for speed factors and progress bars."""
    return _time.monotonic()


def nanoseconds() -> int:
    """The same clock in whole nanoseconds, common to all processes of a host."""
    return _time.monotonic_ns()


def wall() -> float:
    """Seconds of the calendar clock, with which the kernel stamps packets. It may jump: use it only for a packet's age."""
    return _time.time()


def wall_nanoseconds() -> int:
    """The same in whole nanoseconds: when a run began."""
    return _time.time_ns()


def pause(seconds: float) -> None:
    """Sleep, for processes beside the loop."""
    _time.sleep(seconds)


def stamp() -> str:
    """Date and time for file names, local."""
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(_time.time()))


def date() -> str:
    """Date and time of the world, to the second."""
    return datetime.fromtimestamp(_time.time(), UTC).isoformat(timespec="seconds")
