"""Rotations against the laws of the group and against SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hilt.maths import so3, vec

pytestmark = pytest.mark.uncompiled

number = st.floats(-1.0, 1.0)
vector = st.tuples(number, number, number)
short = vector.filter(lambda v: math.hypot(*v) < 3.0)


def scipy_rotation(q):
    return Rotation.from_quat([q[1], q[2], q[3], q[0]])


@given(short)
def test_log_undoes_exp(phi):
    assert so3.log(so3.exp(phi)) == pytest.approx(phi, abs=1e-14)


@given(vector, st.floats(0.0, 100.0))
def test_the_shortest_turn_is_the_same_rotation(axis, size):
    phi = vec.scale(size, axis)
    angle = math.hypot(*so3.shortest(phi))
    assert angle <= math.pi * (1 + 1e-12)
    assert so3.shortest(phi) == phi or math.hypot(*phi) > math.pi
    assert (scipy_rotation(so3.exp(phi)).inv() * scipy_rotation(so3.exp(so3.shortest(phi)))).magnitude() < 1e-12


@given(short, vector)
def test_rotation_agrees_with_scipy(phi, a):
    assert so3.rotate(so3.exp(phi), a) == pytest.approx(tuple(Rotation.from_rotvec(phi).apply(a)), abs=1e-13)


@given(short, short)
def test_product_agrees_with_scipy(phi, psi):
    product = so3.multiply(so3.exp(phi), so3.exp(psi))
    expected = Rotation.from_rotvec(phi) * Rotation.from_rotvec(psi)
    assert (scipy_rotation(product).inv() * expected).magnitude() < 1e-13


@given(short, vector)
def test_rotate_back_undoes_rotate(phi, a):
    q = so3.exp(phi)
    assert so3.rotate_back(q, so3.rotate(q, a)) == pytest.approx(a, abs=1e-14)


@given(short, short, st.floats(0.0, 1.0))
def test_interpolation_goes_from_one_to_the_other_at_constant_rate(phi, psi, share):
    a, b = so3.exp(phi), so3.exp(psi)
    whole = so3.between(a, b)
    part = so3.between(a, so3.interpolate(a, b, share))
    assert part == pytest.approx(vec.scale(share, whole), abs=1e-12)


@given(vector, vector)
def test_cross_product_is_orthogonal(a, b):
    c = vec.cross(a, b)
    assert vec.dot(a, c) == pytest.approx(0.0, abs=1e-14)
    assert c == pytest.approx(tuple(np.cross(a, b)), abs=1e-15)


def test_exp_and_log_join_their_series_without_a_step():
    for angle in (0.99e-4, 1.01e-4, 1e-9, 0.0):
        q = so3.exp((angle, 0.0, 0.0))
        assert q[1] == pytest.approx(math.sin(angle / 2), rel=1e-15)
