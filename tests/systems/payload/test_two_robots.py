"""The slave hand on a robot beside the table: its clock, its command, its wrist sensor."""

import numpy as np
import pytest

import hilt
from hilt import job
from hilt.core.faults import InputError
from hilt.core.signals import TWIST
from hilt.device import rigfile
from hilt.lab.dry import world
from hilt.maths import so3
from hilt.systems.payload.payload import PAYLOAD

RIG = rigfile.load(rigfile.find("dry-lab-payload"))
STIFFNESS = 20e3  # N/m, of the default grip


def path_of_hand(speeds, *settings):
    """Path of the arm alone, commanded `speeds`."""
    _, values, _ = job.find("payload", "hils-2", ["loop.period=4 ms", *settings])
    bench, kinds = PAYLOAD.set_up(values), PAYLOAD.kinds(values)
    sig, path = bench.row[0], []
    for speed in speeds:
        kinds["arm"].step(sig, bench.w[0]["arm"], bench.p[0]["arm"], 0.004)
        path.append(sig["x_s"].copy())
        sig["v_sc"] = speed, 0.5 * speed, 0.0
        if "hand_command" in kinds:
            kinds["hand_command"].step(sig, bench.x[0]["hand_command"], bench.p[0]["hand_command"], 0.004)
    return np.array(path)


def test_an_ideal_robot_is_a_delayed_point_arm():
    """Delayed by a cycle, half a tick and the slack: 8 ms. The curve is between each set-point and the middle of its
    neighbours, a quarter of the path: a T²/8 of it."""
    t = 0.004 * np.arange(500)
    speeds = 0.02 * np.sin(3.0 * t) ** 2
    point = path_of_hand(speeds, "arm.delay=8 ms")
    robot = path_of_hand(speeds, "arm.model=robot", "arm.robot.kind=ideal", "pair.cycle=4 ms", "pair.slack=2 ms")
    acceleration = np.hypot(0.02 * 3.0, 0.5 * 0.02 * 3.0)
    apart = np.linalg.norm(robot - point, axis=1).max()
    assert 0.5 * acceleration * 0.004**2 / 8.0 < apart < 1.001 * acceleration * 0.004**2 / 8.0


def test_hils_2_on_robots_of_20_and_12_ms_with_clocks_that_drift():
    """5 s of delay: virtual to slave within 2 mm, force within 10 % of the run without robots; the phase drifts by 50 ppm."""
    one, two = hilt.run("payload", "hils-2"), hilt.run("payload", "two-robots")
    assert two.fault is None
    assert two.metrics["position_error_m"] < 2e-3
    assert two.metrics["peak_force_N"] == pytest.approx(one.metrics["peak_force_N"], rel=0.1)
    cycle = 1e-3 * (1 + 5e-5)
    expected = (two["t"] - 0.3e-3) % cycle
    apart = np.abs(two["clock_phase"] - expected)
    assert np.minimum(apart, cycle - apart).max() < 1e-7  # rounding of 70 000 sums


def bench_with(*settings):
    _, values, _ = job.find("payload", "hils-2", [*RIG.settings("payload"), *settings])
    return values, PAYLOAD.set_up(values)


def test_the_observed_hand_wrench_is_what_the_wrist_sensor_was_simulated_from():
    """At rest, in any attitude, wherever the sensor is: without the tool's load the wrench is recovered, to rounding."""
    values, bench = bench_with("wrist.position=['0.02 m', '-0.03 m', '0.15 m']", "wrist.attitude=[0.6, 0, 0.8, 0]")
    sig, f, tau = bench.row[0], np.array([3.0, -7.0, 11.0]), np.array([0.4, 0.1, -0.3])
    q = np.array(so3.exp((0.3, -0.5, 0.7)))
    sig["hands"][3:7] = sig["q_s"] = q
    sig["f_hands"][:3], sig["hand_wrenches"][3:6] = f, tau
    kinds = PAYLOAD.kinds(values)
    observed = next(block for block in PAYLOAD.observe if block.name == "observed_hand").kind
    for _ in range(2):
        kinds["wrist"].step(sig, bench.w[0]["wrist"], bench.p[0]["wrist"], 0.004)
    load = values.wrist.load.mass * 9.80665
    assert np.linalg.norm(sig["F_Qo_Q"]["f"]) != pytest.approx(np.linalg.norm(f), abs=0.1)
    assert abs(np.linalg.norm(sig["F_Qo_Q"]["f"]) - np.linalg.norm(f)) < load
    for _ in range(2):
        observed.step(sig, bench.w[0]["observed_hand"], bench.p[0]["observed_hand"], 0.004)
    assert sig["f_s"] == pytest.approx(f, abs=1e-12)
    assert sig["tau_s"] == pytest.approx(tau, abs=1e-12)
    assert sig["hands"][3:7] == pytest.approx(q, abs=0)


