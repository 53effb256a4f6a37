"""The plant of a robot that bends, which its encoders do not see: its tip is a mass on a spring, or it is an arm with a second
mode, play and friction in its gears and a stiffness that depends on the posture."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from hilt import job
from hilt.systems.docking.arm import ARM_CONTACT, SecondMode, arm_step, chain_of, damping_range, gear_force
from hilt.systems.docking.bending import Bending, Drive, driven, steps_of
from hilt.systems.docking.contact import CONTACT, contact_step
from hilt.systems.docking.docking import DOCKING
from tests.systems.docking.benches import BENDS, DT, FREE, HERTZ, K_F, ZETA, K, parts

TWO = ("robot.second_mode_frequency=31 Hz", "robot.second_mode_share=0.3", "robot.second_mode_damping_ratio=0.05")
UNDAMPED = ("robot.mode_damping_ratio=0", "robot.second_mode_damping_ratio=0")
PLAY = ("robot.backlash=50 um",)
OMEGA = 2 * math.pi * HERTZ
FIRST, SECOND = Bending(K_F, OMEGA, ZETA), SecondMode(2 * math.pi * 31.0, 0.05, 0.3)


def bench(*changes):
    sig, _, w, p = parts("table1", *BENDS, *changes)
    return sig, w.contact, p.contact


def follow(path, rate, times, *changes):
    """(tip, force on the frame) while the encoders move on a path."""
    sig, x, p = bench(*changes)
    step = arm_step if "gear_stiffness" in p.dtype.names else contact_step
    found = []
    for t in times:
        sig.X_WB_true.p[0], sig.V_WB_true.v[0] = path(t), rate(t)
        step(sig, x, p, DT)
        found.append((sig.p_C_true_W[0], sig.F_C_true_W[0]))
    return np.array(found).T


def matrices(chain):
    """M, C, K of link and tip with the motors held."""
    M = np.diag([chain.link_mass, chain.tip_mass])
    gear, link = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    return M, chain.gear_damping * gear + chain.link_damping * link, chain.gear_stiffness * gear + chain.link_stiffness * link


@given(st.floats(1.05, 20.0), st.floats(0.01, 0.99), st.floats(1e-4, 0.02), st.floats(0.0, 1.0))
def test_a_chain_has_the_requested_modes(ratio, share, zeta, where):
    """Frequencies, share of the second mode in the compliance, and the energy that each mode loses per cycle."""
    first, frequency = Bending(K_F, 75.0, zeta), 75.0 * ratio
    low, high = damping_range(first, SecondMode(frequency, 0.0, share))
    second = SecondMode(frequency, low + where * (high - low), share)
    chain = chain_of(first, second)
    M, C, stiff = matrices(chain)
    squares, shapes = np.linalg.eig(np.linalg.solve(M, stiff))
    order = np.argsort(squares)
    assert np.sqrt(squares[order]) == pytest.approx([75.0, frequency], rel=1e-6)
    modes = shapes[:, order] / shapes[1, order]  # the tip's part is 1
    masses = np.diag(modes.T @ M @ modes)
    compliance = 1.0 / (masses * squares[order])
    assert compliance.sum() == pytest.approx(1.0 / K_F, rel=1e-6)
    assert compliance[1] == pytest.approx(share / K_F, rel=1e-4)
    ratios = np.diag(modes.T @ C @ modes) / (2.0 * masses * np.sqrt(squares[order]))
    assert ratios == pytest.approx([zeta, second.damping_ratio], rel=1e-4, abs=1e-9)
    assert min(chain.gear_damping, chain.link_damping) >= -1e-9 * max(chain.gear_damping, chain.link_damping), "both only lose"


def swing(t):
    return FREE - 2e-4 + 8e-4 * math.sin(9.0 * t) ** 2


def swing_rate(t):
    return 8e-4 * 9.0 * math.sin(18.0 * t)


DAMPED, CURVED, SLOPE = ("contact.damping=300",), ("contact.kind=hertz",), (*TWO, "robot.stiffness_slope=20")


@pytest.mark.parametrize("changes", [(), DAMPED, CURVED, TWO, PLAY, (*TWO, *PLAY), SLOPE], ids=str)
def test_the_tip_moves_as_its_equations_say(changes):
    """Against DOP853: into the frame and out again, also through play. 1e-3 of the depth's micrometres is noise."""
    times = np.arange(0.0, 0.6, DT)
    tip, force = follow(swing, swing_rate, times, *changes)
    chain = chain_of(FIRST, SECOND) if changes[:3] == TWO else None
    gear, rub = (chain.gear_stiffness, chain.gear_damping) if chain else (K_F, 2 * ZETA * FIRST.frequency * FIRST.mass)
    half, slope = (25e-6 if PLAY[0] in changes else 0.0), (20.0 if changes == SLOPE else 0.0)

    def push(x, v):
        depth = max(0.0, x - FREE)
        spring = 6e6 * depth**1.5 if changes == CURVED else K * depth
        return max(0.0, spring + (300.0 * v if changes == DAMPED else 0.0)) if depth else 0.0

    def law(t, y):
        link, link_v, tip, tip_v = y
        more = math.exp(slope * swing(t))
        pulled = gear_force(more * gear, rub, half, swing(t) - link, swing_rate(t) - link_v)
        if chain is None:
            a = (pulled - push(tip, tip_v)) / FIRST.mass
            return [link_v, a, tip_v, a]
        passed = more * chain.link_stiffness * (link - tip) + chain.link_damping * (link_v - tip_v)
        return [link_v, (pulled - passed) / chain.link_mass, tip_v, (passed - push(tip, tip_v)) / chain.tip_mass]

    start = [swing(0.0), swing_rate(0.0)] * 2
    truth = solve_ivp(law, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-13, max_step=2e-4).y[2:]
    assert force.max() > 50.0, "it has to press"
    # Each crossing of the play adds an error of second order.
    assert np.abs(tip - truth[0]).max() < (2e-7 if half else 3e-8 if chain else 2e-8)
    assert np.abs(force - [push(*y) for y in truth.T]).max() < 1e-3 * force.max()


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


