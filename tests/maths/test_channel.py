"""One direction of the link, and the two stages made of it, against a search through everything that was sent."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.compiled import jit
from hilt.core.signals import row_type
from hilt.maths import channel, noise
from hilt.systems.payload.link import DOWNLINK, LINK, OrbitLink, downlink_step, link_step
from hilt.systems.payload.payload import PAYLOAD
from tests.packing import pack

T = 0.01
MEMORY = channel.memory(1)
delays, jitters, shares = st.floats(0.0, 1.5), st.floats(0.0, 0.5), st.floats(0.0, 0.6)


@jit
def _drive(x, p, first, dt, newest, played, reordered):
    """Send the number of the tick, and record what is read."""
    for i in range(len(newest)):
        k = first + i
        channel.packet(x, k)[0] = k
        channel.send(x, p, k, k * dt, dt)
        channel.receive(x, k, dt)
        newest[i] = channel.newest(x)[0] if x.newest >= 0 else -1.0
        played[i] = channel.played(x, 0) if channel.play_out(x, p, k, k * dt, dt) else -1.0
        reordered[i] = x.reordered


def send(ticks=400, first=0, bench=None, memory=MEMORY, **figures):
    if bench is None:
        bench = np.zeros(1, memory), np.zeros(1, channel.PARAMS)
        channel.pack(bench[1][0], OrbitLink(**figures), T, noise.key_of(1, "up"), noise.key_of(1, "again"))
        channel.reset(bench[0][0], bench[1][0])
    out = SimpleNamespace(newest=np.zeros(ticks), played=np.zeros(ticks), reordered=np.zeros(ticks), bench=bench, x=bench[0][0])
    _drive(bench[0][0], bench[1][0], first, T, out.newest, out.played, out.reordered)
    return out


@settings(max_examples=15)
@given(delays, jitters, shares, shares)
def test_newest_is_what_a_search_through_all_packets_finds(delay, jitter, loss, duplication):
    out = send(delay=delay, jitter=jitter, loss=loss, duplication=duplication)
    arrival, stamps = out.x.arrival[:400], np.arange(400)
    for k in range(400):
        there = stamps[(arrival <= k * T + 1e-9) & (stamps <= k)]
        assert out.newest[k] == (there.max() if len(there) else -1)
    assert (np.diff(out.newest) >= 0).all(), "it never goes back"


@settings(max_examples=10)
@given(delays, jitters, shares)
def test_statistics_are_what_a_search_finds(delay, jitter, loss):
    out = send(delay=delay, jitter=jitter, loss=loss)
    arrival, stamps = out.x.arrival[:400], np.arange(400)
    seen = np.ceil((arrival - 1e-9) / T)  # the tick in which it is there
    here = seen < 400
    late = sum(bool((seen[k + 1 :] < seen[k]).any()) for k in stamps[here])
    assert out.x.reordered == late
    assert (out.x.sent, out.x.lost, out.x.arrived) == (400, (arrival > 1e200).sum(), here.sum())
    took = (arrival - stamps * T)[here]
    assert out.x.delay_max == pytest.approx(took.max(initial=0.0), abs=1e-12)
    assert channel.mean_delay(out.x) == pytest.approx(took.mean() if here.any() else 0.0, abs=1e-12)


def test_delay_and_loss_are_those_of_the_section():
    out = send(4000, delay=0.3, jitter=0.4, loss=0.25)
    assert out.x.lost / out.x.sent == pytest.approx(0.25, abs=0.025)  # 3.6 standard deviations of 4000 coin tosses
    assert channel.mean_delay(out.x) == pytest.approx(0.3 + 0.2, abs=0.008)  # as many of a number uniform over 0.4 s
    assert 0.69 < out.x.delay_max <= 0.7 + 1e-12


@settings(max_examples=10)
@given(delays, jitters, shares, st.floats(0.2, 1.0))
def test_duplicates_change_nothing_but_their_own_count(delay, jitter, loss, duplication):
    once, twice = (send(delay=delay, jitter=jitter, loss=loss, duplication=d) for d in (0.0, duplication))
    for name in ("newest", "played", "reordered"):
        assert (getattr(once, name) == getattr(twice, name)).all()
    for name in ("sent", "lost", "arrived", "reordered", "delay_sum", "delay_max"):
        assert once.x[name] == twice.x[name]
    assert once.x.duplicated == 0


def test_duplicates_are_counted_when_they_come():
    out = send(3000, delay=0.1, jitter=0.1, loss=0.2, duplication=0.3)
    assert out.x.duplicated / out.x.arrived == pytest.approx(0.3, abs=0.035)


@settings(max_examples=15)
@given(st.integers(0, 200))
def test_a_clean_channel_is_a_delay(ticks):
    """Both ways of reading give the packet of `delay` ticks ago, also with no delay at all."""
    out = send(300, delay=ticks * T)
    expected = np.maximum(np.arange(300) - ticks, -1)
    assert (out.newest == expected).all()
    assert (out.played == expected).all()
    assert out.x.reordered == 0


def test_nothing_arrives_that_is_sent_in_an_outage():
    out = send(600, delay=0.2, jitter=0.1, outage_start=2.0, outage_duration=1.0)
    t = np.arange(600) * T
    assert out.newest[(t > 2.3) & (t < 3.19)] == pytest.approx(199)
    assert out.newest[t > 3.3].min() >= 300
    assert channel.age(out.x, 6.0, T) == pytest.approx(6.0 - out.newest[-1] * T)


def test_the_memory_wraps_around():
    """Two and a half times through the ring: nothing old reappears."""
    ticks = 5 * channel.CAPACITY // 2
    out = send(ticks, delay=3.0, jitter=0.5, loss=0.3, duplication=0.3)
    behind = np.arange(ticks) - out.newest
    settled = slice(1000, None)
    assert behind[settled].min() >= 300
    assert behind[settled].max() <= 350
    assert np.abs(out.played - np.arange(ticks) + 350)[settled].max() <= 20, "packets that were lost last have no neighbour yet"
    assert out.x.due.max() <= 2 * channel.CAPACITY
    assert np.count_nonzero(out.x.due) <= 351, "only what is in transit is on a list"


@settings(max_examples=15)
@given(delays, jitters, shares, shares, st.floats(0.0, 3.0))
def test_a_memory_of_the_right_size_is_as_good_as_a_large_one(delay, jitter, loss, duplication, outage):
    link = {"delay": delay, "jitter": jitter, "loss": loss, "duplication": duplication}
    link |= {"outage_start": 4.0, "outage_duration": outage}
    size = channel.size_for(OrbitLink(**link), T)
    assert size < channel.CAPACITY
    large, small = (send(3000, memory=channel.memory(1, each), **link) for each in (channel.CAPACITY, size))
    for name in ("newest", "played", "reordered"):
        assert (getattr(large, name) == getattr(small, name)).all(), name
    for name in ("lost", "arrived", "duplicated", "delay_max", "silence"):
        assert large.x[name] == small.x[name], name


def test_a_tick_done_twice_sends_once():
    out = send(100, delay=0.1, jitter=0.05)
    again = send(1, first=99, bench=out.bench)
    assert again.x.sent == 100
    assert again.newest[0] == out.newest[-1]


def test_up_and_down_differ_only_in_their_noise():
    scenario = SimpleNamespace(
        link=OrbitLink(delay=0.2, jitter=0.1, loss=0.2, duplication=0.1),
        loop=SimpleNamespace(period=T),
        start_of_hand=(1.0, 2.0, 3.0),
        operator=SimpleNamespace(begins_open=False),
        noise_key=lambda name: noise.key_of(5, name),
    )
    row = np.zeros(1, row_type({*LINK.reads, *LINK.writes, *DOWNLINK.reads, *DOWNLINK.writes}))
    sig, states = row[0], []
    sig.q_vir[0] = 1.0
    for kind in (LINK, DOWNLINK):
        x, p = np.zeros(1, kind.state), np.zeros(1, kind.params)
        pack(PAYLOAD, kind, p[0], scenario)
        kind.reset(sig, x[0], p[0])
        states.append((x[0], p[0]))
    (up, up_p), (down, down_p) = states
    assert tuple(sig.x_s_newest) == tuple(sig.x_m_newest) == tuple(sig.x_vir_orbit) == (1.0, 2.0, 3.0), "nothing is there yet"
    for k in range(300):
        sig.tick, sig.t = k, k * T
        for name in ("v_r", "x_m", "v_m", "x_s", "v_s", "f_s"):
            sig[name][:] = sig.t
        sig.W_master.into, sig.W_slave.into, sig.m_hat = sig.t, sig.t, sig.t
        link_step(sig, up, up_p, T)
        downlink_step(sig, down, down_p, T)
        if k > 60:
            assert sig.x_m_newest[2] == sig.v_m_newest[0] == sig.E_m_newest == pytest.approx(sig.t - sig.link_age, abs=1e-12)
            assert sig.x_s_newest[2] == sig.v_s_newest[0] == sig.E_s_newest == pytest.approx(sig.t - sig.down_age, abs=1e-12)
            assert sig.v_r_orbit[1] == pytest.approx(sig.t - 0.3, abs=sig.link_silence + 1e-9)
            assert sig.f_s_ground[1] == sig.m_ground == pytest.approx(sig.t - 0.3, abs=sig.down_silence + 1e-9)
    assert (up.arrival[:300] != down.arrival[:300]).sum() > 200
    assert (sig.link_sent, sig.down_sent) == (300, 300)
    assert (sig.link_lost, sig.link_duplicated, sig.link_reordered) == (up.lost, up.duplicated, up.reordered)
    assert (sig.down_lost, sig.down_duplicated, sig.down_reordered) == (down.lost, down.duplicated, down.reordered)
