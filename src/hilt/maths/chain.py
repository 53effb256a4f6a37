"""A serial chain of up to seven revolute joints: forward kinematics, Jacobian, and joint speeds for a given twist.

The chain is a table. At zero angles all frames are parallel; joint i is at `origin[i]` from joint i-1 and turns about the
unit vector `axis[i]`; the tool is at `tool`, `tool_q` from the last joint. The base pose is given in each call: a base may fly.

    J = [aᵢ × (p - oᵢ); aᵢ]                                          geometric Jacobian in the base's world
    q̇ = z + W Jᵀ(J W Jᵀ + λ² 1)⁻¹ (ẋ - J z)                          rows of J, ẋ scaled by `weight`
    λ = damping (1 - d/near) for d < near                            d = 1/tr(J W Jᵀ)⁻¹, 0 in a singular posture
    zᵢ = ∓ centring (depth of joint i in the band before its limit)  does not affect the task, except by the damping

When a joint would exceed its speed, the whole twist is scaled: the hand moves slower, in the same direction. Towards its limit
a joint may move at speed · distance/band; if it would have to exceed that, it is held there (W = 0) and the others take over.
"""

import math

from hilt.compiled import jit, jit_apart
from hilt.compiled.records import record
from hilt.maths import so3, vec

MOST = 7  # joints

CHAIN = record(
    joints="i8",
    axis=("f8", (MOST, 3)),
    origin=("f8", (MOST, 3)),
    tool=3,
    tool_q=4,
    lower=MOST,
    upper=MOST,
    speed=MOST,
    weight=6,
    damping="f8",
    near="f8",
    band="f8",
    centring="f8",
)
CHAIN_WORK = record(
    a=("f8", (MOST, 3)),
    o=("f8", (MOST, 3)),
    p=3,
    q=4,
    J=("f8", (6, MOST)),
    A=("f8", (6, 6)),
    B=("f8", (6, 6)),
    y=6,
    z=MOST,
    free=MOST,
    qd=MOST,
    damping="f8",
    slowed="f8",
    missing="f8",
    limited="i8",
)


def pack_chain(p, axis, origin, tool, limits, speeds, tool_q=(1.0, 0.0, 0.0, 0.0)):
    """Fill the tables of a chain and the usual parameters for `solve`: positions in metres, damping from σ = 0.05 of J."""
    n = len(axis)
    p.joints = n
    for i in range(n):
        size = math.sqrt(sum(part * part for part in axis[i]))
        p.axis[i] = [part / size for part in axis[i]]
        p.origin[i] = origin[i]
        p.lower[i], p.upper[i] = limits[i]
        p.speed[i] = speeds[i]
    p.tool, p.tool_q = tool, tool_q
    p.weight = 1.0
    p.damping, p.near, p.band, p.centring = 0.05, 0.0025, 0.15, 1.0


@jit_apart
def forward(x, p, q, base_p, base_q):
    """Axes, origins and hand pose for the joint angles q, into x.a, x.o, x.p, x.q."""
    at, turn = base_p, base_q
    for i in range(p.joints):
        at = vec.add(at, so3.rotate(turn, vec.load(p.origin[i])))
        axis = vec.load(p.axis[i])
        vec.store(x.o[i], at)
        vec.store(x.a[i], so3.rotate(turn, axis))
        half = 0.5 * q[i]
        s = math.sin(half)
        turn = so3.multiply(turn, (math.cos(half), s * axis[0], s * axis[1], s * axis[2]))
    vec.store(x.p, vec.add(at, so3.rotate(turn, vec.load(p.tool))))
    so3.store(x.q, so3.renormalise(so3.multiply(turn, so3.load(p.tool_q))))


@jit_apart
def jacobian(x, p):
    """Compute the Jacobian into x.J: velocity above angular velocity of the hand, per joint. Call `forward` first."""
    hand = vec.load(x.p)
    for i in range(p.joints):
        axis = vec.load(x.a[i])
        arm = vec.cross(axis, vec.sub(hand, vec.load(x.o[i])))
        for k in range(3):
            x.J[k, i], x.J[3 + k, i] = arm[k], axis[k]


