"""Recursive least squares: estimate constants from noisy samples, one at a time.

g = P h;   s = h·g + R;   θ += g y/s;   P -= g gᵀ/s            y: innovation, R: its variance without the uncertainty of θ
"""

from hilt.compiled import jit
from hilt.core.signals import record

FIT_2 = record(theta=2, P=("f8", (2, 2)))
FIT_3 = record(theta=3, P=("f8", (3, 3)))


@jit
def update_2(fit, h, y, R):
    P, theta = fit.P, fit.theta
    g0 = P[0, 0] * h[0] + P[0, 1] * h[1]
    g1 = P[1, 0] * h[0] + P[1, 1] * h[1]
    s = h[0] * g0 + h[1] * g1 + R
    theta[0] += g0 * y / s
    theta[1] += g1 * y / s
    P[0, 0] -= g0 * g0 / s
    P[1, 1] -= g1 * g1 / s
    P[0, 1] -= g0 * g1 / s
    P[1, 0] = P[0, 1]


@jit
def update_3(fit, h, y, R):
    P, theta = fit.P, fit.theta
    g0 = P[0, 0] * h[0] + P[0, 1] * h[1] + P[0, 2] * h[2]
    g1 = P[1, 0] * h[0] + P[1, 1] * h[1] + P[1, 2] * h[2]
    g2 = P[2, 0] * h[0] + P[2, 1] * h[1] + P[2, 2] * h[2]
    s = h[0] * g0 + h[1] * g1 + h[2] * g2 + R
    theta[0] += g0 * y / s
    theta[1] += g1 * y / s
    theta[2] += g2 * y / s
    P[0, 0] -= g0 * g0 / s
    P[1, 1] -= g1 * g1 / s
    P[2, 2] -= g2 * g2 / s
    P[0, 1] -= g0 * g1 / s
    P[0, 2] -= g0 * g2 / s
    P[1, 2] -= g1 * g2 / s
    P[1, 0], P[2, 0], P[2, 1] = P[0, 1], P[0, 2], P[1, 2]
