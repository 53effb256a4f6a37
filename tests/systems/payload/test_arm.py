"""The slave arm with joints: its servos as in the paper's appendix, its hand on a stiff grip, and the command of its joints."""

import math
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from numba.core.runtime import rtsys
from pydantic import ValidationError

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.signals import record, row_type
from hilt.dynamics import multibody
from hilt.maths import chain, so3, vec
from hilt.systems.payload.arm_model import (
    ARM,
    ARM_PARAMS,
    JOINTS,
    JointedArm,
    arm_hand,
    arm_move,
    arm_reset,
    arm_xml,
    pack_arm,
    stands,
)
from hilt.systems.payload.payload import PAYLOAD
from hilt.systems.payload.resolved_rate import RESOLVED_RATE, ResolvedRate, resolved_rate_step
from tests.packing import pack

DT = 0.002
NOTHING = (0.0, 0.0, 0.0)
COMMAND = record(qd=JOINTS)


def arm(dt=DT, hands=((0.0, 0.0, 0.0),), **settings):
    """State and parameters of the last of the arms that grip at `hands`."""
    section = JointedArm(**settings)
    x, p = np.zeros(1, ARM)[0], np.zeros(1, ARM_PARAMS)[0]
    pack_arm(p, section, stands(section, hands)[-1], dt)
    arm_reset(x, p)
    return section, x, p


def command(speeds=0.0):
    c = np.zeros(1, COMMAND)[0]
    c.qd = speeds
    return c


@jit
def move(x, p, c, f, tau, dt, ticks):
    for _ in range(ticks):
        arm_move(x, p, c.qd, f, tau, dt)


def settled_error(f, speeds, seconds=0.1, **settings):
    """v_c - v of the hand under a steady force, as it is and by the closed form at the posture reached."""
    section, x, p = arm(**settings)
    c = command(speeds)
    move(x, p, c, f, NOTHING, DT, round(seconds / DT))
    v = np.array(arm_hand(x, p)[2])
    J = x.work.J[:3]
    GKG = section.gear * section.servo_gain * section.gear
    return J @ c.qd - v, J @ (J.T @ -np.array(f)) / GKG


@pytest.mark.parametrize("f", [(50.0, 0.0, 0.0), (0.0, 50.0, 0.0), (20.0, -30.0, 40.0)])
@pytest.mark.parametrize("speed", [0.0, 0.01])
def test_velocity_error_under_a_force_is_that_of_the_closed_form(f, speed):
    """[Yang2018, eq. 16, eq. 17, eq. 18, eq. 19]: v_c - v = J G⁻¹K⁻¹G⁻ᵀ JᵀF with F the force of the hand on the world.

    1 %: the rest is the term with q̈, since the posture changes slowly (some mm/s on a metre).
    """
    error, expected = settled_error(f, speed * np.array([1, -1, 1, 1, -1, 1, -1]))
    assert error == pytest.approx(expected, abs=0.01 * np.linalg.norm(expected))


def test_velocity_error_falls_with_the_square_of_the_gear():
    """[Yang2018, eq. 19] and the sentence after it: the second term is proportional to G⁻²; so 4 for a doubled gear, to 2 %."""
    errors = [np.linalg.norm(settled_error((50.0, 0.0, 0.0), 0.0, gear=gear)[0]) for gear in (100.0, 200.0)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)


def test_the_model_has_the_gears_and_the_equation_of_motion_of_the_paper():
    """[Yang2018, eq. 12, eq. 13, eq. 14, eq. 15, eq. 16]: q̇_a = G q̇, τ = Gᵀ τ_a, τ_a = K_va G (q̇_c - q̇), M q̈ + h = τ + Jᵀ F."""
    section, x, p = arm()
    c, f, tau = command(0.02), (20.0, -10.0, 5.0), (1.0, 2.0, -3.0)
    move(x, p, c, f, tau, DT, 1)
    q, qd = x.state[1 : 1 + JOINTS].copy(), x.state[1 + JOINTS : 1 + 2 * JOINTS].copy()
    move(x, p, c, f, tau, DT, 1)
    model, data = load_again(section)
    data.qpos, data.qvel, data.ctrl = q, qd, section.gear * c.qd
    mujoco.mj_forward(model, data)
    jacobian = np.zeros((6, JOINTS))
    mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], 0)
    # The model stands unturned at the origin: W's wrench as its base sees it.
    data.qfrc_applied = jacobian.T @ np.concatenate([turn_back(p, f), turn_back(p, tau)])
    mujoco.mj_forward(model, data)
    assert data.actuator_velocity == pytest.approx(section.gear * qd, rel=1e-12)
    assert data.qfrc_actuator == pytest.approx(section.gear * data.actuator_force, rel=1e-12)
    assert data.actuator_force == pytest.approx(section.servo_gain * section.gear * (c.qd - qd), rel=1e-9)
    inertia = np.zeros(JOINTS)
    mujoco.mj_mulM(model, data, inertia, data.qacc)
    assert inertia + data.qfrc_bias == pytest.approx(data.qfrc_actuator + data.qfrc_applied, rel=1e-9)
    for _ in range(int(p.substeps)):  # and the compiled arm moves as this model does, if the wrench is turned in the same way
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], 0)
        data.qfrc_applied = jacobian.T @ np.concatenate([turn_back(p, f), turn_back(p, tau)])
        mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
    assert x.state[1 : 1 + JOINTS] == pytest.approx(data.qpos, abs=1e-12)
    assert x.state[1 + JOINTS : 1 + 2 * JOINTS] == pytest.approx(data.qvel, abs=1e-12)


