"""Poses, twists and wrenches of rigid bodies, as tuples.

A pose X_AB is a pair (p, q): the origin of B in A, and the attitude of B. A wrench (f, τ) is about a point; the v of a twist
(v, ω) is the velocity of the body's point there. From B's origin, expressed in B, to A's origin, expressed in A:

    [f; τ]_A = [R 0; S(p)R R] [f; τ]_B          Ad⁻ᵀ
    [v; ω]_A = [R S(p)R; 0 R] [v; ω]_B          Ad

Power f·v + τ·ω is the same in both.
"""

from hilt.compiled import jit
from hilt.maths import so3, vec

UNMOVED = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


@jit
def load(pose):
    """A pose field of a record, as a pair of tuples."""
    return vec.load(pose.p), so3.load(pose.q)


@jit
def store(out, X):
    vec.store(out.p, X[0])
    so3.store(out.q, X[1])


@jit
def place(X_AB, p_B):
    """Express in A a point given in B."""
    return vec.add(X_AB[0], so3.rotate(X_AB[1], p_B))


@jit
def compose(X_AB, X_BC):
    """X_AC = X_AB · X_BC."""
    return place(X_AB, X_BC[0]), so3.renormalise(so3.multiply(X_AB[1], X_BC[1]))


@jit
def inverse(X_AB):
    """X_BA."""
    return so3.rotate_back(X_AB[1], vec.scale(-1.0, X_AB[0])), so3.inverse(X_AB[1])


@jit
def express(q_AB, a, b):
    """Express in A both parts of a wrench or twist given in B, about the same point."""
    return so3.rotate(q_AB, a), so3.rotate(q_AB, b)


@jit
def shift_wrench(f, tau, r):
    """The same wrench about the point at a distance r."""
    return f, vec.sub(tau, vec.cross(r, f))


@jit
def shift_twist(v, w, r):
    """The same motion, for the point of the body at a distance r."""
    return vec.add(v, vec.cross(w, r)), w


@jit
def transform_wrench(X_AB, f, tau):
    """Ad⁻ᵀ: from B's origin, in B, to A's origin, in A."""
    f, tau = express(X_AB[1], f, tau)
    return shift_wrench(f, tau, vec.scale(-1.0, X_AB[0]))


@jit
def transform_twist(X_AB, v, w):
    """Ad: from B's origin, in B, to A's origin, in A."""
    v, w = express(X_AB[1], v, w)
    return shift_twist(v, w, vec.scale(-1.0, X_AB[0]))
