"""The hardware side of `aerial`: the link to the simulation, the arm's kinematics, and the ledger of the human's side."""

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.scenario import Scenario
from hilt.core.signals import record, row_type
from hilt.dynamics.body import Body
from hilt.maths import chain, so3, spatial
from hilt.maths.channel import CAPACITY
from hilt.plant.encoder import ENCODER, Encoder, encoder_step
from hilt.plant.link import Link
from hilt.plant.robot import robot_step
from hilt.plant.sensor import SENSOR, Sensor, sensor_step
from hilt.systems.aerial.aerial import AERIAL
from hilt.systems.aerial.force_filter import FORCE_FILTER, ForceFilter, force_filter_step
from hilt.systems.aerial.gains import GainSet
from hilt.systems.aerial.hand import HAND, Hand, hand_step
from hilt.systems.aerial.hardware_admittance import HARDWARE_ADMITTANCE, Hardware, hardware_admittance_step
from hilt.systems.aerial.hardware_arm import (
    HARDWARE_IK,
    LIMITS,
    SHOULDER,
    SPEEDS,
    HardwareArm,
    hardware_ik_step,
    pack_iiwa,
    start_posture,
)
from hilt.systems.aerial.hardware_ledger import HARDWARE_LEDGER, hardware_ledger_step
from hilt.systems.aerial.interface import FADE, INTERFACE, SILENCE, Frames, interface_step
from hilt.systems.aerial.port_guard import PortPassivity
from hilt.systems.aerial.servo import SERVO, Servo
from tests.packing import pack
from tests.systems.aerial.stages import DOWN, DT, START, make

TICKS = 4000
HARDWARE = HardwareArm()
turns = st.tuples(*[st.floats(-2.0, 2.0)] * 3).map(so3.exp)
places = st.tuples(*[st.floats(-1.0, 1.0)] * 3)


def exchange(stage, ticks, before=lambda sig: None):
    sig, x, p = stage
    rows = []
    for k in range(ticks):
        sig.tick, sig.t = k, k * DT
        before(sig)
        interface_step(sig, x, p, DT)
        rows.append(sig.copy())
    return np.array(rows)


# The interface


@settings(max_examples=60)
@given(turns, turns, places, places)
def test_the_wrench_is_turned_and_keeps_its_power(q_NH, q_Nb, f, tau):
    """About the tool's own origin: h_e = Ad⁻ᵀ h_h with no lever arm; its power is the same seen from H as in W and b."""
    sig, x, p = make(INTERFACE, frames=Frames(attitude=q_NH))
    sig.X_Nb_meas.q, sig.F_h_H.f, sig.F_h_H.tau = q_Nb, f, tau
    interface_step(sig, x, p, DT)
    v, w = (0.3, -0.2, 0.5), (1.0, 0.4, -0.7)
    v_N, w_N = spatial.express(q_NH, v, w)
    v_b, w_b = spatial.express(so3.inverse(q_Nb), v_N, w_N)
    there = np.dot(f, v) + np.dot(tau, w)
    assert np.dot(sig.F_E_N.f, v_N) + np.dot(sig.F_E_N.tau, w_N) == pytest.approx(there, abs=1e-13)
    assert np.dot(sig.F_E_b.f, v_b) + np.dot(sig.F_E_b.tau, w_b) == pytest.approx(there, abs=1e-13)


@pytest.mark.parametrize("late", [0, 6])
def test_a_link_delays_both_directions_and_without_delay_it_is_a_wire(late):
    """Exactly: the same bits, in the same tick where there is no delay."""

    def move(sig):
        sig.F_h_H.f = (math.sin(sig.t), 0.1 * sig.t, 1.0 / 3.0)
        sig.e_p_N = (0.01 * math.cos(sig.t), 0.0, 0.02)

    log = exchange(make(INTERFACE, link=Link(delay=late * DT)), 200, move)
    sent = log[: len(log) - late]
    assert (log["F_E_N"]["f"][late:] == sent["F_h_H"]["f"]).all()
    assert (log["F_E_N"]["f"][:late] == 0.0).all()
    assert (log["e_p_H"][late:] == sent["e_p_N"]).all()
    assert (log["wrench_share"][late:] == 1.0).all()
    assert log["wrench_delay_mean"][-1] == log["motion_delay_mean"][-1] == pytest.approx(late * DT, abs=1e-12)