def load_again(section):
    """The arm's model, on its own."""
    model = mujoco.MjModel.from_xml_string(arm_xml(section, DT / 4))
    return model, mujoco.MjData(model)


def turn_back(p, a):
    return so3.rotate_back(so3.load(p.base_q), a)


def test_commanded_speeds_are_reached_and_the_hand_is_where_it_was_placed():
    _, x, p = arm(hands=((1.0, 2.0, 3.0),))
    place, q, _, _ = arm_hand(x, p)
    assert place == pytest.approx((1.0, 2.0, 3.0), abs=1e-12)
    assert q == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=1e-12)
    c = command([0.01, -0.02, 0.03, 0.01, -0.01, 0.02, 0.01])
    move(x, p, c, NOTHING, NOTHING, DT, 100)
    # Within 1e-3: at these speeds inertial forces are small compared with the servo's.
    assert x.state[1 + JOINTS : 1 + 2 * JOINTS] == pytest.approx(c.qd, abs=1e-3 * 0.03)


def kinetic_energy(section, x):
    body = multibody.load(arm_xml(section, DT / 4))
    mujoco.mj_setState(body.model, body.data, x.state, multibody.BITS)
    mujoco.mj_forward(body.model, body.data)
    mujoco.mj_energyVel(body.model, body.data)
    return body.data.energy[1]


@pytest.mark.parametrize(("f", "speeds"), [((2.0, 1.0, -1.0), 0.0), (NOTHING, (0.3, -0.2, 0.4, 0.3, -0.3, 0.2, 0.1))])
def test_work_of_the_force_is_the_change_of_the_kinetic_energy(f, speeds):
    """Servos practically off, half a second in steps of 0.5 ms. 1 %: the step is of first order."""
    section, x, p = arm(gear=1.0, servo_gain=1e-9, rotor_inertia=0.0)
    x.state[1 + JOINTS : 1 + 2 * JOINTS] = speeds
    energy, before = kinetic_energy(section, x), np.array(arm_hand(x, p)[0])
    for _ in range(250):
        move(x, p, command(), f, NOTHING, DT, 1)
        after = np.array(arm_hand(x, p)[0])
        energy, before = energy + f @ (after - before), after
    assert kinetic_energy(section, x) == pytest.approx(energy, rel=0.01)


def test_a_joint_gives_no_more_than_its_torque():
    """500 N on a lever arm of about a metre against 100 N·m: the arm must yield faster than its servo would let it."""
    weak, strong = (np.linalg.norm(settled_error((500.0, 0.0, 0.0), 0.0, torque=torque)[0]) for torque in (100.0, 5000.0))
    assert weak > 5.0 * strong


@jit
def hold_payload(x, p, c, k, d, mass, v, dt, ticks):
    """A payload on a spring grip, whose force is computed once per tick; returns peaks of the force, early and late."""
    place, early, late = (0.0, 0.0, 0.0), 0.0, 0.0
    for n in range(ticks):
        hand, _, v_hand, _ = arm_hand(x, p)
        f = vec.add(vec.scale(k, vec.sub(hand, place)), vec.scale(d, vec.sub(v_hand, v)))
        v = vec.add(v, vec.scale(dt / mass, f))
        place = vec.add(place, vec.scale(dt, v))
        arm_move(x, p, c.qd, vec.scale(-1.0, f), (0.0, 0.0, 0.0), dt)
        size = math.sqrt(vec.dot(f, f))
        if n < ticks // 10:
            early = max(early, size)
        if n > ticks - ticks // 10:
            late = late if size <= late else size  # so that NaN is not hidden
    return early, late


@pytest.mark.parametrize("dt", [0.5e-3, 1e-3, 2e-3])
@pytest.mark.parametrize("mass", [50.0, 500.0, 4500.0])
def test_the_stiffest_grip_is_stable_with_one_force_per_tick(dt, mass):
    """746 kN/m and 1000 N·s/m: the servo is a damper of B = 12 kN·s/m at the hand, and k dt < 2 B, d < B hold by far."""
    _, x, p = arm(dt)
    early, late = hold_payload(x, p, command(), 746e3, 1000.0, mass, (0.003, 0.003, 0.003), dt, round(3.0 / dt))
    assert early > 5.0
    assert late < 0.01 * early


