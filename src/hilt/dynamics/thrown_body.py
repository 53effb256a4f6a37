"""A rigid body that is thrown onto a level table: gravity, and contact with friction at any number of its points.

    m v' = m g + Σ f,   L' = Σ r × f        f = (Coulomb's friction, k δ^n (1 + λ δ')) at each point below the table

A step from t to t + T moves the body by the mean of the velocities at both ends, and turns it by the exponential map of the
mean rate in the body, θ = T I⁻¹ ½(L_B + L_B⁺), as a free body turns (rotation.py). A point r of the body then moves by exactly

    Δx = T (v̄ + ω̄ × a),    a = (tan ½|θ| / ½|θ|) ½(R r + R⁺ r)

so forces with the arms a change the energy by exactly Σ f·Δx. The spring's force is the energy that it stores divided by the
distance that it moves; the damper and the friction oppose Δx itself. Hence no step generates energy, however long, except for
the remaining error of the iterated forces; a step that does generate energy is iterated further.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hilt.compiled import jit
from hilt.core.faults import InputError
from hilt.core.signals import record
from hilt.dynamics import contact_laws
from hilt.dynamics.body import check_inertia
from hilt.dynamics.rotation import angular_velocity, free_turn
from hilt.maths import so3, vec

MOST_SWEEPS = 40  # over the points; one point needs two or three, a body lying flat needs tens
MOST_TURNS = 20
MARGIN = 4.0  # points count as near if they would touch at this many times the current speed
MOST_STEPS = 30  # of Newton's method, for the force on one point
ITERATED = 1e-7  # relative change of the forces within a sweep
FAR, FURTHER, FURTHER_SWEEPS, MOST_PARTS = 1e4, 1e-12, 2000, 512  # for a step that would generate energy
ROUNDING = 1e-13  # of the energy


@jit
def _push(b, before, free, give, dt):
    """Force of the table on a point at depth `before`, which would go deeper by `free` without this force.

    The force reduces the travel by `give` per newton and grows progressively with it: Newton's method converges from one side.
    """
    if before + free <= 0.0 and before <= 0.0:
        return 0.0
    stored = contact_laws.stored(b.stiffness, b.exponent, before)
    travel, force = free, 0.0
    for _ in range(MOST_STEPS):
        after = before + travel
        spring = contact_laws.mean_spring(b.stiffness, b.exponent, before, after)
        force = contact_laws.hunt_crossley(spring, b.dissipation, travel / dt)
        off = travel + give * force - free
        if force == 0.0 or off <= 1e-14 * abs(free):
            break
        end = (b.exponent + 1.0) * (stored + spring * travel) / after if after > 0.0 else 0.0
        stiffer = (end - spring) / travel if abs(travel) > 1e-6 * abs(before) else 0.5 * b.exponent * spring / before
        slope = stiffer * (1.0 + b.dissipation * travel / dt) + spring * b.dissipation / dt
        travel -= off / (1.0 + give * slope)
    return force


@jit
def _hold(bx, by, axx, axy, ayy, most):
    """Friction on a point that would slip by b, where a friction f changes the slip by A f. It prevents the slip if that takes
    at most `most`; otherwise it is `most`, against the slip: (A + σ) f = -b with the σ ≥ 0 that makes |f| = `most`."""
    if most <= 0.0:
        return 0.0, 0.0
    mean, half = 0.5 * (axx + ayy), 0.5 * (axx - ayy)
    spread = math.sqrt(half * half + axy * axy)
    cos2, sin2 = (half / spread, axy / spread) if spread > 1e-14 * mean else (1.0, 0.0)
    c = math.sqrt(0.5 * (1.0 + cos2))
    s = math.copysign(math.sqrt(0.5 * max(0.0, 1.0 - cos2)), sin2)
    large, small = mean + spread, mean - spread
    u, w = c * bx + s * by, c * by - s * bx
    more = 0.0
    for _ in range(30):
        fu, fw = u / (large + more), w / (small + more)
        size = math.sqrt(fu * fu + fw * fw)
        if size <= most * (1.0 + 1e-13):
            break
        slope = (fu * fu / (large + more) + fw * fw / (small + more)) / size
        more += (size / most - 1.0) * size / slope  # Newton on 1/|f|, which is nearly straight
    fu, fw = u / (large + more), w / (small + more)
    return -(c * fu - s * fw), -(s * fu + c * fw)


@jit
def _arm(q, q_next, r, lengthening, radius):
    """Mean lever arm, over the turn, of the point where a ball at r touches the table."""
    mean = vec.scale(0.5 * lengthening, vec.add(so3.rotate(q, r), so3.rotate(q_next, r)))
    return (mean[0], mean[1], mean[2] - radius)


@jit
def _turn(q, L, L_next, inverse_inertia, dt, turn):
    """The turn of a step, in the body, from the momenta at both ends; `turn` is a first guess."""
    L_B, L_next_B = so3.rotate_back(q, L), so3.rotate_back(q, L_next)
    for _ in range(MOST_TURNS):
        mean = vec.scale(0.5, vec.add(L_B, so3.rotate_back(so3.exp(turn), L_next_B)))
        better = vec.scale(dt, vec.matvec(inverse_inertia, mean))
        off = vec.sub(better, turn)
        turn = better
        if vec.dot(off, off) <= 1e-32 * vec.dot(turn, turn):
            break
    return turn


@jit
def _lengthening(turn):
    half = 0.5 * math.sqrt(vec.dot(turn, turn))
    return math.tan(half) / half if half > 1e-4 else 1.0 + half * half / 3.0


@jit
def _weigh(b, contacts, inverse_W, q, dt):
    """Compute how far a force at a point moves that point within the step [m/N]."""
    for k in range(3):
        axis = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        column = angular_velocity(q, axis, b.inverse_inertia)
        for j in range(3):
            inverse_W[j, k] = column[j]
    for c in contacts:
        a = vec.load(c.arm)
        for k in range(3):
            axis = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            turned = vec.cross(vec.matvec(inverse_W, vec.cross(a, axis)), a)
            for j in range(3):
                c.gives[j, k] = 0.5 * dt * dt * (turned[j] + axis[j] / b.mass)


@jit
def _sweep(b, contacts, inverse_W, v_mean, w_mean, dt):
    """Solve the contact of every near point once, with the other points' forces fixed; return also the change of the forces."""
    changed, size = 0.0, 0.0
    for c in contacts:
        if not c.near:
            continue
        a, f, g = vec.load(c.arm), vec.load(c.f), c.gives
        alone = vec.sub(vec.scale(dt, vec.add(v_mean, vec.cross(w_mean, a))), vec.matvec(g, f))
        new = (0.0, 0.0, 0.0)
        if c.depth > 0.0 or c.depth - alone[2] > 0.0:
            fz = _push(b, c.depth, -(alone[2] + g[2, 0] * f[0] + g[2, 1] * f[1]), g[2, 2], dt)
            fx, fy = _hold(alone[0] + g[0, 2] * fz, alone[1] + g[1, 2] * fz, g[0, 0], g[0, 1], g[1, 1], b.friction * fz)
            new = (fx, fy, fz)
        more = vec.sub(new, f)
        vec.store(c.f, new)
        v_mean = vec.add(v_mean, vec.scale(0.5 * dt / b.mass, more))
        w_mean = vec.add(w_mean, vec.scale(0.5 * dt, vec.matvec(inverse_W, vec.cross(a, more))))
        changed += math.sqrt(vec.dot(more, more))
        size += math.sqrt(vec.dot(new, new))
    return v_mean, w_mean, changed, size


