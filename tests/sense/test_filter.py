"""The low-pass on the measured wrench: its delay, its corner, its undershoot, and that `none` changes nothing."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from hilt import job
from hilt.core import signals
from hilt.core.faults import InputError
from hilt.core.stage import Cycle
from hilt.sense.filter import LOW_PASS, LowPass, low_pass_step

KINDS = ("first-order", "butterworth")


def respond(low_pass, period, inputs):
    """The force along y and the torque about z that come out for the same input on both."""
    row = np.zeros(1, signals.row_type([*LOW_PASS.reads, *LOW_PASS.writes]))
    x, p = np.zeros(1, LOW_PASS.state), np.zeros(1, LOW_PASS.params)
    LOW_PASS.pack(p[0], low_pass, Cycle(period))
    sig, out = row[0], []
    for u in inputs:
        sig.F_So_S.f[1] = sig.F_So_S.tau[2] = u
        low_pass_step(sig, x[0], p[0], period)
        out.append((sig.F_So_filt_S.f[1], sig.F_So_filt_S.tau[2]))
    out = np.array(out)
    assert (out[:, 0] == out[:, 1]).all()
    assert not sig.F_So_filt_S.f[0]
    return out[:, 0]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(KINDS), st.floats(0.02, 0.4))
def test_a_ramp_lags_by_exactly_the_delay(kind, share):
    """Whatever the ratio of corner and sampling rate: after 30 time constants only rounding is left."""
    period = 0.004
    low_pass = LowPass(kind=kind, cutoff=share / period)
    t = period * np.arange(1 + math.ceil(30.0 * low_pass.delay / period) + 50)
    y = respond(low_pass, period, 100.0 * t)
    assert t[-1] - y[-1] / 100.0 == pytest.approx(low_pass.delay, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_filter_is_the_bilinear_form_of_its_prototype(kind):
    """scipy's own bilinear transform of the analog prototype: the same numbers out, from rest."""
    period, omega = 0.004, 2 * math.pi * 30
    poles = [1 / omega, 1] if kind == "first-order" else [1 / omega**2, math.sqrt(2) / omega, 1]
    b, a = signal.bilinear([1.0], poles, 1 / period)
    u = np.r_[0.0, np.random.default_rng(3).normal(size=200)]
    assert respond(LowPass(kind=kind, cutoff=30), period, u) == pytest.approx(signal.lfilter(b, a, u), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_that_was_there_before_is_not_a_step(kind):
    assert respond(LowPass(kind=kind, cutoff=10), 0.004, [19.6] * 50) == pytest.approx([19.6] * 50, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_how_far_it_undershoots_after_a_contact(kind):
    """S d e^(-3π/4)/√2 for Butterworth, sampled 300 times per period of the corner; zero for first order."""
    low_pass, slope = LowPass(kind=kind, cutoff=10), 50.0
    y = respond(low_pass, 1 / 3000, slope * np.maximum(0.0, 1.0 - np.arange(6000) / 3000))
    assert -y.min() == pytest.approx(low_pass.swing * slope, rel=1e-3, abs=1e-12)
    assert (low_pass.swing > 0) == (kind == "butterworth")


def test_none_is_the_wrench_itself():
    u = np.random.default_rng(4).normal(size=20)
    assert (respond(LowPass(), 0.004, u) == u).all()
    assert LowPass().delay == 0.0


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (["force_filter.kind=butterworth"], "needs a cutoff"),
        (["force_filter.cutoff=10 Hz"], "kind is 'none'"),
        (["force_filter.kind=first-order", "force_filter.cutoff=500 Hz"], "must be below 500 Hz"),
        (["force_filter.kind=chebyshev"], "must be one of"),
    ],
)
def test_an_impossible_filter_is_refused(setting, words):
    with pytest.raises(InputError, match=words):
        job.find("freefloat", "wall", setting)
