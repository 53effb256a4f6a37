"""Estimates of the bending and of both frames: means and one covariance, carried from contact to contact.

    all      ln K_f, ln ω_f, ln ζ_f;  ln k, ζ_c of the front frame;  the same of the rear frame
    of one contact     the bending, ln k and ζ_c of its frame; then s, x(0), ẋ(0), which are discarded

A contact with one frame also changes the estimate of the other, through their correlation: with C_aa before the contact, P
after it and G = C_ba C_aa⁻¹, the other's mean changes by G Δa and its covariance by G (P - C_aa) Gᵀ. Without that the same
information would be counted twice when the other frame is touched again.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.systems.docking.twin import model

K, W, Z, STIFF, DAMPED, PLACE, AT, SPEED = range(8)
SIZE, KEEP, ALL = 8, 5, 7
NO_LAW = -1

KNOWLEDGE = record(value=ALL, C=("f8", (ALL, ALL)), law=("i8", 2))


@jit
def solve(A, b, L, out):
    """Solve A out = b for a positive definite A (lower half) by its Cholesky factor L; False if A is not positive definite."""
    n = len(b)
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * out[k]
        out[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, n):
            total -= L[k, i] * out[k]
        out[i] = total / L[i, i]
    return True


@jit
def place_in_all(a, i):
    """Index in `all` of parameter a of a contact with frame i."""
    return a if a < STIFF else a + 2 * i


@jit
def describe(known, p, i, law):
    """Describe frame i by `law`; estimates for another law are discarded."""
    if known.law[i] == law:
        return
    known.law[i] = law
    for a in range(STIFF + 2 * i, STIFF + 2 * i + 2):
        for b in range(ALL):
            known.C[a, b] = known.C[b, a] = 0.0
        known.C[a, a] = p.deviation[a] ** 2
    known.value[STIFF + 2 * i], known.value[DAMPED + 2 * i] = p.hertz if law == model.HERTZ else p.prior[STIFF], 0.0


@jit
def extract(known, i, mean, C):
    """Mean and covariance of the bending and of frame i."""
    for a in range(KEEP):
        mean[a] = known.value[place_in_all(a, i)]
        for b in range(KEEP):
            C[a, b] = known.C[place_in_all(a, i), place_in_all(b, i)]


@jit
def update(known, i, result, P, G):
    """Update after a contact with frame i: `result` has the values before (prior) and after (theta), C and C⁻¹ (precision)."""
    for j in range(2):
        there = STIFF + 2 * (1 - i) + j
        for a in range(KEEP):
            G[j, a] = 0.0
            for b in range(KEEP):
                G[j, a] += known.C[there, place_in_all(b, i)] * result.precision[b, a]
    for j in range(2):
        there = STIFF + 2 * (1 - i) + j
        for a in range(KEEP):
            known.value[there] += G[j, a] * (result.theta[a] - result.prior[a])
        for m in range(2):
            for a in range(KEEP):
                for b in range(KEEP):
                    known.C[there, STIFF + 2 * (1 - i) + m] += G[j, a] * (P[a, b] - result.C[a, b]) * G[m, b]
        for a in range(KEEP):
            total = 0.0
            for b in range(KEEP):
                total += G[j, b] * P[b, a]
            known.C[there, place_in_all(a, i)] = known.C[place_in_all(a, i), there] = total
    for a in range(KEEP):
        known.value[place_in_all(a, i)] = result.theta[a]
        for b in range(KEEP):
            known.C[place_in_all(a, i), place_in_all(b, i)] = P[a, b]


@jit
def widen(known, i, doubt, G, shift):
    """Increase the uncertainty: values at a distance `doubt` are also possible, C += d dᵀ; the other frame follows by G."""
    for a in range(ALL):
        shift[a] = 0.0
    for a in range(KEEP):
        shift[place_in_all(a, i)] = doubt[a]
        for j in range(2):
            shift[STIFF + 2 * (1 - i) + j] += G[j, a] * doubt[a]
    for a in range(ALL):
        for b in range(ALL):
            known.C[a, b] += shift[a] * shift[b]