@jit
def _depth(b, r, p, q):
    return b.table + b.radius - p[2] - so3.rotate(q, r)[2]


@jit
def _energy(b, contacts, p, q, v, L):
    spin = angular_velocity(q, L, b.inverse_inertia)
    total = 0.5 * b.mass * vec.dot(v, v) + 0.5 * vec.dot(L, spin) + b.mass * b.gravity * p[2]
    for c in contacts:
        total += contact_laws.stored(b.stiffness, b.exponent, _depth(b, vec.load(c.r), p, q))
    return total


@jit
def _look(b, contacts, p, q, reach):
    """Compute the depth of every point; return whether any is near enough to touch within the step."""
    any_near = False
    for c in contacts:
        c.depth = _depth(b, vec.load(c.r), p, q)
        c.near = 1 if c.depth > -reach else 0
        if c.near:
            any_near = True
        else:
            vec.store(c.f, (0.0, 0.0, 0.0))
    return any_near


@jit
def _sums(contacts):
    """Force and torque of all points."""
    push, torque = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for c in contacts:
        f = vec.load(c.f)
        push, torque = vec.add(push, f), vec.add(torque, vec.cross(vec.load(c.arm), f))
    return push, torque


@jit
def _step(b, contacts, inverse_W, p, q, v, L, dt, margin, iterated, most):
    """The state one step later; forces are iterated to a relative change of `iterated`, in at most `most` sweeps."""
    v_free = (v[0], v[1], v[2] - dt * b.gravity)
    p_next = vec.add(p, vec.scale(0.5 * dt, vec.add(v, v_free)))
    turn, q_turn = free_turn(so3.rotate_back(q, L), b.inverse_inertia, dt)
    q_next = so3.renormalise(so3.multiply(q, q_turn))
    speed = math.sqrt(vec.dot(v, v)) + dt * b.gravity + b.size * math.sqrt(vec.dot(turn, turn)) / dt
    if not _look(b, contacts, p, q, margin * dt * speed):
        return p_next, q_next, v_free, L

    v_next, L_next = v_free, L
    sweeps = 0
    while sweeps < most:
        long = _lengthening(turn)
        for c in contacts:
            vec.store(c.arm, _arm(q, q_next, vec.load(c.r), long, b.radius))
        _weigh(b, contacts, inverse_W, q, dt)
        push, torque = _sums(contacts)
        v_mean = vec.scale(0.5, vec.add(vec.add(v, v_free), vec.scale(dt / b.mass, push)))
        turn = _turn(q, L, vec.add(L, vec.scale(dt, torque)), b.inverse_inertia, dt, turn)
        w_mean = vec.scale(1.0 / dt, so3.rotate(q, turn))
        v_mean, w_mean, first, size = _sweep(b, contacts, inverse_W, v_mean, w_mean, dt)
        changed, inner = first, 1
        while changed > iterated * size and inner < most // 4:  # the arms must be recomputed a few times, too
            v_mean, w_mean, changed, size = _sweep(b, contacts, inverse_W, v_mean, w_mean, dt)
            inner += 1
        sweeps += inner
        push, torque = _sums(contacts)
        v_next = vec.add(v_free, vec.scale(dt / b.mass, push))
        L_next = vec.add(L, vec.scale(dt, torque))
        p_next = vec.add(p, vec.scale(0.5 * dt, vec.add(v, v_next)))
        turn = _turn(q, L, L_next, b.inverse_inertia, dt, turn)
        q_next = so3.renormalise(so3.multiply(q, so3.exp(turn)))
        if first <= iterated * size:
            break
    return p_next, q_next, v_next, L_next


