"""What every driver of a robot has: where the robot stands, its set-point, and at most one answer for each packet."""

from typing import Any

from hilt.device import frames
from hilt.device.placed import PlacedRobot, pose_of


class DrivenRobot:
    """A subclass has the protocol. `stop` may be called at any time, also after a failed `open`."""

    def __init__(self, place: PlacedRobot) -> None:
        self._X_WR, self._X_TB = pose_of(place.X_WR), pose_of(place.X_TB)
        self._sent, self._twin = frames.identity(), frames.identity()  # its set-point in R; one in W to work with
        self._answered = True  # whether nothing is due

    def hold(self) -> int:
        """Answer without moving; 0 or a fault code."""
        raise NotImplementedError

    def sent(self, X_WB: Any) -> None:
        """Write the robot's present set-point, from which the next one must start."""
        frames.to_world(self._X_WR, self._sent, self._X_TB, self._twin)
        frames.copy(self._twin, X_WB)

    def stop(self) -> None:
        """Answer without moving if an answer is due. Never raises, never waits, safe to call twice."""
        if not self._answered:
            self.hold()
