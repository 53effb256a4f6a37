"""Rotors, flight control, planner and the plain quadrotor, each by itself."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hilt.core import signals
from hilt.core.stage import Cycle
from hilt.maths import so3
from hilt.systems.aerial import rotors
from hilt.systems.aerial.aerial import AERIAL
from hilt.systems.aerial.estimator import ESTIMATOR, Estimator
from hilt.systems.aerial.flight import FLIGHT, LEAST_LIFT, Flight, attitude_error, attitude_for, within_cone
from hilt.systems.aerial.planner import CAPACITY, PLANNER, Planner, minimum_jerk
from hilt.systems.aerial.quadrotor import (
    PAPER_GRAVITY,
    QUADROTOR_PARAMS,
    QUADROTOR_STATE,
    Vehicle,
    pack_quadrotor,
    quadrotor_move,
    quadrotor_show,
    quadrotor_start,
)
from hilt.systems.aerial.rotors import MOTORS, ROTORS, Rotors
from tests.packing import pack

WEIGHT = 12.685 * PAPER_GRAVITY
STAGES = (PLANNER, ESTIMATOR, FLIGHT, MOTORS)
SYSTEM = AERIAL.with_block(PLANNER, after="task", section=lambda s: s.planner)  # which has it within
ROW = signals.row_type({name for kind in STAGES for name in (*kind.reads, *kind.writes)})

forces = st.floats(-40.0, 40.0)
angles = st.floats(-math.pi, math.pi)
unit = st.floats(-1.0, 1.0)
turns = st.tuples(unit, unit, unit).map(lambda a: so3.exp(tuple(2.9 * part / max(1.0, math.hypot(*a)) for part in a)))


def scenario(**changes):
    parts = {
        "vehicle": Vehicle(mass=12.685, inertia=(0.777, 0.777, 1.112)),
        "rotors": Rotors(),
        "flight": Flight(),
        "estimator": Estimator(),
        "planner": Planner(waypoints=({"arrival": 0.0, "position": (0.0, 0.0, 1.0)},)),
    }
    return SimpleNamespace(**{**parts, **changes})


def ready(kind, values):
    """Signals, state and parameters of one stage."""
    sig, x, p = (np.zeros(1, dtype)[0] for dtype in (ROW, kind.state, kind.params))
    pack(SYSTEM, kind, p, values)
    kind.reset(sig, x, p)
    return sig, x, p


def rotor_params():
    p = np.zeros(1, ROTORS)[0]
    rotors.pack_rotors(p, rotors.LiftingRotors(Rotors(), 12.685), Cycle(0.005))
    return p


def matrix(q):
    return np.array([so3.rotate(q, tuple(axis)) for axis in np.eye(3)]).T


# Rotors


@given(st.floats(0.0, 600.0), forces, forces, st.floats(-9.0, 9.0))
def test_the_mixer_keeps_every_limit_and_its_priorities(u_T, roll, pitch, yaw):
    p = rotor_params()
    f = rotors.mix(u_T, (roll, pitch, yaw), p)
    assert min(f) >= 0.0
    assert max(f) <= p.most
    given_T, given_tau = rotors.wrench(f, p)
    assert given_T == pytest.approx(min(u_T, 4 * p.most), abs=1e-9)
    # roll and pitch share one scale factor; yaw has its own
    wanted, got = np.array((roll, pitch)), np.array(given_tau[:2])
    share = got @ wanted / (wanted @ wanted) if wanted @ wanted > 1e-20 else 1.0
    assert -1e-9 <= share <= 1.0 + 1e-9
    assert got == pytest.approx(share * wanted, abs=1e-9)
    assert given_tau[2] * np.sign(yaw) + 1e-9 >= 0.0
    assert abs(given_tau[2]) <= abs(yaw) + 1e-9
    # and nothing is reduced while every rotor has room
    level = rotors.mix(u_T, (roll, pitch, 0.0), p)
    assert share > 1.0 - 1e-6 or min(level) < 1e-9 or max(level) > p.most - 1e-9
    assert abs(given_tau[2] - yaw) < 1e-6 or min(f) < 1e-9 or max(f) > p.most - 1e-9


@given(st.floats(80.0, 300.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.floats(-0.3, 0.3))
def test_what_the_rotors_can_give_comes_back_from_the_mixer_unchanged(u_T, roll, pitch, yaw):
    """[Cuniato2022, eq. 2] against its matrix as printed."""
    p = rotor_params()
    f = np.array(rotors.mix(u_T, (roll, pitch, yaw), p))
    speed2 = f / p.thrust_factor
    c_t, c_a, arm = p.thrust_factor, p.thrust_factor * p.moment, p.arm
    printed = np.array(
        [
            [c_t, c_t, c_t, c_t],
            [0, arm * c_t, 0, -arm * c_t],
            [-arm * c_t, 0, arm * c_t, 0],
            [c_a, -c_a, c_a, -c_a],
        ]
    )
    assert printed @ speed2 == pytest.approx((u_T, roll, pitch, yaw), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dt", [0.01, 0.001])
def test_motors_follow_as_a_first_order_lag_at_any_rate(dt):
    sig, x, p = ready(MOTORS, scenario(rotors=Rotors(lag=0.05)))
    start = p.start
    sig.rotor_speed[:] = 800.0
    for k in range(round(0.1 / dt)):
        MOTORS.step(sig, x, p, dt)
        middle = 800.0 + (start - 800.0) * math.exp(-(k + 0.5) * dt / 0.05)
        assert sig.rotor_speed_acting == pytest.approx([middle] * 4, rel=1e-12)
        assert sig.u_T_acting == pytest.approx(4 * p.thrust_factor * middle**2, rel=1e-12)


def test_motors_without_lag_give_what_was_commanded():
    sig, x, p = ready(MOTORS, scenario())
    sig.rotor_speed[:] = (500.0, 510.0, 520.0, 530.0)
    MOTORS.step(sig, x, p, 0.005)
    assert sig.rotor_speed_acting.tolist() == sig.rotor_speed.tolist()


# Flight control


@given(turns, turns)
def test_the_attitude_error_is_the_matrix_form(q, q_d):
    """[Cuniato2022, eq. 7]: e_R = ½ (R_dᵀR - RᵀR_d)^∨.

    Half a turn away it is also zero: the law does not return from exactly there, like every continuous one.
    """
    skew = 0.5 * (matrix(q_d).T @ matrix(q) - matrix(q).T @ matrix(q_d))
    assert attitude_error(q, q_d) == pytest.approx((skew[2, 1], skew[0, 2], skew[1, 0]), abs=1e-12)


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.2, 2.0), angles)
def test_the_wanted_attitude_has_the_columns_of_the_paper(a, b, c, yaw):
    """[Cuniato2022, eq. 6]: z_d along the force, y_d = z_d × x/|·|, x_d = y_d × z_d."""
    z = np.array((a, b, c)) / math.hypot(a, b, c)
    y = np.cross(z, (math.cos(yaw), math.sin(yaw), 0.0))
    y /= np.linalg.norm(y)
    expected = np.column_stack((np.cross(y, z), y, z))
    assert matrix(attitude_for((a, b, c), yaw)) == pytest.approx(expected, abs=1e-12)


@given(st.floats(-500.0, 500.0), st.floats(-500.0, 500.0), st.floats(-500.0, 500.0))
def test_the_wanted_force_stays_in_its_cone_and_keeps_its_lift(x, y, z):
    _, _, p = ready(FLIGHT, scenario())
    F = within_cone((x, y, z), p)
    assert F[2] == pytest.approx(max(z, LEAST_LIFT * WEIGHT), rel=1e-15)
    assert math.hypot(F[0], F[1]) <= F[2] * math.tan(math.radians(10.0)) * (1 + 1e-12)
    assert F[0] * y == pytest.approx(F[1] * x, abs=1e-6)
    if math.hypot(x, y) < 0.17 * z and z > 1.01 * LEAST_LIFT * WEIGHT:
        assert (x, y, z) == F


def commanded(yaw, q, motion, values):
    """Thrust and torques for a vehicle and its task, all turned by yaw about the vertical."""
    sig, x, p = ready(FLIGHT, values)
    turn = so3.exp((0.0, 0.0, yaw))
    fields = (sig.X_Nb_meas.p, sig.V_Nb_meas.v, sig.V_Nb_meas.w, sig.p_bd_N, sig.v_bd_N, sig.a_bd_N, sig.f_hat_N)
    for field, vector in zip(fields, motion, strict=True):
        field[:] = so3.rotate(turn, tuple(vector))
    sig.X_Nb_meas.q[:] = so3.multiply(turn, q)
    sig.tau_hat_b[:] = (0.1, -0.2, 0.05)
    sig.yaw_bd, sig.yaw_rate_bd, sig.yaw_acc_bd = 0.3 + yaw, 0.2, -0.1
    FLIGHT.step(sig, x, p, 0.005)
    thrusts = 11.549e-5 * sig.rotor_speed**2  # the speeds themselves are roots, which amplify rounding at a stopped rotor
    return np.array((sig.u_T, *sig.tau_b, sig.u_T_clamped, *sig.tau_b_clamped, *thrusts))


@settings(max_examples=40)
@given(angles, turns, st.integers(0, 1000))
def test_flight_does_not_depend_on_where_north_is(yaw, q, seed):
    motion = np.random.default_rng(seed).uniform(-0.5, 0.5, (7, 3))
    assert commanded(yaw, q, motion, scenario()) == pytest.approx(commanded(0.0, q, motion, scenario()), abs=1e-7)


def test_at_rest_in_its_pose_the_vehicle_carries_its_weight_and_nothing_else():
    sig, x, p = ready(FLIGHT, scenario())
    sig.X_Nb_meas.q[0] = 1.0
    FLIGHT.step(sig, x, p, 0.005)
    assert sig.u_T == pytest.approx(WEIGHT, rel=1e-15)
    assert sig.tau_b.tolist() == [0.0, 0.0, 0.0]
    assert sig.rotor_speed == pytest.approx([math.sqrt(WEIGHT / 4 / 11.549e-5)] * 4, rel=1e-12)


@given(st.floats(-3.0, 3.0))
def test_yaw_torque_is_limited(yaw):
    sig, x, p = ready(FLIGHT, scenario())
    sig.X_Nb_meas.q[:] = so3.exp((0.0, 0.0, yaw))
    FLIGHT.step(sig, x, p, 0.005)
    assert sig.tau_b[2] == pytest.approx(-min(max(80.0 * math.sin(yaw), -1.5), 1.5), abs=1e-12)


# Planner


@given(st.floats(0.1, 5.0), st.floats(0.5, 4.0), st.floats(0.0, 1.0))
def test_velocity_and_acceleration_are_the_derivatives_of_the_place(start, length, share):
    t = start + (0.02 + 0.96 * share) * length
    h = 1e-4 * length
    before, here, after = (minimum_jerk(t + k * h, start, start + length) for k in (-1, 0, 1))
    # central differences: h²/6 of the next-but-one derivative, at most 360/length³ and 360/length⁴ here
    assert (after[0] - before[0]) / (2 * h) == pytest.approx(here[1], abs=1e-5 / length)
    assert (after[1] - before[1]) / (2 * h) == pytest.approx(here[2], abs=1e-5 / length**2)


def test_the_path_rests_in_every_way_point_and_stays_at_the_last():
    points = (
        {"arrival": 1.0, "position": (0.0, 0.0, 1.0)},
        {"arrival": 3.0, "position": (1.0, -2.0, 1.5), "yaw": 1.0},
        {"arrival": 4.0, "position": (1.0, 0.0, 1.5), "yaw": -1.0},
    )
    sig, x, p = ready(PLANNER, scenario(planner=Planner(waypoints=points)))
    seen = {}
    for k in range(101):
        sig.t = 0.05 * k
        PLANNER.step(sig, x, p, 0.05)
        seen[k] = (*sig.p_bd_N, sig.yaw_bd), (*sig.v_bd_N, sig.yaw_rate_bd), (*sig.a_bd_N, sig.yaw_acc_bd)
    for k, point in ((0, points[0]), (20, points[0]), (60, points[1]), (80, points[2]), (100, points[2])):
        place, speed, acceleration = seen[k]
        assert place == pytest.approx((*point["position"], point.get("yaw", 0.0)), abs=1e-12)
        assert speed == pytest.approx((0.0,) * 4, abs=1e-12)
        assert acceleration == pytest.approx((0.0,) * 4, abs=1e-9)
    assert seen[40][1][1] == pytest.approx(-2.0 * 15.0 / 16.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Planner(waypoints=()),
        lambda: Planner(waypoints=[{"arrival": k, "position": (0, 0, 0)} for k in range(CAPACITY + 1)]),
        lambda: Planner(waypoints=[{"arrival": 2.0, "position": (0, 0, 0)}, {"arrival": 2.0, "position": (0, 0, 1)}]),
        lambda: Vehicle(mass=0.0, inertia=(1, 1, 1)),
        lambda: Vehicle(mass=1.0, inertia=(1, 1, 3)),
        lambda: Rotors(arm=0.0),
        lambda: Flight(stiffness=(20, 20, 0)),
        lambda: Flight(attitude_damping=(30, -1, 20)),
        lambda: Estimator(bandwidth=0.0),
    ],
)
def test_what_cannot_fly_is_refused(make):
    with pytest.raises(ValidationError):
        make()


# The plain quadrotor


def body(position=(0.0, 0.0, 0.0), inertia=(0.777, 0.6, 1.112), substep=1e-3, attitude=(1.0, 0.0, 0.0, 0.0)):
    x, p = np.zeros(1, QUADROTOR_STATE)[0], np.zeros(1, QUADROTOR_PARAMS)[0]
    pack_quadrotor(p, Vehicle(mass=12.685, inertia=inertia), position, attitude, substep)
    quadrotor_start(x, p)
    return x, p


@pytest.mark.parametrize("dt", [0.01, 0.0005])
def test_a_thrown_quadrotor_flies_a_parabola(dt):
    x, p = body(position=(1.0, 2.0, 3.0))
    x.v[:] = (0.5, -1.0, 4.0)
    f = np.array((3.0, -2.0, 1.0))
    for _ in range(round(0.5 / dt)):
        quadrotor_move(x, p, 20.0, (0.0, 0.0, 0.0), tuple(f), (0.0, 0.0, 0.0), dt)
    a = f / 12.685 + np.array((0.0, 0.0, 20.0 / 12.685 - PAPER_GRAVITY))
    assert x.p == pytest.approx(np.array((1.0, 2.0, 3.0)) + 0.5 * np.array((0.5, -1.0, 4.0)) + 0.125 * a, abs=1e-12)
    assert x.v == pytest.approx(np.array((0.5, -1.0, 4.0)) + 0.5 * a, abs=1e-12)


def test_pose_and_twist_are_shown_in_the_world_frame():
    x, p = body(attitude=so3.exp((0.4, -0.3, 0.2)))
    w_B = (0.5, 1.0, -0.7)
    x.L_N[:] = so3.rotate(tuple(x.q), tuple(np.array((0.777, 0.6, 1.112)) * w_B))
    sig = np.zeros(1, ROW)[0]
    quadrotor_show(sig.X_Nb_meas, sig.V_Nb_meas, x, p)
    assert sig.V_Nb_meas.w == pytest.approx(so3.rotate(tuple(x.q), w_B), abs=1e-14)
    assert sig.X_Nb_meas.q.tolist() == x.q.tolist()
