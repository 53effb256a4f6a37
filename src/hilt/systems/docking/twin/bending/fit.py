"""Fit the parameters of bending and frame to the samples of a contact, a few samples per tick.

    ẍ = ω_f² (x_m - x) + 2ζ_f ω_f (ẋ_m - ẋ) - f e/m_t      the tip, driven by the encoders and the frame
    f = k (x - s) e + c ẋ e,  c = 2ζ_c √(k m)               the frame's force there, or (q (x - s) e)^(3/2) for Hertz
    S(Σ (F - f)²) + (θ - θ_0)ᵀ C⁻¹ (θ - θ_0)  ->  min        θ = ln K_f, ln ω_f, ln ζ_f, ln k, ζ_c, s, x(0), ẋ(0)

The measured force determines when the frame acts, the law how strongly, so noise of the force does not move the tip. At the
edges of a contact, below the threshold, the measured force is used. The derivatives with respect to θ are propagated with every
step of the tip; each pass over the samples gives the normal equations of one Levenberg-Marquardt step. While ω_f is uncertain,
or the minimum does not explain the contact, the descent is started at several frequencies, because there are several minima.

Residuals that noise cannot explain are due to a wrong model, and such errors are correlated over ALIKE. With n samples, l of
them in ALIKE, a mean square q and the q_0 that noise may reach, their variance is q - q_0, and l samples count as one:
    S = n q/σ²                                           q ≤ q_0
    S = n q_0/σ² + (n/l) ln(1 + l (q - q_0)/σ²)          above: as if each sample had the variance V = σ² + l (q - q_0)
So if the model is wrong, prior knowledge counts more, and what is learnt is less certain.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.bending.knowledge import AT, DAMPED, KEEP, PLACE, SIZE, SPEED, STIFF, K, W, Z, solve
from hilt.systems.docking.twin.bending.samples import place

ITERATIONS = 15
ENOUGH = 0.02  # of the cost: smaller gains end the descent
AWAY = np.array([0.0, -0.6, 0.6, -1.2, 1.2])  # deviations of ln ω_f
SETTLED = 0.01  # deviation of ln ω_f below which the minimum is unambiguous
ALIKE, EXPLAINED = 0.02, 2.0  # s; deviations of the mean square that noise may reach
AGAIN, UNLIKELY = 0.05, 2.5  # that deviation, if the minimum misses the contact by more than this many deviations
AS_GOOD = 9.0  # of the cost: 3σ
HOPELESS_AFTER, HOPELESS = 5, 3.0  # passes, times the lowest cost of another start
DAMPING = (-0.2, 0.6)  # of ζ_c
FARTHEST = 1.5  # of the logarithms, from their start

RESULT = record(
    law="i8",
    used="i8",
    **dict.fromkeys(("cost", "square", "at", "v"), "f8"),
    **dict.fromkeys(("prior", "theta"), SIZE),
    doubt=KEEP,
    **dict.fromkeys(("left", "precision"), ("f8", (SIZE, SIZE))),
    C=("f8", (KEEP, KEEP)),
)
FIT = record(
    **dict.fromkeys(("law", "e", "attempt", "iteration", "sample", "used", "met"), "i8"),
    **dict.fromkeys(("at", "v", "square", "lowest", "damping", "deviation", "first_damping"), "f8"),
    **dict.fromkeys(("here_at", "here_v", "here_square"), "f8"),
    **dict.fromkeys(("start", "theta", "here", "here_right", "right", "dx", "dv", "before", "row", "step"), SIZE),
    **dict.fromkeys(("left", "here_left", "L"), ("f8", (SIZE, SIZE))),
    ends=len(AWAY),
    found=("f8", (len(AWAY), KEEP)),
)


@jit
def law_force(law, k, c, depth, rate):
    """(f, ∂f/∂δ, ∂f/∂δ', ∂f/∂ ln k) of the frame."""
    if law == model.HERTZ:
        root = math.sqrt(k * max(depth, 0.0))
        return root**3, 1.5 * k * root, 0.0, 1.5 * root**3
    return k * depth + c * rate, k, c, k * depth + 0.5 * c * rate


@jit
def _meet(fit, law, k, c, c_full, before, depth, rate, e, over):
    """Speed removed by the frame in the step of the touch: the part of the step inside the frame times the mean force there.

    A damped frame pushes immediately with c v; the mean of two force samples would be wrong by up to half of that.
    """
    part = depth / (depth - before)
    f, f_x, f_v, f_k = law_force(law, k, c, 0.5 * depth, rate)
    for j in range(SIZE):
        d_before, d_depth = fit.before[j] * e, fit.dx[j] * e
        if j == PLACE:
            d_before, d_depth = d_before - e, d_depth - e
        d_part = (d_before * depth - d_depth * before) / (depth - before) ** 2
        change = d_part * f + part * (0.5 * f_x * d_depth + f_v * fit.dv[j] * e)
        if j == K:
            change -= part * f
        elif j == W:
            change += 2.0 * part * f
        elif j == STIFF:
            change += part * f_k
        elif j == DAMPED and law == model.LINEAR:
            change += part * c_full * rate
        fit.dv[j] -= over * e * change
    return over * e * part * f


@jit
def _begin_pass(fit):
    for i in range(SIZE):
        fit.right[i] = fit.dx[i] = fit.dv[i] = 0.0
        for j in range(SIZE):
            fit.left[i, j] = 0.0
    fit.dx[AT] = fit.dv[SPEED] = 1.0
    fit.at, fit.v, fit.square, fit.used, fit.sample = fit.theta[AT], fit.theta[SPEED], 0.0, 0, 1
    fit.met = 0


@jit
def go_on(fit, bank, p, dt, most):
    """Process up to `most` samples of a pass; return how many of `most` are left when it ends."""
    theta, law, e = fit.theta, fit.law, float(fit.e)
    w, rub, k, s = math.exp(theta[W]), math.exp(theta[Z] + theta[W]), math.exp(theta[STIFF]), theta[PLACE]
    stiff, over, c_full = w * w, w * w / math.exp(theta[K]), 2.0 * math.sqrt(k * p.mass)
    c, h = theta[DAMPED] * c_full, dt / p.steps
    whole = 1.0 + rub * h + 0.25 * stiff * h * h
    at, v, met = fit.at, fit.v, fit.met != 0
    while fit.sample < bank.count and most > 0:
        here, after = place(bank, fit.sample - 1), place(bank, fit.sample)
        fit.sample += 1
        most -= 1
        x0, v0, F0 = bank.x_m[here], bank.v_m[here], bank.force[here]
        x1, v1, F1 = bank.x_m[after], bank.v_m[after], bank.force[after]
        felt_before, felt_after = F0 * e >= p.threshold, F1 * e >= p.threshold
        for part in range(p.steps):
            share = (part + 0.5) / p.steps
            bent, rate = x0 + share * (x1 - x0) - at - 0.5 * h * v, v0 + share * (v1 - v0) - v
            depth = (at - s) * e
            pressed = felt_after and (felt_before or depth > 0.0)
            meets = felt_after and not pressed
            force, f_x, f_v, f_k, held = F0 + share * (F1 - F0), 0.0, 0.0, 0.0, 0.0
            if meets:
                force = 0.0
            if pressed:
                f, f_x, f_v, f_k = law_force(law, k, c, depth + 0.5 * h * v * e, v * e)
                force, held = f * e, 0.25 * h * h * f_x + 0.5 * h * f_v
            a = (stiff * bent + 2.0 * rub * rate - over * force) / (whole + over * held)
            force += held * a
            met = met or pressed
            for j in range(SIZE):
                if not met and j in (STIFF, DAMPED, PLACE):
                    continue  # before the touch the frame does not act
                push = -(stiff + over * f_x) * (fit.dx[j] + 0.5 * h * fit.dv[j]) - (2.0 * rub + over * f_v) * fit.dv[j]
                if j == K:
                    push += over * force
                elif j == W:
                    push += 2.0 * (stiff * bent + rub * rate - over * force) - a * (rub * h + 0.5 * stiff * h * h)
                elif j == Z:
                    push += 2.0 * rub * rate - a * rub * h
                elif pressed and j == STIFF:
                    push -= over * (f_k * e + (0.25 * h * h * f_x + 0.25 * h * f_v) * a)
                elif pressed and j == DAMPED and law == model.LINEAR:
                    push -= over * c_full * (v + 0.5 * h * a)
                elif pressed and j == PLACE:
                    push += over * f_x
                da = push / (whole + over * held)
                fit.before[j] = fit.dx[j]
                fit.dx[j] += h * (fit.dv[j] + 0.5 * h * da)
                fit.dv[j] += h * da
            at, v = at + h * (v + 0.5 * h * a), v + h * a
            if meets and (at - s) * e > 0.0:
                met = True
                v -= _meet(fit, law, k, c, c_full, depth, (at - s) * e, v * e, e, over * h)
        if F1 * e >= p.threshold:
            _compare(fit, law, k, c, c_full, (at - s) * e, v * e, F1 * e, e)
    fit.at, fit.v, fit.met = at, v, 1 if met else 0
    return most


@jit
def _compare(fit, law, k, c, c_full, depth, rate, felt, e):
    """Compare one sample of the force with the model."""
    f, f_x, f_v, f_k = law_force(law, k, c, depth, rate)
    r = felt - f
    fit.square += r * r
    fit.used += 1
    for j in range(SIZE):
        fit.row[j] = (f_x * fit.dx[j] + f_v * fit.dv[j]) * e
    fit.row[STIFF] += f_k
    fit.row[PLACE] -= f_x * e
    if law == model.LINEAR:
        fit.row[DAMPED] += c_full * rate
    for j in range(SIZE):
        fit.right[j] += fit.row[j] * r
        for i in range(j + 1):
            fit.left[j, i] += fit.row[j] * fit.row[i]


@jit
def unexplained(square, used, p):
    """Mean square of `used` samples above what noise may reach; for n samples its deviation is σ² √(2/n)."""
    return max(0.0, square / used - p.variance * (1.0 + EXPLAINED * math.sqrt(2.0 / used)))


@jit
def weight_of(square, used, p):
    """Return (S, V)."""
    beyond = p.alike * unexplained(square, used, p) / p.variance
    within = square / p.variance - used * beyond / p.alike
    return within + used / p.alike * math.log(1.0 + beyond), p.variance * (1.0 + beyond)


@jit
def _weigh(fit, result, p):
    """Complete the normal equations with the prior."""
    cost, variance = weight_of(fit.square, fit.used, p)
    for i in range(SIZE):
        fit.right[i] /= variance
        for j in range(SIZE):
            away = fit.theta[j] - result.prior[j]
            fit.right[i] -= result.precision[i, j] * away
            cost += (fit.theta[i] - result.prior[i]) * result.precision[i, j] * away
            if j <= i:
                fit.left[i, j] = fit.left[i, j] / variance + result.precision[i, j]
    return cost


@jit
def _descended(fit, result, p):
    """Whether this descent is over after a pass; if not, fit.theta is set for the next pass."""
    cost = _weigh(fit, result, p)
    fit.iteration += 1
    if cost < fit.lowest:
        gained, fit.lowest, fit.damping = fit.lowest - cost, cost, 0.2 * fit.damping
        for i in range(SIZE):
            fit.here[i], fit.here_right[i] = fit.theta[i], fit.right[i]
            for j in range(i + 1):
                fit.here_left[i, j] = fit.left[i, j]
        fit.here_at, fit.here_v, fit.here_square = fit.at, fit.v, fit.square
        if gained < ENOUGH:
            return True
    else:
        fit.damping = min(10.0 * fit.damping, 1e6)
    if fit.iteration >= ITERATIONS or (fit.iteration >= HOPELESS_AFTER and fit.lowest > HOPELESS * result.cost):
        return True
    for i in range(SIZE):
        for j in range(i + 1):
            fit.left[i, j] = fit.here_left[i, j]
        fit.left[i, i] *= 1.0 + fit.damping
    if not solve(fit.left, fit.here_right, fit.L, fit.step):
        return True
    for i in range(SIZE):
        fit.theta[i] = fit.here[i] + fit.step[i]
    for i in range(PLACE - 1):
        fit.theta[i] = min(max(fit.theta[i], fit.start[i] - FARTHEST), fit.start[i] + FARTHEST)
    fit.theta[DAMPED] = min(max(fit.theta[DAMPED], DAMPING[0]), DAMPING[1])
    return False


@jit
def _set_out(fit):
    """Start a descent from another frequency and the initially believed damping, as there may be a minimum near ζ_f = 0."""
    for i in range(SIZE):
        fit.theta[i] = fit.start[i]
    fit.theta[W] += AWAY[fit.attempt] * fit.deviation
    if fit.attempt > 0:
        fit.theta[Z] = fit.first_damping
    fit.lowest, fit.damping, fit.iteration = math.inf, 1e-3, 0
    _begin_pass(fit)


@jit
def begin(fit, result, law, e, deviation, damping):
    """Start a fit from fit.start, other descents with `damping`; `result` holds the prior and receives the outcome."""
    fit.law, fit.e, fit.attempt, fit.deviation = law, e, 0, deviation
    fit.first_damping = damping
    result.law, result.cost, result.used = law, math.inf, 0
    for a in range(KEEP):
        result.doubt[a] = 0.0
    for attempt in range(len(AWAY)):
        fit.ends[attempt] = math.inf
    _set_out(fit)


@jit
def _doubt(fit, result):
    """Add the uncertainty from another minimum that explains the contact nearly as well, with its own stiffnesses.

    Two normal distributions of weights 1 - w and w at a distance d have a covariance larger by w (1 - w) d dᵀ.
    """
    most = 0.0
    for attempt in range(len(AWAY)):
        worse = fit.ends[attempt] - result.cost
        share = math.sqrt(math.exp(-0.5 * worse)) / (1.0 + math.exp(-0.5 * worse))  # √(w (1 - w))
        apart = share * abs(fit.found[attempt, W] - result.theta[W])
        if worse < AS_GOOD and apart > most:
            most = apart
            for a in range(KEEP):
                result.doubt[a] = share * (fit.found[attempt, a] - result.theta[a])


@jit
def _explained(result, p):
    """Whether noise alone can explain the residual."""
    return result.square < p.variance * (result.used + UNLIKELY * math.sqrt(2.0 * result.used))


@jit
def is_complete(fit, result, p, hurry):
    """Decide after a pass whether the fit is complete; in a hurry the best result so far is taken."""
    if not _descended(fit, result, p) and not hurry:
        _begin_pass(fit)
        return False
    fit.ends[fit.attempt] = fit.lowest
    for a in range(KEEP):
        fit.found[fit.attempt, a] = fit.here[a]
    if fit.lowest < result.cost:
        result.cost, result.used = fit.lowest, fit.used
        result.at, result.v, result.square = fit.here_at, fit.here_v, fit.here_square
        for i in range(SIZE):
            result.theta[i] = fit.here[i]
            for j in range(i + 1):
                result.left[i, j] = fit.here_left[i, j]
    fit.attempt += 1
    if fit.attempt < len(AWAY) and not _explained(result, p):
        fit.deviation = max(fit.deviation, AGAIN)
    if fit.attempt < len(AWAY) and fit.deviation > SETTLED and not hurry:
        _set_out(fit)
        return False
    _doubt(fit, result)
    return True
