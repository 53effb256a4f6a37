"""The guard trips at each limit, names it, and the first fault stays."""

import numpy as np
import pytest

from hilt import faults
from hilt.faults import read_fault
from hilt.guard import GUARD, guard_step
from hilt.signals import row_type
from hilt.systems.freefloat import FREEFLOAT  # its row has all that a guard needs

DT = 0.01
LIMITS = {
    "force": 10.0, "torque": 5.0, "speed": 1.0, "angular_speed": 2.0, "acceleration": 20.0, "energy": 50.0,
    "workspace_min": (-1, -1, -1), "workspace_max": (1, 1, 1),
}  # fmt: skip


@pytest.fixture
def parts():
    row, x, p = (np.zeros(1, t).view(np.recarray) for t in (row_type((*GUARD.reads, *GUARD.writes)), GUARD.state, GUARD.params))
    for name, value in LIMITS.items():
        p[0][name] = value
    row[0].X_WB_des.q[:] = (1, 0, 0, 0)
    row[0].fault_axis = -1
    x[0].q[:] = (1, 0, 0, 0)
    return row[0], x[0], p[0]


def test_a_body_within_its_limits_goes_on(parts):
    sig, x, p = parts
    for k in range(1, 6):
        sig.X_WB_des.p[0] = 0.009 * k
        guard_step(sig, x, p, DT)
    assert sig.fault == faults.NONE
    assert read_fault(sig) is None


def breach_workspace(sig, x):
    sig.X_WB_des.p[1] = x.p[1] = -1.001


CASES = {
    "force": (lambda sig, x: sig.F_So_S.f.__setitem__(slice(None), (8, 0, 8)), faults.FORCE),
    "torque": (lambda sig, x: sig.F_So_S.tau.__setitem__(2, -5.1), faults.TORQUE),
    "speed": (lambda sig, x: sig.X_WB_des.p.__setitem__(0, 1.1 * DT), faults.SPEED),
    "angular": (
        lambda sig, x: sig.X_WB_des.q.__setitem__(slice(None), (np.cos(0.02), 0, np.sin(0.02), 0)),
        faults.ANGULAR_SPEED,
    ),
    "workspace": (breach_workspace, faults.WORKSPACE),
    "energy": (lambda sig, x: (setattr(sig, "H", 30.0), setattr(sig, "H_rot", 30.0)), faults.ENERGY),
    "nan": (lambda sig, x: sig.X_WB_des.p.__setitem__(2, np.nan), faults.NOT_FINITE),
    "inf force": (lambda sig, x: sig.F_So_S.f.__setitem__(0, np.inf), faults.NOT_FINITE),
    "nan attitude": (lambda sig, x: sig.X_WB_des.q.__setitem__(0, np.nan), faults.NOT_FINITE),
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
        sig.X_WB_des.p[0] = position
        guard_step(sig, x, p, DT)
    assert sig.fault == faults.ACCELERATION
    assert sig.fault_value == pytest.approx(50.0)


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


def test_the_system_calls_the_guard_last():
    assert list(FREEFLOAT.tick_stages.values())[-1] is GUARD