def test_losses_are_counted_and_the_newest_is_used():
    """20 % lost, independently in each direction: ± 4 standard deviations of 1000 draws are 5 %."""

    def move(sig):
        sig.F_h_H.f[0] = sig.tick

    log = exchange(make(INTERFACE, link=Link(loss=0.2)), 1000, move)
    assert log["wrench_lost"][-1] == pytest.approx(200, abs=50)
    assert log["motion_lost"][-1] == pytest.approx(200, abs=50)
    assert (log["wrench_lost"] != log["motion_lost"]).any()
    assert (np.diff(log["F_E_N"]["f"][:, 0]) >= 0.0).all()
    # If nothing is lost in a tick, the value is that tick's.
    fresh = np.diff(log["wrench_lost"], prepend=0) == 0
    assert (log["F_E_N"]["f"][fresh, 0] == log["tick"][fresh]).all()


def test_in_an_outage_the_wrench_fades_and_the_displacement_is_held():
    def move(sig):
        sig.F_h_H.f[0] = 4.0
        sig.e_p_N[0] = 0.01 * math.sin(sig.t)

    link = Link(delay=0.020, outage_start=0.5, outage_duration=1.0)
    log = exchange(make(INTERFACE, link=link), 500, move)
    t, f = log["t"], log["F_E_N"]["f"][:, 0]
    gone = 0.5 + 0.020 + SILENCE  # the last packet was sent a tick before the outage
    assert (f[(t > 0.03) & (t < gone - DT)] == 4.0).all()
    assert (f[(t > gone + FADE) & (t < 1.51)] == 0.0).all()
    assert np.abs(np.diff(f[t > 0.03])).max() == pytest.approx(4.0 * DT / FADE, rel=1e-9), "no jump, also when it returns"
    assert f[-1] == 4.0
    silent = (t > 0.52) & (t < 1.519)
    assert np.ptp(log["e_p_H"][silent, 0]) == 0.0
    assert log["e_p_H"][-1, 0] == pytest.approx(0.01 * math.sin(t[-1] - 0.020), abs=1e-12)


@settings(max_examples=60)
@given(turns, turns, places)
def test_the_hardware_rests_at_the_pose_desired_for_the_simulated_tool(q_NH, q_NE, p_NE):
    """It starts at its own start pose whatever the frames; then it moves as the desired tool does, seen from H."""
    sig, x, p = make(INTERFACE, frames=Frames(attitude=q_NH), start_of_simulated_tool=(p_NE, q_NE))
    X_bE = spatial.compose(((0.0, 0.0, -2.0), (1.0, 0.0, 0.0, 0.0)), (p_NE, q_NE))
    spatial.store(sig.X_bE_des, X_bE)
    interface_step(sig, x, p, DT)
    assert sig.X_HB_rest.p == pytest.approx(START[0], abs=1e-12)
    assert abs(np.dot(sig.X_HB_rest.q, DOWN)) == pytest.approx(1.0, abs=1e-12)
    sig.tick, sig.t, step = 1, DT, (0.05, -0.02, 0.1)
    sig.X_bE_des.p = np.add(X_bE[0], step)
    sig.p_bd_N = (7.0, 7.0, 7.0)  # the flight is not shown
    interface_step(sig, x, p, DT)
    assert sig.X_HB_rest.p == pytest.approx(np.add(START[0], so3.rotate_back(q_NH, step)), abs=1e-12)


