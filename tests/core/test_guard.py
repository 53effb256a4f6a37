"""The guard trips at each limit, names it, and the first fault stays."""

from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest

from hilt import job
from hilt.core import faults
from hilt.core.faults import read_fault
from hilt.core.guard import GUARD, NEVER, guard_step
from hilt.core.signals import row_type

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


def place(x):
    return {"sig.X_WB_cmd.p": (x, 0.0, 0.0)}


def turned(angle):
    return {"sig.X_WB_cmd.q": (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))}


CASES = {  # what is set in one tick after the other, the fault, its value and its limit
    "force": ([{"sig.F_So_S.f": (8, 0, 8)}], faults.FORCE, np.sqrt(128), 10.0),
    "torque": ([{"sig.F_So_S.tau": (0, 0, -5.1)}], faults.TORQUE, 5.1, 5.0),
    "speed": ([place(1.1 * DT)], faults.SPEED, 1.1, 1.0),
    "angular speed": ([turned(4.0 * DT)], faults.ANGULAR_SPEED, 4.0, 2.0),
    "workspace": ([{"sig.X_WB_cmd.p": (0, -1.001, 0), "x.p": (0, -1.001, 0)}], faults.WORKSPACE, -1.001, -1.0),
    "energy": ([{"sig.H": 30.0, "sig.H_rot": 30.0}], faults.ENERGY, 60.0, 50.0),
    "nan": ([place(np.nan)], faults.NOT_FINITE, np.nan, 0.0),
    "inf force": ([{"sig.F_So_S.f": (np.inf, 0, 0)}], faults.NOT_FINITE, np.nan, 0.0),
    "nan attitude": ([{"sig.X_WB_cmd.q": (np.nan, 0, 0, 0)}], faults.NOT_FINITE, np.nan, 0.0),
    # 0.5 m/s within 10 ms, 0.9 m/s of the first set-point, from rest 0.5 rad/s; 18 m/s², then 36 m/s² less.
    "acceleration": ([{}, {}, place(0.5 * DT)], faults.ACCELERATION, 50.0, 20.0),
    "from rest": ([place(0.9 * DT)], faults.ACCELERATION, 90.0, 20.0),
    "angular acceleration": ([turned(0.5 * DT)], faults.ANGULAR_ACCELERATION, 50.0, 40.0),
    "jerk": ([{"p.acceleration": 40.0}, place(0.0018), {}], faults.JERK, 3600.0, 3000.0),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("ticks", "code", "value", "limit"), CASES.values(), ids=CASES)
def test_each_limit_trips_its_fault(parts, ticks, code, value, limit):
    sig, x, p = parts
    for given in ticks:
        assert sig.fault == faults.NONE
        for name, number in given.items():
            whole, _, part = name.rpartition(".")
            setattr(attrgetter(whole)(SimpleNamespace(sig=sig, x=x, p=p)), part, number)
        guard_step(sig, x, p, DT)
    fault = read_fault(sig)
    assert (sig.fault, fault.limit) == (code, limit)
    assert fault.value == pytest.approx(value, nan_ok=True)
    assert fault.axis == ("y" if code == faults.WORKSPACE else "")
    assert fault.sentence.startswith("stopped at")
    assert "limit" in fault.sentence or code == faults.NOT_FINITE


def test_the_first_fault_stays(parts):
    sig, x, p = parts
    sig.F_So_S.f[0] = 11.0
    guard_step(sig, x, p, DT)
    sig.H = 100.0
    guard_step(sig, x, p, DT)
    assert sig.fault == faults.FORCE
    assert sig.fault_value == 11.0


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
