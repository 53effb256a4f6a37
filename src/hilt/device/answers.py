"""How many of a robot's packets were answered in time, and the longest row of those that were not, while it was held and while
it moved.

A robot gives up when answers are missing in a row, whether it moves or stands. A packet was not answered if it was lost, if a
newer one had arrived before it was read, or if the robot says that its answer came too late.
"""

from hilt.core import faults
from hilt.device.protocol import Reply


class Answers:
    """Counts of one state of the rig."""

    def __init__(self) -> None:
        self.packets = self.unanswered = self.in_a_row = 0

    def counters(self, name: str) -> dict[str, int]:
        return {f"{name}_packets": self.packets, f"{name}_unanswered": self.unanswered, f"{name}_in_a_row": self.in_a_row}


class AnswerCount:
    """Counts every packet of the robot's own clock; `note` is called with each that was read."""

    def __init__(self) -> None:
        self.held, self.moved = Answers(), Answers()
        self._cycle, self._row = -1, 0

    def note(self, reply: Reply, count: Answers) -> None:
        """A silence is no packet: what was missing in it shows in the next one's cycle."""
        if reply.code == faults.ROBOT_SILENT:
            return
        passed = reply.cycle - self._cycle if 0 <= self._cycle < reply.cycle else 1
        self._cycle = reply.cycle
        count.packets += passed
        if passed == 1 and reply.heard:
            self._row = 0
            return
        missing = max(passed - 1, 1)  # a robot that misses packets' answers also says that it did not hear the last one
        count.unanswered += missing
        self._row = (0 if passed > 1 and reply.heard else self._row) + missing
        count.in_a_row = max(count.in_a_row, self._row)

    def counters(self) -> dict[str, int]:
        return {**self.held.counters("held"), **self.moved.counters("live")}
