"""The HEXA table: closed-form cranks against the rods themselves and Newton's method, and the split with the X-Y stage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hilt.core import faults
from hilt.core.signals import POSE, record
from hilt.maths import so3, vec
from hilt.systems.payload.hexa import (
    HEXA,
    Hexa,
    XYStage,
    crank_angle,
    crank_tip,
    determinant,
    forward,
    hexa_reset,
    hexa_step,
    pack_hexa,
    pack_stage,
    plate_joint,
    rod_needed,
)

DT = 0.004
TABLE = Hexa()
STAGE = XYStage(time_constant=0.5, travel_x=0.3, travel_y=0.4)
NEUTRAL = ((0.0, 0.0, TABLE.height), (1.0, 0.0, 0.0, 0.0))
ROW = record(X_WB_cmd=POSE, hexa_angles=6, stage_xy=2, fault="i8", fault_axis="i8", fault_value="f8", fault_limit="f8")
TURN = math.radians(20)

shift = st.floats(-0.2, 0.2)
shifts = st.tuples(shift, shift, shift)
unit = st.floats(-1.0, 1.0)
turns = st.tuples(unit, unit, unit).map(lambda a: vec.scale(TURN / max(1.0, math.hypot(*a)), a))


def geometry(table=TABLE, stage=STAGE):
    p = np.zeros(1, HEXA.params)[0]
    pack_hexa(p, table)
    pack_stage(p, stage, DT)
    return p


P = geometry()


def pose(shift, turn):
    return (shift[0], shift[1], shift[2] + TABLE.height), so3.exp(turn)


def cranks(position, q, p=P):
    return np.array([crank_angle(p, i, position, q) for i in range(6)]).T


def bench(position=(0.0, 0.0, 0.0), table=TABLE, stage=STAGE):
    """A row at rest at a set-point, the stage's state and its parameters."""
    sig, x, p = np.zeros(1, ROW)[0], np.zeros(1, HEXA.state)[0], geometry(table, stage)
    sig.X_WB_cmd.q[:] = (1, 0, 0, 0)
    sig.X_WB_cmd.p[:] = position
    sig.fault_axis = -1
    hexa_reset(sig, x, p)
    return sig, x, p


# Cranks and rods


@given(shifts, turns)
def test_the_rods_keep_their_length(shift, turn):
    position, q = pose(shift, turn)
    angles, margins = cranks(position, q)
    assert (margins > 0.15).all()
    assert (angles > TABLE.angle_min).all()
    assert (angles < TABLE.angle_max).all()
    for i in range(6):
        assert math.dist(plate_joint(P, i, position, q), crank_tip(P, i, angles[i])) == pytest.approx(TABLE.rod, abs=1e-12)
        assert rod_needed(P, i, position, q) == TABLE.rod


@settings(max_examples=60)
@given(shifts, turns)
def test_the_forward_solution_returns_the_pose(shift, turn):
    position, q = pose(shift, turn)
    found, found_q = forward(P, cranks(position, q)[0], NEUTRAL)
    assert found == pytest.approx(position, abs=1e-9)
    assert math.hypot(*so3.between(found_q, q)) < 1e-9


@given(shifts, turns)
def test_a_third_of_a_turn_passes_the_angles_on_to_the_next_pair(shift, turn):
    third = so3.exp((0.0, 0.0, 2.0 * math.pi / 3.0))
    here, _ = cranks(*pose(shift, turn))
    there, _ = cranks(*pose(so3.rotate(third, shift), so3.rotate(third, turn)))
    assert there == pytest.approx(np.roll(here, 2), abs=1e-13)


@given(shifts, turns)
def test_a_mirrored_pose_exchanges_the_cranks_of_the_pairs(shift, turn):
    """Mirrored at the plane y = 0, which contains the middle of the first pair."""
    here, _ = cranks(*pose(shift, turn))
    there, _ = cranks(*pose((shift[0], -shift[1], shift[2]), (-turn[0], turn[1], -turn[2])))
    assert there == pytest.approx(here[[1, 0, 5, 4, 3, 2]], abs=1e-13)


def test_the_neutral_pose_has_six_equal_angles():
    angles, _ = cranks(*NEUTRAL)
    assert angles == pytest.approx(TABLE.neutral_angle, abs=1e-14)


@given(shifts, turns, st.tuples(unit, unit, unit), st.tuples(unit, unit, unit))
def test_a_small_step_of_the_pose_is_a_small_step_of_the_cranks(shift, turn, along, about):
    small = 1e-6
    here, _ = cranks(*pose(shift, turn))
    q = so3.multiply(so3.exp(vec.scale(small, about)), so3.exp(turn))
    there, _ = cranks(pose(vec.add(shift, vec.scale(small, along)), turn)[0], q)
    assert np.abs(there - here).max() < 20.0 * small


