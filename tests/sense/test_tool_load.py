"""The load on a moving sensor: weight and inertia forces are removed, a contact stays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hilt.core import scenario, signals
from hilt.core.faults import InputError
from hilt.core.stage import Cycle
from hilt.sense.tool_load import GRAVITY, TOOL_LOAD, Mounting, ToolLoad, pack_load, tool_load_step, unload

INERTIA = ((0.02, 0.001, 0.0), (0.001, 0.03, 0.002), (0.0, 0.002, 0.025))
TOOL = ToolLoad(
    mass=2.0, centre_of_mass=(0.01, -0.02, 0.12), inertia=INERTIA, force_bias=(3.0, -1.0, 8.0), torque_bias=(0.1, 0.2, -0.3)
)
STILL = (0.0, 0.0, 0.0)

part = st.floats(-1.0, 1.0)
vectors = st.tuples(part, part, part)
attitudes = st.tuples(part, part, part, part).filter(lambda q: math.hypot(*q) > 0.1)


def parameters(load=TOOL):
    p = np.zeros(1, TOOL_LOAD.params)[0]
    pack_load(p, load)
    return p


def unit(q):
    return tuple(float(each) for each in np.array(q) / np.linalg.norm(q))


def matrix(q):
    return Rotation.from_quat([*q[1:], q[0]]).as_matrix()


@given(attitudes, vectors, vectors)
def test_at_rest_only_the_contact_is_left_in_any_pose(q, f, tau):
    """Weight of a point mass, computed independently with matrices: nothing of the code under test."""
    q = unit(q)
    weight = TOOL.mass * matrix(q).T @ np.array(GRAVITY)
    measured_f = np.array(f) + TOOL.force_bias + weight
    measured_tau = np.array(tau) + TOOL.torque_bias + np.cross(TOOL.centre_of_mass, weight)
    left_f, left_tau = unload(tuple(measured_f), tuple(measured_tau), q, STILL, STILL, STILL, parameters())
    assert np.allclose(left_f, f, atol=1e-12)
    assert np.allclose(left_tau, tau, atol=1e-12)


@given(attitudes, vectors, vectors, vectors)
def test_in_motion_the_inertia_forces_of_a_cloud_of_points_come_off(q, a, w, alpha):
    """The tool as four pairs of point masses, each with Newton's law: no rigid-body formula is used for the truth."""
    q = unit(q)
    R, c = matrix(q), np.array([0.02, 0.03, 0.1])
    offsets = np.array([[0.05, 0, 0], [0, 0.08, 0], [0, 0, 0.03], [0.02, -0.04, 0.05]])
    points = np.concatenate([c + offsets, c - offsets])
    masses = np.concatenate([[0.2, 0.3, 0.1, 0.4]] * 2)
    w_S, alpha_S = R.T @ w, R.T @ alpha
    force, torque, inertia = np.zeros(3), np.zeros(3), np.zeros((3, 3))
    for m, r in zip(masses, points, strict=True):
        acceleration = R.T @ a + np.cross(alpha_S, r) + np.cross(w_S, np.cross(w_S, r))
        load = m * (R.T @ np.array(GRAVITY) - acceleration)
        force, torque = force + load, torque + np.cross(r, load)
        d = r - c
        inertia += m * (d @ d * np.eye(3) - np.outer(d, d))
    load = ToolLoad(mass=2.0, centre_of_mass=tuple(c), inertia=inertia.tolist())
    left_f, left_tau = unload(tuple(force), tuple(torque), q, a, w, alpha, parameters(load))
    assert np.allclose(left_f, 0.0, atol=1e-12)
    assert np.allclose(left_tau, 0.0, atol=1e-12)


def test_the_stage_follows_a_prescribed_motion():
    """An oscillation about x with the sensor 0.2 m from the mock-up's origin; only low-pass and differences add lag.

    The lag is the low-pass plus half a tick; of an inertia force that changes by at most m r A ω³ per second.
    """
    dt, A, omega = 0.001, 0.3, 4.0
    tool = TOOL.model_copy(update={"smooth": 0.005})
    mounting = Mounting((0.0, 0.0, 0.2), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), tool)
    row = np.zeros(1, signals.row_type([*TOOL_LOAD.reads, *TOOL_LOAD.writes]))
    x, p = np.zeros(1, TOOL_LOAD.state), np.zeros(1, TOOL_LOAD.params)
    TOOL_LOAD.pack(p[0], mounting, Cycle(dt))
    sig, arm = row[0], 0.2 + TOOL.centre_of_mass[2]
    left = []
    for k in range(600):
        t = k * dt
        angle, rate, change = A * math.sin(omega * t), A * omega * math.cos(omega * t), -A * omega**2 * math.sin(omega * t)
        q = (math.cos(angle / 2), math.sin(angle / 2), 0.0, 0.0)
        R, w, alpha = matrix(q), np.array([rate, 0, 0]), np.array([change, 0, 0])
        c = np.array([0, 0, 0.2]) + TOOL.centre_of_mass
        load = TOOL.mass * (R.T @ np.array(GRAVITY) - np.cross(alpha, c) - np.cross(w, np.cross(w, c)))
        inertia = np.array(INERTIA)
        torque = np.cross(TOOL.centre_of_mass, load) - inertia @ alpha - np.cross(w, inertia @ w)
        sig.X_WB_meas.q[:] = q
        sig.V_WB_meas.w[:] = w
        sig.F_So_filt_S.f[:] = load + TOOL.force_bias
        sig.F_So_filt_S.tau[:] = torque + TOOL.torque_bias
        tool_load_step(sig, x[0], p[0], dt)
        left.append([*sig.F_So_net_S.f, *sig.F_So_net_S.tau])
    left = np.abs(np.array(left[50:])).max(axis=0)
    lag = 0.005 + 0.5 * dt
    assert left[:3].max() < 1.1 * lag * TOOL.mass * arm * A * omega**3 * (1 + A)
    assert left[:3].max() > 1e-3  # and a lag there is


def test_an_impossible_load_is_refused_with_a_sentence():
    with pytest.raises(InputError, match="mass"):
        scenario.build(ToolLoad, {"mass": "-1 kg", "centre_of_mass": [0, 0, 0]})
    with pytest.raises(InputError, match="which no rigid body can have"):
        scenario.build(ToolLoad, {"mass": "1 kg", "centre_of_mass": [0, 0, 0], "inertia": [1, 1, 5]})