def test_the_flight_is_shown_on_request():
    """A base that is planned 0.2 m further and turned by 90°: the tool, 0.1 m in front of it, swings to its side."""
    sig, x, p = make(INTERFACE, frames=Frames(show_flight=True))
    sig.X_bE_des.p = (0.1, 0.0, -0.3)
    interface_step(sig, x, p, DT)
    assert sig.X_HB_rest.p == pytest.approx(START[0], abs=1e-12)
    sig.tick, sig.t, sig.p_bd_N, sig.yaw_bd = 1, DT, (0.2, 0.0, 2.0), 0.5 * math.pi
    interface_step(sig, x, p, DT)
    assert sig.X_HB_rest.p == pytest.approx(np.add(START[0], (0.1, 0.1, 0.0)), abs=1e-12)
    turned = so3.between(DOWN, tuple(sig.X_HB_rest.q))
    assert turned == pytest.approx((0.0, 0.0, 0.5 * math.pi), abs=1e-12)


def test_a_chosen_base_decides_where_the_tool_starts():
    frames = Frames(position=(-0.3, 0.1, 1.2), attitude=so3.exp((0.0, 0.0, 0.5 * math.pi)))
    place = frames.start_in_hardware((0.5, 0.0, 0.4), (0.1, 0.0, 1.7))
    assert place == pytest.approx((-0.1, -0.4, 0.5), abs=1e-12)
    assert Frames().start_in_hardware((0.5, 0.0, 0.4), (0.1, 0.0, 1.7)) == (0.5, 0.0, 0.4)


