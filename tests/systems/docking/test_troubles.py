"""Effects that models often leave out: a robot that yields and starts from rest, a frame that moves, lost samples, drift."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.plant.robot import robot_step
from hilt.plant.sensor import target_sensor_step
from hilt.systems.docking.contact import contact_step
from hilt.systems.docking.contact_sense import contact_sense_step
from hilt.systems.docking.twin import bias, give_way, model
from hilt.systems.docking.twin.predict import Motion
from tests.systems.docking.beliefs import KINDS
from tests.systems.docking.benches import DT, FREE, K, parts

nanometres = st.floats(-1e-3, 2e-3).map(lambda depth: round(depth, 9))  # a depth larger than the rounding of positions


def press(sig, w, p, depth, rate=0.0, side=1):
    """Force on the frame when the encoders are `depth` deep in it."""
    sig.X_WB_true.p[0], sig.V_WB_true.v[0] = side * (FREE + depth), side * rate
    contact_step(sig, w.contact, p.contact, DT)
    return side * sig.F_C_true_W[0]


@settings(max_examples=40)
@given(st.floats(1e-6, 2e-3), st.floats(1e5, 1e8), st.sampled_from([-1, 1]), KINDS)
def test_a_robot_that_yields_is_a_spring_in_series(depth, stiffness, side, kind):
    sig, _, w, p = parts("table1", f"robot.stiffness={stiffness}", f"contact.kind={kind}")
    force, rel = press(sig, w, p, depth, side=side), 1e-9 if kind == "linear" else 1e-6
    assert force == pytest.approx(K * sig.penetration if kind == "linear" else 6e6 * sig.penetration**1.5, rel=rel)
    assert force == pytest.approx(stiffness * (depth - sig.penetration), rel=1e-6, abs=1e-9)
    assert side * sig.p_C_true_W[0] == pytest.approx(FREE + depth - force / stiffness, rel=1e-12)
    if kind == "linear":
        assert force == pytest.approx(depth / (1 / K + 1 / stiffness), rel=rel)


@given(st.lists(nanometres, min_size=2, max_size=30), st.floats(1e5, 1e7), KINDS)
def test_robot_and_frame_together_add_no_energy(depths, stiffness, kind):
    """Any motion in and back out, with damping: the work done on them is never negative."""
    sig, _, w, p = parts("table1", f"robot.stiffness={stiffness}", f"contact.kind={kind}", "contact.damping=300")
    work, last, before = 0.0, -1e-3, 0.0
    for depth in [*depths, -1e-3]:
        for at in np.linspace(last, depth, 40):
            force = press(sig, w, p, at) if at > 0 else press(sig, w, p, -1e-3)
            work += 0.5 * (force + before) * (max(at, 0.0) - max(last, 0.0))  # outside no work is done
            last, before = at, force
    # 40 chords of a curved path: their error is of second order in their length. And a position is known to one rounding.
    deepest = max(0.0, *depths)
    assert work >= -0.02 * 0.5 * K * deepest**2 - 40 * K * np.spacing(FREE) * deepest


def test_a_frame_moves_after_its_collisions():
    sig, _, w, p = parts("table1", "frames.shift=0.5 mm", "frames.shift_after=2")
    for side in (1, -1):
        assert press(sig, w, p, 1e-4, side=side) == pytest.approx(K * 1e-4)
        press(sig, w, p, -5e-3)
    assert press(sig, w, p, 1e-4) == 0.0
    assert press(sig, w, p, 6e-4) == pytest.approx(K * 1e-4)


def test_a_robot_may_start_from_rest():
    sig, _, w, p = parts("table1", "robot.delay=20 ms", "robot.start_at_rest=true")
    start = sig.X_WB_cmd.p[0]
    for k in range(1, 40):
        sig.X_WB_cmd.p[0] = start + 0.02 * k * DT
        robot_step(sig, w.robot, p.robot, DT)
        assert sig.X_WB_true.p[0] == pytest.approx(start + max(0.0, 0.02 * (k - 20) * DT), abs=1e-12)


def felt(sig, w, p, force):
    sig.F_C_true_W[0] = force
    target_sensor_step(sig, w.sensor, p.sensor, DT)
    return sig.F_So_S.f[0]


def test_a_bias_drifts():
    sig, _, w, p = parts("table1", "sensor.bias=[1, 0, 0]", "sensor.drift=[0.5, 0, 0]")
    shown = [felt(sig, w, p, 0.0) for _ in range(1000)]
    assert shown == pytest.approx(1.0 + 0.5 * DT * np.arange(1, 1001))


@pytest.mark.parametrize("longest", [1, 5])
def test_samples_are_lost_in_gaps_of_one_up_to_a_maximum(longest):
    """A gap begins with probability q when there is none: of 1/q + mean length samples, mean length are lost."""
    q, count = 0.05, 20_000
    sig, _, w, p = parts("table1", f"sensor.dropout={q}", f"sensor.dropout_length={longest}")
    shown = np.array([felt(sig, w, p, float(k)) for k in range(count)])
    lost = shown != np.arange(count)
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], lost, [0]]))))[::2]
    mean = 0.5 * (1 + longest)
    expected = mean / (1 / q - 1 + mean)
    assert lost.mean() == pytest.approx(expected, rel=5 / math.sqrt(count * q))
    assert runs.min() == 1
    assert set(range(1, longest + 1)) <= set(runs.tolist())
    held = np.flatnonzero(lost)
    assert (shown[held] == shown[held - 1]).all()


def flight(sig, x, p, force):
    sig.F_So_filt_S.f[:] = force
    bias.bias_step(sig, x.twin_bias, p.twin_bias, DT)
    contact_sense_step(sig, x.sense, p.sense, DT)


def test_a_bias_is_estimated_in_flight_and_only_there():
    sig, x, _, p = parts("table1", "compensate.method=twin", "compensate.mode=realtime", "dof=6", "sensor.noise=0.5 N")
    random = np.random.default_rng(5)
    for _ in range(500):
        flight(sig, x, p, (4.0 + 0.5 * random.standard_normal(), 1.0, 0.0))
    assert sig.F_bias_W[0] == pytest.approx(4.0, abs=4 * 0.5 / math.sqrt(500))
    assert sig.F_bias_W[1] == pytest.approx(1.0)
    seen = sig.F_bias_W.copy()
    flight(sig, x, p, (50.0, 1.0, 0.0))  # looks like a touch
    sig.touch = 1
    flight(sig, x, p, (4.5, 1.0, 0.0))
    sig.touch, sig.x_late = 0, FREE  # where a frame may be
    flight(sig, x, p, (4.6, 1.0, 0.0))
    assert np.array_equal(sig.F_bias_W, seen)
    assert sig.F_mea_W == pytest.approx((4.6, 1.0, 0.0) - seen, abs=1e-15), "later blocks use the force without it"


def test_a_repeated_sample_is_an_old_one():
    sig, x, _, p = parts("table1", "compensate.method=twin")
    fresh = []
    for force in (1.0, 1.0, 2.0, 2.0, 2.0, math.nan, 1.0):
        flight(sig, x, p, (force, 0.0, 0.0))
        fresh.append(int(sig.fresh))
    assert fresh == [1, 0, 1, 0, 0, 1, 1]
    assert np.isfinite(sig.F_bias_W).all()


@given(st.floats(1e-6, 2e-3), st.floats(-0.1, 0.1), st.floats(0, 1e-5), st.sampled_from([model.LINEAR, model.HERTZ]))
def test_the_command_to_a_robot_that_yields_puts_its_tip_where_it_should_be(depth, v, C, kind):
    """At the commanded position it is pushed back by C f̂ to where the tip should be; its speed follows from the chain rule."""
    frame = model.Frame(1.0, model.KNOWN, kind, K, 0.0, 33000.0, FREE)
    r = FREE + depth
    u, du, *_ = give_way.stretched(frame, C, Motion(r, v, 0.0, 0.0))
    assert u - C * model.force(frame, r, 0.0) == pytest.approx(r, rel=1e-12)
    h = 1e-4 * depth
    ahead, behind = (give_way.stretched(frame, C, Motion(r + s, v, 0.0, 0.0)).r for s in (h, -h))
    assert du == pytest.approx(v * (ahead - behind) / (2 * h), rel=1e-5, abs=1e-12)
    assert give_way.tip_speed(frame, C, r, du) == pytest.approx(v, rel=1e-12, abs=1e-15)
    assert give_way.stretched(frame, 0.0, Motion(r, v, 1.0, 2.0)) == (r, v, 1.0, 2.0)
