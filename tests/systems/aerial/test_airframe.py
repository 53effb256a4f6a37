"""The flying arm: masses, kinematics, wrenches, momentum; two simulators of one vehicle; inverse kinematics."""

import math
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.core import faults, signals
from hilt.maths import chain, noise, so3
from hilt.maths.chain import CHAIN, CHAIN_WORK
from hilt.systems.aerial.aerial import AERIAL
from hilt.systems.aerial.airframe import AIRFRAME, Simulator, ToolPush, Wind
from hilt.systems.aerial.arm_ik import ARM_IK, ArmIk
from hilt.systems.aerial.flying_arm import HOME, JOINTS, LINKS, FlyingArm, flying_xml, lump, pack_flying_chain, posture_for
from hilt.systems.aerial.planner import Planner
from hilt.systems.aerial.quadrotor import PAPER_GRAVITY
from tests.packing import pack

STAGES = (ARM_IK, AIRFRAME)
ROW = signals.row_type({name for kind in STAGES for name in (*kind.reads, *kind.writes)})
WEIGHT = 12.685 * PAPER_GRAVITY
SECTION = FlyingArm()
EASY = (1.0, 0.0, 0.0, 0.0)

# The workspace: every position in it is reachable at each of the turns. Beyond it the wrist leaves the arm's reach.
places = st.tuples(st.floats(-0.24, 0.24), st.floats(-0.1, 0.1), st.floats(-0.35, -0.22))
turns = st.tuples(*[st.floats(-0.3, 0.3)] * 3).map(so3.exp)


def values(dt, place=HOME, attitude=EASY, seed=1, yaw=0.0, **changes):
    parts = {
        "flying_arm": SECTION,
        "simulator": Simulator(),
        "push": ToolPush(),
        "wind": Wind(),
        "arm_ik": ArmIk(),
        "tool": SimpleNamespace(position=place, attitude=attitude),
        "planner": Planner(waypoints=({"arrival": 0.0, "position": (0.3, -0.2, 1.0), "yaw": yaw},)),
        "loop": SimpleNamespace(period=dt),
        "noise_key": lambda name: noise.key_of(seed, name),
    }
    return SimpleNamespace(**{**parts, **changes})


def ready(kind, scenario):
    sig, x, p = (np.zeros(1, dtype)[0] for dtype in (ROW, kind.state, kind.params))
    sig.q_uam_c = posture_for(scenario.tool.position, scenario.tool.attitude)
    pack(AERIAL, kind, p, scenario)
    kind.reset(sig, x, p)
    return sig, x, p


def fly(dt, duration, rotors, command=None, wrench=None, **changes):
    """Rows of the airframe alone, with its inputs as functions of time."""
    sig, x, p = ready(AIRFRAME, values(dt, **changes))
    home = sig.q_uam_c.copy()
    log = np.zeros(round(duration / dt) + 1, ROW)
    for k in range(len(log)):
        sig.tick, sig.t = k, k * dt
        AIRFRAME.step(sig, x, p, dt)
        sig.u_T_acting, sig.tau_b_acting = rotors(sig.t)
        sig.q_uam_c = home + (command(sig.t) if command else 0.0)
        sig.F_E_N.f, sig.F_E_N.tau = wrench(sig.t) if wrench else ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        log[k] = sig
    return log


def tool_at(q):
    """The chain's work with the tool in the pose that these joints give it, seen from the base; and its parameters."""
    work, p = np.zeros(1, CHAIN_WORK)[0], np.zeros(1, CHAIN)[0]
    pack_flying_chain(p, SECTION)
    chain.forward(work, p, q, (0.0, 0.0, 0.0), EASY)
    return work, p


def in_mujoco(*posture):
    """Model and data of the vehicle; welded in a posture."""
    model = mujoco.MjModel.from_xml_string(flying_xml(SECTION, 1e-3, *posture))
    return model, mujoco.MjData(model)


def tumble(t):
    torque = (0.4 * math.cos(5.0 * t), 0.3 * math.sin(4.0 * t + 1.0), 0.5 * math.cos(2.0 * t))
    return WEIGHT * (1.0 + 0.2 * math.sin(3.0 * t)), torque


def wave(t):
    """Joints that all move, from where they are."""
    return 0.3 * (np.sin(5.0 * t + np.arange(JOINTS)) - np.sin(np.arange(JOINTS)))


# Masses and kinematics


