"""Docking with servicer and target each on its own robot: as with one robot that has the delay of both."""

import numba
import numpy as np
import pytest

import hilt
from hilt import job
from hilt.systems.docking.docking import DOCKING

SLOW = {"robot.kind": "delay+second-order", "robot.delay": "30 ms", "robot.pure_delay": "18 ms", "robot.damping_ratio": 0.9}
FAST = {
    "target_robot.kind": "delay+second-order",
    "target_robot.delay": "12 ms",
    "target_robot.pure_delay": "6 ms",
    "target_robot.damping_ratio": 0.9,
}
LOOP = {"loop.period": "4 ms", "robot.start_at_rest": True}
# Two unsynchronised clocks: a cycle of 1 ms beside one of 4 ms, with a different phase and 50 ppm apart.
APART = {"pair.cycle": "1 ms", "pair.phase": "0.3 ms", "pair.drift": 5e-5}


def run(*settings, method="pida"):
    changes = {key: value for each in settings for key, value in each.items()}
    return hilt.run("docking", "table1", {"compensate.method": method, **changes})


def test_a_robot_without_a_share_changes_nothing():
    """Then the servicer's robot makes the whole motion, with the delay of both: the same rows as with one such robot."""
    one = run({"loop.period": "4 ms", "robot.delay": "30 ms"})
    two = run({"loop.period": "4 ms", "robot.delay": "30 ms", "target_robot.delay": "12 ms", "pair.share": 0.0}, APART)
    assert np.abs(one["X_WB_true.p"] - two["X_WB_true.p"]).max() < 1e-12
    assert np.abs(two["hall_poses"][:, 7:10]).max() == 0.0


@pytest.mark.parametrize("share", [0.25, 1.0, "masses"])
def test_before_the_contact_any_share_moves_as_one_robot_would(share):
    """Uniform motion is delayed by both alike, whatever their cycles; a cycle that really takes 50 ns longer is that late."""
    one = run({"loop.period": "4 ms", "robot.delay": "30 ms"})
    two = run({"loop.period": "4 ms", "robot.delay": "30 ms", "target_robot.delay": "12 ms", "pair.share": share}, APART)
    first = int(np.argmax(one["contact"] != 0))
    assert first > 100
    assert np.abs(one["X_WB_true.p"] - two["X_WB_true.p"])[:first].max() < 1.01 * 0.02 * 50e-9
    whole = 300 / 4300 if share == "masses" else share
    apart = two["hall_poses"][:first, 0] - two["hall_poses"][:first, 7]
    assert two["hall_poses"][:first, 7] == pytest.approx(-whole * apart, abs=0.02 * 50e-9)


def test_the_controller_believes_in_the_slower_robot():
    values = job.find("docking", "table1", ["robot.delay=12 ms", "target_robot.delay=30 ms", "pair.slack=1 ms"])[1]
    one = values.with_one_robot
    # The target's robot is not the clock: it waits for its cycle of 4 ms, half a tick of 1 ms and the slack.
    assert one.robot.delay == pytest.approx(0.030 + 0.004 + 0.0005 + 0.001)
    assert one.target_robot is None
    assert values.pairing.later("servicer") == pytest.approx(one.robot.delay - 0.012)
    swapped = job.find("docking", "table1", ["robot.delay=12 ms", "target_robot.delay=30 ms", "pair.clock=target"])[1]
    assert swapped.with_one_robot.robot.delay == 0.030


@pytest.mark.parametrize(
    "more", [{"pair.share": 0.5}, {**APART, "pair.share": "masses"}, {"pair.share": 0.5, "pair.clock": "target"}]
)
def test_twin_on_robots_of_12_and_30_ms(more):
    """|CoV - 1| ≤ 0.03 and |CoF - 1| ≤ 0.08; momentum and energy as with one robot."""
    one, two = run(LOOP, SLOW, method="twin"), run(LOOP, SLOW, FAST, more, method="twin")
    assert two.fault is None
    assert two.metrics["cov"] == pytest.approx([1.0] * 5, abs=0.03)
    assert two.metrics["cof"] == pytest.approx([1.0] * 5, abs=0.08)
    momentum = 300.0 * 0.02
    # 1e-12 of it: the bodies get the same force with opposite signs; the rest is 1e4 roundings.
    for each in (one, two):
        assert each["P_N"][:, 0] == pytest.approx(momentum, rel=1e-12)
    # Energy is kept by the contact, as CoV is 1: between contacts both runs have that of the approach, within 3 % of the speed.
    kinetic = 0.5 * 300.0 * 0.02**2
    for each in (one, two):
        free = each["contact"] == 0
        assert each["H"][free][-1] == pytest.approx(kinetic, rel=0.06)
    assert two["H"][-1] == pytest.approx(one["H"][-1], rel=0.01)


def test_no_slip_and_no_double_step_in_ten_minutes_of_drifting_clocks():
    """A robot of 1 ms beside the loop's of 4 ms, 50 ppm apart: in 600 s it has made 30 of its cycles less."""
    changes = ["loop.period=4 ms", "robot.delay=30 ms", "target_robot.delay=12 ms", "pair.share=0.5", "frames.gap=100 m"]
    changes += ["pair.cycle=1 ms", "pair.phase=0.3 ms", "pair.drift=5e-5", "approach.speed=10 mm/s"]
    _, values, _ = job.find("docking", "table1", changes)
    bench = DOCKING.set_up(values)
    sig, w, p = bench.row[0], bench.w[0]["robot"], bench.p[0]["robot"]
    step = next(block.kind.step for block in DOCKING.plant if block.kind.name == "two-robots")
    ticks, cycle = 150_000, 1e-3 * (1.0 + 5e-5)
    cycles, phases, places = (np.zeros(ticks) for _ in range(3))

    @numba.njit
    def go(sig, w, p, cycles, phases, places):
        for k in range(len(cycles)):
            sig.X_WB_cmd.p[0] = 0.01 * 0.004 * k
            step(sig, w, p, 0.004)
            cycles[k], phases[k], places[k] = w.clock.cycles, sig.clock_phase, sig.hall_poses[7]

    go(sig, w, p, cycles, phases, places)
    t = 0.004 * np.arange(ticks)
    passed = (t - 0.3e-3) / cycle
    sure = np.abs(passed - np.round(passed)) > 1e-6  # where a cycle begins with a tick, rounding decides which is first
    began = np.floor(passed)
    assert np.array_equal(cycles[sure], began[sure] + 1)
    assert cycles[-1] == pytest.approx(600.0 / cycle, abs=5)  # the last tick is 4 ms before the end
    assert np.abs(phases - (passed - began) * cycle)[sure].max() < 1e-7  # rounding of 600 000 sums; 0.1 ms is allowed
    steps = np.diff(places[20:])  # once it moves
    # A cycle that really takes 50 ns longer is that late: v · 50 ns, once at each end of a step.
    assert steps == pytest.approx(np.full(len(steps), -0.5 * 0.01 * 0.004), abs=2 * 0.5 * 0.01 * 50e-9)
