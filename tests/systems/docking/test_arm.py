"""The plant of an arm with a second mode, play in its gears and a stiffness that depends on the posture."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from hilt import job
from hilt.core.faults import InputError
from hilt.systems.docking.arm import ARM_CONTACT, SecondMode, arm_step, chain_of, damping_range, gear_force
from hilt.systems.docking.bending import Bending
from hilt.systems.docking.contact import CONTACT
from hilt.systems.docking.docking import DOCKING

DT, FREE, K_F, HERTZ, ZETA, K = 1e-3, 0.010, 5e5, 12.0, 0.05, 176275.0
BENDS = ("robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz", f"robot.mode_damping_ratio={ZETA}")
TWO = ("robot.second_mode_frequency=31 Hz", "robot.second_mode_share=0.3", "robot.second_mode_damping_ratio=0.05")
UNDAMPED = ("robot.mode_damping_ratio=0", "robot.second_mode_damping_ratio=0")
PLAY = ("robot.backlash=50 um",)
FIRST, SECOND = Bending(K_F, 2 * math.pi * HERTZ, ZETA), SecondMode(2 * math.pi * 31.0, 0.05, 0.3)


def bench(*changes):
    made = DOCKING.set_up(job.find("docking", "table1", [*BENDS, *changes])[1])
    return made.row[0], made.w[0].contact, made.p[0].contact


def follow(path, rate, times, *changes):
    """(tip, force on the frame) while the encoders move on a path."""
    sig, x, p = bench(*changes)
    found = []
    for t in times:
        sig.X_WB_true.p[0], sig.V_WB_true.v[0] = path(t), rate(t)
        arm_step(sig, x, p, times[1] - times[0])
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


@pytest.mark.parametrize("changes", [TWO, PLAY, (*TWO, *PLAY), (*TWO, "robot.stiffness_slope=20")], ids=str)
def test_the_arm_moves_as_its_equations_say(changes):
    """Against DOP853: into the frame and out again, several times, through the play."""
    times = np.arange(0.0, 0.6, DT)
    tip, force = follow(swing, swing_rate, times, *changes)
    chain = chain_of(FIRST, SECOND) if changes[:3] == TWO else None
    gear, rub = (chain.gear_stiffness, chain.gear_damping) if chain else (K_F, 2 * ZETA * FIRST.frequency * FIRST.mass)
    half, slope = (25e-6 if PLAY[0] in changes else 0.0), (20.0 if "robot.stiffness_slope=20" in changes else 0.0)

    def law(t, y):
        link, link_v, tip, tip_v = y
        more = math.exp(slope * swing(t))
        pulled = gear_force(more * gear, rub, half, swing(t) - link, swing_rate(t) - link_v)
        push = K * max(0.0, tip - FREE)
        if chain is None:
            a = (pulled - push) / FIRST.mass
            return [link_v, a, tip_v, a]
        passed = more * chain.link_stiffness * (link - tip) + chain.link_damping * (link_v - tip_v)
        return [link_v, (pulled - passed) / chain.link_mass, tip_v, (passed - push) / chain.tip_mass]

    start = [swing(0.0), swing_rate(0.0)] * 2
    truth = solve_ivp(law, (0, times[-1]), start, "DOP853", times, rtol=1e-9, atol=1e-12, max_step=2e-4).y[2]
    assert force.max() > 50.0, "it has to press"
    assert np.abs(tip - truth).max() < (2e-7 if half else 3e-8)  # each crossing of the play adds an error of second order
    assert np.abs(force - K * np.maximum(truth - FREE, 0.0)).max() < 1e-3 * force.max()


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


def test_pressed_slowly_the_play_is_taken_up_first():
    """F = (x_m - s - b/2)/(1/k + 1/K_f): the frame seems to be half the play further away, and as stiff."""
    times, speed = np.arange(0.0, 10.0, DT), 1e-4
    _, force = follow(lambda t: FREE + speed * (t - 1.0), lambda t: speed, times, *PLAY)
    assert force[-1] == pytest.approx((speed * (times[-1] - 1.0) - 25e-6) / (1 / K + 1 / K_F), rel=1e-3)


def test_a_reversal_within_the_play_moves_nothing():
    """A slack arm at rest, its motors moving back and forth by less than the play."""
    tip, _ = follow(lambda t: 24e-6 * math.sin(5.0 * t), lambda t: 0.0, np.arange(0.0, 1.0, DT), *PLAY)
    assert np.abs(tip).max() == 0.0


def test_the_stiffness_changes_with_the_posture():
    """A slow press shows 1/k + 1/(K_f e^(s x))."""
    times, speed = np.arange(0.0, 10.0, DT), 1e-4
    _, force = follow(
        lambda t: FREE + speed * (t - 1.0), lambda t: speed, times, "robot.stiffness_slope=30", "robot.mode_damping_ratio=0.3"
    )
    way = speed * (times[-1] - 1.0)
    assert force[-1] == pytest.approx(way / (1 / K + 1 / (K_F * math.exp(30 * (FREE + way)))), rel=1e-3)


def test_a_robot_without_them_has_the_same_plant_as_before():
    plain = job.find("docking", "bending", [])[1]
    assert DOCKING.kinds(plain)["contact"] is CONTACT
    for change in (*TWO[:1], *PLAY, "robot.stiffness_slope=1"):
        assert DOCKING.kinds(job.find("docking", "bending", [change])[1])["contact"] is ARM_CONTACT


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("robot.backlash=50 um", "robot.mode_frequency=0 Hz"), "robot.backlash is 5e-05 m, but the robot has no mode"),
        (("robot.stiffness_slope=1", "robot.mode_frequency=0 Hz"), "the robot has no mode; give robot.stiffness and"),
        (("robot.second_mode_frequency=11 Hz",), "must be 1.01 to 100 times robot.mode_frequency, which is 12 Hz"),
        ((*TWO, "robot.second_mode_damping_ratio=0.0001"), "two dampers allow .* choose a value in this range"),
        (("robot.second_mode_frequency=1 kHz", "loop.period=4 ms"), "is 1000 Hz, .* too fast to simulate with loop.period"),
    ],
)
def test_an_impossible_arm_is_refused_in_one_sentence(changes, words):
    with pytest.raises(InputError, match=words):
        job.find("docking", "table1", [*BENDS, *changes])


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
