"""The delay table matches the loop: a push leaves the mock-up on a line that is late by the sum.

M x(t) = Σ J (t - t_c - τ) once everything has settled: the time by which that line is late is the slope of the loop's phase at
frequency zero, measured on the true motion, without the code under test.
"""

import math

import numpy as np
import pytest

from hilt import job
from hilt.core import registry
from hilt.metrics import delays
from hilt.report import delays as shown

ROBOT = ["robot.kind=delay+second-order", "robot.delay=0.7 s", "robot.pure_delay=0.25 s", "robot.damping_ratio=0.8"]
SENSOR = ["sensor.delay=0.2 s", "sensor.sample_age=0.1 s", "sensor.bandwidth=1 Hz"]
FILTER = ["force_filter.kind=butterworth", "force_filter.cutoff=0.7 Hz"]
TOOL = [
    "sensor.load={mass = 10, centre_of_mass = [0.1, 0, 0.2]}",
    "tool={mass = 10, centre_of_mass = [0.1, 0, 0.2], smooth = 1}",
]
LED = ["robot.delay=0.7 s", "robot.lead=true"]
LOOPS = {
    "nothing": [],
    "robot": ROBOT,
    "sensor": SENSOR,
    "first order": ["force_filter.kind=first-order", "force_filter.cutoff=1 Hz"],
    "butterworth": FILTER,
    "lead": LED,
    "tool": TOOL,
    "all": [*ROBOT, *SENSOR, *FILTER, *TOOL],
}


@pytest.mark.parametrize("kind", ["euler", "explicit", "passive", "trapezoid", "momentum"])
@pytest.mark.parametrize("parts", LOOPS)
def test_the_sum_is_what_a_free_body_shows(parts, kind):
    """Two pushes, 30 N·s around 16 s and 60 N·s around 41 s on 30 kg; 20 s later the unsettled rest is below 1e-7 s."""
    changes = ["loop.duration=70 s", "limits.workspace_max=[1000, 1000, 1000]", f"integrator.kind={kind}"]
    system, values, _ = job.find("freefloat", "paper", [*LOOPS[parts], *changes])
    last = job.simulate(system, values).rows[-1]
    assert last["fault"] == 0
    late = (90.0 * last["t"] - 30.0 * 16.0 - 60.0 * 41.0 - 30.0 * last["X_WB_true"]["p"][0]) / 90.0
    assert late == pytest.approx(delays.table(system, values)["whole"], abs=1e-7)


def pushed(system, values, signal, force, ticks, centre):
    """Robot, sensor and tick of a system with a smooth pulse of 100 ticks in place of its contact; returns the true x."""
    bench = system.set_up(values)
    sig, w, p, dt = bench.row[0], bench.w[0], bench.p[0], values.loop.period
    stages = system.kinds(values)
    at = []
    for k in range(ticks):
        sig.tick, sig.t = k, k * dt
        for key in ("robot", "encoder"):
            stages[key].step(sig, w[key], p[key], dt)
        into = (k - centre) / 100.0 + 0.5
        pulse = math.sin(math.pi * into) ** 2 if 0 < into < 1 else 0.0
        vector = sig[signal]["f"] if sig[signal].dtype.names else sig[signal]
        vector[:] = (force * pulse, 0.0, 0.0)
        stages["sensor"].step(sig, w["sensor"], p["sensor"], dt)
        bench.code.tick(bench.row, bench.x, bench.p)
        at.append(float(sig.X_WB_true.p[0]))
    return np.array(at)


@pytest.mark.parametrize(
    ("name", "scenario", "signal", "sign", "settings"),
    [
        ("docking", "table1", "F_C_true_W", -1.0, ["compensate.method=none"]),
        (
            "docking",
            "table1",
            "F_C_true_W",
            -1.0,
            [
                "compensate.method=none",
                "robot.kind=delay+second-order",
                "robot.delay=35 ms",
                "robot.pure_delay=8 ms",
                "sensor.delay=4 ms",
                "sensor.sample_age=0.5 ms",
                "force_filter.kind=butterworth",
                "force_filter.cutoff=40 Hz",
            ],
        ),
        (
            "payload",
            "hils-1",
            "F_Bcm_true_W",
            1.0,
            ["table.delay=30 ms", "force_filter.kind=first-order", "force_filter.cutoff=30 Hz"],
        ),
        ("payload", "hils-1", "F_Bcm_true_W", 1.0, ["table.delay=30 ms", "table.lead=false", "sensor.delay=3 ms"]),
    ],
)
def test_the_sum_is_what_the_other_loops_show(name, scenario, signal, sign, settings):
    """Relative to the same run without a push, so that other motion does not count; a pulse of 10 N over 100 ticks."""
    system, values, _ = job.find(name, scenario, settings)
    mass = values.reduced_mass if name == "docking" else values.body.mass
    dt, ticks, centre = values.loop.period, 800, 100
    moved = pushed(system, values, signal, 10.0, ticks, centre) - pushed(system, values, signal, 0.0, ticks, centre)
    gained = sign * 10.0 * 50.0 * dt / mass
    assert moved[-1] - moved[-2] == pytest.approx(gained * dt, rel=1e-6)  # all has settled
    late = (ticks - 1 - centre) * dt - moved[-1] / gained
    assert late == pytest.approx(delays.table(system, values)["whole"], abs=1e-3 * dt)


def test_every_part_has_words_and_the_sum_is_theirs():
    system, values, _ = job.find("freefloat", "paper", [*LOOPS["all"], "robot.lead=true"])
    found = delays.table(system, values)
    assert set(found) == set(delays.WORDS) - {"other_robot"}  # which only docking on two robots has
    assert found.pop("whole") == pytest.approx(sum(found.values()))


def test_the_table_is_in_the_result_and_in_the_report():
    result = job.simulate(*job.find("docking", "table1", ["loop.duration=1 s", "sensor.delay=4 ms"]))
    assert result.as_json()["delays"] == pytest.approx(
        {"sensor": 0.004, "filter": 0.0, "integrator": 0.0, "robot_dead_time": 0.016, "robot_response": 0.0, "whole": 0.02}
    )
    page = shown.section(result)
    assert all(delays.WORDS[name] in page for name in result.as_json()["delays"])
    aerial = registry.system("aerial")
    assert delays.table(aerial, job.find("aerial", aerial.default_scenario, [])[1]) == {}  # its loop is of a different kind


def worst_cov(*settings):
    """bench-2.64 with a filter of 4.5 ms on the force."""
    chosen = ["force_filter.kind=butterworth", "force_filter.cutoff=50 Hz", *settings]
    return max(job.simulate(*job.find("docking", "bench-2.64", chosen)).metrics["cov"])


def test_the_compensators_know_the_filter():
    """Believing in no delay, a loop with this filter adds energy in every collision; by default it behaves as without one."""
    without = max(job.simulate(*job.find("docking", "bench-2.64", [])).metrics["cov"])
    assert worst_cov() == pytest.approx(without, abs=0.01)
    assert worst_cov("compensate.sensor_delay=0 s") > 1.1
