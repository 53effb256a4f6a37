"""A load that really hangs on the sensor, and the same load compensated: its remaining effect on the loop."""

import math

import numpy as np
import pytest
from scipy import signal
from scipy.spatial.transform import Rotation

from hilt import job
from hilt.core.faults import InputError
from hilt.lab.calibrate import SAMPLES, identify_tool

MASS, CENTRE = 2.0, (0.01, -0.02, 0.12)
LOAD = f"sensor.load={{mass = {MASS}, centre_of_mass = {list(CENTRE)}, inertia = [0.004, 0.003, 0.002]}}"
BIAS = ["sensor.bias=[3, -1, 8]", "sensor.torque_bias=[0.1, 0.2, -0.3]"]
QUIET = ["sensor.noise=0", "sensor.torque_noise=0", "sensor.bandwidth=0"]


def tool(smooth):
    return (
        f"tool={{mass = {MASS}, centre_of_mass = {list(CENTRE)}, inertia = [0.004, 0.003, 0.002], "
        f"force_bias = [3, -1, 8], torque_bias = [0.1, 0.2, -0.3], smooth = {smooth}}}"
    )


def rows(scenario, *settings):
    result = job.simulate(*job.find("freefloat", scenario, [*QUIET, *settings]))
    assert result.fault is None
    return result.rows


def test_without_compensation_the_load_moves_the_body_away():
    """So that the laws below mean something: 252 kg in all, of which 2 kg weigh; the sum over ticks is half a tick late."""
    fallen = rows("oos-sim", "push=[]", "loop.duration=2 s", LOAD)["X_WB_true"]["p"][-1]
    assert fallen == pytest.approx((0, 0, -0.5 * 9.80665 * MASS / (250.0 + MASS) * 2.0**2), rel=0.005)


def test_three_axes_lag_by_what_smooth_explains():
    """M (v - v₀) = -m t_s a_lp, tick by tick: the low-pass retains t_s a_lp of the velocity, and returns it.

    a_lp is computed here, from the true velocities. In position this is m/M t_s v: 0.16 ms of motion.
    """
    smooth, dt = 0.02, 0.004
    free = rows("oos-sim", "integrator.kind=euler")
    loaded = rows("oos-sim", "integrator.kind=euler", LOAD, *BIAS, tool(smooth))
    v, v_0 = loaded["V_WB_true"]["v"], free["V_WB_true"]["v"]
    share = dt / (smooth + dt)
    a = signal.lfilter([share], [1.0, share - 1.0], np.diff(v, axis=0) / dt, axis=0)
    kept = MASS / 250.0 * smooth
    assert np.abs(v[2:] - v_0[2:] + kept * a[:-1]).max() < 1e-12
    assert np.abs(v - v_0).max() > 1e-6  # and a lag there is
    away = np.abs(loaded["X_WB_true"]["p"] - free["X_WB_true"]["p"]).max()
    assert 0.5 * kept * np.abs(v).max() < away < 1.01 * kept * np.abs(v).max()


def test_a_turning_body_is_not_affected_by_a_known_load():
    """Sensor and load off the centre of mass, a second-order robot, pushes off the centre; accelerations without lag."""
    free, loaded = rows("capture"), rows("capture", LOAD, *BIAS, tool(0.0))
    assert np.abs(loaded["F_So_S"]["f"]).max() > 19.0  # the load is there
    for part, bound in (("p", 1e-9), ("q", 1e-9)):
        assert np.abs(loaded["X_WB_true"][part] - free["X_WB_true"][part]).max() < bound


@pytest.mark.parametrize("smooth", [0.0, 0.02])
def test_free_flight_keeps_its_momentum(smooth):
    """A tumbling body with the sensor 0.3 m away: P may change by m t_s (a + α c) of the sensor, and by rounding.

    The low-pass borrows momentum and returns it, so the bound does not grow with time; a and α are the largest of the run.
    """
    flown = rows(
        "tumble",
        "loop.period=4 ms",
        "sensor.position=[0, 0.3, 0]",
        "limits.force=1 kN",
        "body.velocity=[0.01, 0, 0]",
        LOAD,
        *BIAS,
        tool(smooth),
    )
    P = 250.0 * (flown["V_WBcm"]["v"] - flown["V_WBcm"]["v"][0])
    w = flown["V_WBcm"]["w"]
    alpha = np.linalg.norm(np.diff(w, axis=0), axis=1).max() / 0.004
    a = 0.3 * (np.square(w).sum(axis=1).max() + alpha)
    bound = MASS * smooth * (a + alpha * math.hypot(*CENTRE))
    assert np.linalg.norm(P, axis=1).max() < 1.05 * bound + 1e-9
    weight = np.linalg.norm(flown["F_So_S"]["f"] - (3.0, -1.0, 8.0), axis=1)
    assert weight.min() > 19.0


@pytest.mark.parametrize("name", ["freefloat", "payload"])
def test_any_pose_leaves_less_than_half_a_newton(name):
    """12 random poses, 250 readings each at 0.3 N and 15 mN·m; identified, then 30 others through the system's own stages."""
    rng = np.random.default_rng(11)
    scenario = {"freefloat": "capture", "payload": "hils-2"}[name]
    base = [
        LOAD,
        *BIAS,
        "sensor.noise=0.3 N",
        "sensor.torque_noise=0.015 N*m",
        "sensor.bandwidth=0",
        "sensor.attitude=[0.6, 0, 0.8, 0]",
    ]
    system, values, _ = job.find(name, scenario, base)

    def rest(values, q, stages, readings):
        bench = system.set_up(values)
        sig, dt, kinds = bench.row[0], values.loop.period, system.kinds(values)
        sig.X_WB_true.q[:] = sig.X_WB_meas.q[:] = q
        sig.V_WB_true.v[:] = sig.V_WB_true.w[:] = sig.V_WB_meas.v[:] = sig.V_WB_meas.w[:] = 0.0
        bench.w[0].sensor.noise.key += rng.integers(1 << 40)  # each pose has its own noise
        found = []
        for _ in range(readings):
            kinds["sensor"].step(sig, bench.w[0].sensor, bench.p[0].sensor, dt)
            for key in stages:
                kinds[key].step(sig, bench.x[0][key], bench.p[0][key], dt)
            shown = sig.F_So_net_S if stages else sig.F_So_S
            found.append([*shown.f, *shown.tau])
        return np.mean(found, axis=0)

    def poses(count):
        return Rotation.random(count, random_state=rng).as_quat()[:, [3, 0, 1, 2]]

    sets = poses(12)
    turned = Rotation.from_quat(sets[:, [1, 2, 3, 0]]) * Rotation.from_quat([0, 0.8, 0, 0.6])
    found = identify_tool(turned.as_quat()[:, [3, 0, 1, 2]], [rest(values, q, (), SAMPLES) for q in sets])
    quiet = values.model_copy(
        update={"tool": found.load(), "sensor": values.sensor.model_copy(update={"noise": 0.0, "torque_noise": 0.0})}
    )
    left = [rest(quiet, q, ("filter", "tool"), 2) for q in poses(30)]
    assert np.linalg.norm(np.array(left)[:, :3], axis=1).max() < 0.5
    assert all(np.linalg.norm(rest(quiet, q, (), 1)[:3] - (3, -1, 8)) > 19.0 for q in poses(3))


def test_the_sensor_of_docking_has_no_load():
    with pytest.raises(InputError, match="is fixed under the target"):
        job.find("docking", "table1", [LOAD])
