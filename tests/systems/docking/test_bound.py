"""The least CoF of a first touch: closed form, full braking, and a linear programme that uses neither."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.core.faults import InputError
from hilt.plant.robot import second_order_matrices
from hilt.systems.docking.analysis.bound import (
    Touch,
    clock_for,
    clock_needed,
    critical_stiffness,
    effective_mass,
    full_brake,
    least_cof,
    least_cof_of,
    least_peak,
    stiffness_for,
    touch_of,
)
from hilt.systems.docking.analysis.bound_lp import least_cof_lp, least_peak_lp
from hilt.systems.docking.analysis.bound_phase import felt_after, least_cofs, spread_of
from hilt.systems.docking.analysis.methods import all_methods
from hilt.systems.docking.metrics import damped_contact, ideal_of
from hilt.systems.docking.paper.twin_runs import pure
from hilt.systems.docking.paper.twin_touches import touches
from hilt.systems.docking.views.advice import force_error, least_loss, needed, section, warnings
from hilt.systems.docking.views.bound import bound as bound_for

MASS, SPEED, STIFFNESS = 300.0 * 4000.0 / 4300.0, 0.02, 176275.0
OMEGA = math.sqrt(STIFFNESS / MASS)
LATE = Touch(
    speed=SPEED,
    mass=MASS,
    stiffness=STIFFNESS,
    damping=0.0,
    hertz=False,
    dead_time=0.04,
    T1=0.0,
    T2=0.0,
    sensor=0.0,
    threshold=1e-3,
    period=1e-3,
    acceleration=5.0 * SPEED * OMEGA,
    fastest=1.5 * SPEED,
)


def second_order(zeta, lag, dead=0.0, touch=LATE):
    """`lag` = 2ζ/ω_n."""
    return replace(touch, dead_time=dead, T1=lag, T2=(lag / (2.0 * zeta)) ** 2)


ROBOTS = [
    second_order(zeta, lag, dead)
    for zeta in (0.5, 0.7, 1.0, 1.5)
    for lag, dead in ((0.018, 0.0), (0.038, 0.0), (0.012, 0.006), (0.028, 0.01))
]


@pytest.mark.parametrize("clock", [1.0, 0.95, 0.8])
@pytest.mark.parametrize("n", [3.0, 5.0])
def test_a_pure_delay_has_the_closed_form(n, clock):
    touch = replace(LATE, acceleration=n * SPEED * OMEGA, clock=clock)
    formula = least_cof(OMEGA, touch.t_b, n, clock)
    assert touch.t_b == pytest.approx(0.041)
    assert least_cof_of(touch) == pytest.approx(formula, rel=1e-12)
    # The peak is at most half a step from a node, where the depth is lower by at most A h²/8.
    peak, _, step = least_peak_lp(touch, 43)
    depth = peak / STIFFNESS
    true = SPEED * clock * touch.t_b + (SPEED * clock) ** 2 / (2.0 * touch.acceleration)
    assert -touch.acceleration * step**2 / 8.0 - 1e-12 <= depth - true <= 1e-12


def test_the_programme_converges_with_the_square_of_its_step():
    # Full braking reaches its peak at 0.4 of the horizon, on these grids 0.2 of a step beside a node: A (0.2 h)²/2 too low.
    for steps in (12, 22, 42, 82):
        peak, _, step = least_peak_lp(LATE, steps)
        assert least_peak(LATE) - peak == pytest.approx(STIFFNESS * LATE.acceleration * (0.2 * step) ** 2 / 2.0, rel=1e-4)


@pytest.mark.parametrize("touch", ROBOTS, ids=lambda touch: f"{touch.dead_time}-{touch.T1}-{touch.T2:.2g}")
def test_full_braking_is_what_the_programme_finds(touch):
    braked = full_brake(touch)
    assert braked.best
    # The grid has steps of up to 2 ms, in which the tip moves 2 % of the ideal depth: the error is of the order of its square.
    assert least_peak_lp(touch)[0] / touch.ideal == pytest.approx(least_peak(touch) / touch.ideal, abs=1e-3)
    # Nothing passes a robot of this kind earlier than its dead time.
    bare = replace(touch, T1=0.0, T2=0.0)
    assert least_peak(touch) > least_peak(bare)


def test_damping_counts_in_the_force():
    touch = replace(second_order(0.7, 0.03, 0.01), damping=1000.0)
    assert full_brake(touch).best
    assert least_peak_lp(touch)[0] / touch.ideal == pytest.approx(least_peak(touch) / touch.ideal, abs=1e-3)
    restitution, per_speed = damped_contact(touch.stiffness, touch.damping, touch.mass)
    assert restitution < 1.0
    assert touch.ideal == pytest.approx(per_speed * SPEED, rel=1e-6)
    # If a robot overshoots so much that braking hard pushes later on, full braking is not claimed to be the best.
    wild = replace(second_order(0.02, 0.002, 0.01), damping=20e3)
    assert not full_brake(wild).best
    assert least_peak(wild) is None
    assert least_cof_lp(wild) >= 1.0


def test_a_robot_that_gets_the_programmes_command_reaches_the_bound():
    touch = second_order(0.5, 0.028, 0.01)
    peak, rates, step = least_peak_lp(touch)
    fine = 20
    h = step / fine
    phi, gamma = second_order_matrices(touch.T2**-0.5, 0.5 * touch.T1 / math.sqrt(touch.T2), h)
    nodes = step * np.arange(len(rates))
    t = h * np.arange(fine * (len(rates) - 1) + 1)
    rate = np.interp(t, nodes, rates)
    w = SPEED * (touch.t_b + touch.T1) + np.concatenate([[0.0], np.cumsum(0.5 * h * (rate[1:] + rate[:-1]))])
    x, depths = np.array([SPEED * touch.t_b, SPEED]), [SPEED * touch.t_b]
    for before, after in itertools.pairwise(w):
        x = phi @ x + gamma @ np.array([before, after])
        depths.append(x[0])
    assert touch.stiffness * max(depths) == pytest.approx(peak, rel=1e-3)
    assert np.abs(np.diff(rates)).max() <= touch.acceleration * step * (1 + 1e-9)
    assert np.abs(rates).max() <= touch.fastest * (1 + 1e-9)


def test_where_the_bound_is_one_the_ideal_peak_is_reached():
    # Commands within the limits are a convex set, and the peak is continuous on it: between a command that stays below the
    # ideal and one that keeps going (the peak grows without bound) there is one that meets it.
    touch = second_order(1.0, 0.028, 0.01)
    peak = least_peak_lp(touch)[0]
    assert least_cof_of(touch) == 1.0
    assert peak < touch.ideal
    braked = full_brake(touch)
    on = touch.tip_speed * braked.t

    def highest(share):
        return touch.stiffness * float((share * braked.depth + (1.0 - share) * on).max())

    shares = np.linspace(1.0, 0.0, 401)
    peaks = np.array([highest(share) for share in shares])
    assert (np.diff(peaks) >= -1e-9).all()
    assert peaks[0] < touch.ideal < peaks[-1]
    assert np.abs(peaks - touch.ideal).min() < 0.02 * touch.ideal


robots = st.builds(
    lambda zeta, lag, dead, n, fastest, clock, c: replace(
        second_order(zeta, lag, dead),
        acceleration=n * SPEED * OMEGA,
        fastest=fastest * SPEED,
        clock=clock,
        damping=c * 2.0 * math.sqrt(STIFFNESS * MASS),
    ),
    st.floats(0.4, 2.0),
    st.floats(0.004, 0.05),
    st.floats(0.0, 0.05),
    st.floats(1.0, 10.0),
    st.floats(1.01, 3.0),
    st.floats(0.3, 1.0),
    st.floats(0.0, 0.02),
)


@settings(max_examples=40, deadline=None)
@given(robots, st.floats(1.01, 1.5))
def test_delay_weakness_and_a_faster_clock_never_help(touch, more):
    peak = least_peak(touch)
    if peak is None:
        return
    rounding = 1e-6 * peak  # the curve has 1000 points, with a parabola over its top
    for worse in (
        replace(touch, dead_time=touch.dead_time * more + 1e-3),
        replace(touch, acceleration=touch.acceleration / more),
        replace(touch, fastest=max(1.0 * touch.tip_speed, touch.fastest / more)),
        replace(touch, clock=touch.clock * more),
    ):
        other = least_peak(worse)
        if other is not None and worse.tip_speed <= worse.fastest:
            assert other >= peak - rounding


def test_stiffness_and_clock_that_just_meet_five_percent():
    k = stiffness_for(LATE)
    assert k == pytest.approx(critical_stiffness(MASS, LATE.t_b, LATE.acceleration, SPEED), rel=1e-9)
    beta = clock_for(LATE)
    assert beta == pytest.approx(clock_needed(OMEGA, LATE.t_b, 5.0, 0.05), rel=1e-9)
    for touch in (LATE, second_order(0.5, 0.038, 0.01), replace(LATE, stiffness=1.2e7, hertz=True)):
        assert least_cof_of(touch) > 1.05
        assert least_cof_of(replace(touch, stiffness=stiffness_for(touch))) == pytest.approx(1.05, abs=1e-6)
        assert least_cof_of(replace(touch, clock=clock_for(touch))) == pytest.approx(1.05, abs=1e-6)
    assert clock_for(replace(LATE, dead_time=0.01)) == 1.0


def test_hertz_by_its_own_depth():
    values = job.find("docking", "table1", ["contact.kind=hertz", "robot.delay=40 ms"])[1]
    touch = touch_of(values)
    assert touch.ideal == pytest.approx(ideal_of(values).peaks[0], rel=1e-5)  # a fine run; its tick is 0.125 ms
    depth = SPEED * touch.t_b + SPEED**2 / (2.0 * touch.acceleration)
    assert least_peak(touch) == pytest.approx(6e6 * depth**1.5, rel=1e-12)
    assert least_peak_lp(touch)[0] == pytest.approx(least_peak(touch), rel=1e-3)


def test_off_the_centres_the_mass_is_the_effective_one():
    straight = job.find("docking", "table1", ["dof=6"])[1]
    assert effective_mass(straight) == pytest.approx(MASS, rel=1e-12)
    oblique = job.find("docking", "oblique", [])[1]
    touch = touch_of(oblique)
    assert touch.mass < 0.9 * oblique.reduced_mass
    # v_n √(k m_eff) is the peak of a fine run in six degrees of freedom; the bodies turn by less than 0.1° in the contact.
    assert touch.ideal == pytest.approx(ideal_of(oblique).peaks[0], rel=1e-3)


def test_noise_and_the_robots_own_limits_count():
    def bound(*settings):
        return least_cof_of(touch_of(job.find("docking", "table1", ["robot.delay=40 ms", *settings])[1]))

    clean = bound()
    assert clean == pytest.approx(1.1304, abs=1e-4)
    assert bound("compensate.method=twin") == clean  # of the scenario, not of the method that was run
    assert bound("sensor.noise=2 N") > clean
    assert bound("robot.acceleration_limit=1 m/s^2") > clean
    assert bound("force_filter.kind=first-order", "force_filter.cutoff=30 Hz") > clean


def docking(*settings, scenario="table1"):
    return job.find("docking", scenario, list(settings))[1]


@pytest.mark.parametrize(
    ("scenario", "words"), [("table1", "its bound is not known"), ("bending", "Hertz contact on a robot that bends")]
)
def test_no_bound_is_given_where_none_is_known(scenario, words):
    damping = 0 if scenario == "bending" else 100
    with pytest.raises(InputError, match=words):
        bound_for(docking("contact.kind=hertz", f"contact.damping={damping} N*s/m", scenario=scenario))


phases = st.floats(1e-3, 1.0)
thresholds = st.floats(0.0, 20.0)


@given(phases, thresholds)
def test_a_touch_is_detected_at_the_first_sample_above_the_threshold(phase, threshold):
    touch = replace(LATE, threshold=threshold)
    felt = felt_after(touch, phase)
    samples = felt / touch.period - phase
    assert samples == pytest.approx(round(samples), abs=1e-6), "samples are whole ticks apart"
    assert touch.unfelt - 1e-9 <= felt <= touch.unfelt + touch.period + 1e-9
    assert felt_after(touch, 1.0) == pytest.approx(touch.felt), "just after a tick"


def test_the_bound_over_the_phases_of_a_tick():
    """ω t_b + 1/(2n) with t_b uniform from F_th/(kv) to a tick more."""
    touch = replace(LATE, threshold=3.0)
    found = spread_of(touch)
    first = OMEGA * (touch.dead_time + touch.unfelt) + 0.1
    tick = OMEGA * touch.period
    assert found.mean == pytest.approx(first + 0.5 * tick, abs=0.02 * tick)
    assert found.cof.min() == pytest.approx(first, abs=0.03 * tick)
    assert found.cof.max() == pytest.approx(first + tick, abs=0.03 * tick)
    assert found.quantile(0.25) == pytest.approx(first + 0.25 * tick, abs=0.03 * tick)
    assert found.chance.sum() == pytest.approx(1.0)


@settings(max_examples=10, deadline=None)
@given(phases, st.floats(0.1, 3.0), st.sampled_from([LATE, ROBOTS[0], ROBOTS[6]]))
def test_the_bound_with_noise_agrees_with_random_draws(phase, noise, robot):
    touch = replace(robot, threshold=6.0 * noise, noise=noise)
    found = spread_of(touch, phase)
    random = np.random.default_rng(3)
    time = (phase + np.arange(200)) * touch.period
    drawn = STIFFNESS * SPEED * time + noise * random.standard_normal((20_000, 200)) > touch.threshold
    felt = time[np.argmax(drawn, axis=1)]
    wanted = least_cofs(touch, felt)
    assert found.mean == pytest.approx(wanted.mean(), abs=4.0 * wanted.std() / math.sqrt(len(wanted)) + 1e-6)
    tick = OMEGA * touch.period
    assert found.quantile(0.05) == pytest.approx(np.quantile(wanted, 0.05), abs=1.01 * tick)
    assert found.mean <= spread_of(replace(touch, noise=0.0), phase).mean + 0.5 * tick


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_no_run_is_below_the_bound_of_its_own_phase(noise):
    """On a pure delay the twin reaches it: without noise at each touch, with noise in the mean."""
    found = touches(pure(40), 5, noise, range(1, 21))
    assert found.phases.min() < 0.1
    assert found.phases.max() > 0.9
    assert found.beaten <= 1e-3
    chance = 4.0 * np.std(found.cof - found.mean) / math.sqrt(20)
    assert abs(found.above) <= 2e-4 + chance
    assert np.ptp(found.cof) > 0.8 * OMEGA * 1e-3, "the phase of the touch is worth a tick"


def test_a_run_in_real_time_stays_above_the_bound():
    # Touched just before a tick, the surface is detected up to a tick earlier than t_b assumes: ω T of CoF.
    for robot in (
        ["robot.delay=40 ms"],
        ["robot.kind=second-order", "robot.delay=40 ms", "robot.damping_ratio=0.5", "limits.command_acceleration_ratio=3"],
        ["robot.kind=delay+second-order", "robot.delay=40 ms", "robot.pure_delay=24 ms", "limits.command_acceleration_ratio=3"],
    ):
        values = docking("compensate.method=twin", "compensate.mode=realtime", *robot)
        found = job.simulate(job.registry.system("docking"), values).metrics
        assert found["bound_cof_after_tick"] > 1.05
        assert found["bound_cof_after_tick"] - OMEGA * 1e-3 < found["cof"][0] < found["bound_cof_after_tick"] + 0.01


def test_the_advice_takes_the_simplest_method_that_is_good_enough():
    late = docking("robot.delay=40 ms")
    found = all_methods(late)
    assert list(found) == ["none", "pic", "dac", "pida", "twin realtime", "twin guarded"]
    assert needed(found) == "twin guarded"
    # The table agrees with a run.
    alone = job.simulate(job.registry.system("docking"), late).metrics
    assert found["pida"].first_cof == alone["cof"][0]
    assert found["pida"].later_cof == max(alone["cof"][1:])
    words = section(job.simulate(job.registry.system("docking"), late), found)
    assert "This scenario needs <b>twin guarded</b>" in words
    assert "<i>+13 %</i>" in words
    assert needed(all_methods(docking("robot.kind=ideal", "robot.delay=0 s"))) == "none"


def test_random_cases_are_run_three_times():
    found = all_methods(docking("sensor.noise=0.5 N"))
    assert {len(each.runs) for each in found.values()} == {3}
    peaks = {run["cof"][0] for run in found["pida"].runs}
    assert len(peaks) == 3


def test_warnings_name_what_cannot_be_measured():
    def words(*settings, scenario="table1"):
        values = docking(*settings, scenario=scenario)
        return " ".join(warnings(values, ideal_of(values)))

    assert words() == ""
    assert "Loss uncertain" in words("sensor.noise=2 N", scenario="bench-1.93")
    assert "Loss not identifiable" in words("contact.damping=2 N*s/m", "sensor.delay=10 ms", scenario="bench-1.93")
    assert words(scenario="bench-1.93") == ""
    assert "above 2.2" in words("robot.delay=100 ms")
    assert "Friction" in words("contact.friction=0.2", scenario="oblique")
    assert "assumed wrong by 10 %, the force is wrong by 1.8 %" in words("robot.stiffness=0.5 N/um", "compensate.method=twin")
    assert (
        least_loss(docking()) < least_loss(docking("sensor.delay=0.2 ms")) < least_loss(docking("sensor.delay=10 ms")) < 0.004
    )
    assert least_loss(docking()) < least_loss(docking("sensor.noise=0.5 N")) < least_loss(docking("sensor.noise=2 N"))


@pytest.mark.parametrize("stiffness", ["0.5 N/um", "2 N/um"])
def test_the_force_is_as_wrong_as_the_stiffness_makes_it(stiffness):
    """For a known frame: -½ (k/K_f) δK_f/K_f, for ± 10 %. To first order; the second order is a tenth of it."""
    settings = ["compensate.method=twin", "compensate.mode=realtime", "collisions=3", "robot.kind=second-order"]
    robot = ["robot.delay=12 ms", "robot.damping_ratio=0.7", "sensor.delay=2 ms", f"robot.stiffness={stiffness}"]
    peaks = []
    for error in (-0.1, 0.1):
        result = job.simulate(
            *job.find("docking", "table1", [*settings, *robot, f"prior.compliance_error={1 / (1 + error) - 1}"])
        )
        peaks.append(result.metrics["cof"][2])
    values = docking(*settings, *robot)
    assert peaks[1] - peaks[0] == pytest.approx(2 * force_error(values, 0.1), rel=0.1)