@pytest.mark.parametrize(("k", "d"), [(60e6, 1000.0), (746e3, 40e3)])
def test_far_beyond_the_bound_it_is_not_stable(k, d):
    """So that the test above can fail: k dt > 2 B, or d > B, with the sampled force."""
    _, x, p = arm()
    early, late = hold_payload(x, p, command(), k, d, 4500.0, (0.003, 0.003, 0.003), DT, 500)
    assert not late < early


def test_the_second_arm_is_the_mirror_image_of_the_first():
    posture = (0.1, 0.5, 0.2, 1.8, 0.3, -0.8, 0.4)
    first, second = stands(JointedArm(posture=posture), [(0.0, -0.3, 0.0), (0.0, 0.3, 0.0)])
    assert second.p == pytest.approx((first.p[0], -first.p[1], first.p[2]), abs=1e-12)
    assert first.p[1] < -0.3 < 0.3 < second.p[1]
    motions = []
    for hands in ([(0.0, -0.3, 0.0)], [(0.0, -0.3, 0.0), (0.0, 0.3, 0.0)]):
        _, x, p = arm(hands=hands, posture=posture)
        move(x, p, command(), (30.0, 20.0 if len(hands) == 1 else -20.0, 10.0), NOTHING, DT, 50)
        motions.append(arm_hand(x, p))
    (p1, _, v1, w1), (p2, _, v2, w2) = motions
    assert p2 == pytest.approx((p1[0], -p1[1], p1[2]), abs=1e-9)
    assert v2 == pytest.approx((v1[0], -v1[1], v1[2]), abs=1e-9)
    assert w2 == pytest.approx((-w1[0], w1[1], -w1[2]), abs=1e-9)


def test_a_posture_beyond_a_limit_is_refused():
    with pytest.raises(ValidationError, match=r"joint 2 is at 2.5 rad; the limit is ± 2.1 rad"):
        JointedArm(posture=(0.0, 2.5, 0.0, 1.0, 0.0, 0.0, 0.0))


# Resolved rates

SIGNALS = row_type([*RESOLVED_RATE.reads, *RESOLVED_RATE.writes])


def rates(count=1, model="jointed", **settings):
    """The stage as a system would set it up, and the arms it commands."""
    offsets = [(0.0, 0.0, 0.0)] if count == 1 else [(0.0, -0.3, 0.0), (0.0, 0.3, 0.0)]
    scenario = SimpleNamespace(
        arm=SimpleNamespace(model=model, count=count, jointed=JointedArm()),
        resolved_rate=ResolvedRate(**settings),
        start_of_hand=(1.0, 0.5, 0.0),
        grips=offsets,
        grip=SimpleNamespace(position=(0.0, 0.0, 0.0)),
    )
    sig, x, p = (np.zeros(1, kind)[0] for kind in (SIGNALS, RESOLVED_RATE.state, RESOLVED_RATE.params))
    pack(PAYLOAD, RESOLVED_RATE, p, scenario)
    hands = [tuple(np.array(offset) + scenario.start_of_hand) for offset in offsets]
    sig.q_arm[: JOINTS * count] = np.ravel([stand.posture for stand in stands(scenario.arm.jointed, hands)])
    return sig, x, p


@jit
def steer(sig, x, p, dt, ticks):
    """Joints that follow their commands exactly; stops at a fault."""
    for n in range(ticks):
        resolved_rate_step(sig, x, p, dt)
        if sig.fault:
            return n
        for i in range(14):
            sig.q_arm[i] += dt * sig.qd_arm_c[i]
    return ticks


def hand_of(sig, p, i):
    work = np.zeros(1, chain.CHAIN_WORK)[0]
    q = sig.q_arm[JOINTS * i : JOINTS * i + JOINTS]
    chain.forward(work, p.chain[i], q, vec.load(p.base_p[i]), so3.load(p.base_q[i]))
    return work.p.copy(), work.q.copy()


@pytest.mark.parametrize("x_way", [0.4, -0.4])
def test_the_hand_can_travel_far_along_x(x_way):
    """0.4 m to both sides of the start, without a turn of the hand, a fault or damping; 1 mm is the error of Euler's rule."""
    sig, x, p = rates()
    before, _ = hand_of(sig, p, 0)
    sig.v_sc[0] = x_way / 4.0
    most = 0.0
    for _ in range(400):
        steer(sig, x, p, 0.01, 1)
        most = max(most, sig.arm_damping)
    after, q = hand_of(sig, p, 0)
    assert sig.fault == 0
    assert most == 0.0
    assert after - before == pytest.approx((x_way, 0.0, 0.0), abs=1e-3)
    assert abs(q[0]) == pytest.approx(1.0, abs=1e-5)