def test_an_elastic_contact_on_a_held_robot_keeps_the_energy():
    """Undamped, thrown against the frame with the motors held: ½ m v² + ½ K_f x² + ½ k δ² stays.

    A step across the surface, where the stiffness jumps, is of second order: with ω h = 0.05 about 1e-5 each.
    """
    sig, x, p = bench("robot.mode_damping_ratio=0")
    hold = FREE - 1e-4
    sig.X_WB_true.p[0], sig.V_WB_true.v[0] = hold, 0.0
    contact_step(sig, x, p, DT)
    x.tip, x.tip_v = hold, 0.03
    energies, inside = [], []
    for _ in range(2000):
        contact_step(sig, x, p, DT)
        tip, v = x.tip, x.tip_v
        inside.append(tip > FREE)
        energies.append(0.5 * FIRST.mass * v * v + 0.5 * K_F * (tip - hold) ** 2 + 0.5 * K * max(0.0, tip - FREE) ** 2)
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


def let_go(steps, ticks, *changes):
    """States of an arm with its motors held, thrown at the frame, and its parameters."""
    sig, x, p = bench(*changes, *UNDAMPED)
    hold = FREE - 1e-4
    sig.X_WB_true.p[0], sig.V_WB_true.v[0] = hold, 0.0
    p.steps = steps or p.steps
    arm_step(sig, x, p, DT)
    x.link = x.tip = hold
    x.link_v, x.tip_v = 0.01, 0.03
    if not p.link_mass:
        x.link_v = x.tip_v
    found = []
    for _ in range(ticks):
        arm_step(sig, x, p, DT)
        found.append((x.link, x.link_v, x.tip, x.tip_v))
    return np.array(found), p, hold


def energies(found, p, hold):
    """Of masses, springs and the contact."""
    link, link_v, tip, tip_v = found.T
    gear = np.maximum(np.abs(link - hold) - p.half, 0.0)
    whole = 0.5 * p.tip_mass * tip_v**2 + 0.5 * p.gear_stiffness * gear**2 + 0.5 * K * np.maximum(tip - FREE, 0.0) ** 2
    return whole + 0.5 * p.link_mass * link_v**2 + 0.5 * p.link_stiffness * (link - tip) ** 2


@pytest.mark.parametrize("changes", [TWO, PLAY, (*TWO, *PLAY)], ids=str)
def test_without_damping_an_arm_keeps_its_energy(changes):
    """Motors held. A step across an edge of the play or of the frame, where the stiffness jumps, costs about 1e-5."""
    found, p, hold = let_go(0, 2000, *changes)
    energy = energies(found, p, hold)
    out = np.abs(found[:, 0] - hold) > p.half
    crossings = np.count_nonzero(np.diff(out)) + np.count_nonzero(np.diff(found[:, 2] > FREE))
    assert crossings > 20
    assert np.ptp(energy) < 1e-5 * energy[0] * crossings


@settings(max_examples=30, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(0.0, 200e-6), st.floats(-0.05, 0.05), st.floats(-0.05, 0.05))
def test_with_damping_an_arm_only_loses(zeta, play, link_v, tip_v):
    """Motors held, at every tick; a step across an edge is wrong by less than the energy of a spring pressed by one step."""
    sig, x, p = bench(*TWO, *PLAY, "robot.mode_damping_ratio=0.05")
    p.half, hold = 0.5 * play, FREE - 1e-4
    p.gear_damping *= zeta
    p.link_damping *= zeta
    sig.X_WB_true.p[0], sig.V_WB_true.v[0] = hold, 0.0
    arm_step(sig, x, p, DT)
    x.link_v, x.tip_v = link_v, tip_v
    found = [(x.link, x.link_v, x.tip, x.tip_v)]
    for _ in range(300):
        arm_step(sig, x, p, DT)
        found.append((x.link, x.link_v, x.tip, x.tip_v))
    energy = energies(np.array(found), p, hold)
    farthest = math.sqrt(2.0 * energy[0] / min(p.link_mass, p.tip_mass)) * DT / p.steps
    assert np.diff(energy).max() <= 0.5 * (K + p.gear_stiffness) * farthest**2 + 1e-15


