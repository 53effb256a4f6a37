"""Check, without a robot, whether the arm of a rig reaches a scenario's start and, from there, the edges of the workspace.

The attitude stays as at the start. The arm moves as in a run, in small steps from one posture to the next, so a run meets the
same singularities and joint limits; a run that also turns the mock-up may meet more.
"""

import itertools
import math
from typing import Any

import numpy as np

from hilt.analysis.check import Remark
from hilt.core.guard import NEVER
from hilt.core.signals import POSE
from hilt.core.system import Bench
from hilt.device import frames
from hilt.device.joints.space import EXACT, JointSpace
from hilt.device.placed import PlacedRobot, pose_of
from hilt.device.rigfile import RigFile

STEP = 0.005  # [m] of the walk
SHARES = (0.0, 0.5, 1.0)  # of the workspace, along each axis: its corners, edges, faces and centre


class Walk:
    """Moves an arm and keeps the smallest singular value and the least distance to a joint limit that it meets."""

    def __init__(self, joints: JointSpace, robot: PlacedRobot) -> None:
        self.joints = joints
        self.sigma, self.sigma_at = math.inf, np.zeros(3)
        self.room, self.joint, self.room_at = math.inf, 0, np.zeros(3)
        self.lost: np.ndarray | None = None  # first place that the arm does not reach
        self._X_WR, self._X_TB = pose_of(robot.X_WR), pose_of(robot.X_TB)
        self._X_RT = np.zeros(1, POSE)[0]

    def to(self, X_WB: Any, near: Any = None) -> bool:
        """Go to a pose of the mock-up from some angles, or from the rig file's posture; returns whether the arm reaches it."""
        frames.to_robot(self._X_WR, X_WB, self._X_TB, self._X_RT)
        if not self.joints.find(self._X_RT, near) <= EXACT:
            self.lost = np.array(X_WB["p"]) if self.lost is None else self.lost
            return False
        q = self.joints.last
        if (sigma := self.joints.singular_value(q)) < self.sigma:
            self.sigma, self.sigma_at = sigma, np.array(X_WB["p"])
        rooms = np.minimum(q - self.joints.lower, self.joints.upper - q)
        if (room := float(rooms.min())) < self.room:
            self.room, self.joint, self.room_at = room, int(rooms.argmin()), np.array(X_WB["p"])
        return True


def check(rig: RigFile, bench: Bench) -> list[Remark]:
    """Return remarks on the arm of a rig that takes joint angles; none for other rigs."""
    robot: Any = rig.robot_section
    settings = getattr(robot, "joints", None)
    if settings is None:
        return []
    walk, begin = Walk(JointSpace(settings, robot.cycle), robot), bench.row[0]["X_WB_cmd"]
    at, X_WB = np.array(begin["p"]), np.zeros(1, POSE)[0]
    X_WB["p"], X_WB["q"] = at, begin["q"]
    if not walk.to(X_WB):
        return [
            Remark(
                "reach", False, f"The arm does not reach the start, {_place(at)}: move it (robot.X_WR), or change its posture."
            )
        ]
    start = walk.joints.last.copy()
    low, high = np.array(rig.limits.workspace_min), np.array(rig.limits.workspace_max)
    for shares in itertools.product(SHARES, repeat=3):
        _go(walk, X_WB, at, low + np.array(shares) * (high - low), start)
    return _remarks(walk, start, at, settings.singular)


def _go(walk: Walk, X_WB: Any, begin: Any, end: Any, start: Any) -> None:
    """Go straight from `begin` to `end` in small steps, as far as the arm reaches."""
    steps = max(1, math.ceil(float(np.linalg.norm(end - begin)) / STEP))
    angles = start
    for k in range(1, steps + 1):
        X_WB["p"] = begin + k / steps * (end - begin)
        if not walk.to(X_WB, angles):
            return
        angles = walk.joints.last.copy()


def _remarks(walk: Walk, start: Any, at: Any, least: float) -> list[Remark]:
    angles = ", ".join(f"{math.degrees(angle):.1f}" for angle in start)
    found = [Remark("reach", True, f"The arm reaches the start, {_place(at)}, with its joints at {angles} degrees.")]
    if walk.lost is not None:
        sentence = f"The arm does not reach {_place(walk.lost)}, which is inside the workspace: move it, or tighten [limits]."
        found.append(Remark("reach", False, sentence, "limits.workspace_max"))
    fine, name = walk.sigma >= least, "robot.joints.singular"
    verdict = f"allows {least:g}" if fine else f"is {least:g}: move the robot, change its posture, or tighten [limits]"
    sentence = f"The smallest singular value from the start to the edges is {walk.sigma:.3g} m/rad at {_place(walk.sigma_at)}; "
    found.append(Remark("singular", fine, f"{sentence}{name} {verdict}.", name, walk.sigma, least))
    if walk.room < NEVER / 2:
        fine, where = walk.room >= 0.0, f"at {_place(walk.room_at)}"
        which = f"joint {walk.joint + 1}"
        words = f"keeps {walk.room:.3g} rad before its limit" if fine else f"would pass its limit by {-walk.room:.3g} rad"
        found.append(Remark("joints", fine, f"The joint with the least room, {which}, {words} {where}.", "", walk.room, 0.0))
    return found


def _place(p: Any) -> str:
    return "({:.0f}, {:.0f}, {:.0f}) mm".format(*(1e3 * p))