def test_masses_are_those_of_the_paper_and_cylinders_have_their_closed_forms():
    assert sum(link.mass for link in LINKS) == pytest.approx(1.005, abs=1e-12)
    model, _ = in_mujoco()
    assert model.body_subtreemass[1] == pytest.approx(12.685, abs=1e-12)
    assert model.body_mass[1] == 11.68
    assert model.body_inertia[1] == pytest.approx((0.777, 0.777, 1.112))
    for i, link in enumerate(LINKS):
        across, along = link.mass * (link.radius**2 / 4 + link.length**2 / 12), link.mass * link.radius**2 / 2
        assert sorted(model.body_inertia[2 + i]) == pytest.approx(sorted((across, across, along)), rel=1e-12)
    assert model.actuator_forcerange[10:].tolist() == [[-5.0, 5.0]] * JOINTS


def test_the_lump_has_the_mass_centre_and_inertia_of_the_welded_model():
    posture = posture_for((0.1, -0.05, -0.3), so3.exp((0.1, 0.2, -0.3)))
    whole = lump(SECTION, posture)
    model, data = in_mujoco(posture)
    mujoco.mj_forward(model, data)
    M = np.zeros((6, 6))
    mujoco.mj_fullM(model, data, M)
    c = data.subtree_com[1]
    assert whole.mass == pytest.approx(M[0, 0], rel=1e-14)
    assert whole.centre == pytest.approx(c, abs=1e-15)
    about_b = whole.inertia + whole.mass * (c @ c * np.eye(3) - np.outer(c, c))  # Steiner
    assert about_b == pytest.approx(M[3:, 3:], abs=1e-14)


def test_at_home_the_weight_of_the_arm_turns_the_base_about_x_alone_with_0_19_newton_metres():
    whole = lump(SECTION, posture_for(HOME))
    torque = np.cross(whole.centre, (0.0, 0.0, -whole.mass * PAPER_GRAVITY))
    assert abs(torque[0]) == pytest.approx(0.19, abs=0.01)
    assert abs(torque[1]) < 0.002


@settings(deadline=None, max_examples=50)
@given(places, turns)
def test_posture_chain_and_mujoco_put_the_tool_in_the_same_pose(place, attitude):
    posture = posture_for(place, attitude)
    work, _ = tool_at(posture)
    assert work.p == pytest.approx(place, abs=1e-12)
    assert so3.between(tuple(work.q), attitude) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    sig, _, _ = ready(AIRFRAME, values(0.005, place, attitude))
    assert sig.X_NE.p == pytest.approx(np.add(place, (0.3, -0.2, 1.0)), abs=1e-12)
    assert so3.between(tuple(sig.X_NE.q), attitude) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize(("place", "words"), [((0.5, 0.0, -0.4), "0.48 m"), ((-0.067, 0.019, -0.10), "joint 3")])
def test_a_pose_out_of_reach_is_one_sentence(place, words):
    with pytest.raises(ValueError, match=words) as error:
        posture_for(place)
    assert str(error.value).startswith("tool.position is")


def test_home_has_room_far_from_singular_postures():
    """± 0.3 m fore and aft, 0.1 m down, 0.05 m up: every joint inside its limits by 0.1 rad, the smallest singular value of the
    scaled Jacobian above 0.1, twice that at which damping begins."""
    for dx in (-0.3, -0.15, 0.0, 0.15, 0.3):
        for dz in (-0.1, 0.0, 0.05):
            posture = posture_for((HOME[0] + dx, HOME[1], HOME[2] + dz))
            assert all(link.lower + 0.1 < q < link.upper - 0.1 for q, link in zip(posture, LINKS, strict=True)), (dx, dz)
            work, p = tool_at(posture)
            chain.jacobian(work, p)
            assert np.linalg.svd(p.weight[:, None] * work.J[:, :JOINTS], compute_uv=False)[-1] > 0.1, (dx, dz)


# Forces


def test_rotors_push_in_the_body_and_the_wrench_in_the_world_at_the_tool():
    model, data = in_mujoco()
    data.qpos[:7] = (0.1, 0.2, 0.3, *so3.exp((0.5, -0.7, 0.9)))
    data.qpos[7:] = posture_for(HOME) + 0.2
    thrust, tau, f, torque = 100.0, np.array((1.0, -2.0, 0.5)), np.array((3.0, -4.0, 5.0)), np.array((0.3, 0.2, -0.1))
    data.ctrl[:10] = (thrust, *tau, *f, *torque)
    data.ctrl[10:] = data.qpos[7:]
    mujoco.mj_forward(model, data)
    R = data.xmat[1].reshape(3, 3)
    expected, part = np.zeros(model.nv), np.zeros(model.nv)
    for force, turn, point, body in ((R[:, 2] * thrust, R @ tau, data.xpos[1], 1), (f, torque, data.site("E").xpos, 7)):
        part[:] = 0.0
        mujoco.mj_applyFT(model, data, force, turn, point, body, part)
        expected += part
    assert data.qfrc_actuator == pytest.approx(expected, abs=1e-12)


