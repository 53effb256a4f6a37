"""Twin, steps 4 and 5: the force on the simulated body, the loss in the frame, and that no energy is ever added."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.metrics import damped_contact
from hilt.systems.docking.twin import balance, body, model
from hilt.systems.docking.twin.bending import learn
from tests.systems.docking import beliefs, benches, spoiled
from tests.systems.docking.benches import DT, K

MASS, SPEED = 279.0697674, 0.02
number = st.floats(-1e6, 1e6)


def bench(*changes):
    return benches.bench("table1", "compensate.method=twin", *changes)


def at_rest():
    """A stage of the body that has not had any input yet."""
    _, made = bench("compensate.mode=realtime")
    return made.row[0], made.x[0].twin_body, made.p[0].twin_body


def account_of(v, entry):
    """Account of bodies that entered with `entry` and now have v."""
    return body.Account(v * v, 0.5 * MASS * (entry * entry - v * v), MASS, 1.0 / MASS)


@given(st.floats(-10, 10), number, st.floats(0, 10), st.floats(0, 1e3), st.sampled_from([-1.0, 1.0]))
def test_the_way_out_is_never_faster_than_the_way_in(v, v_next, entry, dissipated, e):
    found = body.bounded(v_next, account_of(v, entry), dissipated, e)
    if v_next * e < 0.0:
        assert abs(found) <= abs(v_next)
        assert found**2 <= entry**2 + 1e-14 * (v * v + entry**2), "except for rounding of the energy at v"
        assert found * e <= 0.0
    else:
        assert found == v_next


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from([-1.0, 1.0]))
def test_the_exit_returns_at_most_what_came_in_and_a_tenth_more_than_there_was(v, entry, loss, e):
    found = body.closed(v, entry, account_of(v, entry), loss * 0.5 * MASS * entry**2, e)
    assert found * e <= 0.0
    assert found**2 <= entry**2 * (1 - loss) + 1e-14 * (v * v + entry**2)
    assert found**2 <= v * v + 0.1 * entry**2 + 1e-12


moment = st.tuples(
    st.floats(-1e5, 1e5),
    st.floats(-0.02, 0.02),
    st.floats(-0.1, 0.1),
    st.sampled_from([-1, 0, 0, 1]),
    st.sampled_from([0, 1, 2, 3, 4]),
    st.floats(0, 1),
    st.floats(0.3, 1.0),
)


@given(*[beliefs.frames(-0.02, 0.02)] * 2, st.lists(moment, min_size=1, max_size=12), st.floats(-0.02, 0.02))
def test_no_force_and_no_estimate_makes_the_body_faster(front, rear, moments, start):
    """Any measured force, position, contact and event in any order, any parameters of the frames, any clock."""
    sig, x, p = at_rest()
    beliefs.tell(sig, front, rear)
    sig.x_sim, sig.v_sim = start, SPEED
    for force, late, rate, touch, event, loss, clock in moments:
        sig.F_n, sig.x_late, sig.v_late, sig.touch, sig.touch_event = force, late, rate, touch, event
        sig.loss, sig.clock_rate = loss, clock
        body.body_on_a_line_step(sig, x, p, DT)
        sig.v_sim -= clock * DT * sig.F_hat_W[0] / p.mass
        sig.x_sim += clock * DT * sig.v_sim
        assert abs(sig.v_sim) <= SPEED * (1 + 1e-9)


def test_without_delay_the_body_gets_the_measured_force():
    """Smith form: where robot and twin are in the same position the model cancels."""
    sig, x, p = at_rest()
    sig.frame_known[0] = model.KNOWN
    sig.x_sim = sig.x_late = 10.5e-3
    sig.v_sim = sig.v_late = 0.01
    sig.F_n, sig.touch = 70.0, 1
    body.body_on_a_line_step(sig, x, p, DT)
    assert sig.F_hat_W[0] == pytest.approx(70.0)
    sig.x_sim += 1e-4
    body.body_on_a_line_step(sig, x, p, DT)
    assert sig.F_hat_W[0] == pytest.approx(70.0 + K * 1e-4)


def robots_contact(zeta, pace, phase):
    """Depth, speed and force of a robot in a damped contact replayed at `pace`, sampled at a phase of the tick."""
    omega, c = pace * math.sqrt(K / MASS), 2.0 * zeta * math.sqrt(K * MASS)
    root = math.sqrt(1.0 - zeta * zeta)
    before, after = 6, int(1.3 * math.pi / omega / DT)
    t = (np.arange(-before, after) + phase) * DT
    swing = np.exp(-zeta * omega * np.maximum(t, 0.0))
    sine, cosine = np.sin(omega * root * t), np.cos(omega * root * t)
    depth = np.where(t < 0, pace * SPEED * t, pace * SPEED / (omega * root) * swing * sine)
    rate = np.where(t < 0, pace * SPEED, pace * SPEED * swing * (cosine - zeta / root * sine))
    force = np.where(t < 0, 0.0, np.maximum(0.0, K * depth + c * rate))
    left = np.flatnonzero((t > 0) & (force == 0.0))[0]  # it flies on
    depth[left:], rate[left:] = depth[left] + (t[left:] - t[left]) * rate[left], rate[left]
    return depth, rate, np.where(np.arange(len(t)) < left, force, 0.0), c


def settle(zeta, pace=1.0, phase=0.3, delay=0.0, noise=0.0):
    """The balance of one contact; the sensor's samples are between ticks if `delay` is not a whole number of them."""
    _, made = bench("compensate.mode=realtime", f"sensor.noise={noise} N")
    sig, x, p = made.row[0], made.x[0].twin_balance, made.p[0].twin_balance
    depth, rate, force, c = robots_contact(zeta, pace, phase)
    depth, rate, force = ((1.0 - delay) * each[1:] + delay * each[:-1] for each in (depth, rate, force))
    sig.v_entry, sig.m_eff, sig.frame_known[0] = SPEED, MASS, model.KNOWN
    sig.frame_k[0], sig.frame_c[0] = K, c
    random = np.random.default_rng(7)
    begins = np.flatnonzero(force > 1e-3)[0]
    ends = begins + np.flatnonzero(force[begins:] <= 0.0)[0] + 1
    for i in range(ends + 1):
        sig.x_late, sig.v_late = sig.frame_s[0] + depth[i], rate[i]
        sig.F_n = force[i] + noise * random.standard_normal()
        sig.touch = 1 if begins <= i < ends else 0
        sig.touch_event = 1 if i == begins else 2 if i == ends else 0
        balance.balance_step(sig, x, p, DT)
    return sig.loss


