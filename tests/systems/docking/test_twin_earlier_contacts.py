"""How a later contact with a robot that bends corrects the loss of earlier ones, and the motors' position used for it."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.signals import record
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.bending import encoder, learn

MASS, K, SPEED, DT = 279.0697674, 176275.0, 0.02, 1e-3
POSITION, VELOCITY = 2e-6, 1e-4
dampings = st.lists(st.tuples(st.floats(0.0, 0.06), st.floats(0.0, 0.06)), min_size=1, max_size=12)


def speeds(learnt):
    """Speed after each contact, front and rear in turn, on a line; ζ_c of both frames as estimated after each."""
    x = np.zeros(1, learn.TWIN_LEARN.state).view(np.recarray)[0]
    p = np.zeros(1, learn.TWIN_LEARN.params).view(np.recarray)[0]
    p.mass, p.approach, x.mass = MASS, SPEED, MASS
    sig, v, found = np.zeros(1, record(v_entry="f8", loss="f8")).view(np.recarray)[0], SPEED, []
    for i, zetas in enumerate(learnt):
        if x.kinetic > 0.0:
            learn._settle(sig, x, p)
        x.of, sig.v_entry = 1 if i % 2 == 0 else -1, v
        for side in range(2):
            place = learn.STIFF + 2 * side
            x.known.law[side], x.known.value[place], x.known.value[place + 1] = model.LINEAR, np.log(K), zetas[side]
        learn._revise(x, p)
        learn._record_loss(sig, x, p)
        v *= (1.0 - sig.loss) ** 0.5
        found.append(v)
    return found, [model.place_of(1 if i % 2 == 0 else -1) for i in range(len(learnt))]


@given(dampings)
def test_a_contact_never_returns_more_than_it_was_given(learnt):
    found, _ = speeds(learnt)
    assert all(after <= before for before, after in zip([SPEED, *found], found, strict=False))


@given(st.floats(0.001, 0.05), st.floats(0.001, 0.05), st.integers(2, 9))
def test_a_constant_damping_takes_its_own_loss_in_each_contact(front, rear, count):
    found, sides = speeds([(front, rear)] * count)
    whole = np.cumprod([1.0 - learn.loss_of((front, rear)[side]) for side in sides])
    assert np.array(found) == pytest.approx(SPEED * whole**0.5, rel=1e-12)


@given(st.floats(0.01, 0.05), st.floats(-0.002, 0.004), st.integers(3, 7))
def test_what_is_learnt_late_counts_for_earlier_contacts(zeta, off, count):
    """First order in the correction: the rest is of second order."""
    first = zeta + off
    found, _ = speeds([(first, first)] * (count - 1) + [(zeta, zeta)])
    lost, believed = learn.loss_of(zeta), learn.loss_of(first)
    should = SPEED * (1.0 - lost) ** (0.5 * count)
    most = SPEED * (1.0 - believed) ** (0.5 * (count - 1))  # it cannot be faster than it came
    assert found[-1] == pytest.approx(min(should, most), rel=4.0 * (count * (lost - believed)) ** 2 + 1e-9)


def driven(off, seed):
    """Errors of the estimated position, with the model and with encoders alone; `off`: error of the modelled velocity."""
    draw, t = np.random.default_rng(seed), np.arange(0.0, 3.0, DT)
    at, rate = 1e-3 * np.sin(25.0 * t), 25e-3 * np.cos(25.0 * t)
    measured, speed = at + POSITION * draw.standard_normal(len(t)), rate + VELOCITY * draw.standard_normal(len(t))
    p = np.zeros(1, encoder.WEIGHTS).view(np.recarray)[0]
    believed = SimpleNamespace(position_noise=POSITION, velocity_noise=VELOCITY, robot=SimpleNamespace(T2=5e-5))
    encoder.pack_weights(p, believed, SimpleNamespace(period=DT))
    errors = []
    for uses_model in (1, 0):
        p.uses_model = uses_model
        x = np.zeros(1, encoder.ENCODER).view(np.recarray)[0]
        x.at, x.rate, x.share, found = at[0], rate[0], 1.0, []
        for i in range(1, len(t)):
            encoder.weigh(x, p, measured[i], speed[i], rate[i] + off * np.sin(75.0 * t[i]), DT)
            found.append(x.at)
        errors.append(float(np.std(np.array(found[500:]) - at[501:])))
    return errors


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_robot_that_moves_as_identified_helps_its_encoders(seed):
    found, alone = driven(0.0, seed)
    assert found < 0.6 * alone < 0.6 * POSITION


@pytest.mark.parametrize("off", [1e-3, 1e-2, 1.0])
def test_a_robot_that_moves_otherwise_is_followed_by_its_encoders(off):
    found, alone = driven(off, 1)
    assert found == pytest.approx(alone, rel=0.1)