def test_at_rest_the_servos_carry_what_virtual_work_says():
    """τ = ∂U/∂q - Jᵀf; the base is held by rotors that balance it."""
    f = np.array((2.0, 0.0, -1.4))
    whole = lump(SECTION, posture_for(HOME))
    lever = np.cross(whole.centre, (0.0, 0.0, WEIGHT)) - np.cross(HOME, f)
    sideways = ToolPush(force=tuple(f), duration=100.0)
    log = fly(0.005, 2.0, lambda t: (WEIGHT - f[2], tuple(lever)), push=sideways, wind=Wind(mean=(-f[0], 0.0, 0.0)))
    assert np.abs(log["X_Nb_meas"]["q"][:, 1:]).max() < 2e-3  # no flight control: the arm's first sag has tilted the base

    def potential(q):
        return lump(SECTION, q).centre[2] * WEIGHT - f @ tool_at(q)[0].p

    q = log["q_uam"][-1]
    expected = [(potential(q + e) - potential(q - e)) / 2e-6 for e in 1e-6 * np.eye(JOINTS)]
    assert log["q_uam"][-1] == pytest.approx(posture_for(HOME), abs=1e-3)  # the integral term has converged
    assert log["tau_uam"][-1] == pytest.approx(expected, abs=0.02)


def momentum(row, model, data):
    """Linear, and angular about the world's origin, of all bodies."""
    data.qpos[:] = (*row["X_Nb_meas"]["p"], *row["X_Nb_meas"]["q"], *row["q_uam"])
    q = tuple(row["X_Nb_meas"]["q"])
    data.qvel[:] = (*row["V_Nb_meas"]["v"], *so3.rotate_back(q, tuple(row["V_Nb_meas"]["w"])), *row["qd_uam"])
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    P = 12.685 * data.subtree_linvel[1]
    return P, data.subtree_angmom[1] + np.cross(data.subtree_com[1], P), data.subtree_com[1].copy()


def test_a_moving_arm_changes_momentum_only_by_external_forces():
    """A wild arm, thrust, wind and a wrench at the tool: momentum and angular momentum change by the sum of impulses. The
    rest is of first order in the step of the physics, as is the integrator."""
    model, data = in_mujoco()
    left = []
    for dt in (1e-3, 5e-4):
        log = fly(
            dt,
            0.6,
            lambda t: (WEIGHT, (0.1, -0.2, 0.05)),
            wave,
            lambda t: ((1.0, -0.5, 0.3), (0.05, 0.1, -0.05)),
            wind=Wind(mean=(0.4, 0.3, -0.2)),
        )
        states = [momentum(row, model, data) for row in log]
        P, L = (np.array([state[i] for state in states]) for i in (0, 1))
        rate_P, rate_L = [], []
        for row, (_, _, c) in zip(log, states, strict=True):
            q, b, e = tuple(row["X_Nb_meas"]["q"]), row["X_Nb_meas"]["p"], row["X_NE"]["p"]
            thrust, weight = np.array(so3.rotate(q, (0.0, 0.0, row["u_T_acting"]))), np.array((0.0, 0.0, -WEIGHT))
            f, wind = row["F_E_N"]["f"], row["wind_N"]
            rate_P.append(thrust + weight + f + wind)
            turn = np.array(so3.rotate(q, tuple(row["tau_b_acting"]))) + row["F_E_N"]["tau"]
            rate_L.append(np.cross(b, thrust + wind) + np.cross(c, weight) + np.cross(e, f) + turn)
        exchanged = [np.trapezoid(rate, dx=dt, axis=0) for rate in (rate_P, rate_L)]
        left.append([np.abs(value[-1] - value[0] - sums).max() for value, sums in zip((P, L), exchanged, strict=True)])
        assert np.abs(log["qd_uam"]).max() > 0.5
    for coarse, fine in zip(*left, strict=True):
        assert coarse < 2e-3
        assert coarse / fine == pytest.approx(2.0, rel=0.2)


# Two simulators


