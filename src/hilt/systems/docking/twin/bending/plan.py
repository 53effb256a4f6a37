"""A plan of command accelerations, for a robot whose tip swings.

11 blocks of command acceleration over the next 80 ms for which the tip follows the reference:
    Σ w_i [(x - r)² + t_v² (ẋ - ṙ)²] + ρ Σ L_b a_b²  ->  min,        40 rows of 2 ms, |a_b| ≤ A

In every tick the last plan is shifted by T, run through the nonlinear model, and corrected by one Newton step; the derivatives
of the rows with respect to the blocks are computed in advance, for contacts that begin or end at row 0, 8, … 40. They depend on
the motor, the bending and the frame ahead, so they are recomputed when an estimate of one of these changes.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.bending.chain import move_motor

EDGES = np.array([0, 1, 2, 4, 6, 8, 11, 14, 18, 23, 30, 40])  # rows
BLOCKS, ROWS, ROW = 11, 40, 0.002
PLACES, APART = 6, 8  # where a contact begins or ends: rows 0, 8, … 40
SPEED_TIME = 0.004  # t_v, s
LAST = 4.0  # weight of the last row
ROUNDS = 12  # of the search for the blocks at their limits

PLAN = record(a=BLOCKS)
WORK = record(free=("i8", BLOCKS), fixed=("i8", BLOCKS), out=BLOCKS, L=("f8", (BLOCKS, BLOCKS)))
SET = record(S=("f8", (ROWS, BLOCKS)), dS=("f8", (ROWS, BLOCKS)), H=("f8", (BLOCKS, BLOCKS)), inverse=("f8", (BLOCKS, BLOCKS)))
SETS = record(
    sets=(SET, (2 * PLACES,)),
    new=SET,  # being computed
    L=("f8", (BLOCKS, BLOCKS)),
    **dict.fromkeys(("making", "part"), "i8"),
    **dict.fromkeys(("tip", "frame"), 3),
    motor=2,
)
PARTS = 3 * BLOCKS + 1  # units of work per set


def shifts(dt: float) -> np.ndarray:
    """Matrix that shifts the plan by dt: mean of the old plan over each block; zero after its end."""
    edges = EDGES * ROW
    matrix = np.zeros((BLOCKS, BLOCKS))
    for new in range(BLOCKS):
        low, high = edges[new] + dt, edges[new + 1] + dt
        for old in range(BLOCKS):
            matrix[new, old] = max(0.0, min(high, edges[old + 1]) - max(low, edges[old])) / (high - low)
    return matrix


def first(dt: float) -> np.ndarray:
    """Weights of the blocks in the mean over the first dt."""
    edges = EDGES * ROW
    return np.array([max(0.0, min(dt, edges[b + 1]) - edges[b]) / dt for b in range(BLOCKS)])


@jit
def weight(i):
    return LAST if i == ROWS - 1 else 1.0


@jit
def _derive(x, b, begins, ends):
    """Column b of S, Ṡ: response of the rows to unit acceleration in block b, in contact in rows begins … ends."""
    u = du = x_m = v_m = at = v = 0.0
    K_f, w, z = x.tip[0], x.tip[1], x.tip[2]
    k, c = x.frame[0], x.frame[1]
    stiff, rub = w * w, z * w
    over = stiff / K_f if K_f > 0.0 else 0.0
    for i in range(ROWS):
        a = 1.0 if EDGES[b] <= i < EDGES[b + 1] else 0.0
        u_next, du = u + ROW * (du + 0.5 * ROW * a), du + ROW * a
        x_m_next, v_m_next = move_motor(x_m, v_m, x.motor[0], x.motor[1], u, u_next, ROW)
        pressed = over if begins <= i < ends else 0.0
        push = stiff * (0.5 * (x_m + x_m_next) - at - 0.5 * ROW * v) + 2.0 * rub * (0.5 * (v_m + v_m_next) - v)
        push -= pressed * (k * (at + 0.5 * ROW * v) + c * v)
        whole = 1.0 + rub * ROW + 0.25 * stiff * ROW * ROW + pressed * (0.25 * ROW * ROW * k + 0.5 * ROW * c)
        a_tip = push / whole
        if K_f <= 0.0:
            at, v = x_m_next, v_m_next
        else:
            at, v = at + ROW * (v + 0.5 * ROW * a_tip), v + ROW * a_tip
        u, x_m, v_m = u_next, x_m_next, v_m_next
        x.new.S[i, b], x.new.dS[i, b] = at, v


@jit
def _weigh(made, b, rho):
    """Compute row b of H, up to the diagonal."""
    for d in range(b + 1):
        made.H[b, d] = 0.0
    for i in range(ROWS):
        s, ds = weight(i) * made.S[i, b], weight(i) * SPEED_TIME * SPEED_TIME * made.dS[i, b]
        for d in range(b + 1):
            made.H[b, d] += s * made.S[i, d] + ds * made.dS[i, d]
    for d in range(b):
        made.H[d, b] = made.H[b, d]
    made.H[b, b] += rho * (EDGES[b + 1] - EDGES[b])


@jit
def _factor(H, L):
    """Cholesky's."""
    for i in range(BLOCKS):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total**0.5 if i == j else total / L[j, j]