@jit
def _advance(b, contacts, inverse_W, p, q, v, L, dt, before):
    """Make a step and return the energy after it; if it has grown, iterate the forces further, in ever shorter steps."""
    p_next, q_next, v_next, L_next = _step(b, contacts, inverse_W, p, q, v, L, dt, MARGIN, ITERATED, MOST_SWEEPS)
    after = _energy(b, contacts, p_next, q_next, v_next, L_next)
    parts = 1
    while after > before + ROUNDING * abs(before) and parts <= MOST_PARTS:
        p_next, q_next, v_next, L_next = p, q, v, L
        for _ in range(parts):
            p_next, q_next, v_next, L_next = _step(
                b, contacts, inverse_W, p_next, q_next, v_next, L_next, dt / parts, FAR, FURTHER, FURTHER_SWEEPS
            )
        after = _energy(b, contacts, p_next, q_next, v_next, L_next)
        parts *= 8
    return p_next, q_next, v_next, L_next, after


@jit
def _fly(b, contacts, inverse_W, start, dt, every, out):
    """Fill `out` with p, q, v, w (in B), energy, and the most energy generated by a step so far; one row per `every` steps."""
    p, q, v = vec.load(start[0:3]), so3.load(start[3:7]), vec.load(start[7:10])
    L = so3.rotate(q, vec.matvec(b.inertia, vec.load(start[10:13])))
    made = 0.0
    before = _energy(b, contacts, p, q, v, L)
    for row in range(len(out)):
        vec.store(out[row, 0:3], p)
        so3.store(out[row, 3:7], q)
        vec.store(out[row, 7:10], v)
        vec.store(out[row, 10:13], vec.matvec(b.inverse_inertia, so3.rotate_back(q, L)))
        out[row, 13] = before
        out[row, 14] = made
        if row + 1 == len(out):
            break
        for _ in range(every):
            p, q, v, L, after = _advance(b, contacts, inverse_W, p, q, v, L, dt, before)
            made = max(made, after - before)
            before = after