def in_space(zeta):
    return 1.0 - damped_contact(K, 2.0 * zeta * math.sqrt(K * MASS), MASS)[0] ** 2


@given(st.floats(1e-4, 0.6), st.sampled_from([balance.lost, learn.loss_of]))
def test_a_damping_ratio_dissipates_what_it_does_in_space(zeta, loss):
    assert loss(zeta) == pytest.approx(in_space(zeta), rel=1e-9)


@pytest.mark.parametrize("pace", [0.6, 1.0, 1.3])
@pytest.mark.parametrize("zeta", [0.005, 0.02, 0.05])
@pytest.mark.parametrize(("phase", "delay"), [(0.0, 0.0), (0.4, 0.0), (0.05, 0.5), (0.5, 0.5), (0.9, 0.3)])
def test_the_loss_is_that_of_the_bodies_whatever_the_robot_did(zeta, pace, phase, delay):
    """The robot loses less in a contact replayed more slowly. One part in 1e3 of the speed is 2e-3 here."""
    assert settle(zeta, pace, phase, delay) == pytest.approx(in_space(zeta), abs=5e-4)


def test_an_elastic_frame_keeps_nothing():
    assert settle(0.0) == 0.0
    assert settle(0.0, delay=0.5) == 0.0


def test_a_loss_that_noise_could_explain_counts_as_zero():
    assert settle(0.0003, noise=0.5) == 0.0
    assert settle(0.0127, noise=0.5) == pytest.approx(in_space(0.0127), abs=0.005)


def test_the_bodys_loss_is_counted_while_the_body_itself_is_in_contact():
    """A late robot still touches, and F̂ > 0 by noise; the damped frame releases the body at F = 0, c v/k before its surface."""
    sig, x, p = at_rest()
    sig.frame_known[0], sig.frame_c[0], sig.frame_k[0], sig.frame_s[0] = model.KNOWN, 1000.0, K, 10e-3
    sig.touch, sig.v_sim, sig.x_sim, sig.x_late, sig.v_late = 1, -SPEED, 10.3e-3, 10.6e-3, -SPEED
    sig.F_n = model.force(model.frame_of(sig, 1), sig.x_late, sig.v_late) + 50.0
    while sig.x_sim > 9.7e-3:
        body.body_on_a_line_step(sig, x, p, DT)
        sig.x_sim -= SPEED * DT
    assert sig.F_comp_W[0] > 0.0
    assert sig.v2_twin == pytest.approx(SPEED * (0.3e-3 - 1000.0 * SPEED / K), rel=1e-9)


@pytest.mark.parametrize("robot", [(), ("robot.kind=second-order", "sensor.delay=2 ms", "robot.damping_ratio=0.5")])
@pytest.mark.parametrize("fault", spoiled.FAULTS)
def test_a_broken_sensor_adds_no_energy(robot, fault):
    _, made = bench("robot.delay=40 ms", "sensor.noise=0.5 N", *robot)
    v = np.array(spoiled.run(made, 3000, spoiled.sensor(fault, 560, 1), lambda sig, _: sig.v_twin))
    assert np.isfinite(v).all(), "non-finite values are not taken over"
    assert np.abs(v).max() <= SPEED * (1 + 1e-9)


@settings(max_examples=60)
@given(st.fixed_dictionaries(beliefs.STIFF), st.floats(20, 2000), st.floats(0, 0.3), st.floats(0.4, 2.0), st.floats(0.5, 1.0))
def test_the_simulated_speed_never_exceeds_its_start(drawn, mass, zeta, damping, clock):
    values, made = bench(
        f"servicer.mass={mass}",
        f"contact.damping={2 * zeta * math.sqrt(drawn['contact.stiffness'] * mass)}",
        f"robot.damping_ratio={damping}",
        *beliefs.settings_of(drawn),
        "compensate.mode=realtime",
        "loop.duration=6 s",
    )
    made.p[0].twin_clock.realtime, made.p[0].twin_clock.guarded = 0, clock
    result = job.finish(DOCKING, values, "", benches.run(made))
    assert result.metrics["max_speed_ratio"] <= 1 + 1e-9
    assert result.metrics["command_speed_ratio"] <= 1.5 * (1 + 1e-9)
    assert result.metrics["command_acceleration_ratio"] <= 5 * (1 + 1e-6)
    assert abs(result.ledger["residual_J"]) <= 1e-9 * max(result.ledger["exchanged_J"], 1e-9)
