"""Set-points of an arm's joints for poses of its tool, checked before they are sent.

    pose of the tool ──► inverse kinematics from the last angles ──► limits ──► angles to send

Newton's method starts at the last set-point, so the elbow stays where it is: the arm never changes to another of its postures,
and one of seven joints moves as little as possible. A set-point is refused with a fault, and nothing is sent, if

    it is out of reach             SINGULARITY    σ_min(J) < singular          JOINT_SPEED          |q̇ᵢ| > speedᵢ
    JOINT_ACCELERATION  |q̈ᵢ| > acceleration       JOINT_LIMIT  qᵢ + q̇ᵢ T/2 outside its limits

T is the time of a soft stop from q̇: all joints slow down together, evenly, as gently as the rig file says for the tool and as
the joints can. The stop takes q̇ T/2, so an arm that has passed the check can always be stopped within its limits. That holds
because a stop never takes longer than the T of its first posture: where the tool would need more time in a later one, it slows
down less gently. The stop itself needs no inverse kinematics, so it also works next to a singular posture. An arm whose jerk is
bounded coasts before it slows down: it travels further by q̇ times that time, and q̇ may still grow by half of it times q̈.
"""

import math
from typing import Any

import numpy as np

from hilt.compiled import jit, jit_apart
from hilt.core import faults
from hilt.core.faults import InputError
from hilt.core.guard import NEVER
from hilt.core.signals import POSE, record
from hilt.device.joints.settings import JointedRobot, JointSettings
from hilt.device.joints.urdf import Kinematics
from hilt.maths import chain, so3, vec
from hilt.maths.chain import CHAIN, CHAIN_WORK, MOST
from hilt.maths.reach import reach, smallest_singular

EXACT = 1e-12  # m, rad: of the inverse kinematics
ITERATIONS = 20  # of Newton's method; a step of a millimetre takes three
FAR_ITERATIONS, FAR_STEP = 1000, 0.05  # for a pose that is far away: steps, and rad in each
ROUNDED = 1.0 + 1e-6  # of a speed or acceleration: the digits of a packet are limited
TURN_TOLERANCE = 0.01  # rad, between the attitude that the URDF gives the tool and the controller's
_ZERO, _IDENTITY = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)

PARAMS = record(
    chain=CHAIN,
    lower=MOST,
    upper=MOST,
    speed=MOST,
    acceleration="f8",
    singular="f8",
    deceleration="f8",
    angular_deceleration="f8",
    coasts="f8",  # [s]
)
STATE = record(
    work=CHAIN_WORK,
    last=MOST,
    last_speed=MOST,
    next=MOST,
    speed=MOST,
    coasting=MOST,
    slowness="f8",  # time of a stop from the last set-point that passed the check, divided by its largest speed [s²/rad]
    sigma="f8",
    axis="i8",
    value="f8",
    limit="f8",
    least_sigma="f8",  # of all set-points that passed the check
    least_room="f8",  # [rad] left before a joint limit, and the joint that had it
    tightest="i8",
)


@jit
def _say(x, code, axis, value, limit):
    x.axis, x.value, x.limit = axis, value, limit
    return code


@jit
def _stop_time(x, p, speed):
    """Return the time of a soft stop from these speeds [s]; call `jacobian` first."""
    v, w = chain.twist(x.work, p.chain, speed)
    needed = max(math.sqrt(vec.dot(v, v)) / p.deceleration, math.sqrt(vec.dot(w, w)) / p.angular_deceleration)
    for i in range(p.chain.joints):
        needed = max(needed, abs(speed[i]) / p.acceleration)
    return needed


@jit
def _largest(p, speed):
    """Return the largest joint speed [rad/s]."""
    largest = 0.0
    for i in range(p.chain.joints):
        largest = max(largest, abs(speed[i]))
    return largest


@jit_apart
def check(x, p, dt):
    """Check that x.next may be sent after x.last: 0 or a fault code. Writes x.speed; x.work must be that of x.next."""
    x.sigma = smallest_singular(x.work, p.chain)
    if not x.sigma >= p.singular:
        return _say(x, faults.SINGULARITY, -1, x.sigma, p.singular)
    n = p.chain.joints
    for i in range(n):
        x.speed[i] = (x.next[i] - x.last[i]) / dt
        if abs(x.speed[i]) > p.speed[i] * ROUNDED:
            return _say(x, faults.JOINT_SPEED, i, x.speed[i], math.copysign(p.speed[i], x.speed[i]))
        change = (x.speed[i] - x.last_speed[i]) / dt
        if abs(change) > p.acceleration * ROUNDED:
            return _say(x, faults.JOINT_ACCELERATION, i, change, math.copysign(p.acceleration, change))
        x.coasting[i] = x.speed[i] + 0.5 * p.coasts * change
    stop = _stop_time(x, p, x.coasting)
    for i in range(n):
        end = x.next[i] + (p.coasts + 0.5 * stop) * x.coasting[i]
        if end < p.lower[i]:
            return _say(x, faults.JOINT_LIMIT, i, end, p.lower[i])
        if end > p.upper[i]:
            return _say(x, faults.JOINT_LIMIT, i, end, p.upper[i])
    largest = _largest(p, x.coasting)
    x.slowness = stop / largest if largest > 0.0 else NEVER
    x.least_sigma = min(x.least_sigma, x.sigma)
    for i in range(n):
        room = min(x.next[i] - p.lower[i], p.upper[i] - x.next[i])
        if room < x.least_room:
            x.least_room, x.tightest = room, i
    return faults.NONE


