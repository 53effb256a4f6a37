"""The cable and the hook: geometry, gate, latch, retention, and that contact adds no energy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.core.faults import InputError
from hilt.core.scenario import Section, build
from hilt.core.signals import row_type
from hilt.core.stage import Cycle
from hilt.systems.aerial.cable import (
    ABOVE,
    BESIDE,
    CABLE,
    INSIDE,
    LATCHED,
    Cable,
    HungCable,
    cable_energy,
    cable_step,
    distance_outside,
    gate_energy,
    gate_force,
    hook_energy,
    move_cable,
    pack_cable,
)

PLAIN = Cable(present=True, position=(0.0, 0.0, 0.0))
STIFF = PLAIN.model_copy(update={"stiffness": 8e4, "damping_ratio": 0.5})  # the cable hardly moves: only the hook matters


def make(cable=PLAIN, s=0.0, z=-0.05):
    """Cable at rest at 0, throat at (s, z)."""
    x, p = np.zeros(1, CABLE.state)[0], np.zeros(1, CABLE.params)[0]
    pack_cable(p, cable)
    x.hook = (s, z)
    return x, p


def go(x, p, s, z, speed=0.02, dt=0.002):
    """Move the throat in a straight line to (s, z); return the forces on the tool, tick by tick."""
    a = np.array(x.hook)
    b = np.array((s, z))
    steps = max(1, math.ceil(np.linalg.norm(b - a) / (speed * dt)))
    return np.array([move_cable(x, p, *(a + (b - a) * k / steps), dt) for k in range(1, steps + 1)])


def rest(x, p, time):
    return go(x, p, *x.hook, dt=time)


def stored(x, p):
    return cable_energy(x, p) + hook_energy(x.place, x.y[0] - x.hook[0], x.y[1] - x.hook[1], p)


@given(st.floats(-0.04, 0.04), st.floats(-0.012, 0.03))
def test_the_distance_outside_is_the_shortest(u, w):
    """Nearest point of V and slot against samples every 0.05 mm: no farther, and nearer by at most half of that."""
    _x, p = make()
    up, along = np.linspace(0.0, 0.1, 2001), math.tan(PLAIN.half_angle)
    edges = np.concatenate([np.stack([+up * along, up], 1), np.stack([-up * along, up], 1), np.stack([0.0 * up, -up * 0.2], 1)])
    inside = w >= 0.0 and abs(u) <= w * along
    nearest = 0.0 if inside else np.hypot(*(edges - (u, w)).T).min()
    d, n_u, n_w = distance_outside(u, w, p)
    assert d == pytest.approx(nearest, abs=4e-5)
    assert d <= nearest + 1e-12
    assert math.hypot(n_u, n_w) == pytest.approx(1.0, abs=1e-12)


def test_profile_and_work_of_the_gate():
    """F_s sin(πq/12 mm) up to 6 mm, then to 0 at 10 mm; its integral is F_s (12 mm/π + 2 mm)."""
    _x, p = make()
    for q in (0.0, 0.001, 0.003, 0.006):
        assert gate_force(q, p) == pytest.approx(30.0 * math.sin(math.pi * q / 0.012), abs=1e-12)
    assert gate_force(0.008, p) == pytest.approx(15.0)
    assert gate_force(0.010, p) == gate_force(-0.001, p) == 0.0
    assert gate_energy(0.010, p) == pytest.approx(30.0 * (0.012 / math.pi + 0.002))
    q, h = np.linspace(0.0, 0.0099, 100), 1e-7
    slope = [(gate_energy(a + h, p) - gate_energy(a - h, p)) / (2 * h) for a in q]
    assert slope == pytest.approx([gate_force(a, p) for a in q], abs=1e-3)  # half of h times the steepest slope, 7.9 kN/m


def test_passing_the_gate_costs_its_work():
    """A cable that hardly moves, entered at 20 mm/s: work of the tool = 1.2 F_s (12 mm/π + 2 mm), all dissipated at the latch.

    Dry friction is 0.1 % short at this speed (tanh 4); the cable at 80 kN/m yields 0.45 mm, whose bounce after the latch is
    damped out.
    """
    x, p = make(STIFF, z=-0.02)
    forces = go(x, p, 0.0, 0.012)
    rest(x, p, 0.1)
    assert x.place == LATCHED
    assert forces[:, 1].min() == pytest.approx(-1.2 * 30.0, rel=0.005)
    assert x.work == pytest.approx(STIFF.gate_work, rel=0.01)
    assert x.lost == pytest.approx(x.work, rel=0.01)
    assert np.abs(forces[:, 0]).max() == 0.0


def test_friction_of_the_gate_helps_it_back_less_than_it_resists():
    """1.2 times the spring's force inwards, 0.8 times outwards, at the depth of the cable."""
    x, p = make(STIFF, z=-0.01)
    for z, factor in ((0.004, 1.2), (0.002, 0.8)):
        force = go(x, p, 0.0, z)[-1, 1]
        # The force is a mean over 2 ms, in which the depth changes by 40 µm: 1 %.
        assert force == pytest.approx(-factor * gate_force(x.hook[1] - x.y[1], p), rel=0.02)
    go(x, p, 0.0, -0.04)
    assert x.place == ABOVE