def test_the_cranks_knees_point_outwards():
    for i in range(6):
        knee = crank_tip(P, i, TABLE.neutral_angle)
        assert math.hypot(knee[0], knee[1]) > TABLE.base_radius
        assert TABLE.base_radius > TABLE.plate_radius


@pytest.mark.parametrize("height", [1.6, 0.1])
def test_out_of_reach_the_margin_is_negative_and_the_angle_finite(height):
    angles, margins = cranks((0.0, 0.0, height), NEUTRAL[1], geometry(Hexa(crank=0.3, height=1.0)))
    assert (margins < 0).all()
    assert np.isfinite(angles).all()


@given(st.tuples(unit, unit, unit), turns)
def test_a_margin_below_zero_means_another_rod_length(shift, turn):
    position, q = pose(shift, turn)
    for i in range(6):
        _, margin = crank_angle(P, i, position, q)
        needed = rod_needed(P, i, position, q)
        assert abs(margin) < 1e-12 or (margin < 0) == (needed != TABLE.rod)


# The step


def test_the_step_gives_the_angles_of_the_tables_part():
    sig, x, p = bench()
    for k in range(1, 51):
        sig.X_WB_cmd.p[:] = (0.001 * k, -0.002 * k, 0.0005 * k)
        sig.X_WB_cmd.q[:] = so3.exp((0.001 * k, 0.0, 0.002 * k))
        hexa_step(sig, x, p, DT)
    table = (*(sig.X_WB_cmd.p[:2] - sig.stage_xy), sig.X_WB_cmd.p[2] + TABLE.height)
    assert sig.fault == faults.NONE
    assert sig.hexa_angles == pytest.approx(cranks(table, so3.load(sig.X_WB_cmd.q))[0], abs=1e-15)
    found, _ = forward(p, sig.hexa_angles, NEUTRAL)
    assert sig.stage_xy + found[:2] == pytest.approx(sig.X_WB_cmd.p[:2], abs=1e-12)


def test_the_stages_part_is_the_low_pass_of_the_command():
    """A ramp: v (t - τ (1 - exp(-t/τ))), exact at the samples."""
    sig, x, p = bench((0.1, -0.1, 0.0))
    v, tau = np.array([0.05, -0.1]), STAGE.time_constant
    for k in range(1, 401):
        t = k * DT
        sig.X_WB_cmd.p[:2] = np.array([0.1, -0.1]) + v * t
        hexa_step(sig, x, p, DT)
        assert sig.stage_xy == pytest.approx([0.1, -0.1] + v * (t + tau * math.expm1(-t / tau)), abs=1e-13)
    assert sig.fault == faults.NONE


def test_the_stage_stops_at_the_end_of_its_travel_and_the_table_takes_the_rest():
    sig, x, p = bench((0.25, -0.35, 0.0))
    for k in range(1, 1001):
        sig.X_WB_cmd.p[:2] = (0.25 + 0.2 * min(k / 500, 1), -0.35 - 0.2 * min(k / 500, 1))
        hexa_step(sig, x, p, DT)
    assert tuple(sig.stage_xy) == (0.3, -0.4)
    assert sig.fault == faults.NONE
    found, _ = forward(p, sig.hexa_angles, NEUTRAL)
    assert found[:2] == pytest.approx((0.15, -0.15), abs=1e-12)
    sig.X_WB_cmd.p[:2] = (0.35, -0.45)  # and it returns as soon as the command does
    hexa_step(sig, x, p, DT)
    sig.X_WB_cmd.p[:2] = (0.25, -0.35)
    hexa_step(sig, x, p, DT)
    hexa_step(sig, x, p, DT)
    assert abs(sig.stage_xy[0]) < 0.3
    assert abs(sig.stage_xy[1]) < 0.4


def test_the_centre_only_moves_the_origin():
    here, there = bench(), bench((1.0, 2.0, 3.0), Hexa(centre=(1.0, 2.0, 3.0)))
    assert tuple(here[0].hexa_angles) == tuple(there[0].hexa_angles)
    assert tuple(there[0].stage_xy) == (0.0, 0.0)


def test_without_a_table_nothing_is_written():
    sig, x, p = bench()
    p.present = 0
    sig.hexa_angles[:] = 7.0
    sig.X_WB_cmd.p[:] = 9.0
    hexa_step(sig, x, p, DT)
    assert tuple(sig.hexa_angles) == (7.0,) * 6
    assert sig.fault == faults.NONE


