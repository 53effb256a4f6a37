"""How many of a robot's packets were answered in time, and the longest row of those that were not, while it was held and while
it was live.

A robot gives up when answers are missing in a row, whether it moves or stands. A packet was not answered if it was lost, if a
newer one had arrived before it was read, or if the robot says that its answer came too late. A tick only compares two numbers:
`note` is called when a packet is not simply the next one.
"""

from hilt.core import faults
from hilt.device.protocol import Reply


class Answers:
    """Counts of one state of the rig."""

    def __init__(self) -> None:
        self.packets = self.unanswered = self.in_a_row = 0


class AnswerCount:
    """Counts by the cycles of the robot's own clock."""

    def __init__(self) -> None:
        self.held, self.live = Answers(), Answers()
        self._now, self._since = self.held, -1  # the state it is in, and from which cycle on
        self._last, self._row = -1, 0  # cycle of the last packet that was noted, and what was missing in a row until then

    def change(self, cycle: int, state: Answers) -> None:
        """From this cycle on the rig is in another state."""
        self._now.packets += max(cycle - self._since, 0) if self._since >= 0 else 0
        self._now, self._since = state, cycle

    def note(self, before: Reply, reply: Reply) -> None:
        """A silence is no packet: what was missing in it shows in the next one's cycle."""
        passed = reply.cycle - before.cycle
        if reply.code == faults.ROBOT_SILENT or passed < 1:
            return
        missing = max(passed - 1, not reply.heard)  # a robot that has missed answers also says that it did not hear the last
        goes_on = before.cycle == self._last and (passed == 1 or not reply.heard)
        self._row = (self._row if goes_on else 0) + missing
        self._last = reply.cycle
        self._now.unanswered += missing
        self._now.in_a_row = max(self._now.in_a_row, self._row)

    def counters(self, cycle: int) -> dict[str, int]:
        self.change(cycle, self._now)
        states = {"held": self.held, "live": self.live}
        return {f"{name}_{what}": count for name, state in states.items() for what, count in vars(state).items()}