def test_half_the_step_leaves_a_sixteenth_of_the_error():
    """Fourth order, as long as no edge is crossed."""
    off = ("frames.gap=1 m", *TWO)
    ends = [let_go(steps, 200, *off)[0][-1] for steps in (2, 4, 8, 64)]
    first, second, third = (np.abs(end - ends[-1])[[0, 2]].max() for end in ends[:-1])
    assert first / second == pytest.approx(16.0, rel=0.15)
    assert second / third == pytest.approx(16.0, rel=0.15)


@pytest.mark.parametrize(
    ("changes", "play", "slope"),
    [((), 0.0, 0.0), (PLAY, 25e-6, 0.0), (("robot.stiffness_slope=30", "robot.mode_damping_ratio=0.3"), 0.0, 30.0)],
)
def test_pressed_slowly_it_is_a_spring_in_series(changes, play, slope):
    """F = (x_m - s - b/2)/(1/k + 1/(K_f e^(s x))): with play the frame seems to be half of it further away, and as stiff."""
    times, speed = np.arange(0.0, 10.0, DT), 1e-4
    tip, force = follow(lambda t: FREE + speed * (t - 1.0), lambda t: speed, times, *changes)
    way = speed * (times[-1] - 1.0)
    assert force[-1] == pytest.approx((way - play) / (1 / K + 1 / (K_F * math.exp(slope * (FREE + way)))), rel=1e-3)
    assert tip[-1] == pytest.approx(FREE + force[-1] / K, rel=1e-9)


def test_a_reversal_within_the_play_moves_nothing():
    """A slack arm at rest, its motors moving back and forth by less than the play."""
    tip, _ = follow(lambda t: 24e-6 * math.sin(5.0 * t), lambda t: 0.0, np.arange(0.0, 1.0, DT), *PLAY)
    assert np.abs(tip).max() == 0.0


def test_a_robot_without_them_has_the_same_plant_as_before():
    plain = job.find("docking", "bending", [])[1]
    assert DOCKING.kinds(plain)["contact"] is CONTACT
    for change in (*TWO[:1], *PLAY, "robot.stiffness_slope=1"):
        assert DOCKING.kinds(job.find("docking", "bending", [change])[1])["contact"] is ARM_CONTACT


def test_dry_friction_reverses_with_the_motion():
    """Pressed and released slowly, the force is F_h larger inwards than outwards, for the same motor position.

    Both springs are in series with the frame; the gears slip once the motors have reversed by 2 F_h/K_h.
    """
    times, speed, most = np.arange(0.0, 20.0, DT), 1e-4, 5.0

    def path(t):
        return FREE + speed * (10.0 - abs(t - 10.0))

    rubbed = ("robot.gear_friction=5 N", "robot.mode_damping_ratio=0.3")
    _, force = follow(path, lambda t: math.copysign(speed, 10.0 - t), times, *rubbed)
    way = speed * 5.0
    _, inward, outward = (force[round(t / DT)] for t in (0.0, 5.0, 15.0))
    series = 1.0 / (1.0 / K + 1.0 / K_F)
    assert inward == pytest.approx(series * (way + most / K_F), rel=2e-3)
    assert outward == pytest.approx(series * (way - most / K_F), rel=2e-3)


def test_a_small_motion_of_sticking_gears_is_elastic():
    """Motors that move back and forth by less than the slip distance lose nothing: the arm is twice as stiff and returns."""
    sig, x, p = bench("robot.gear_friction=20 N", *UNDAMPED)
    hold = 0.0
    sig.X_WB_true.p[0], sig.V_WB_true.v[0] = hold, 0.0
    arm_step(sig, x, p, DT)
    x.link_v = x.tip_v = speed = 0.9 * 20.0 / K_F * math.sqrt(2.0) * FIRST.frequency  # sticks up to F_h/K_h
    found = []
    for _ in range(1000):
        arm_step(sig, x, p, DT)
        found.append(0.5 * FIRST.mass * x.tip_v**2 + 0.5 * 2.0 * K_F * x.tip**2)
    assert np.array(found) == pytest.approx(0.5 * FIRST.mass * speed**2, rel=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.0, 50.0), st.floats(-0.05, 0.05))
def test_dry_friction_only_loses(most, speed):
    """Motors held: energy of the mass, the spring and the gears that stick."""
    sig, x, p = bench("robot.gear_friction=20 N", *UNDAMPED)
    p.friction_of_gears, hold = most, 0.0
    sig.X_WB_true.p[0], sig.V_WB_true.v[0] = hold, 0.0
    arm_step(sig, x, p, DT)
    x.link_v = x.tip_v = speed
    energy = [0.5 * FIRST.mass * speed**2]
    for _ in range(300):
        arm_step(sig, x, p, DT)
        stuck = x.tip + x.slipped
        energy.append(0.5 * FIRST.mass * x.tip_v**2 + 0.5 * K_F * x.tip**2 + 0.5 * K_F * stuck**2)
    # A step across the edge of slipping is of second order, like one across the edge of a frame: about 1e-5.
    assert np.diff(energy).max() <= 2e-5 * energy[0] + 1e-15