def test_a_pose_out_of_reach_trips():
    sig, x, p = bench((0.0, 0.0, 0.9))
    hexa_step(sig, x, p, DT)
    assert (sig.fault, sig.fault_axis, sig.fault_limit) == (faults.HEXA_REACH, -1, TABLE.rod)
    assert sig.fault_value > TABLE.rod


@pytest.mark.parametrize(("z", "limit"), [(-0.2, 0.1), (0.2, 0.6)])
def test_a_crank_beyond_its_angle_trips(z, limit):
    sig, x, p = bench((0.0, 0.0, z), Hexa(angle_min=0.1, angle_max=0.6))
    hexa_step(sig, x, p, DT)
    assert (sig.fault, sig.fault_axis, sig.fault_limit) == (faults.HEXA_ANGLE, -1, limit)
    assert sig.fault_value == pytest.approx(cranks((0.0, 0.0, TABLE.height + z), NEUTRAL[1])[0][0])


def test_a_crank_that_is_too_fast_trips():
    sig, x, p = bench()
    slope = (cranks((0.0, 0.0, TABLE.height + 1e-6), NEUTRAL[1])[0][0] - TABLE.neutral_angle) / 1e-6
    step = TABLE.rate_max * DT / slope
    sig.X_WB_cmd.p[2] = 0.97 * step
    hexa_step(sig, x, p, DT)
    assert sig.fault == faults.NONE
    sig.X_WB_cmd.p[2] -= 1.05 * step  # downwards counts too
    hexa_step(sig, x, p, DT)
    assert (sig.fault, sig.fault_axis, sig.fault_limit) == (faults.HEXA_RATE, -1, TABLE.rate_max)
    assert sig.fault_value == pytest.approx(1.05 * TABLE.rate_max, rel=0.03)


def hold(shift, turn):
    position, q = pose(shift, turn)
    return determinant(np.zeros((6, 6)), P, position, q, cranks(position, q)[0]) / P.neutral


@given(shifts, turns)
def test_the_hold_is_the_product_of_the_rods_singular_values(shift, turn):
    """The wrenches along six rods, relative to the neutral pose: 0 where some wrench is carried by no rod."""

    def whole(position, q):
        angles = cranks(position, q)[0]
        joints = np.array([plate_joint(P, i, position, q) for i in range(6)])
        rods = (joints - [crank_tip(P, i, angles[i]) for i in range(6)]) / TABLE.rod
        lines = np.hstack([rods, np.cross((joints - position) / TABLE.plate_radius, rods)])
        return np.linalg.svd(lines)[1].prod()

    assert abs(hold(shift, turn)) == pytest.approx(whole(*pose(shift, turn)) / whole(*NEUTRAL), rel=1e-9)


def test_a_plate_that_tilts_too_far_trips_before_its_rods_let_go():
    """About x the hold falls to 0 near 71°; the step trips at a tenth."""
    assert hold((0, 0, 0), (0, 0, 0)) == pytest.approx(1.0)
    assert hold((0, 0, 0), (math.radians(50), 0, 0)) > 0 > hold((0, 0, 0), (math.radians(75), 0, 0))
    sig, x, p = bench(table=Hexa(angle_min="-179 deg", angle_max="179 deg", rate_max=1e3))
    for degrees in np.arange(0.0, 80.0, 0.1):
        sig.X_WB_cmd.q[:] = so3.exp((math.radians(degrees), 0.0, 0.0))
        hexa_step(sig, x, p, DT)
        if sig.fault:
            break
    assert sig.fault == faults.HEXA_HOLD
    assert 0.0 < hold((0, 0, 0), (math.radians(degrees), 0.0, 0.0)) < 0.1


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_non_finite_value_trips(value):
    sig, x, p = bench()
    sig.X_WB_cmd.p[2] = value
    hexa_step(sig, x, p, DT)
    assert sig.fault == faults.NOT_FINITE


# The sections


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"height": 2.0}, "hexa.height is 2 m; no crank"),
        ({"angle_max": 0.1}, "hexa.angle_max"),
        ({"crank": 0}, "greater than 0"),
    ],
)
def test_an_impossible_table_is_refused(changes, words):
    with pytest.raises(ValidationError, match=words):
        Hexa(**changes)


def test_angles_may_be_given_in_degrees():
    assert Hexa(angle_max="80 deg").angle_max == pytest.approx(math.radians(80))


def test_newton_reports_when_there_is_no_pose():
    with pytest.raises(ArithmeticError, match="guess"):
        forward(P, np.array([1.4, -1.0, 1.4, -1.0, 1.4, 3.0]), NEUTRAL)
