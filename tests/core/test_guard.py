"""The guard trips at each limit, names it, and the first fault stays."""

import numpy as np
import pytest

from hilt import job
from hilt.core import faults
from hilt.core.faults import read_fault
from hilt.core.guard import GUARD, NEVER, guard_step
from hilt.core.signals import row_type
from hilt.systems.freefloat.freefloat import FREEFLOAT

DT = 0.01
LIMITS = {
    "force": 10.0,
    "torque": 5.0,
    "speed": 1.0,
    "angular_speed": 2.0,
    "acceleration": 20.0,
    "angular_acceleration": 40.0,
    "jerk": 3000.0,
    "energy": 50.0,
    "workspace_min": (-1, -1, -1),
    "workspace_max": (1, 1, 1),
}


@pytest.fixture
def parts():
    row, x, p = (np.zeros(1, t).view(np.recarray) for t in (row_type((*GUARD.reads, *GUARD.writes)), GUARD.state, GUARD.params))
    for name, value in LIMITS.items():
        p[0][name] = value
    row[0].X_WB_cmd.q[:] = (1, 0, 0, 0)
    row[0].fault_axis = -1
    x[0].q[:] = (1, 0, 0, 0)
    return row[0], x[0], p[0]


def test_a_body_within_its_limits_goes_on(parts):
    sig, x, p = parts
    x.v[0] = 0.9
    for k in range(1, 6):
        sig.X_WB_cmd.p[0] = 0.009 * k
        guard_step(sig, x, p, DT)
    assert sig.fault == faults.NONE
    assert read_fault(sig) is None


def breach_workspace(sig, x):
    sig.X_WB_cmd.p[1] = x.p[1] = -1.001


CASES = {
    "force": (lambda sig, x: sig.F_So_S.f.__setitem__(slice(None), (8, 0, 8)), faults.FORCE),
    "torque": (lambda sig, x: sig.F_So_S.tau.__setitem__(2, -5.1), faults.TORQUE),
    "speed": (lambda sig, x: sig.X_WB_cmd.p.__setitem__(0, 1.1 * DT), faults.SPEED),
    "angular": (
        lambda sig, x: sig.X_WB_cmd.q.__setitem__(slice(None), (np.cos(0.02), 0, np.sin(0.02), 0)),
        faults.ANGULAR_SPEED,
    ),
    "workspace": (breach_workspace, faults.WORKSPACE),
    "energy": (lambda sig, x: (setattr(sig, "H", 30.0), setattr(sig, "H_rot", 30.0)), faults.ENERGY),
    "nan": (lambda sig, x: sig.X_WB_cmd.p.__setitem__(2, np.nan), faults.NOT_FINITE),
    "inf force": (lambda sig, x: sig.F_So_S.f.__setitem__(0, np.inf), faults.NOT_FINITE),
    "nan attitude": (lambda sig, x: sig.X_WB_cmd.q.__setitem__(0, np.nan), faults.NOT_FINITE),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("breach", "code"), CASES.values(), ids=CASES)
def test_each_limit_trips_its_fault(parts, breach, code):
    sig, x, p = parts
    breach(sig, x)
    guard_step(sig, x, p, DT)
    assert sig.fault == code
    fault = read_fault(sig)
    assert fault.sentence.startswith("stopped at")
    assert "limit" in fault.sentence or code == faults.NOT_FINITE


def test_acceleration_is_seen_in_the_set_points(parts):
    sig, x, p = parts
    for position in (0.0, 0.0, 0.5 * DT):  # 0.5 m/s within 10 ms: 50 m/s²
        sig.X_WB_cmd.p[0] = position
        guard_step(sig, x, p, DT)
    assert sig.fault == faults.ACCELERATION
    assert sig.fault_value == pytest.approx(50.0)


def test_angular_acceleration_is_seen_in_the_set_points(parts):
    sig, x, p = parts
    sig.X_WB_cmd.q[:] = (np.cos(0.0025), 0, 0, np.sin(0.0025))  # from rest to 0.5 rad/s within 10 ms: 50 rad/s²
    guard_step(sig, x, p, DT)
    assert sig.fault == faults.ANGULAR_ACCELERATION
    assert sig.fault_value == pytest.approx(50.0)


def test_jerk_is_seen_in_the_set_points(parts):
    sig, x, p = parts
    for position in (0.0, 0.0018, 0.0018):  # 18 m/s², then 36 m/s² less: the second is a jerk of 3600 m/s³
        sig.X_WB_cmd.p[0] = position
        p.acceleration = 40.0
        guard_step(sig, x, p, DT)
    assert sig.fault == faults.JERK
    assert sig.fault_value == pytest.approx(3600.0)


def test_the_first_set_point_counts_from_rest(parts):
    sig, x, p = parts
    sig.X_WB_cmd.p[0] = 0.9 * DT
    guard_step(sig, x, p, DT)
    assert sig.fault == faults.ACCELERATION
    assert sig.fault_value == pytest.approx(90.0)


def test_the_first_fault_stays(parts):
    sig, x, p = parts
    sig.F_So_S.f[0] = 11.0
    guard_step(sig, x, p, DT)
    sig.H = 100.0
    guard_step(sig, x, p, DT)
    assert sig.fault == faults.FORCE
    assert sig.fault_value == 11.0


def test_a_workspace_fault_names_axis_and_limit(parts):
    sig, x, p = parts
    breach_workspace(sig, x)
    guard_step(sig, x, p, DT)
    fault = read_fault(sig)
    assert fault.axis == "y"
    assert fault.limit == -1.0


def bench_of(*settings):
    system, values, _ = job.find("docking", "table1", ["limits.acceleration=10", "robot.kind=delay", *settings])
    return system, system.set_up(values)


@pytest.mark.parametrize(("at_rest", "code"), [("true", faults.ACCELERATION), ("false", faults.NONE)])
def test_a_scenario_counts_from_its_robots_own_start(at_rest, code):
    """A servicer that arrives at 95 mm/s: a moving robot continues at that speed, one at rest would have to jump to it."""
    _, bench = bench_of("approach.speed=95 mm/s", f"robot.start_at_rest={at_rest}")
    bench.code.tick(bench.row, bench.x, bench.p)
    assert bench.row[0]["fault"] == code


def test_a_scenario_without_the_new_limits_is_not_limited_by_them():
    _, bench = bench_of()
    limits = bench.p[0]["guard"]
    assert limits["jerk"] == limits["angular_acceleration"] == NEVER


def test_the_system_calls_the_guard_last():
    assert FREEFLOAT.tick[-1].kind is GUARD
