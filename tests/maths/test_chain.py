"""A serial chain against MuJoCo's own kinematics, and the laws of the resolved rates."""

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.maths import chain
from hilt.maths.chain import CHAIN, CHAIN_WORK

AXES = [(0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)]
ORIGINS = [(0, 0, 0.2), (0, 0, 0.1), (0.02, 0, 0.3), (0, 0, 0.3), (-0.02, 0, 0.3), (0, 0.01, 0.3), (0, 0, 0.1)]
TOOL, TOOL_Q = (0.02, 0.0, 0.15), (0.8, 0.0, 0.6, 0.0)
HOME = np.array([0.1, 0.6, -0.2, 1.6, 0.1, -0.8, 0.3])
BASE_P, BASE_Q = (0.3, -0.2, 0.5), (0.5, 0.5, -0.5, 0.5)
LIMITS = [(-2.9, 2.9), (-2.0, 2.0)] * 4
angles = st.lists(st.floats(-2.8, 2.8), min_size=7, max_size=7).map(np.array)


def arm(joints=7, speed=1.0):
    x, p = np.zeros(1, CHAIN_WORK), np.zeros(1, CHAIN)
    chain.pack_chain(p[0], AXES[:joints], ORIGINS[:joints], TOOL, LIMITS[:joints], [speed] * joints, TOOL_Q)
    return x[0], p[0]


def placed(q, joints=7, speed=1.0):
    x, p = arm(joints, speed)
    chain.forward(x, p, q, BASE_P, BASE_Q)
    chain.jacobian(x, p)
    return x, p


def by_mujoco(q, joints):
    """The same table as a MuJoCo model; ± 1e-12 is some thousand roundings of a chain of 1.5 m."""
    words = " ".join
    inner = f'<site name="tool" pos="{words(map(str, TOOL))}" quat="{words(map(str, TOOL_Q))}"/>'
    for axis, origin in reversed(list(zip(AXES[:joints], ORIGINS[:joints], strict=True))):
        inner = f'<body pos="{words(map(str, origin))}"><joint axis="{words(map(str, axis))}"/><geom size=".01"/>{inner}</body>'
    base = f'<body pos="{words(map(str, BASE_P))}" quat="{words(map(str, BASE_Q))}">{inner}</body>'
    model = mujoco.MjModel.from_xml_string(f'<mujoco><compiler angle="radian"/><worldbody>{base}</worldbody></mujoco>')
    data = mujoco.MjData(model)
    data.qpos = q[:joints]
    mujoco.mj_forward(model, data)
    jacobian, quaternion = np.zeros((6, joints)), np.zeros(4)
    mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], 0)
    mujoco.mju_mat2Quat(quaternion, data.site_xmat[0])
    return data.site_xpos[0], quaternion, jacobian


@pytest.mark.parametrize("joints", [6, 7])
@settings(max_examples=40)
@given(q=angles)
def test_hand_and_jacobian_are_those_of_mujoco(joints, q):
    x, _ = placed(q, joints)
    position, quaternion, jacobian = by_mujoco(q, joints)
    assert x.p == pytest.approx(position, abs=1e-12)
    assert abs(np.dot(x.q, quaternion)) == pytest.approx(1.0, abs=1e-12)
    assert x.J[:, :joints] == pytest.approx(jacobian, abs=1e-12)


def test_joint_torques_do_the_work_of_the_wrench():
    """Jᵀ F · q̇ = F · J q̇: power is the same on both sides of the arm."""
    x, p = placed(HOME)
    qd, f, tau = np.linspace(-1, 1, 7), (1.0, -2.0, 3.0), (0.3, 0.2, -0.1)
    v, w = chain.twist(x, p, qd)
    power = sum(chain.joint_torque(x, p, i, f, tau) * qd[i] for i in range(7))
    assert power == pytest.approx(np.dot(v, f) + np.dot(w, tau), rel=1e-12)


@pytest.mark.parametrize("joints", [6, 7])
def test_far_from_limits_the_hand_moves_as_commanded(joints):
    """Exact to rounding: no damping there."""
    x, p = placed(HOME, joints)
    v, w = (0.05, -0.02, 0.03), (0.1, 0.0, -0.2)
    chain.solve(x, p, HOME, v, w, 0.002)
    done_v, done_w = chain.twist(x, p, x.qd)
    assert x.damping == 0.0
    assert x.limited == -1
    assert done_v == pytest.approx(v, abs=1e-12)
    assert done_w == pytest.approx(w, abs=1e-12)


def test_no_other_joint_speeds_of_the_same_hand_are_smaller():
    """The least-squares solution: orthogonal to every motion of the arm that leaves the hand where it is."""
    x, p = placed(HOME)
    chain.solve(x, p, HOME, (0.05, -0.02, 0.03), (0.1, 0.0, -0.2), 0.002)
    idle = np.linalg.svd(x.J)[2][-1]
    assert np.dot(x.qd, idle) == pytest.approx(0.0, abs=1e-12)


def test_without_a_command_nothing_moves():
    x, p = placed(HOME)
    chain.solve(x, p, HOME, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.002)
    assert not x.qd.any()
    assert x.missing == 0.0


