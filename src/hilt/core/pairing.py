"""Two robots that make one relative motion: who makes how much of it, and how both are given the same delay.

The relative motion is the sum of both robots' parts, each through its own response. With different delays it would not be a
delayed copy of the command, but a mixture that depends on the share. So the faster robot is commanded later, by the difference:
then both have the slower one's delay, and so has the relative motion, whatever the share.

One robot is the clock: it is answered in the loop's tick. The other one has a clock of its own, which drifts past the loop's;
it is answered in its own cycles, on a smooth curve through the loop's set-points. It looks a cycle ahead, and the curve needs
the loop's set-point half a tick further; `slack` is left for a loop that is late. That much later its commands are at least:

    delay = max(lag_clock, lag_other + cycle + T/2 + slack)      later = delay - lag, for each
"""

from dataclasses import dataclass

Pose = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Pairing:
    """What the loop has to know of its two robots. `moves` is the name of the one that carries B, `meets` of the one with W."""

    moves: str
    meets: str
    clock: str  # one of them
    share: float  # of the relative motion, made by `meets`
    lags: dict[str, float]  # s, of each robot behind its set-points
    cycle: float  # s, of the robot that is not the clock
    period: float  # s, of the loop
    slack: float  # s
    X_WS: Pose  # of the sensor, as the scenario has it: on `meets`

    @property
    def other(self) -> str:
        """The robot that is not the clock."""
        return self.meets if self.clock == self.moves else self.moves

    @property
    def least(self) -> float:
        """The least time by which the other robot's commands are later [s]."""
        return self.cycle + 0.5 * self.period + self.slack

    @property
    def delay(self) -> float:
        """What both robots have in common [s]."""
        return max(self.lags[self.clock], self.lags[self.other] + self.least)

    def later(self, name: str) -> float:
        """How much later a robot is commanded [s]."""
        return self.delay - self.lags[name]