@pytest.mark.parametrize(("load", "closes"), [(0.95, False), (1.25, True)])
def test_the_latch_needs_the_force_of_the_gate(load, closes):
    """A spring presses with `load` F_s and waits: less than F_s never opens the gate, more than 1.2 F_s does."""
    cable = PLAIN.model_copy(update={"stiffness": 4e3, "damping_ratio": 0.5})
    x, p = make(cable, z=-0.005)
    go(x, p, 0.0, load * 30.0 / 4e3)  # at least this load while the cable has not sunk into the slot
    z = x.hook[1]
    for _ in range(100):
        depth = max(x.hook[1] - x.y[1], 0.0)
        z = load * 30.0 / 4e3 + depth if x.place != LATCHED else z
        move_cable(x, p, 0.0, z, 0.005)
    assert (x.place == LATCHED) == closes


@pytest.mark.parametrize(("load", "holds"), [(0.97, True), (1.03, False)])
def test_the_closed_gate_holds_up_to_its_retention(load, holds):
    """Latched, then pulled by a spring of 8 kN/m up to `load` times 2 F_s."""
    cable = PLAIN.model_copy(update={"stiffness": 8e3, "damping_ratio": 0.5})
    x, p = make(cable, z=-0.01)
    go(x, p, 0.0, 0.025)
    assert x.place == LATCHED
    pull = load * 60.0
    forces = go(x, p, 0.0, 0.010 - 2.0 * pull / 8e3, speed=0.01)  # cable and gate stretch alike
    assert (x.place == LATCHED) == holds
    assert forces[:, 1].max() == pytest.approx(min(pull, 60.0), rel=0.02)  # 2 %: the rest of the cable's swing


@pytest.mark.parametrize("offset", [-0.0295, -0.02, 0.0, 0.01, 0.0295])
def test_the_mouth_centres_what_it_catches(offset):
    """The tool is held, so the cable moves aside: 800 N/m times the offset presses on walls of 8 kN/m."""
    x, p = make(s=-offset, z=-0.05)
    go(x, p, -offset, 0.08, speed=0.05)
    rest(x, p, 0.3)
    assert x.place == LATCHED
    assert x.y[0] - x.hook[0] == pytest.approx(offset * 800.0 / 8800.0, abs=2e-4)


@pytest.mark.parametrize("offset", [-0.035, -0.032, -0.0305, 0.0305, 0.032, 0.035])
def test_a_cable_beside_the_mouth_is_missed(offset):
    x, p = make(s=-offset, z=-0.05)
    forces = go(x, p, -offset, 0.08, speed=0.2)
    assert x.place == BESIDE
    assert np.abs(forces).max() == 0.0
    go(x, p, 0.0, 0.08, speed=0.5)  # and is not caught from the side
    assert x.place == BESIDE


def wave(k, dt, waves):
    return sum(a * math.sin(f * k * dt + c) - a * math.sin(c) for a, f, c in waves)


def shaken(x, p, side, up, ticks, dt=0.005):
    """Shake the tool; return the ledger after each tick: work of the tool, stored, lost."""
    s0, z0 = x.hook
    ledger = []
    for k in range(1, ticks + 1):
        move_cable(x, p, s0 + wave(k, dt, side), z0 + wave(k, dt, up), dt)
        ledger.append((x.work, stored(x, p), x.lost))
    return np.array(ledger)