@jit
def twist(x, p, qd):
    """v and w of the hand for joint speeds qd. Call `jacobian` first."""
    v, w = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(p.joints):
        v = vec.add(v, vec.scale(qd[i], (x.J[0, i], x.J[1, i], x.J[2, i])))
        w = vec.add(w, vec.scale(qd[i], (x.J[3, i], x.J[4, i], x.J[5, i])))
    return v, w


@jit
def joint_torque(x, p, i, f, tau):
    """Row i of Jᵀ F."""
    return vec.dot((x.J[0, i], x.J[1, i], x.J[2, i]), f) + vec.dot((x.J[3, i], x.J[4, i], x.J[5, i]), tau)


@jit
def _gather(x, p, extra):
    """A = J W Jᵀ + extra, lower half, with the rows scaled."""
    for i in range(6):
        for j in range(i + 1):
            total = extra if i == j else 0.0
            for k in range(p.joints):
                total += x.free[k] * p.weight[i] * x.J[i, k] * p.weight[j] * x.J[j, k]
            x.A[i, j] = total


@jit
def _factor(x):
    """A = L D Lᵀ in place; returns whether A has full rank."""
    for j in range(6):
        pivot = x.A[j, j]
        for k in range(j):
            pivot -= x.A[j, k] * x.A[j, k] * x.A[k, k]
        if not pivot > 1e-12:
            return False
        x.A[j, j] = pivot
        for i in range(j + 1, 6):
            total = x.A[i, j]
            for k in range(j):
                total -= x.A[i, k] * x.A[j, k] * x.A[k, k]
            x.A[i, j] = total / pivot
    return True


@jit
def _distance(x):
    """1/tr A⁻¹ from the factors, A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹: between one sixth of the smallest eigenvalue and that eigenvalue.

    The smallest pivot is no substitute: one small eigenvalue can hide in six medium pivots.
    """
    trace = 0.0
    for i in range(6):
        for j in range(i + 1):
            total = 1.0 if i == j else -x.A[i, j]
            for k in range(j + 1, i):
                total -= x.A[i, k] * x.B[k, j]
            x.B[i, j] = total
            trace += total * total / x.A[i, i]
    return 1.0 / trace