@jit_apart
def aim(x, p, X):
    """Write the angles for a pose of the tool into x.next, unchecked, starting at the last ones: 0 or a fault code."""
    for i in range(p.chain.joints):
        x.next[i] = x.last[i]
    left = reach(x.work, p.chain, x.next, vec.load(X.p), so3.load(X.q), _ZERO, _IDENTITY, EXACT, ITERATIONS)
    return faults.NONE if left <= EXACT else _say(x, faults.JOINT_REACH, -1, left, EXACT)


@jit_apart
def next_angles(x, p, X, dt):
    """The same, and check them."""
    code = aim(x, p, X)
    return code if code else check(x, p, dt)


@jit_apart
def check_next(x, p, dt):
    """Check angles that were changed after `aim`."""
    chain.forward(x.work, p.chain, x.next, _ZERO, _IDENTITY)
    chain.jacobian(x.work, p.chain)
    return check(x, p, dt)


@jit_apart
def slow_down(x, p, dt):
    """The next step of a soft stop, into x.next and x.speed; False if the arm is at rest with the last one."""
    chain.forward(x.work, p.chain, x.last, _ZERO, _IDENTITY)
    chain.jacobian(x.work, p.chain)
    # Evenly, the time left is proportional to the speed left.
    needed = min(_stop_time(x, p, x.last_speed), x.slowness * _largest(p, x.last_speed))
    share = 1.0 - dt / needed if needed > dt else 0.0
    for i in range(p.chain.joints):
        x.speed[i] = share * x.last_speed[i]
        x.next[i] = x.last[i] + dt * x.speed[i]
    return share > 0.0


@jit_apart
def place(work, p, q, X):
    """Write the pose of the tool for joint angles."""
    chain.forward(work, p.chain, q, _ZERO, _IDENTITY)
    vec.store(X.p, vec.load(work.p))
    so3.store(X.q, so3.load(work.q))


@jit_apart
def find(work, far, q, X):
    """Move `q` to the angles of a pose that may be far away, in steps of FAR_STEP; returns the remaining error."""
    return reach(work, far.chain, q, vec.load(X.p), so3.load(X.q), _ZERO, _IDENTITY, EXACT, FAR_ITERATIONS)


def pack(p: Any, arm: Kinematics, settings: JointSettings) -> None:
    """Pack the parameters of an arm. The solver ignores limits: exceeding one must be a fault, not a detour around it."""
    n = arm.joints
    chain.pack_chain(p.chain, arm.axis, arm.origin, arm.tip_p, [(-NEVER, NEVER)] * n, [NEVER] * n, arm.tip_q)
    p.chain.damping = p.chain.near = p.chain.centring = 0.0
    p.lower[:n] = np.array(arm.lower) + settings.margin
    p.upper[:n] = np.array(arm.upper) - settings.margin
    p.speed[:n] = np.minimum(arm.speed, NEVER if settings.speed is None else settings.speed)
    p.acceleration, p.singular = settings.acceleration, settings.singular
    p.deceleration = p.angular_deceleration = NEVER
    for name, low, high in zip(arm.names, p.lower, p.upper, strict=False):
        if not low < high:
            raise InputError(f"joints.margin is {settings.margin:g} rad, which leaves {name} no room; make it smaller")


def of(robot: JointedRobot) -> "JointSpace | None":
    """The joint space of a robot that takes angles; None for one that takes poses."""
    return None if robot.joints is None else JointSpace(robot.joints)


