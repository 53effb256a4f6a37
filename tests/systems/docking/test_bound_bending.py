"""The bound of a first touch on a robot that bends: limiting cases, and that nothing goes below it."""

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

from hilt.core.faults import InputError
from hilt.systems.docking.analysis import bound_bending
from hilt.systems.docking.analysis.bound import cof_just_after_tick, touch_of
from hilt.systems.docking.analysis.bound_bending import Tip, forces, least_cof, least_touch, limits, tip_of
from hilt.systems.docking.analysis.bound_lp import least_cof_lp
from hilt.systems.docking.paper import twin_bending, twin_runs
from hilt.systems.docking.views import bound as view

ROBOTS = [
    twin_bending.bending(dead, zeta, stiffness, mode)
    for dead, zeta, stiffness, mode in (
        (0, 0.5, 0.3, 8),
        (20, 0.7, 1.0, 8),
        (30, 0.5, 1.0, 12),
        (30, 0.7, 2.0, 12),
        (30, 1.0, 0.3, 20),
    )
]


def values_of(robot, *changes):
    return twin_runs.scenario("table1", "compensate.method=twin", "compensate.mode=realtime", *robot, *changes)


def touch_and_tip(robot, *changes):
    values = values_of(robot, *changes)
    return touch_of(values), tip_of(values)


@functools.cache
def solved(robot):
    """Touch and tip, the best command, and the forces that a command causes."""
    touch, tip = touch_and_tip(robot)
    return touch, tip, least_touch(touch, tip), forces(touch, tip)


@pytest.mark.parametrize("dead_time", [30, 40])
@pytest.mark.parametrize("damping", ["0 N*s/m", "200 N*s/m"])
def test_a_robot_that_hardly_bends_has_the_bound_of_a_stiff_one(dead_time, damping):
    robot = ("robot.kind=delay+second-order", f"robot.delay={dead_time + 10} ms", f"robot.pure_delay={dead_time} ms")
    touch = touch_of(values_of(robot, f"contact.damping={damping}"))
    found = least_cof(touch, Tip(stiffness=1e9, omega=2e4, damping_ratio=0.5))
    assert found > 1.05
    # k/K_f is 2e-4; both grids are of order h², 3e-4 here.
    assert found == pytest.approx(least_cof_lp(touch), abs=1e-3)


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_best_command_has_that_peak_in_an_independent_integration(robot):
    touch, tip, found, nodes = solved(robot)
    at = touch.t_b + nodes.step * np.arange(len(found.rates))

    def rate(t):
        return touch.tip_speed if t < touch.t_b else float(np.interp(t, at, found.rates))

    def push(z):
        return max(0.0, touch.stiffness * z[2]) if z[2] > 0.0 else 0.0

    def derivative(t, z):
        xm, vm, xt, vt, w = z
        pull = tip.stiffness * (xm - xt) + 2.0 * tip.damping_ratio * tip.mass * tip.omega * (vm - vt)
        return [vm, (w - xm - touch.T1 * vm) / touch.T2, vt, (pull - push(z)) / tip.mass, rate(t)]

    v = touch.tip_speed
    start, end = [0.0, v, 0.0, v, touch.T1 * v], found.t[-1]
    seen = solve_ivp(derivative, (0.0, end), start, "DOP853", found.t, rtol=1e-10, atol=1e-14, max_step=nodes.step)
    assert np.array([push(z) for z in seen.y.T]) == pytest.approx(found.force, abs=1e-5 * found.peak)


@pytest.mark.parametrize("robot", ROBOTS[1:4])
def test_no_command_lifts_the_tip_off_before_a_peak_above_that_of_space(robot):
    """So the force of a tip that stays in contact is the actual force, for every command, as long as the bound needs it. If the
    lowest peak found is below that of space, a command reaches it, and the bound is 1 whatever other commands do."""
    touch, _, found, nodes = solved(robot)
    assert found.peak > touch.ideal
    assert (found.force[1 : len(nodes.early)] > 0.0).all()
    peak = int(np.argmax(nodes.late(found.rates)[: len(found.t) - len(nodes.early)]))
    A, b = limits(touch, nodes.step, len(nodes.given))
    most = touch.fastest / touch.tip_speed
    for node in range(0, peak + 1, 5):
        least = linprog(nodes.caused[node] / touch.ideal, A, b, bounds=[(1.0, 1.0), *[(-most, most)] * (len(b) // 2)])
        assert nodes.given[node] / touch.ideal + touch.tip_speed * least.fun > 0.0


@pytest.mark.parametrize("robot", ROBOTS)
def test_no_other_command_has_a_lower_peak(robot):
    touch, _, found, nodes = solved(robot)
    draw, count = np.random.default_rng(1), len(nodes.given)
    largest = touch.acceleration * nodes.step
    for _ in range(200):
        held = np.repeat(draw.uniform(-1.0, 1.0, 12), -(-count // 12))[: count - 1]
        speeds = [touch.tip_speed]
        for each in held * largest:
            speeds.append(float(np.clip(speeds[-1] + each, -touch.fastest, touch.fastest)))
        force = np.concatenate([nodes.early, nodes.late(np.array(speeds))])
        until = int(np.argmax(force < 0.0)) if (force < 0.0).any() else len(force)
        assert force[:until].max() >= found.peak * (1.0 - 1e-9)


def test_a_finer_grid_changes_it_by_little():
    touch, tip = touch_and_tip(ROBOTS[1])
    coarse, fine, finest = (least_cof(touch, tip, steps) for steps in (100, 200, 400))
    assert [coarse, fine] == pytest.approx([finest] * 2, abs=2e-4)


@pytest.mark.parametrize("robot", ROBOTS[1:4])
def test_the_twin_in_real_time_comes_near_to_it(robot):
    """Exact beliefs and no noise: the phase of the tick alone is worth ωT = 0.025 of it."""
    runs = twin_runs.run(
        "collisions=1", "sensor.noise=0 N", robots=[robot], seeds=range(1, 2), mode="realtime", errors=lambda _: {}
    )
    touch, tip = touch_and_tip(robot, "sensor.noise=0 N")
    over = float(runs.cof[0, 0, 0]) - least_cof(touch, tip)
    assert -touch.omega * touch.period <= over <= 0.03


def test_its_metric_is_missing_and_hilt_bound_has_it():
    values = values_of(ROBOTS[1])
    assert cof_just_after_tick(values) is None
    found = view.bound(values)
    assert found.cof == view.bound_of(values) == least_cof(*touch_and_tip(ROBOTS[1])) > 1.05
    assert "at least 1.08 times the force in space" in found.sentence
    assert "the robot bends: stiffness at the tip" in dict(found.rows())
    easy = view.bound(values_of(ROBOTS[0]))
    assert easy.cof == 1.0
    assert easy.sentence.startswith("Real time forces no excess")
    assert view.bound(twin_runs.scenario("bending")).cof == 1.0


def test_what_cannot_be_computed_is_one_sentence():
    touch, _ = touch_and_tip(ROBOTS[0])
    with pytest.raises(InputError, match="cannot be computed"), np.errstate(all="ignore"):
        bound_bending.least_cof(touch, Tip(1.0, 1e200, 0.5))