WAVES = st.tuples(st.floats(0.0, 0.03), st.floats(1.0, 12.0), st.floats(0.0, 6.0))


@settings(max_examples=25, deadline=None)
@given(WAVES, WAVES, st.floats(-0.02, 0.02))
def test_contact_adds_no_energy(side, up, s):
    """Whatever the tool does, its work is what is stored and lost, and what is lost only grows.

    The rule is of first order: 20 µs against the 8 ms of a wall leave 1 % of the energy exchanged.
    """
    cable = PLAIN.model_copy(update={"substep": 2e-5})
    x, p = make(cable, s=s, z=-0.02)
    work, energy, lost = shaken(x, p, (side,), (up,), 40).T
    through = np.maximum.accumulate(energy + lost)
    assert np.abs(work - energy - lost).max() <= 0.01 * through.max() + 1e-9
    assert np.diff(lost).min() >= -1e-9
    assert (work >= -0.01 * through - 1e-9).all()


def test_the_ledger_closes_with_the_substep():
    """First order: a quarter of the substep leaves a quarter of the residual, through walls, gate, latch and bottom."""
    gaps = []
    for substep in (4e-5, 1e-5):
        x, p = make(PLAIN.model_copy(update={"substep": substep}), s=0.01, z=-0.04)
        work, energy, lost = shaken(x, p, (), ((0.12, 4.0, 0.0),), 160).T
        assert x.place == LATCHED
        gaps.append(np.abs(work - energy - lost).max())
        assert gaps[-1] < 0.02 * work.max()
    assert gaps[0] / gaps[1] == pytest.approx(4.0, rel=0.35)


def stage(cable, q=(1.0, 0.0, 0.0, 0.0), start=(0.5, 0.1, 0.4)):
    row = np.zeros(1, row_type({*CABLE.reads, *CABLE.writes}))
    state, params = np.zeros(1, CABLE.state), np.zeros(1, CABLE.params)
    sig, x, p = row[0], state[0], params[0]
    CABLE.pack(p, HungCable(cable, start), Cycle(0.005))
    sig.X_WB_true.p, sig.X_WB_true.q = start, q
    return sig, x, p


@pytest.mark.parametrize(("along", "side"), [("y", 0), ("x", 1)])
def test_the_stage_adds_to_the_wrench_of_the_hand(along, side):
    """Force at the hook, 10 cm beside the tool's origin; the hand's part stays; sideways is across the cable."""
    hook = (0.1, 0.0, 0.02)
    cable = PLAIN.model_copy(update={"position": (0.1, 0.0, 0.07), "offset": 0.01, "along": along, "hook": hook})
    sig, x, p = stage(cable)
    for k in range(150):
        sig.X_WB_true.p = (0.5, 0.1, 0.4 + 0.0005 * k)
        sig.F_Bcm_true_W.f, sig.F_Bcm_true_W.tau = (1.0, 2.0, 3.0), (0.0, 0.0, 0.5)
        cable_step(sig, x, p, 0.005)
    f = np.array(sig.F_cable_true_H)
    assert f[2] < -1.0
    assert f[side] > 0.1
    assert f[1 - side] == 0.0
    assert np.array(sig.F_Bcm_true_W.f) == pytest.approx(f + np.array([1.0, 2.0, 3.0]))
    assert np.array(sig.F_Bcm_true_W.tau) == pytest.approx(np.cross(hook, f) + np.array([0.0, 0.0, 0.5]))
    assert sig.p_cable_true_H[side] < (0.6, 0.1)[side] + 0.01
    assert x.place == INSIDE
    assert sig.latched_true == 0


def test_no_cable_no_force():
    sig, x, p = stage(Cable(position=(0.0, 0.0, 0.0)))
    sig.F_Bcm_true_W.f = (1.0, 2.0, 3.0)
    cable_step(sig, x, p, 0.005)
    assert sig.F_Bcm_true_W.f.tolist() == [1.0, 2.0, 3.0]
    assert sig.F_cable_true_H.tolist() == [0.0, 0.0, 0.0]


def test_depths_out_of_order_are_one_sentence():
    class Keys(Section):
        cable: Cable

    with pytest.raises(InputError, match=r"cable.gate_peak, gate_latch and bottom are 0.012, 0.01 and 0.014 m; each must be"):
        build(Keys, {"cable": {"gate_peak": "12 mm"}})
