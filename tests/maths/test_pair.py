"""A relative motion made by two robots: laws that hold for every share and every pose."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.maths import pair, so3, spatial, vec

small = st.floats(-1.0, 1.0)
vectors = st.tuples(small, small, small)
poses = st.tuples(vectors, vectors.map(so3.exp))
shares = st.floats(0.0, 1.0)
# 1e-12: some ten roundings of numbers of size 1, with room
EXACT = 1e-12


def close(a, b, tolerance=EXACT):
    (p, q), (r, s) = a, b
    assert np.allclose(p, r, atol=tolerance, rtol=0)
    assert abs(abs(np.dot(q, s)) - 1.0) < tolerance


@given(poses, shares)
def test_the_two_parts_make_the_whole(X_WB, share):
    X_GB, X_GW = pair.shares(X_WB, share)
    close(pair.relative(X_GB, X_GW), X_WB)


@given(poses)
def test_with_no_share_one_robot_does_it_all(X_WB):
    X_GB, X_GW = pair.shares(X_WB, 0.0)
    close(X_GB, X_WB)
    close(X_GW, spatial.UNMOVED)
    X_GB, X_GW = pair.shares(X_WB, 1.0)
    close(X_GB, spatial.UNMOVED)
    close(X_GW, spatial.inverse(X_WB))


def moved(X, V, dt):
    return vec.add(X[0], vec.scale(dt, V[0])), so3.multiply(so3.exp(vec.scale(dt, V[1])), X[1])


@given(poses, poses, st.tuples(vectors, vectors), st.tuples(vectors, vectors))
def test_the_relative_twist_is_the_derivative_of_the_relative_pose(X_GB, X_GW, V_GB, V_GW):
    h = 1e-5
    after = pair.relative(moved(X_GB, V_GB, h), moved(X_GW, V_GW, h))
    before = pair.relative(moved(X_GB, V_GB, -h), moved(X_GW, V_GW, -h))
    v, w = pair.relative_twist(X_GB, V_GB, X_GW, V_GW)
    # The error of the central difference is h²/6 of the third derivative, here below 100: 2e-9; rounding adds 1e-16/h.
    assert np.allclose(vec.scale(0.5 / h, vec.sub(after[0], before[0])), v, atol=1e-8)
    assert np.allclose(vec.scale(0.5 / h, so3.between(before[1], after[1])), w, atol=1e-8)


@given(poses, vectors, vectors, st.floats(0.0, 1.0))
def test_the_curve_is_exact_for_uniform_motion(X, v, w, share):
    V = v, w
    t = share - 0.5
    here = pair.smooth(moved(X, V, -1.0), X, moved(X, V, 1.0), share)
    close(here, moved(X, V, t), 1e-11)


def test_the_curve_changes_its_speed_over_a_whole_step():
    """A set-point path that starts abruptly, 0, 0, 1, 2: the speed of the curve rises linearly from 0 to 1 over one step."""
    still = (1.0, 0.0, 0.0, 0.0)
    knots = [((x, 0.0, 0.0), still) for x in (0.0, 0.0, 1.0, 2.0)]

    def at(t):
        k = math.floor(t + 0.5)
        return pair.smooth(knots[k - 1], knots[k], knots[k + 1], t - k + 0.5)[0][0]

    t = np.linspace(0.5, 2.4999, 400)
    x = np.array([at(each) for each in t])
    speed = np.diff(x) / np.diff(t)
    middle = 0.5 * (t[1:] + t[:-1])
    assert speed == pytest.approx(np.clip(middle - 0.5, 0.0, 1.0), abs=0.01)  # 0.01: a step of this table across the kink


@given(poses, poses, vectors, vectors)
def test_a_reaction_is_mutual_and_its_power_is_the_opposite(X_WS, X_WQ, f, tau):
    other = pair.reaction(X_WS, X_WQ, f, tau)
    back = pair.reaction(X_WQ, X_WS, *other)
    assert np.allclose(back[0], f, atol=EXACT)
    assert np.allclose(back[1], tau, atol=10 * EXACT)  # its lever arm is up to 4 long
