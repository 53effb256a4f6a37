"""Link, operator and slave arm, each on its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.plant.grip import grip_step
from hilt.systems.payload import PAYLOAD
from hilt.teleop.link import link_step
from hilt.teleop.operator import operator_step
from hilt.teleop.slave import slave_step

DT = 0.01


def bench(name, *settings_):
    _, values, _ = job.find("payload", name, [f"loop.period={DT}", *settings_])
    made = PAYLOAD.set_up(values)
    return values, made.row[0], made.x[0], made.w[0], made.p[0]


def values_playout(seconds):
    """Play-out in whole ticks."""
    return np.ceil(seconds / DT - 1e-9) * DT


def send(sig, x, p, ticks, signal=lambda t: t):
    """What orbit plays out while the ground sends a signal of time as its reference velocity."""
    played, silence = [], []
    for k in range(ticks):
        sig.tick, sig.t = k, k * DT
        sig.v_r[0] = sig.x_vir[0] = signal(sig.t)
        link_step(sig, x.link, p.link, DT)
        played.append(sig.v_r_orbit[0])
        silence.append(sig.link_silence)
    return np.array(played), np.array(silence)


@settings(max_examples=12)
@given(st.floats(0.0, 3.0), st.floats(0.0, 0.5), st.floats(0.0, 0.4))
def test_a_ramp_comes_out_one_playout_delay_later(delay, jitter, loss):
    """Whatever is late or lost: time stamps give the ramp back, but for the newest packets, which have no successor yet."""
    _, sig, x, _, p = bench("hils-2", f"link.delay={delay}", f"link.jitter={jitter}", f"link.loss={loss}")
    played, silence = send(sig, x, p, 450)
    t = np.arange(450) * DT
    settled = t > delay + jitter + 0.5
    late = t - played - values_playout(delay + jitter)
    assert (late[settled] >= -1e-9).all()
    assert (late[settled] <= silence[settled] + 1e-9).all()


@settings(max_examples=12)
@given(st.floats(0.05, 2.0))
def test_a_clean_link_is_a_delay_and_nothing_else(delay):
    _, sig, x, _, p = bench("hils-2", f"link.delay={delay}")
    played, silence = send(sig, x, p, 300, signal=lambda t: np.sin(t))
    t = np.arange(300) * DT - values_playout(delay)
    assert played[t > 0] == pytest.approx(np.sin(t[t > 0]), abs=1e-9)
    assert (silence == 0).all()


def test_losses_are_counted_and_an_outage_is_silence():
    _, sig, x, _, p = bench("hils-2", "link.delay=0.5", "link.loss=0.3", "link.outage_start=2", "link.outage_duration=1")
    _, silence = send(sig, x, p, 600)
    assert sig.link_sent == 600
    assert sig.link_lost == pytest.approx(0.3 * 500 + 100, abs=40)
    t = np.arange(600) * DT
    assert silence[(t > 3.0) & (t < 3.45)].min() > 0.4
    assert silence[t > 3.8].max() < 0.2


def test_two_runs_lose_the_same_packets_and_another_seed_loses_others():
    arrivals = []
    for seed in (1, 1, 2):
        _, sig, x, _, p = bench("hils-2", "link.loss=0.3", f"seed={seed}")
        send(sig, x, p, 200)
        arrivals.append(x.link.arrival[:200].copy())
    assert (arrivals[0] == arrivals[1]).all()
    assert (arrivals[0] != arrivals[2]).any()


def test_a_human_arrives_without_running_over():
    """An arm that follows at once: the hand stops within a few millimetres of the way it has to go."""
    values, sig, x, _, p = bench("hils-2")
    speeds = []
    for k in range(6000):
        sig.tick, sig.t = k, k * DT
        operator_step(sig, x.operator, p.operator, DT)
        sig.x_vir[0] += DT * sig.v_r[0]
        speeds.append(sig.v_r[0])
    assert np.abs(speeds).max() <= values.operator.speed + 1e-12
    assert sig.x_vir[0] == pytest.approx(values.operator.speed * values.operator.duration, abs=5e-3)
    assert np.abs(np.diff(speeds)).max() < 0.05 * values.operator.speed, "a hand does not jump"


@given(*[st.floats(-10.0, 10.0)] * 3)
def test_the_slave_law(force, reference, away):
    """[Yang2018, eq. 2]: reference, force feedback and coupling, at rest."""
    _, sig, x, _, p = bench("hils-2")
    sig.f_s[0], sig.v_r_orbit[0], sig.x_vir_orbit[0] = force, reference, away
    slave_step(sig, x.slave, p.slave, DT)
    assert sig.v_sc[0] == pytest.approx(reference - force / 1400 + 0.08 * away, abs=1e-12)


def test_play_in_the_grip():
    _, sig, _, w, p = bench("hils-2", "grip.play=1 mm", "grip.damping=0")
    sig.X_WB_true.q[0] = 1.0
    for apart, force in ((0.0009, 0.0), (0.0015, 20e3 * 0.0005), (-0.003, -20e3 * 0.002)):
        w.grip.x_s[0], w.grip.started = apart, 0
        grip_step(sig, w.grip, p.grip, DT)
        assert sig.f_s[0] == pytest.approx(force, abs=1e-9)
