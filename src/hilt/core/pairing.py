"""Two robots in one loop: which of them is the clock, and how much later than the loop each is commanded.

One robot is the clock: it is answered in the loop's tick. The other one has its own clock, which drifts relative to the loop's;
it is answered in its own cycles, on a smooth curve through the loop's set-points. Its command is for one cycle ahead, the curve
needs the loop's set-point half a tick further, and `slack` allows for a late loop. Its commands are therefore later by at least

    least = cycle + T/2 + slack

Either both make one relative motion (`Shared`), or each has its own command (`Joined`).
"""

from dataclasses import dataclass

from pydantic import Field

from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.units import Number, Second

MOST_CYCLES = 100  # per tick, of the robot that is not the clock
Pose = tuple[tuple[float, ...], tuple[float, ...]]


class OwnClock(Section):
    """The clock of the robot that is not the loop's clock."""

    cycle: Second = Field(default=0.004, gt=0, le=0.1, description="cycle of the robot that is not the clock")
    phase: Second = Field(default=0.0, ge=0, description="time from the start to the beginning of its first cycle")
    drift: Number = Field(
        default=0.0, ge=-0.01, le=0.01, description="relative clock drift: how much longer its cycle really is"
    )
    slack: Second = Field(
        default=0.002, ge=0, le=0.1, description="how late the loop may be before the robot that is not the clock has to wait"
    )

    def check(self, period: float) -> None:
        """Check the number of cycles per tick: every one of them is simulated."""
        if self.cycle * MOST_CYCLES < period:
            raise Unfit(
                f"pair.cycle is {self.cycle:g} s; with loop.period = {period:g} s it must be at least "
                f"{period / MOST_CYCLES:g} s, for {MOST_CYCLES} cycles a tick; lengthen it",
                "pair.cycle",
                "loop.period",
            )


@dataclass(frozen=True)
class Pairing:
    """What the loop has to know about its two robots. `moves` is the name of the one that carries B."""

    moves: str
    meets: str
    clock: str  # one of them
    cycle: float  # s, of the robot that is not the clock
    period: float  # s, of the loop
    slack: float  # s

    @property
    def other(self) -> str:
        """The robot that is not the clock."""
        return self.meets if self.clock == self.moves else self.moves

    @property
    def least(self) -> float:
        """The least time by which the other robot's commands are later than the loop's [s]."""
        return self.cycle + 0.5 * self.period + self.slack

    def later(self, name: str) -> float:
        """How much later a robot is commanded [s]."""
        raise NotImplementedError


@dataclass(frozen=True)
class Shared(Pairing):
    """Both make one relative motion; `meets` carries W.

    The relative motion is the sum of both robots' motions, each after its own delay. With different delays it would not be a
    delayed copy of the command, but a mixture that depends on the share. So the faster robot is commanded later, by the
    difference: then both, and the relative motion, have the slower robot's delay, whatever the share.

        delay = max(lag_clock, lag_other + least)      later = delay - lag, for each
    """

    share: float  # of the relative motion, made by `meets`
    lags: dict[str, float]  # s, of each robot behind its set-points
    X_WS: Pose  # of the sensor, as in the scenario: mounted on `meets`

    @property
    def delay(self) -> float:
        """The common delay of both robots [s]."""
        return max(self.lags[self.clock], self.lags[self.other] + self.least)

    def later(self, name: str) -> float:
        return self.delay - self.lags[name]


@dataclass(frozen=True)
class Joined(Pairing):
    """Each has its own command and force sensor; the parts that they carry are connected. `moves` is the clock.

    Signals of `meets`: its command, a pose; its measured motion, position, attitude, velocity and angular velocity; its true
    motion in the simulated world, a pose and a twist at the beginning of two rows of numbers. `sensors` maps the robots that
    carry the sensors to the measured wrenches.
    """

    command: str
    measured: tuple[str, str, str, str]
    truth: tuple[str, str]
    sensors: dict[str, str]

    def later(self, name: str) -> float:
        return self.least if name == self.other else 0.0