def test_free_flight_of_the_rigid_body_and_of_mujoco_agree_to_a_micrometre():
    """Two seconds of changing thrust and torques, 5 ms ticks, the arm welded: MuJoCo by RK4, the rigid body of second order."""
    rigid, other = (
        fly(0.005, 2.0, tumble, simulator=simulator, yaw=0.4)
        for simulator in (Simulator(kind="rigid"), Simulator(kind="mujoco", locked=True))
    )
    assert np.linalg.norm(rigid["X_Nb_meas"]["p"][-1] - rigid["X_Nb_meas"]["p"][0]) > 1.0, "the vehicle moved"
    for name in ("X_Nb_meas", "X_NE"):
        assert np.abs(rigid[name]["p"] - other[name]["p"]).max() < 1e-6
        assert np.abs(rigid[name]["q"] - other[name]["q"]).max() < 1e-6
    for name in ("V_Nb_meas", "V_NE"):
        assert np.abs(rigid[name]["v"] - other[name]["v"]).max() < 5e-6
        assert np.abs(rigid[name]["w"] - other[name]["w"]).max() < 5e-6
    assert (rigid["q_uam"] == posture_for(HOME)).all()


def test_they_agree_under_wind_and_a_wrench_at_the_tool_too():
    """The wrench is fixed in the world while its lever arm turns with the body."""
    rigid, other = (
        fly(0.005, 1.0, tumble, wrench=lambda t: ((4.0, -2.0, 1.0), (0.1, 0.2, -0.1)), simulator=simulator, wind=Wind(gust=3.0))
        for simulator in (Simulator(kind="rigid"), Simulator(kind="mujoco", locked=True))
    )
    assert np.abs(rigid["X_NE"]["p"] - other["X_NE"]["p"]).max() < 2e-6
    assert (rigid["wind_N"] == other["wind_N"]).all()


def test_an_arm_held_by_its_servos_is_nearly_a_welded_one():
    """Servos yield by some mrad and the joints' integrator is of first order: millimetres in a second of free flight."""
    rigid, other = (fly(0.005, 1.0, tumble, simulator=Simulator(kind=kind)) for kind in ("rigid", "mujoco"))
    assert np.abs(rigid["X_Nb_meas"]["p"] - other["X_Nb_meas"]["p"]).max() < 5e-3
    assert np.abs(other["q_uam"] - posture_for(HOME)).max() < 0.02


# Push and wind


@pytest.mark.parametrize("dt", [0.01, 0.003, 0.001])
def test_a_push_has_the_same_impulse_at_any_rate(dt):
    log = fly(
        dt,
        0.3,
        lambda t: (WEIGHT, (0.0, 0.0, 0.0)),
        push=ToolPush(force=(10.0, -5.0, 2.0), start=0.1234, duration=0.1),
        simulator=Simulator(kind="rigid"),
    )
    assert log["push_N"].sum(axis=0) * dt == pytest.approx((1.0, -0.5, 0.2), rel=1e-9)
    assert not log["push_N"][log["t"] + dt < 0.1234].any()


def test_gusts_have_their_strength_and_memory_and_come_from_the_seed():
    """A Gauss-Markov process: autocorrelation e^{-τ/T_g}. 20 000 samples 0.2 T_g apart are about 2000 independent ones."""
    wind = Wind(mean=(1.0, 0.0, -2.0), gust=3.0, gust_time=0.05)
    sig, x, p = ready(AIRFRAME, values(0.01, wind=wind, simulator=Simulator(kind="rigid")))
    count = 20_000
    gusts = np.empty((count, 3))
    for k in range(count):
        AIRFRAME.step(sig, x, p, 0.01)
        gusts[k] = sig.wind_N
    loose = math.sqrt(20_000 / count)
    assert gusts.mean(axis=0) == pytest.approx((1.0, 0.0, -2.0), abs=0.3 * loose)
    gusts -= gusts.mean(axis=0)
    assert gusts.std(axis=0) == pytest.approx((3.0, 3.0, 3.0), rel=0.08 * loose)
    alike = (gusts[1:] * gusts[:-1]).mean(axis=0) / gusts.var(axis=0)
    assert alike == pytest.approx([math.exp(-0.2)] * 3, abs=0.03 * loose)
    again, *_ = ready(AIRFRAME, values(0.01, wind=wind))
    other, *_ = ready(AIRFRAME, values(0.01, wind=wind, seed=2))
    first, *_ = ready(AIRFRAME, values(0.01, wind=wind))
    assert (again.wind_N == first.wind_N).all()
    assert (other.wind_N != first.wind_N).all()