class JointSpace:
    """Joint set-points: `last` is the one that the robot has, `next` the one to send; `fault` describes the last fault."""

    def __init__(self, settings: JointSettings, cycle: float = 1.0) -> None:
        self.settings, self.arm = settings, settings.kinematics()
        self.cycle = cycle  # [s]; a driver may learn it later
        self.joints = self.arm.joints
        self._p, self._x, self._near = (np.zeros(1, kind)[0] for kind in (PARAMS, STATE, STATE))
        pack(self._p, self.arm, settings)
        self._far = self._p.copy()
        self._far["chain"]["speed"] = FAR_STEP
        self._far["chain"]["damping"], self._far["chain"]["near"] = 0.05, 0.0025
        n = self.joints
        self.last, self.next, self.speed = self._x["last"][:n], self._x["next"][:n], self._x["last_speed"][:n]
        self._angles, self._here = np.zeros(MOST), np.zeros(1, POSE)[0]
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile everything now: the first packet must be answered in time."""
        self.start(self.settings.posture)
        self.pose(self.last, self._here)
        self.solve(self._here)
        self.find(self._here)
        self.slow_down()
        self.start(self.settings.posture)
        self.forget()

    def forget(self) -> None:
        """Forget the closest approaches that `notes` reports."""
        self._x["least_sigma"] = self._x["least_room"] = NEVER

    def notes(self) -> list[str]:
        """Say how close the arm came to the singularity and joint limits that would have stopped it."""
        if self._x["least_sigma"] == NEVER:
            return []
        room = f"; joint {self._x['tightest'] + 1} came closest to its limit, {self._x['least_room']:.3g} rad before it"
        return [
            f"the smallest singular value of the robot's Jacobian was {self._x['least_sigma']:.3g} m/rad, allowed is "
            f"{self._p['singular']:g}{room if self._x['least_room'] < NEVER / 2 else ''}"
        ]

    @property
    def lower(self) -> Any:
        return self._p["lower"][: self.joints]

    @property
    def upper(self) -> Any:
        return self._p["upper"][: self.joints]

    @property
    def speed_limits(self) -> Any:
        return self._p["speed"][: self.joints]

    @property
    def fault(self) -> tuple[int, float, float]:
        """Axis, value and limit of the last fault."""
        return int(self._x["axis"]), float(self._x["value"]), float(self._x["limit"])

    @property
    def sigma(self) -> float:
        """Smallest singular value of the Jacobian at the last set-point that was checked."""
        return float(self._x["sigma"])

    def brakes(self, deceleration: float, angular_deceleration: float) -> None:
        """Set how gently a soft stop slows down the tool [m/s², rad/s²]."""
        self._p["deceleration"], self._p["angular_deceleration"] = deceleration, angular_deceleration

    def coast(self, duration: float) -> None:
        """Set how long an arm with bounded jerk goes on before a stop slows it down [s]."""
        self._p["coasts"] = duration

    def pose(self, q: Any, X_RT: Any) -> None:
        """Write the tool's pose in the robot's base for joint angles."""
        self._angles[: self.joints] = q
        place(self._near["work"], self._p, self._angles, X_RT)

    def start(self, q: Any) -> None:
        """Start at rest with these angles as the robot's set-point."""
        self.last[:] = q
        self.next[:] = q
        self._x["slowness"] = NEVER
        self.stand_still()

    def stand_still(self) -> None:
        self.speed[:] = 0.0

    def solve(self, X_RT: Any) -> int:
        """Write the angles to send for a pose of the tool into `next`; 0 or a fault code."""
        return int(next_angles(self._x, self._p, X_RT, self.cycle))

    def aim(self, X_RT: Any) -> int:
        """The same without checking the angles, for a driver that changes them first and then calls `check`."""
        return int(aim(self._x, self._p, X_RT))

    def check(self) -> int:
        """Check that the angles in `next` may be sent after `last`; 0 or a fault code."""
        return int(check_next(self._x, self._p, self.cycle))

    def slow_down(self) -> bool:
        """Write the next step of a soft stop into `next`; False once the arm is at rest."""
        return bool(slow_down(self._x, self._p, self.cycle))

    def record_sent(self, q: Any) -> None:
        """Record the angles that were sent, rounded as in the packet, and their speed."""
        self.speed[:] = (q - self.last) / self.cycle
        self.last[:] = q

    def check_agrees(self, ours: Any, reported: Any) -> None:
        """Refuse a robot whose controller reports its tool elsewhere than the URDF does: its arm or tool is another one."""
        apart, turned = math.dist(ours["p"], reported["p"]), math.hypot(*so3.between(tuple(ours["q"]), tuple(reported["q"])))
        allowed = self.settings.tolerance
        if apart > allowed or turned > TURN_TOLERANCE:
            raise InputError(
                f"by {self.settings.urdf} the robot's tool is {1e3 * apart:.3g} mm and {turned:.2g} rad from where its "
                f"controller sees it; allowed are {1e3 * allowed:g} mm and {TURN_TOLERANCE:g} rad; give the URDF of this "
                "robot, with the controller's tool as its tip and the controller's base as its base"
            )

    def find(self, X_RT: Any, near: Any = None) -> float:
        """Find the angles of a pose that may be far away, from `near` or the rig file's posture; returns the error [m, rad].

        The angles are then in `last`. For use before a run, since it takes many steps.
        """
        self.start(self.settings.posture if near is None else near)
        self._angles[: self.joints] = self.last
        left = float(find(self._near["work"], self._far, self._angles, X_RT))
        self.start(self._angles[: self.joints])
        return left

    def singular_value(self, q: Any) -> float:
        """Return the smallest singular value of the Jacobian at some angles."""
        self.pose(q, self._here)
        chain.jacobian(self._near["work"], self._p["chain"])
        return float(smallest_singular(self._near["work"], self._p["chain"]))