def test_in_a_singular_posture_joint_speeds_stay_small_and_the_damping_shows_it():
    """A stretched arm cannot move outwards; without damping the speeds would have no bound."""
    stretched = np.array([0.1, 0.5, 0.2, 0.0, 0.1, 0.0, 0.3])
    x, p = placed(stretched, speed=1e9)
    out = tuple(x.p - np.array(x.o[1]))
    length = math.sqrt(sum(part * part for part in out))
    v = tuple(0.1 * part / length for part in out)
    chain.solve(x, p, stretched, v, (0.0, 0.0, 0.0), 0.002)
    assert x.damping > 0.9
    # |q̇| <= |ẋ|/(2 λ) is the bound of damped least squares
    assert np.linalg.norm(x.qd) <= 0.1 / (2 * 0.9 * p.damping)


def test_damping_grows_without_a_step_on_the_way_to_the_singular_posture():
    shares = []
    for elbow in np.linspace(1.6, 2.0 * math.atan(0.02 / 0.6), 400):  # where shoulder, elbow and wrist are in line
        q = HOME.copy()
        q[3] = elbow
        x, p = placed(q)
        chain.solve(x, p, q, (0.01, 0.0, 0.0), (0.0, 0.0, 0.0), 0.002)
        shares.append(x.damping)
    assert shares[0] == 0.0
    assert shares[-1] > 0.999
    assert np.abs(np.diff(shares)).max() < 0.05


@pytest.mark.parametrize("factor", [3.0, 30.0])
def test_too_fast_a_command_is_slowed_and_keeps_its_direction(factor):
    x, p = placed(HOME, speed=0.1)
    v, w = np.array([0.1, 0.05, -0.1]) * factor, np.zeros(3)
    chain.solve(x, p, HOME, tuple(v), tuple(w), 0.002)
    done, turned = chain.twist(x, p, x.qd)
    assert np.abs(x.qd).max() == pytest.approx(0.1, rel=1e-12)
    assert np.dot(done, v) / np.linalg.norm(done) / np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
    assert turned == pytest.approx(w, abs=1e-12)
    assert x.slowed == pytest.approx(np.linalg.norm(done) / np.linalg.norm(v), rel=1e-9)
    assert x.missing < 1e-9


@settings(max_examples=30)
@given(q=st.lists(st.floats(-1.9, 1.9), min_size=7, max_size=7).map(np.array), direction=st.integers(0, 5))
def test_no_joint_passes_its_limit_whatever_the_command(q, direction):
    command = np.zeros(6)
    command[direction] = 0.5
    x, p = arm()
    for _ in range(2000):
        chain.forward(x, p, q, BASE_P, BASE_Q)
        chain.jacobian(x, p)
        chain.solve(x, p, q, tuple(command[:3]), tuple(command[3:]), 0.005)
        q += 0.005 * x.qd
        assert (np.abs(x.qd) <= p.speed * (1 + 1e-12)).all()
        assert (q <= p.upper + 1e-9).all()
        assert (q >= p.lower - 1e-9).all()


def test_a_joint_at_its_limit_is_held_and_the_others_do_its_work():
    q = HOME.copy()
    x, p = placed(q)
    chain.solve(x, p, q, (0.0, 0.05, 0.0), (0.0, 0.0, 0.0), 0.002)
    if x.qd[2] > 0:
        p.upper[2] = q[2]
    else:
        p.lower[2] = q[2]
    p.centring = 0.0
    chain.solve(x, p, q, (0.0, 0.05, 0.0), (0.0, 0.0, 0.0), 0.002)
    assert x.qd[2] == 0.0
    assert x.limited == 2
    assert x.missing < 1e-9


def test_a_spare_joint_leaves_its_limit_while_the_hand_stays():
    q = HOME.copy()
    x, p = placed(q)
    p.upper[2] = q[2] + 0.05
    chain.solve(x, p, q, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.002)
    v, w = chain.twist(x, p, x.qd)
    assert x.qd[2] < -1e-3
    assert (*v, *w) == pytest.approx(np.zeros(6), abs=1e-12)


@pytest.mark.parametrize("joints", [6, 7])
def test_ik_returns_to_a_pose_in_three_steps(joints):
    """Newton: from 8 cm away, three steps leave less than a micrometre and a microradian."""
    x, p = placed(HOME, joints)
    p_des, q_des = tuple(x.p), tuple(x.q)
    q = HOME + np.array([0.05, -0.04, 0.03, 0.05, -0.05, 0.04, -0.03])
    residual = chain.ik(x, p, q, p_des, q_des, BASE_P, BASE_Q, 1.0, 3)
    assert max(residual) < 1e-6
    assert x.p == pytest.approx(p_des, abs=1e-6)


def test_ik_steps_square_the_error():
    x, p = placed(HOME)
    p_des, q_des = tuple(x.p), tuple(x.q)
    q = HOME + 0.05
    errors = [sum(chain.ik(x, p, q, p_des, q_des, BASE_P, BASE_Q, 1.0, 1)) for _ in range(3)]
    assert errors[1] < 3.0 * errors[0] ** 2
    assert errors[2] < 3.0 * errors[1] ** 2 + 1e-14


def test_ik_out_of_reach_reports_the_residual_and_stays_finite():
    x, p = placed(HOME)
    far = (BASE_P[0] + 3.0, BASE_P[1], BASE_P[2])
    q = HOME.copy()
    metres, _ = chain.ik(x, p, q, far, tuple(x.q), BASE_P, BASE_Q, 1.0, 60)
    assert 1.0 < metres < 3.0
    assert np.isfinite(q).all()
