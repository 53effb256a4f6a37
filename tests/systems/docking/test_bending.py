"""The plant of a robot that bends: its tip is a mass on a spring, which the encoders do not see."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hilt import job
from hilt.core.faults import InputError
from hilt.systems.docking.bending import Bending, Drive, driven, steps_of
from hilt.systems.docking.contact import contact_step
from hilt.systems.docking.docking import DOCKING

DT, FREE, K_F, HERTZ, ZETA, K = 1e-3, 0.010, 5e5, 12.0, 0.05, 176275.0
OMEGA = 2.0 * math.pi * HERTZ
MASS = K_F / OMEGA**2


def bench(*changes):
    settings = ("robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz", f"robot.mode_damping_ratio={ZETA}", *changes)
    made = DOCKING.set_up(job.find("docking", "table1", list(settings))[1])
    return made.row[0], made.w[0], made.p[0]


def follow(path, rate, times, *changes):
    """(tip, force on the frame) while the encoders move on a path."""
    sig, w, p = bench(*changes)
    found = []
    for t in times:
        sig.X_WB_true.p[0], sig.V_WB_true.v[0] = path(t), rate(t)
        contact_step(sig, w.contact, p.contact, DT)
        found.append((sig.p_C_true_W[0], sig.F_C_true_W[0]))
    return np.array(found).T


def swing(t):
    return FREE - 2e-4 + 8e-4 * math.sin(9.0 * t) ** 2


def swing_rate(t):
    return 8e-4 * 9.0 * math.sin(18.0 * t)


@pytest.mark.parametrize("changes", [(), ("contact.damping=300",), ("contact.kind=hertz",)])
def test_the_tip_moves_as_its_equation_says(changes):
    """Against DOP853: into the frame and out again, several times. 1e-3 of the depth's micrometres is noise."""
    times = np.arange(0.0, 0.6, DT)
    tip, force = follow(swing, swing_rate, times, *changes)
    damping = 300.0 if "contact.damping=300" in changes else 0.0

    def push(x, v):
        depth = x - FREE
        spring = 6e6 * depth**1.5 if "contact.kind=hertz" in changes and depth > 0 else K * depth
        return max(0.0, spring + damping * v) if depth > 0 else 0.0

    def law(t, y):
        x, v = y
        a = OMEGA**2 * (swing(t) - x) + 2.0 * ZETA * OMEGA * (swing_rate(t) - v) - push(x, v) / MASS
        return [v, a]

    truth = solve_ivp(
        law, (0, times[-1]), [swing(0.0), swing_rate(0.0)], "DOP853", times, rtol=1e-10, atol=1e-13, max_step=2e-4
    )
    assert force.max() > 50.0, "it has to press"
    assert np.abs(tip - truth.y[0]).max() < 2e-8
    assert np.abs(force - [push(*y) for y in truth.y.T]).max() < 1e-3 * force.max()


def test_a_held_robot_swings_with_its_mode():
    """The motors step by 1 mm within a tick and hold: frequency and decay of the tip."""
    times = np.arange(0.0, 1.0, DT)
    tip, _ = follow(lambda t: 0.0 if t < 2 * DT else 1e-3, lambda t: 0.0, times)
    left = tip - 1e-3
    crossings = times[1:][np.diff(np.sign(left)) > 0]
    damped = OMEGA * math.sqrt(1 - ZETA**2)
    assert 2 * math.pi / np.diff(crossings).mean() == pytest.approx(damped, rel=2e-3)  # a crossing is known to within a tick
    peaks = [left[(times > a) & (times < b)].max() for a, b in itertools.pairwise(crossings)]
    assert -np.log(np.array(peaks[1:]) / peaks[:-1]).mean() == pytest.approx(
        2 * math.pi * ZETA / math.sqrt(1 - ZETA**2), rel=0.01
    )


def test_pressed_slowly_it_is_a_spring_in_series():
    """As with a massless spring, which `robot.mode_frequency = 0` means."""
    times, speed = np.arange(0.0, 10.0, DT), 1e-4
    tip, force = follow(lambda t: FREE + speed * (t - 1.0), lambda t: speed, times)
    assert force[-1] == pytest.approx(speed * (times[-1] - 1.0) / (1 / K + 1 / K_F), rel=1e-3)
    assert tip[-1] == pytest.approx(FREE + force[-1] / K, rel=1e-9)


def test_an_elastic_contact_on_a_held_robot_keeps_the_energy():
    """Undamped, thrown against the frame with the motors held: ½ m v² + ½ K_f x² + ½ k δ² stays.

    A step across the surface, where the stiffness jumps, is of second order: with ω h = 0.05 about 1e-5 each.
    """
    sig, w, p = bench("robot.mode_damping_ratio=0")
    hold = FREE - 1e-4
    sig.X_WB_true.p[0], sig.V_WB_true.v[0] = hold, 0.0
    contact_step(sig, w.contact, p.contact, DT)
    w.contact.tip, w.contact.tip_v = hold, 0.03
    energies, inside = [], []
    for _ in range(2000):
        contact_step(sig, w.contact, p.contact, DT)
        x, v = w.contact.tip, w.contact.tip_v
        inside.append(x > FREE)
        energies.append(0.5 * MASS * v * v + 0.5 * K_F * (x - hold) ** 2 + 0.5 * K * max(0.0, x - FREE) ** 2)
    assert np.ptp(energies) < 1e-5 * energies[0] * np.count_nonzero(np.diff(inside))


def test_the_motors_path_between_two_samples_is_the_cubic_through_both():
    drive = Drive(1.0, 2.0, 1.5, -1.0)
    assert driven(drive, 0.0, 0.1) == pytest.approx((1.0, 2.0))
    assert driven(drive, 1.0, 0.1) == pytest.approx((1.5, -1.0))
    step = 1e-6
    before, after = driven(drive, 0.4 - step, 0.1)[0], driven(drive, 0.4 + step, 0.1)[0]
    assert driven(drive, 0.4, 0.1)[1] == pytest.approx((after - before) / (2 * step * 0.1), rel=1e-6)


def test_steps_grow_with_the_frequency():
    assert steps_of(Bending(5e5, 10.0, 0.05), K, DT) == 1
    assert steps_of(Bending(5e5, 1000.0, 0.05), K, DT) == math.ceil(1000.0 * math.sqrt(1 + K / 5e5) * DT / 0.05)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("robot.mode_frequency=12 Hz",), "robot.stiffness is 0, which means rigid"),
        (
            ("robot.stiffness=0.5 N/um", "robot.mode_frequency=1 MHz"),
            "too fast to simulate with loop.period = 0.001 s; shorten",
        ),
    ],
)
def test_an_impossible_mode_is_refused_in_one_sentence(changes, words):
    with pytest.raises(InputError, match=words):
        job.find("docking", "table1", list(changes))