@jit
def _invert(made, L, column):
    """Compute one column of H⁻¹."""
    for i in range(BLOCKS):
        total = 1.0 if i == column else 0.0
        for k in range(i):
            total -= L[i, k] * made.inverse[k, column]
        made.inverse[i, column] = total / L[i, i]
    for i in range(BLOCKS - 1, -1, -1):
        total = made.inverse[i, column]
        for k in range(i + 1, BLOCKS):
            total -= L[k, i] * made.inverse[k, column]
        made.inverse[i, column] = total / L[i, i]


@jit
def begin(x, tip, frame, T1, T2):
    """Start computing the sets for this tip, frame and motor."""
    x.tip[0], x.tip[1], x.tip[2] = tip.k, tip.w, tip.z
    x.frame[0], x.frame[1] = frame.k, frame.c if frame.model == model.LINEAR else 0.0
    x.motor[0], x.motor[1] = T1, T2
    x.making, x.part = 2 * PLACES, 0


@jit
def go_on(x, rho, parts):
    """Do `parts` units of that work; a set is replaced when complete."""
    for _ in range(parts):
        if x.making == 0:
            return
        number = x.making - 1
        middle = number % PLACES * APART
        begins, ends = (middle, ROWS) if number < PLACES else (0, middle)
        if x.part < BLOCKS:
            _derive(x, x.part, begins, ends)
        elif x.part < 2 * BLOCKS:
            _weigh(x.new, x.part - BLOCKS, rho)
        elif x.part == 2 * BLOCKS:
            _factor(x.new.H, x.L)
        else:
            _invert(x.new, x.L, x.part - 2 * BLOCKS - 1)
        x.part += 1
        if x.part == PARTS:
            _replace(x.sets[number], x.new)
            x.making, x.part = number, 0


@jit
def _replace(old, new):
    for b in range(BLOCKS):
        for i in range(ROWS):
            old.S[i, b], old.dS[i, b] = new.S[i, b], new.dS[i, b]
        for d in range(BLOCKS):
            old.H[b, d], old.inverse[b, d] = new.H[b, d], new.inverse[b, d]


@jit
def which(starts_inside, changes_at):
    """Index of the set for a contact that begins or ends at row `changes_at`; 40: never."""
    place = min((changes_at + APART // 2) // APART, PLACES - 1)
    return place + (PLACES if starts_inside else 0)


@jit
def _outwards(at, slope, A):
    """Whether a block is at a limit that it would have to cross to lower the cost."""
    return (at >= A and slope < 0.0) or (at <= -A and slope > 0.0)


@jit
def _free(fixed, free):
    """List the blocks that are not fixed; returns their number."""
    count = 0
    for b in range(BLOCKS):
        if fixed[b] == 0:
            free[count] = b
            count += 1
    return count


@jit
def _release(a, g, step, A, fixed):
    """Release the block that gains most by leaving its limit; returns whether there is one."""
    best, most = -1, 0.0
    for b in range(BLOCKS):
        if fixed[b] == 1 and not _outwards(a[b] + step[b], g[b], A) and abs(g[b]) > most:
            best, most = b, abs(g[b])
    if best >= 0:
        fixed[best] = 0
    return best >= 0


@jit
def _newton(g, H, L, free, count, out):
    """out = -H⁻¹ g for the free blocks, by the Cholesky factor."""
    for i in range(count):
        for j in range(i + 1):
            total = H[free[i], free[j]]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total**0.5 if i == j else total / L[j, j]
    for i in range(count):
        total = -g[free[i]]
        for k in range(i):
            total -= L[i, k] * out[k]
        out[i] = total / L[i, i]
    for i in range(count - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, count):
            total -= L[k, i] * out[k]
        out[i] = total / L[i, i]


@jit
def _room(at, change, A):
    """Fraction of a change that keeps a block within |a| ≤ A."""
    if at + change > A:
        return max(0.0, (A - at) / change)
    if at + change < -A:
        return max(0.0, (-A - at) / change)
    return 1.0


@jit
def _confine(a, g, step, H, A, work):
    """Find the best step within |a_b| ≤ A, by active sets.

    Each round follows the Newton direction of the free blocks until one reaches its limit, so the cost never rises. Unfinished
    work is continued in the next tick.
    """
    for b in range(BLOCKS):
        step[b] = 0.0
        work.fixed[b] = 1 if _outwards(a[b], g[b], A) else 0
    for _ in range(ROUNDS):
        count = _free(work.fixed, work.free)
        _newton(g, H, work.L, work.free, count, work.out)
        share, first = 1.0, -1
        for i in range(count):
            room = _room(a[work.free[i]] + step[work.free[i]], work.out[i], A)
            if room < share:
                share, first = room, i
        for i in range(count):
            b, change = work.free[i], share * work.out[i]
            if i == first:
                change = math.copysign(A, work.out[i]) - a[b] - step[b]  # exactly at its limit
                work.fixed[b] = 1
            step[b] += change
            for d in range(BLOCKS):
                g[d] += H[b, d] * change
        if first < 0 and not _release(a, g, step, A, work.fixed):
            return


@jit
def improve(a, g, step, made, A, work):
    """One Newton step from the plan a with gradient g, within |a_b| ≤ A."""
    beyond = False
    for b in range(BLOCKS):
        total = 0.0
        for d in range(BLOCKS):
            total -= made.inverse[b, d] * g[d]
        step[b] = total
        if not abs(a[b] + total) <= A:
            beyond = True
    if beyond:
        _confine(a, g, step, made.H, A, work)
    for b in range(BLOCKS):
        a[b] += step[b]
