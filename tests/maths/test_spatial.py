"""Poses chain, and wrench and twist transforms preserve power."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.maths import so3, spatial, vec

pytestmark = pytest.mark.uncompiled

parts = st.floats(-10.0, 10.0)
vectors = st.tuples(parts, parts, parts)
turns = vectors.map(lambda phi: so3.normalise(so3.exp(phi)))
poses = st.tuples(vectors, turns)


def power(f, tau, v, w):
    return vec.dot(f, v) + vec.dot(tau, w)


@given(poses, vectors, vectors, vectors, vectors)
def test_power_is_the_same_in_every_frame(X, f, tau, v, w):
    """To 1e-12 of the products summed: the transform subtracts the power of the lever arm, |p| |f| |ω|, from itself."""
    there = power(*spatial.transform_wrench(X, f, tau), *spatial.transform_twist(X, v, w))
    size = math.hypot(*f) * math.hypot(*v) + math.hypot(*tau) * math.hypot(*w)
    lever = math.hypot(*X[0]) * math.hypot(*f) * math.hypot(*w)
    assert abs(there - power(f, tau, v, w)) <= 1e-12 * (size + lever)


@given(vectors, vectors, vectors, vectors, vectors)
def test_power_is_the_same_about_every_point(f, tau, v, w, r):
    there = power(*spatial.shift_wrench(f, tau, r), *spatial.shift_twist(v, w, r))
    size = math.hypot(*f) * math.hypot(*v) + math.hypot(*tau) * math.hypot(*w)
    lever = math.hypot(*r) * math.hypot(*f) * math.hypot(*w)
    assert abs(there - power(f, tau, v, w)) <= 1e-12 * (size + lever)


@given(poses, poses, vectors)
def test_poses_chain_as_points_do(X_AB, X_BC, p_C):
    """± 1e-12: some roundings of tens of metres."""
    through = spatial.place(X_AB, spatial.place(X_BC, p_C))
    assert spatial.place(spatial.compose(X_AB, X_BC), p_C) == pytest.approx(through, abs=1e-12)
    back = spatial.place(spatial.inverse(X_AB), spatial.place(X_AB, p_C))
    assert back == pytest.approx(p_C, abs=1e-12)


@given(poses, poses, vectors, vectors)
def test_wrenches_and_twists_go_through_a_chain_as_through_its_product(X_AB, X_BC, f, tau):
    for transform in (spatial.transform_wrench, spatial.transform_twist):
        steps = transform(X_AB, *transform(X_BC, f, tau))
        whole = transform(spatial.compose(X_AB, X_BC), f, tau)
        assert (*steps[0], *steps[1]) == pytest.approx((*whole[0], *whole[1]), abs=1e-10)


def test_a_force_makes_torque_about_a_point_beside_it():
    """1 N along y, 2 m along x from the point: 2 N·m about z; and a body that spins about z moves there along y."""
    X = ((2.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    assert spatial.transform_wrench(X, (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))[1] == (0.0, 0.0, 2.0)
    assert spatial.shift_twist((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (2.0, 0.0, 0.0))[0] == (0.0, 2.0, 0.0)
