"""Exact joint angles of a chain for one pose, and how far the posture is from a singular one."""

import math

from hilt.compiled import jit, jit_apart
from hilt.maths import vec
from hilt.maths.chain import forward, jacobian, pose_error, solve


@jit_apart
def reach(x, p, q, p_des, q_des, base_p, base_q, tolerance, iterations):
    """Newton's method from the angles q, in place, until the hand is within a tolerance [m, rad]; return the remaining error.

    x.p, x.q and x.J are then those of the angles q. The steps come from `solve`, so each keeps within the limits in `p`.
    """
    for k in range(iterations + 1):
        forward(x, p, q, base_p, base_q)
        jacobian(x, p)
        error_p, error_q = pose_error(x, p_des, q_des)
        size = math.sqrt(max(vec.dot(error_p, error_p), vec.dot(error_q, error_q)))
        if size <= tolerance or k == iterations or not size < math.inf:
            return size
        solve(x, p, q, error_p, error_q, 1.0)
        for i in range(p.joints):
            q[i] += x.qd[i]
    return math.inf


@jit_apart
def smallest_singular(x, p):
    """The smallest singular value of J in SI: the least motion of the hand, in metres and radians, when the joints together
    move by 1 rad. By Jacobi rotations of J Jᵀ in x.A. Call `jacobian` first."""
    A = x.A
    for i in range(6):
        for j in range(6):
            A[i, j] = 0.0
            for k in range(p.joints):
                A[i, j] += x.J[i, k] * x.J[j, k]
    for _ in range(12):
        off, size = 0.0, 0.0
        for i in range(6):
            size += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if not off > 1e-32 * size:
            break
        for i in range(5):
            for j in range(i + 1, 6):
                _rotate_away(A, i, j)
    smallest = A[0, 0]
    for i in range(1, 6):
        smallest = min(smallest, A[i, i])
    return math.sqrt(max(smallest, 0.0))


@jit
def _rotate_away(A, i, j):
    """One Jacobi rotation (a similarity transform of A), after which A[i, j] is 0."""
    if A[i, j] == 0.0:
        return
    half = 0.5 * (A[j, j] - A[i, i]) / A[i, j]
    t = (1.0 if half >= 0.0 else -1.0) / (abs(half) + math.sqrt(half * half + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(6):
        A[k, i], A[k, j] = c * A[k, i] - s * A[k, j], s * A[k, i] + c * A[k, j]
    for k in range(6):
        A[i, k], A[j, k] = c * A[i, k] - s * A[j, k], s * A[i, k] + c * A[j, k]