@pytest.mark.parametrize(("carrier", "weight", "sign"), [("table", 12.0, 1.0), ("arm", 2.0, -1.0)])
def test_each_sensor_feels_the_grip_where_both_robots_are_and_its_own_load(carrier, weight, sign):
    """A spring at rest: k δ on the payload, the opposite on the hand; to the noise of a mean of 400 samples (four sigmas)."""
    pairing = world.pairing_of(RIG, [])
    felt = world.World(RIG, [], pairing, carrier)
    still = np.zeros(1, TWIST)[0]
    table, hand = world.start_of(RIG, [], "table"), world.start_of(RIG, [], "arm")
    shift = np.array([0.05, -0.02, 0.01])
    table["p"] += shift  # both robots may be anywhere: only the distance between them counts
    hand["p"] += shift + np.array([0.001, 0.0, 0.0])
    for k in range(2):
        felt.feel(1e-3 * k, (table, still), (hand, still))
    force = np.mean([felt.feel(1e-3 * k, (table, still), (hand, still))[0] for k in range(2, 402)], axis=0)
    assert force == pytest.approx((sign * 0.001 * STIFFNESS, 0.0, -weight * 9.80665), abs=0.01)


REFUSED = {
    (
        "arm.model=point",
    ): r"arm\.model is point, but on devices a separate robot carries the hand; use a rig with table and arm",
    (
        "operator.close_at=2 s",
        "arm.start=['10 mm', '0 m', '0 m']",
    ): r"operator\.close_at is 2\.0, but on devices the hand stays",
    ("operator.release_at=20 s",): r"operator\.release_at is 20\.0, but on devices the hand stays closed",
    ("operator.kind=hand", "link.delay=0.1 s"): r"operator\.kind is hand, but on devices there is no master device",
    (
        "operator.kind=live",
        "operator.shaper=0.1 s",
    ): r"a live operator of 0\.022 m/s needs 0\.143 s to stay .* set operator\.shaper = '0\.15 s'",
}


@pytest.mark.parametrize("settings", REFUSED)
def test_what_no_device_can_do_is_refused(settings):
    _, values, _ = job.find("payload", "hils-2", [*RIG.settings("payload"), *settings])
    with pytest.raises(InputError, match=REFUSED[settings]):
        PAYLOAD.pairing(values)


def test_a_joystick_that_jumps_from_end_to_end_stays_within_the_arms_acceleration():
    """All axes at once and back, every 0.3 s: the command keeps the limit; smoothed over half the time it does not."""
    most = {}
    for shaper in (0.15, 0.075):
        values, bench = bench_with("operator.kind=live", "operator.start=0 s", f"operator.shaper={shaper} s", "link.delay=0 s")
        sig, kind = bench.row[0], PAYLOAD.kinds(values)["operator"]
        commanded = []
        for k in range(1000):
            sig["t"], sig["joystick"][:3] = 0.004 * k, 1.0 if (k // 75) % 2 else -1.0
            kind.step(sig, bench.x[0]["operator"], bench.p[0]["operator"], 0.004)
            commanded.append(sig["v_r"].copy())
        most[shaper] = np.linalg.norm(np.diff(commanded, axis=0), axis=1).max() / 0.004
    assert 0.9 < most[0.15] <= RIG.limits.acceleration < most[0.075]


def test_a_robot_carries_one_hand():
    with pytest.raises(InputError, match=r"arm\.count is 2, but arm\.model is robot, which carries one hand"):
        job.find("payload", "hils-2", ["arm.model=robot", "arm.count=2"])