@jit
def _back(x):
    """y = A⁻¹ y with the factors."""
    for i in range(6):
        for k in range(i):
            x.y[i] -= x.A[i, k] * x.y[k]
    for i in range(6):
        x.y[i] /= x.A[i, i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            x.y[i] -= x.A[k, i] * x.y[k]


@jit_apart
def _least_squares(x, p, v, w):
    """q̇ = z + W Jᵀ A⁻¹ (ẋ - J z); joints that are not free keep z."""
    share = 0.0
    for damped in range(2):
        _gather(x, p, (share * p.damping) ** 2)
        whole = _factor(x)
        if damped:
            break
        distance = _distance(x) if whole else 0.0
        share = 1.0 - distance / p.near if distance < p.near else 0.0
        if share == 0.0:
            break
    x.damping = max(x.damping, share)
    done_v, done_w = twist(x, p, x.z)
    for k in range(3):
        x.y[k] = p.weight[k] * (v[k] - done_v[k])
        x.y[3 + k] = p.weight[3 + k] * (w[k] - done_w[k])
    _back(x)
    for i in range(p.joints):
        x.qd[i] = x.z[i]
        for k in range(6):
            x.qd[i] += x.free[i] * p.weight[k] * x.J[k, i] * x.y[k]


@jit
def _bound(p, i, room, dt):
    """Largest speed of joint i towards a limit at distance `room`; past the limit it must return."""
    return min(p.speed[i] * min(room / p.band, 1.0), room / dt)


@jit
def _hold_worst(x, p, q, dt):
    """Hold the joint that most exceeds what its limit allows; returns whether there was one."""
    worst, excess = -1, 1e-12
    for i in range(p.joints):
        up, down = _bound(p, i, p.upper[i] - q[i], dt), -_bound(p, i, q[i] - p.lower[i], dt)
        beyond = max(x.qd[i] - up, down - x.qd[i])
        if x.free[i] > 0.0 and beyond > excess:
            worst, excess = i, beyond
            allowed = up if x.qd[i] > up else down
    if worst >= 0:
        x.free[worst] = 0.0
        x.z[worst] = allowed
        x.limited = worst if x.limited < 0 else x.limited
    return worst >= 0


@jit
def _slow_down(x, p):
    """Scale all joint speeds so that none exceeds its limit."""
    scale = 1.0
    for i in range(p.joints):
        if abs(x.qd[i]) * scale > p.speed[i]:
            scale = p.speed[i] / abs(x.qd[i])
    for i in range(p.joints):
        x.qd[i] *= scale
        x.z[i] *= scale
    return scale


@jit_apart
def solve(x, p, q, v, w, dt):
    """Compute joint speeds x.qd for the twist v, w of the hand. Call `forward` and `jacobian` first.

    x.damping: from 0 far from singular postures to 1 in one; x.slowed: factor on the twist due to the joints' speed limits;
    x.missing: share of that twist which is not reached; x.limited: the joint first held at its limit, -1 for none.
    """
    x.damping, x.limited = 0.0, -1
    for i in range(p.joints):
        depth = max(0.0, q[i] - (p.upper[i] - p.band)) - max(0.0, (p.lower[i] + p.band) - q[i])
        x.free[i], x.z[i] = 1.0, -p.centring * depth
    for held in range(p.joints + 1):
        _least_squares(x, p, v, w)
        if held == 0:
            x.slowed = _slow_down(x, p)
            v, w = vec.scale(x.slowed, v), vec.scale(x.slowed, w)
        if not _hold_worst(x, p, q, dt):
            break
    _slow_down(x, p)  # the others may now exceed their speeds
    done_v, done_w = twist(x, p, x.qd)
    wanted, missing = 0.0, 0.0
    for k in range(3):
        wanted += (p.weight[k] * v[k]) ** 2 + (p.weight[3 + k] * w[k]) ** 2
        missing += (p.weight[k] * (v[k] - done_v[k])) ** 2 + (p.weight[3 + k] * (w[k] - done_w[k])) ** 2
    x.missing = math.sqrt(missing / wanted) if wanted > 0.0 else 0.0


@jit
def pose_error(x, p_des, q_des):
    """Error from the hand to the desired pose: displacement [m] and rotation vector, in the world of the base."""
    return vec.sub(p_des, vec.load(x.p)), so3.between(so3.load(x.q), q_des)


@jit_apart
def ik_step(x, p, q, p_des, q_des, base_p, base_q, dt):
    """Move the angles q (in place) towards those of a pose, at most as far as the joints' speeds allow in dt."""
    forward(x, p, q, base_p, base_q)
    jacobian(x, p)
    error_p, error_q = pose_error(x, p_des, q_des)
    solve(x, p, q, vec.scale(1.0 / dt, error_p), vec.scale(1.0 / dt, error_q), dt)
    for i in range(p.joints):
        q[i] += dt * x.qd[i]


@jit_apart
def ik(x, p, q, p_des, q_des, base_p, base_q, dt, iterations):
    """Repeat `ik_step`; return the remaining error in metres and radians. x.p, x.q are then those of the angles q."""
    for _ in range(iterations):
        ik_step(x, p, q, p_des, q_des, base_p, base_q, dt)
    forward(x, p, q, base_p, base_q)
    error_p, error_q = pose_error(x, p_des, q_des)
    return math.sqrt(vec.dot(error_p, error_p)), math.sqrt(vec.dot(error_q, error_q))