def test_a_link_that_holds_too_much_is_refused():
    with pytest.raises(ValueError, match=r"link.delay and link.jitter are 100 s together; at loop.period = 0.005 s .* 81.92 s"):
        Link(delay=60.0, jitter=40.0).check(DT, CAPACITY // 2)


# The arm


def tool_at(q, length=HARDWARE.tool_length):
    """Pose of the tool, `length` beyond the flange."""
    x, p = np.zeros(1, chain.CHAIN_WORK)[0], np.zeros(1, chain.CHAIN)[0]
    pack_iiwa(p, length)
    chain.forward(x, p, np.array(q), *spatial.UNMOVED)
    return x.p, x.q


@pytest.mark.parametrize(
    ("joint", "place"),
    [(0, (0.0, 0.0, 1.266 + 0.1)), (1, (0.926 + 0.1, 0.0, 0.34)), (3, (-0.526 - 0.1, 0.0, 0.74))],
    ids=["straight up", "shoulder", "elbow, the other way"],
)
def test_the_arm_has_its_published_lengths(joint, place):
    """0.34 + 0.40 + 0.40 + 0.126 m to the flange; one joint is bent by 90°."""
    assert tool_at(0.5 * math.pi * np.eye(7)[joint], 0.1)[0] == pytest.approx(place, abs=1e-12)


@pytest.mark.parametrize("place", [(0.5, 0.0, 0.4), (0.4, 0.3, 0.5), (0.6, -0.2, 0.3)])
def test_the_start_posture_reaches_the_start_within_its_limits(place):
    posture, left = start_posture(HardwareArm(), place, DOWN)
    p, q = tool_at(posture)
    assert left < 1e-9
    assert p == pytest.approx(place, abs=1e-9)
    assert abs(np.dot(q, DOWN)) == pytest.approx(1.0, abs=1e-12)
    assert (np.array(LIMITS) - np.abs(posture) > math.radians(15.0)).all()


def test_an_impossible_start_is_refused():
    arm = HardwareArm()
    arm.check(*START)
    with pytest.raises(ValueError, match=r"starts at 0.79, 0, 0.4 m, 0.7923 m from the arm's shoulder; at most 0.75 m is"):
        arm.check((0.79, 0.0, 0.4), DOWN)
    with pytest.raises(ValueError, match=r"starts at 0.1, 0, 0.4 m; its box extends from 0.15 m to 0.8 m in x"):
        arm.check((0.1, 0.0, 0.4), DOWN)


def test_an_impossible_attitude_is_refused():
    # Pointing away from the base there, the wrist would be 0.28 m from the shoulder: the elbow folds to 0.4 m only.
    with pytest.raises(ValueError, match=r"in an attitude that its joints miss by"):
        HardwareArm().check((0.5, 0.0, 0.4), so3.exp((0.0, 0.5 * math.pi, 0.0)))


def test_a_slow_pose_is_followed_to_a_micrometre():
    """0.1 m circles at 0.2 m/s with the tool nodding by 0.2 rad: three steps per tick leave no error."""
    sig, x, p = make(HARDWARE_IK)
    for k in range(1200):
        angle = 2.0 * k * DT
        asked = (0.5 + 0.1 * (1.0 - math.cos(angle)), 0.1 * math.sin(angle), 0.4 + 0.02 * math.sin(2.0 * angle))
        q = so3.multiply(so3.exp((0.2 * math.sin(angle), 0.0, 0.0)), DOWN)
        sig.X_WB_asked.p, sig.X_WB_asked.q = asked, q
        hardware_ik_step(sig, x, p, DT)
        assert sig.X_WB_cmd.p == pytest.approx(asked, abs=1e-6)
        assert sig.ik_hw_error < 1e-6
    assert sig.fault == 0


def test_no_joint_is_faster_than_it_can_and_a_lasting_error_is_a_fault():
    """The pose jumps by 0.3 m: the arm goes there as fast as it can, and the command is always on its path."""
    sig, x, p = make(HARDWARE_IK, hardware_arm=HardwareArm(patience=10.0))
    last, seen = sig.q_hw.copy(), []
    for _ in range(150):
        sig.X_WB_asked.p, sig.X_WB_asked.q = (0.5, 0.3, 0.5), DOWN
        hardware_ik_step(sig, x, p, DT)
        assert (np.abs(sig.q_hw - last) <= np.array(SPEEDS) * DT * (1 + 1e-9)).all()
        last = sig.q_hw.copy()
        seen.append(sig.ik_hw_error)
    assert seen[0] > 0.29
    assert seen[-1] < 1e-9
    assert sig.fault == 0

    sig, x, p = make(HARDWARE_IK)
    ticks = 0
    while sig.fault == 0 and ticks < 150:
        sig.X_WB_asked.p, sig.X_WB_asked.q = (0.5, 0.3 if ticks % 80 < 40 else -0.3, 0.5), DOWN
        hardware_ik_step(sig, x, p, DT)
        ticks += 1
    assert sig.fault == faults.HARDWARE_ERROR
    assert ticks * DT == pytest.approx(0.2, abs=0.01)


def test_the_tool_stays_in_its_box_and_out_of_reach_is_a_fault():
    sig, x, p = make(HARDWARE_IK, hardware_arm=HardwareArm(box_max=(0.55, 0.6, 1.0)))
    for k in range(100):
        sig.X_WB_asked.p, sig.X_WB_asked.q = (0.5 + 0.002 * k, 0.0, 0.4), DOWN
        hardware_ik_step(sig, x, p, DT)
    assert sig.X_WB_cmd.p[0] == pytest.approx(0.55, abs=1e-9)
    assert sig.fault == 0
    sig, x, p = make(HARDWARE_IK)
    for k in range(200):
        sig.X_WB_asked.p, sig.X_WB_asked.q = (0.5 + 0.002 * k, 0.0, 0.4), DOWN
        hardware_ik_step(sig, x, p, DT)
        if sig.fault:
            break
    assert sig.fault == faults.HARDWARE_REACH
    assert 0.75 < sig.fault_value == pytest.approx(math.dist((0.5 + 0.002 * k, 0.0, 0.4), SHOULDER), abs=1e-12)


# The ledger of the human's side


class Held(Scenario):
    """Only the human's half of the system."""

    system: Literal["held"] = "held"
    body: Body = Body(mass=1.0, dof=6)
    hardware: Hardware = Hardware()
    hardware_arm: HardwareArm = HardwareArm()
    force_filter: ForceFilter = ForceFilter(bandwidth=100.0, bias_samples=20)
    port_passivity: PortPassivity = PortPassivity(enabled=True)
    servo: Servo = Servo(kind="lag", lag=0.015)
    hand: Hand
    encoder: Encoder = Encoder()
    sensor: Sensor = Sensor(noise=0.05, torque_noise=0.005, bias=(1.0, 0.0, -2.0))
    rotates: bool = True
    start_of_tool: tuple[tuple[float, float, float], tuple[float, float, float, float]] = START


TICK = {"filter": FORCE_FILTER, "hardware": HARDWARE_ADMITTANCE, "ik": HARDWARE_IK}
PLANT = {"servo": SERVO, "encoder": ENCODER, "hand": HAND, "ledger": HARDWARE_LEDGER, "sensor": SENSOR}
KINDS = {**PLANT, **TICK}
ROW = row_type({name for kind in KINDS.values() for name in (*kind.reads, *kind.writes)})
STATE = record(**{key: kind.state for key, kind in KINDS.items()})
PARAMS = record(**{key: kind.params for key, kind in KINDS.items()})
PORTS = ("W_environment", "W_sampling", "W_delay", "W_sensor", "W_damping", "W_gains", "W_lead_and_base", "W_limits")


@jit
def simulated_side(sig, busy):
    """Gains that go up and down (busy & 1), a base that sways, a rest pose that moves and turns (busy & 2)."""
    change, motion = busy & 1, busy >> 1
    s = 1.0 - math.cos(2.0 * sig.t)
    for i in range(6):
        sig.M_arm[i] = 1.0 + 0.5 * change * s
        sig.D_arm_des[i] = 10.0 + 5.0 * change * s
        sig.K_arm[i] = 5.0 + 20.0 * change * s
    sig.e_p_H[1] = 0.04 * motion * math.sin(5.0 * sig.t)
    sig.X_HB_rest.p[2] = 0.4 + 0.03 * motion * (1.0 - math.cos(0.7 * sig.t))
    so3.store(sig.X_HB_rest.q, so3.multiply(so3.exp((0.0, 0.1 * motion * s, 0.0)), (0.0, 0.0, 1.0, 0.0)))


@jit
def run_stages(row, state, params, dt, busy, log):
    sig, x, p = row[0], state[0], params[0]
    for k in range(len(log)):
        sig.tick = k
        sig.t = k * dt
        robot_step(sig, x.servo, p.servo, dt)
        encoder_step(sig, x.encoder, p.encoder, dt)
        hand_step(sig, x.hand, p.hand, dt)
        hardware_ledger_step(sig, x.ledger, p.ledger, dt)
        sensor_step(sig, x.sensor, p.sensor, dt)
        force_filter_step(sig, x.filter, p.filter, dt)
        simulated_side(sig, busy)
        hardware_admittance_step(sig, x.hardware, p.hardware, dt)
        hardware_ik_step(sig, x.ik, p.ik, dt)
        log[k] = sig
        if sig.fault:
            return k + 1
    return len(log)


def held(busy=3, ticks=TICKS, **sections):
    """Rows of a hand that moves the tool about and twists against it."""
    hand = {
        "stiffness": 150,
        "amplitude": 0.03,
        "start": 0.1,
        "turning_stiffness": 2,
        "grip": (0.05, 0, 0.05),
        "direction": (1, 1, 1),
    }
    values = Held(loop={"period": DT, "duration": 1.0}, **{"hand": hand, **sections})
    row, state, params = np.zeros(1, ROW), np.zeros(1, STATE), np.zeros(1, PARAMS)
    row[0].X_HB_rest.p, row[0].X_HB_rest.q = START
    for key, kind in KINDS.items():
        pack(AERIAL, kind, params[0][key], values)
    for key, kind in {**TICK, **PLANT}.items():
        kind.reset(row[0], state[0][key], params[0][key])
    log = np.zeros(ticks, ROW)
    return log[: run_stages(row, state, params, DT, busy, log)]


def net(log, port):
    return log[port]["into"] - log[port]["out"]


def check_ledger(log):
    exchanged = sum(log[port]["into"][-1] + log[port]["out"][-1] for port in PORTS)
    residual = sum(net(log, port) for port in PORTS) - (log["E_hw"] - log["E_hw"][0])
    assert exchanged > 1e-4
    assert np.abs(residual).max() <= 1e-9 * exchanged


@pytest.mark.parametrize("busy", [0, 1, 2, 3])
@pytest.mark.parametrize("guard", [False, True])
def test_the_ledger_closes_in_every_row(busy, guard):
    """Ports by their own expressions, the stored energy from the state alone: masses, springs, gains, lead, base, limits."""
    log = held(busy, port_passivity={"enabled": guard})
    assert len(log) == TICKS
    check_ledger(log)
    assert (np.abs(log["z_hw"][-1]) > 1e-6).all(), "all shifts and turns do work"
    assert net(log, "W_damping")[-1] < 0.0
    assert (net(log, "W_gains")[-1] != 0.0) == bool(busy & 1)


def test_the_ledger_closes_while_the_arm_is_at_its_limits():
    """A box of 20 mm around the start: the joints stop, the compliance moves on; the port of the limits has the difference."""
    arm = {"box_min": (0.49, -0.01, 0.39), "box_max": (0.51, 0.01, 0.41)}
    log = held(3, hardware_arm=arm)
    check_ledger(log)
    inside = (log["X_WB_cmd"]["p"] >= np.subtract(arm["box_min"], 1e-6)) & (
        log["X_WB_cmd"]["p"] <= np.add(arm["box_max"], 1e-6)
    )
    assert inside.all()
    # Without limits the port has the residual of the inverse kinematics.
    free = held(3)
    busiest = [run["W_limits"]["into"][-1] + run["W_limits"]["out"][-1] for run in (free, log)]
    assert busiest[0] < 1e-6 < busiest[1]


def test_gains_change_the_stored_energy_by_what_is_booked():
    """A tool held at z = f/K: raising K by dK at rest adds ½ z² dK at once and nothing else."""
    sig, x, p = make(HARDWARE_ADMITTANCE)
    sig.X_HB_rest.p, sig.X_HB_rest.q = START
    sig.M_arm, sig.D_arm_des, sig.K_arm, sig.F_h_H.f[0] = 1.0, 20.0, 100.0, 5.0
    for _ in range(800):
        hardware_admittance_step(sig, x, p, DT)
    assert sig.z_hw[0] == pytest.approx(0.05, abs=1e-12)
    before = sig.E_hw
    sig.K_arm[0], sig.F_h_H.f[0] = 130.0, 6.5  # the force is raised too, so that the tool stays there
    hardware_admittance_step(sig, x, p, DT)
    hardware_admittance_step(sig, x, p, DT)
    assert sig.W_gains.into == pytest.approx(0.5 * 0.05**2 * 30.0, rel=1e-8)
    assert sig.E_hw - before == pytest.approx(0.0375, rel=1e-8)


def test_the_hardware_follows_the_gains_of_the_arm_only_on_request():
    """1 N over 400 or 100 N/m; critically damped at 20 and 10 rad/s, so 4 s leave less than 1e-13 of the distance."""
    own = GainSet(mass=1.0, damping=20.0, stiffness=100.0)
    for follow, shift in ((True, 0.0025), (False, 0.01)):
        sig, x, p = make(HARDWARE_ADMITTANCE, hardware=Hardware(follow_gains=follow, gains=own))
        sig.X_HB_rest.p, sig.X_HB_rest.q = START
        sig.M_arm, sig.D_arm_des, sig.K_arm, sig.F_h_H.f[0] = 1.0, 40.0, 400.0, 1.0
        for _ in range(800):
            hardware_admittance_step(sig, x, p, DT)
        assert sig.z_hw[0] == pytest.approx(shift, rel=1e-6)


@pytest.mark.parametrize("busy", [1, 2, 3])
def test_what_the_simulation_does_does_not_trip_the_guard(busy):
    """A soft hand while gains, base and rest pose move: the observer's store and its zero follow them."""
    log = held(busy, sensor={"noise": 0.0}, force_filter={"bandwidth": 100.0, "bias_samples": 0})
    assert log["D_port"].max() <= 2.0


def test_commands_are_what_the_joints_reach():
    log = held(3, ticks=400)
    for row in log[::20]:
        assert row["X_WB_cmd"]["p"] == pytest.approx(tool_at(row["q_hw"])[0], abs=1e-13)
    steps = np.diff(log["X_WB_cmd"]["p"], axis=0) / DT
    assert log["V_WB_cmd"]["v"][1:] == pytest.approx(steps, abs=1e-9)
