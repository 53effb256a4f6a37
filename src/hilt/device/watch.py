"""Watch a live robot: its measured pose and speed compared with set-point, workspace and limits.

A robot that follows its set-points u with a delay, x = ∫ h(d) u(t - d) dd with ∫ h = 1, is never further from its newest
set-point than that one is from the set-points of the last `window` seconds, if h has decayed by then:

    |x - u(t)| ≤ tolerance + max |u(t - d) - u(t)|  over d ≤ window = 2 · tracking_delay

So a robot at rest must be within the tolerance, and a moving one within the tolerance plus its speed times its delay. Positions
may be outside the workspace by the tolerance allowed at the start. Speeds are means over a few cycles, since the encoders'
noise is divided by the time. A single odd packet is not a fault: three in a row are.
"""

import math
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.signals import POSE, TWIST, record
from hilt.device.rigfile import RigFile
from hilt.maths import so3, vec

ROWS = 256  # set-points kept
MEAN = 5  # cycles over which a measured speed is averaged
IN_A_ROW = 3  # packets
OVER = 1.25  # times a speed limit: a robot that overshoots its set-point's speed is not a runaway
PLACE_NOISE, TURN_NOISE = 1e-4, 5e-4  # m, rad of the encoders, divided by the time of a mean
_STATE = record(
    p=("f8", (ROWS, 3)),
    q=("f8", (ROWS, 4)),
    v=("f8", (MEAN, 3)),
    w=("f8", (MEAN, 3)),
    count="i8",
    away="i8",
    turned="i8",
    outside="i8",
    fast="i8",
    spins="i8",
    axis="i8",
    value="f8",
    limit="f8",
)
_PARAMS = record(window="i8", tolerance="f8", angle="f8", margin="f8", place_noise="f8", turn_noise="f8", boxed="i8")


@jit
def _apart(a, b):
    d = vec.sub(a, b)
    return math.sqrt(vec.dot(d, d))


@jit
def _turned(a, b):
    if a == b:
        return 0.0
    turn = so3.between(a, b)
    return math.sqrt(vec.dot(turn, turn))


@jit
def _mean_size(rows):
    x = y = z = 0.0
    for k in range(MEAN):
        x, y, z = x + rows[k, 0], y + rows[k, 1], z + rows[k, 2]
    return math.sqrt(x * x + y * y + z * z) / MEAN


@jit
def _keep(x, set_point, twist):
    """Store the newest set-point and twist in their rings; returns the index of the set-point."""
    now = x.count % ROWS
    vec.store(x.p[now], vec.load(set_point.p))
    so3.store(x.q[now], so3.load(set_point.q))
    vec.store(x.v[x.count % MEAN], vec.load(twist.v))
    vec.store(x.w[x.count % MEAN], vec.load(twist.w))
    x.count += 1
    return now


@jit
def _say(x, seen, axis, value, limit):
    """Return whether a limit has been exceeded for long enough to be a fault; if so, keep its values."""
    if seen >= IN_A_ROW:
        x.axis, x.value, x.limit = axis, value, limit
        return True
    return False


@jit
def look(x, p, limits, here, twist, set_point):
    """Check one packet; 0 or a fault code. `set_point` is the robot's set-point at the time of its measurement."""
    now = _keep(x, set_point, twist)
    place, q, u, u_q = vec.load(here.p), so3.load(here.q), vec.load(set_point.p), so3.load(set_point.q)
    away, turned, moved, swung = _apart(place, u), _turned(u_q, q), 0.0, 0.0
    for k in range(1, min(p.window, x.count - 1) + 1):
        past = (now - k) % ROWS
        moved = max(moved, _apart(vec.load(x.p[past]), u))
        swung = max(swung, _turned(so3.load(x.q[past]), u_q))
    x.away = x.away + 1 if away > p.tolerance + moved else 0
    x.turned = x.turned + 1 if turned > p.angle + swung else 0
    speed, rate = _mean_size(x.v), _mean_size(x.w)
    most, most_rate = OVER * limits.speed + p.place_noise, OVER * limits.angular_speed + p.turn_noise
    x.fast = x.fast + 1 if speed > most else 0
    x.spins = x.spins + 1 if rate > most_rate else 0
    axis, bound = -1, 0.0
    for i in range(3):
        if place[i] < limits.workspace_min[i] - p.margin:
            axis, bound = i, limits.workspace_min[i] - p.margin
        elif place[i] > limits.workspace_max[i] + p.margin:
            axis, bound = i, limits.workspace_max[i] + p.margin
    x.outside = x.outside + 1 if axis >= 0 and p.boxed else 0
    if _say(x, x.outside, axis, place[max(axis, 0)], bound):
        return faults.ROBOT_OUTSIDE
    if _say(x, x.away, -1, away, p.tolerance + moved):
        return faults.ROBOT_OFF_TRACK
    if _say(x, x.turned, -1, turned, p.angle + swung):
        return faults.ROBOT_TURNED
    if _say(x, x.fast, -1, speed, most):
        return faults.ROBOT_FAST
    if _say(x, x.spins, -1, rate, most_rate):
        return faults.ROBOT_SPINS
    return faults.NONE


class Watch:
    """Call `look` for every packet of a live robot; `axis`, `value` and `limit` of a fault are in `x`."""

    def __init__(self, file: RigFile) -> None:
        self._state, self._p = np.zeros(1, _STATE), np.zeros(1, _PARAMS)[0]
        self.x = self._state[0]
        lab, cycle = file.lab, float(file.robot_section.cycle)
        p = self._p
        p["window"] = min(math.ceil(2.0 * file.tracking_delay / cycle) + 1, ROWS - 1)
        p["tolerance"], p["angle"], p["margin"] = lab.tracking_tolerance, lab.tracking_angle, lab.start_tolerance
        p["place_noise"], p["turn_noise"] = PLACE_NOISE / (MEAN * cycle), TURN_NOISE / (MEAN * cycle)

    def start(self, limits: Any, boxed: bool) -> None:
        """Start with a robot at rest; the path home may begin outside the workspace (`boxed`)."""
        self._state[:] = np.zeros(1, _STATE)
        self._limits, self._p["boxed"] = limits, boxed

    def look(self, here: Any, twist: Any, set_point: Any) -> int:
        return int(look(self.x, self._p, self._limits, here, twist, set_point))

    def warm_up(self, limits: Any) -> None:
        pose, twist = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]
        pose["q"] = (1.0, 0.0, 0.0, 0.0)
        self.start(limits, True)
        self.look(pose, twist, pose)