# Servos and inverse kinematics


def test_a_commanded_jump_is_taken_at_the_joints_speed_and_within_its_torque():
    log = fly(0.005, 0.4, lambda t: (WEIGHT, (0.0, 0.0, 0.0)), lambda t: np.array((0.0, 0.0, 0.0, 0.0, 0.4, 0.4)))
    moved = log["q_uam"][:, 4:] - log["q_uam"][0, 4:]
    k = 30  # 0.15 s
    assert moved[k] == pytest.approx([1.57 * 0.15] * 2, abs=0.02)
    assert moved[-1] == pytest.approx([0.4] * 2, abs=0.01)
    assert np.abs(log["tau_uam"]).max() <= 5.0


def solve(sig, x, p, place, dt, ticks, attitude=EASY):
    """Rows of inverse kinematics with a fixed goal."""
    sig.X_bE_cmd.p, sig.X_bE_cmd.q = place, attitude
    log = np.zeros(ticks, ROW)
    for k in range(ticks):
        ARM_IK.step(sig, x, p, dt)
        log[k] = sig
    return log


@settings(deadline=None, max_examples=10)
@given(places, turns)
def test_every_pose_in_the_workspace_is_reached_no_faster_than_the_joints_can(place, attitude):
    dt = 0.01
    log = solve(*ready(ARM_IK, values(dt)), place, dt, 250, attitude)
    assert log["ik_error"][-1] < 1e-9
    assert log["ik_turn_error"][-1] < 1e-9
    assert log["q_uam_c"][-1] == pytest.approx(posture_for(place, attitude), abs=1e-6)
    steps = np.diff(np.vstack((posture_for(HOME), log["q_uam_c"])), axis=0)
    assert np.abs(steps).max() <= 1.57 * dt + 1e-12
    assert log["fault"][-1] == faults.NONE


def test_a_pose_out_of_reach_is_a_fault_after_a_while_and_the_residual_is_the_distance():
    dt = 0.01
    goal = (0.6, HOME[1], HOME[2])
    log = solve(*ready(ARM_IK, values(dt, arm_ik=ArmIk(max_error=0.05, patience=0.495))), goal, dt, 80)
    first = int(np.argmax(log["fault"] != 0))
    assert log["fault"][-1] == faults.FLYING_ARM_ERROR
    assert first == 49  # the fiftieth tick
    assert log["fault_value"][first] == log["ik_error"][first] > 0.05
    work, _ = tool_at(log["q_uam_c"][-1])
    assert log["ik_error"][-1] == pytest.approx(np.linalg.norm(work.p - goal), rel=1e-9)
    assert "flying arm" in faults.read_fault(log[-1]).sentence
    assert all(link.lower <= q <= link.upper for q, link in zip(log["q_uam_c"][-1], LINKS, strict=True))


@pytest.mark.parametrize("kind", ["mujoco", "rigid"])
def test_a_vehicle_whose_equations_diverge_is_a_fault_at_once(kind):
    """Boxes and limits before the hardware hide a non-finite value for some ticks; a human may hold the tool.

    No row has a non-finite value, not even the last one.
    """
    result = job.simulate(
        *job.find("aerial", "push", [f"simulator.kind={kind}", "push.force=[1e9, 2e8, 0]", "push.start=0.5 s"])
    )
    rows = result.rows
    assert result.fault.name == "not-finite"
    assert rows["t"][-1] == pytest.approx(0.5, abs=0.02)
    for name in ("X_Nb_meas", "V_Nb_meas", "X_NE", "V_NE", "X_WB_cmd"):
        assert all(np.isfinite(rows[name][part]).all() for part in rows.dtype[name].names)
    assert all(np.isfinite(rows[name]).all() for name in ("e_p_N", "q_uam", "tau_uam", "f_hat_N"))


def test_a_row_shows_the_vehicle_where_it_is_at_the_rows_time():
    """Flight control's displacement is that of the pose in the same row, to the last bit."""
    rows = job.simulate(*job.find("aerial", "push", ["loop.duration=1.2 s", "push.start=1 s"])).rows
    assert rows["e_p_N"].tobytes() == (rows["X_Nb_meas"]["p"] - rows["p_bd_N"]).tobytes()
    assert np.abs(np.diff(rows["X_Nb_meas"]["p"], axis=0)).max() > 1e-4, "it moves, so the row before would differ"
    pushed = np.flatnonzero(rows["push_N"][:, 0])
    assert rows["t"][pushed[0]] == pytest.approx(1.0)