def test_two_hands_move_as_one_body():
    """v_sc along x and a turn about z: the hands keep their distance and turn alike. 0.1 mm is the error of Euler's rule."""
    sig, x, p = rates(count=2)
    sig.v_sc, sig.w_sc = (0.02, 0.01, 0.0), (0.0, 0.0, 0.05)
    steer(sig, x, p, 0.005, 800)
    (p1, q1), (p2, q2) = hand_of(sig, p, 0), hand_of(sig, p, 1)
    assert sig.fault == 0
    assert p2 - p1 == pytest.approx((-0.6 * math.sin(0.2), 0.6 * math.cos(0.2), 0.0), abs=1e-4)
    assert q1 == pytest.approx(q2, abs=1e-4)
    assert 2.0 * math.atan2(q1[3], q1[0]) == pytest.approx(0.2, abs=1e-4)
    assert 0.5 * (p1 + p2) == pytest.approx((1.08, 0.54, 0.0), abs=1e-3)


def test_the_arm_follows_the_twist_of_its_hand():
    """Stage and arm together: 0.05 m/s along x, then up, for 2 s each. 0.2 mm: the servo's lag, Euler's rule."""
    sig, x, p = rates()
    _, state, params = arm(hands=((1.0, 0.5, 0.0),))
    c = command()
    for v in ((0.05, 0.0, 0.0), (0.0, 0.0, 0.05)):
        sig.v_sc = v
        for _ in range(1000):
            sig.q_arm[:JOINTS] = state.state[1 : 1 + JOINTS]
            resolved_rate_step(sig, x, p, DT)
            c.qd = sig.qd_arm_c[:JOINTS]
            move(state, params, c, NOTHING, NOTHING, DT, 1)
    place, q, v, _ = arm_hand(state, params)
    assert place == pytest.approx((1.1, 0.5, 0.1), abs=2e-4)
    assert v == pytest.approx((0.0, 0.0, 0.05), abs=5e-4)
    assert abs(q[0]) == pytest.approx(1.0, abs=1e-6)


def test_a_point_arm_needs_no_joint_speeds():
    sig, x, p = rates(model="point")
    sig.v_sc = 1.0
    sig.q_arm = np.nan
    resolved_rate_step(sig, x, p, DT)
    assert not sig.qd_arm_c.any()
    assert sig.arm_damping == 0.0


def test_a_joint_limit_that_stops_the_hand_is_a_fault_after_a_while():
    """The hand is turned about its own axis up to the joints' limits; this must be reported, and no joint be past its limit."""
    sig, x, p = rates()
    sig.w_sc = (0.0, 0.4, 0.0)  # about the last joint's axis
    ticks = steer(sig, x, p, 0.005, 20000)
    joint = sig.fault_axis
    assert sig.fault == faults.ARM_JOINT
    assert ticks < 20000
    assert sig.fault_limit == pytest.approx(0.5 * 0.5 * 0.4, rel=1e-9)  # half of 0.4 rad/s on the lever arm of 0.5 m
    assert sig.fault_value > sig.fault_limit
    assert (np.abs(sig.q_arm[:7]) <= p.chain[0].upper + 1e-9).all()
    assert x.stuck[0] == pytest.approx(0.5, abs=0.006)
    sentence = faults.read_fault(sig).sentence
    assert f"the limit of joint {joint + 1} of arm 1 {sig.fault_value:.4g} m/s is beyond its limit of 0.1 m/s" in sentence


def test_a_stretched_arm_slows_down_without_a_fault():
    """Being out of reach is not about joint limits: the damping handles it and the joints stay slow."""
    sig, x, p = rates()
    sig.v_sc[1] = 0.1
    fastest = 0.0
    for _ in range(3000):
        steer(sig, x, p, 0.005, 1)
        fastest = max(fastest, np.abs(sig.qd_arm_c).max())
    assert sig.fault == 0
    assert sig.arm_damping > 0.5
    assert fastest <= JointedArm().speed + 1e-12


def test_nothing_is_allocated():
    sig, x, p = rates(count=2)
    sig.v_sc = 0.01
    _, state, params = arm()
    c = command()
    counts = []
    for steps in (1, 10, 1000):
        before = rtsys.get_allocation_stats().alloc
        for _ in range(steps):
            resolved_rate_step(sig, x, p, DT)
            move(state, params, c, (1.0, 0.0, 0.0), NOTHING, DT, 1)
            arm_hand(state, params)
        counts.append(rtsys.get_allocation_stats().alloc - before)
    assert counts[1] == counts[2] == 0
