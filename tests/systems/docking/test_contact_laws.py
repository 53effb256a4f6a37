"""What a rod touches: Hunt and Crossley's law, friction up to 0.5, and a cone instead of a flat frame."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from hilt import job
from hilt.systems.docking.contact import contact_step
from hilt.systems.docking.docking import DOCKING
from tests.systems.docking import benches

SAFE = ("dac", "pida", "twin")  # the methods that watch the energy
CONE = "frames.cone=0.5"
HUNT_CROSSLEY = ("contact.kind=hunt-crossley", "contact.dissipation=10")


def bench(scenario, *changes):
    values, made = benches.bench(scenario, *changes)
    return values, made.row[0], made.w[0].contact, made.p[0].contact


def touch(sig, w, p, at, velocity=(0.0, 0.0, 0.0)):
    """Force on the target with the true tip at a place in W."""
    sig.X_WB_true.q[:] = (1, 0, 0, 0)
    sig.X_WB_true.p[:] = np.subtract(at, p.tip_B)
    sig.V_WB_true.v[:] = velocity
    sig.V_WB_true.w[:] = 0.0
    contact_step(sig, w, p, 1e-3)
    return np.array(sig.F_C_true_W)


@pytest.mark.parametrize("rate", [-0.2, -0.05, 0.0, 0.02])
def test_hunt_crossley_only_pushes_and_its_damper_fades_with_the_spring(rate):
    values, sig, w, p = bench("table1", *HUNT_CROSSLEY)
    for depth in (1e-6, 1e-4, 1e-3):
        spring = values.contact.hertz_coefficient * depth**1.5
        force = touch(sig, w, p, (0.010 + depth, 0, 0), (rate, 0, 0))
        assert force[0] == pytest.approx(max(0.0, spring * (1 + 10 * rate)), rel=1e-9)


def test_a_robot_that_yields_presses_as_hard_as_the_frame_pushes():
    values, sig, w, p = bench("table1", *HUNT_CROSSLEY, "robot.stiffness=1e6")
    for _ in range(100):  # until it rests, when the damper gives no force
        force = touch(sig, w, p, (0.012, 0, 0))
    depth = sig.penetration
    assert 0 < depth < 0.002
    assert force[0] == pytest.approx(1e6 * (0.002 - depth), rel=1e-9)
    assert force[0] == pytest.approx(values.contact.hertz_coefficient * depth**1.5, rel=1e-6)


def test_hunt_crossley_in_space_is_that_of_dop853():
    """Speed after the contact and peak force, two bodies as one of their reduced mass."""
    system, values, name = job.find("docking", "table1", [*HUNT_CROSSLEY, "collisions=1", "loop.duration=1.2 s"])
    rows = job.simulate(system, values.in_space(256), name).rows
    k, c, m = values.contact.hertz_coefficient, values.contact.dissipation, values.reduced_mass

    def force(y):
        return max(0.0, k * max(0.0, y[0]) ** 1.5 * (1.0 + c * y[1]))

    ideal = solve_ivp(
        lambda _, y: (y[1], -force(y) / m),
        (0.0, 1.0),
        (0.0, values.approach.speed),
        "DOP853",
        rtol=1e-12,
        atol=1e-15,
        max_step=1e-3,
        dense_output=True,
    )
    top = ideal.t[np.argmax([force(y) for y in ideal.y.T])]
    peak = minimize_scalar(lambda t: -force(ideal.sol(t)), bounds=(top - 2e-3, top + 2e-3), options={"xatol": 1e-10})
    assert rows["V_WB_sim"]["v"][-1, 0] == pytest.approx(ideal.y[1, -1], rel=1e-5)
    assert rows["F_C_true_W"][:, 0].max() == pytest.approx(-peak.fun, rel=1e-5)


NOISE = [("seed=1", "sensor.noise=0"), ("seed=2", "sensor.noise=0.5"), ("seed=3", "sensor.noise=0.5")]
RUBS = [(f"contact.friction={mu}", *noise) for mu in (0.1, 0.3, 0.5) for noise in NOISE]
SLIPS = (CONE, "contact.friction=0.2", "loop.duration=20 s")


@pytest.mark.parametrize(
    ("changes", "methods"), [*((rubs, SAFE) for rubs in RUBS), (HUNT_CROSSLEY, SAFE), (SLIPS, ("dac", "pida"))], ids=str
)
def test_no_contact_adds_energy(changes, methods):
    for method in methods:
        rows = job.simulate(*job.find("docking", "oblique", [f"compensate.method={method}", *changes])).rows
        found = rows["H"] + rows["H_rot"]
        assert found.max() <= found[0] * (1 + 1e-9), method
        assert changes not in RUBS or found[-1] < 0.99 * found[0], f"friction takes some, {method}"


def test_a_cone_pushes_across_its_surface():
    values, sig, w, p = bench("oblique", CONE)
    n, start, radius = np.array(values.frames.n_W), np.array(values.start_of_tip), values.rod.radius
    aside = np.cross(n, (0.0, 0.0, 1.0))
    aside /= np.linalg.norm(aside)
    free = values.frames.gap - radius
    for off in (0.0, 0.002, 0.02):
        rise = (math.hypot(off, radius) - radius) * math.tan(0.5)
        at = start + (free - rise + 1e-3 / math.cos(0.5)) * n + off * aside
        lean = off / math.hypot(off, radius)  # the apex is rounded
        expected = values.contact.stiffness * 1e-3 * (math.cos(0.5) * n + math.sin(0.5) * lean * aside)
        assert touch(sig, w, p, at) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert sig.contact == 1
        assert touch(sig, w, p, at - 2e-3 * n) == pytest.approx(0.0)


def test_a_contact_with_a_cone_keeps_the_energy_in_space():
    """Also where the tip slides through the apex: the force has a potential."""
    values = job.find("docking", "oblique", [CONE, "collisions=3", "loop.duration=12 s"])[1]
    rows = job.simulate(DOCKING, values.in_space(8)).rows
    found = rows["H"] + rows["H_rot"]
    free = found[rows["contact"] == 0]
    assert rows["collision"].max() >= 3
    assert np.abs(free / found[0] - 1).max() <= 1e-3