_POINT = record(r=3, depth="f8", near="i8", arm=3, f=3, gives=("f8", (3, 3)))
_BODY = record(
    mass="f8",
    inertia=("f8", (3, 3)),
    inverse_inertia=("f8", (3, 3)),
    radius="f8",
    size="f8",
    stiffness="f8",
    exponent="f8",
    dissipation="f8",
    friction="f8",
    table="f8",
    gravity="f8",
)


@dataclass(frozen=True, kw_only=True)
class ThrownBody:
    """A rigid body with points that can touch a table."""

    mass: float  # kg
    inertia: NDArray[np.float64]  # kg·m², 3 × 3, about the centre of mass, in the body frame
    points: NDArray[np.float64]  # m, n × 3, from the centre of mass, in the body frame
    radius: float = 0.0  # m, of a ball about each point: rounded corners

    def __post_init__(self) -> None:
        check(self.mass > 0, "mass", self.mass, "greater than 0 kg")
        check(self.radius >= 0, "radius", self.radius, "at least 0 m")
        check_inertia(self.inertia, "inertia")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A level plane and its contact law: k δ^n (1 + λ δ') and Coulomb friction."""

    stiffness: float  # N/m^n, of one point
    exponent: float = 1.5  # n
    dissipation: float = 0.0  # s/m, λ
    friction: float = 0.0  # µ
    height: float = 0.0  # m, in W, whose z points up
    gravity: float = 9.81  # m/s²

    def __post_init__(self) -> None:
        check(self.stiffness > 0, "stiffness", self.stiffness, "greater than 0 N/m^n")
        check(1 <= self.exponent <= 3, "exponent", self.exponent, "from 1 to 3")
        check(self.dissipation >= 0, "dissipation", self.dissipation, "at least 0 s/m")
        check(self.friction >= 0, "friction", self.friction, "at least 0")


def check(holds: bool, what: str, value: float, allowed: str) -> None:
    if not holds:
        raise InputError(f"{what} is {value:g}; it must be {allowed}", key=what)


@dataclass(frozen=True)
class Flight:
    """Motion of a thrown body, one row per sample."""

    position: NDArray[np.float64]  # m, of the centre of mass, in W
    attitude: NDArray[np.float64]  # q_WB, w x y z
    velocity: NDArray[np.float64]  # m/s, in W
    angular_velocity: NDArray[np.float64]  # rad/s, in the body frame
    energy: NDArray[np.float64]  # J: kinetic, potential and in the springs
    energy_made: float  # J, the largest rise of the energy within a step


def throw(body: ThrownBody, table: Table, start: ArrayLike, samples: int, period: float, steps: int = 16) -> Flight:
    """Motion from `start` (position, q_WB, velocity in W, angular velocity in the body: 13 numbers), every `period` seconds.

    Each period has `steps` steps: ten or more within a contact are accurate to one per cent. No step generates energy.
    """
    b = np.zeros(1, _BODY).view(np.recarray)[0]
    b.mass, b.inertia, b.inverse_inertia, b.radius = body.mass, body.inertia, np.linalg.inv(body.inertia), body.radius
    b.stiffness, b.exponent, b.dissipation, b.friction = table.stiffness, table.exponent, table.dissipation, table.friction
    b.table, b.gravity = table.height, table.gravity
    b.size = np.linalg.norm(body.points, axis=1).max()
    contacts = np.zeros(len(body.points), _POINT).view(np.recarray)
    contacts.r = body.points
    out = np.zeros((samples, 15))
    _fly(b, contacts, np.zeros((3, 3)), np.array(start, np.float64), period / steps, steps, out)
    return Flight(out[:, 0:3], out[:, 3:7], out[:, 7:10], out[:, 10:13], out[:, 13], float(out[-1, 14]))


def box_corners(half_x: float, half_y: float, half_z: float) -> NDArray[np.float64]:
    """The eight corners of a box about its centre."""
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
    return signs * np.array([half_x, half_y, half_z])
