"""Method twin in six degrees of freedom: oblique contact off the centres of mass, on robots up to 40 ms late.

What the controller is told is wrong, drawn anew for each seed, as in one degree of freedom: dead time, natural frequency and
damping ratio of the robot by up to 10 %, stiffness by up to 40 %, places of the frames by up to 1 mm. Normals, levers and
inertias are told exactly unless a test says otherwise. Noise 0.5 N, 2 µm and 0.1 mm/s; A = 5·v0·ω, V = 1.5·v0.
"""

import math
import os
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hilt import job
from hilt.compensate.twin.bound import effective_mass, least_cof_of, touch_of
from hilt.systems.docking import DOCKING
from hilt.systems.docking_metrics import ideal_of, peak_forces

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too slow without the compiler")

SEEDS = range(1, 5)
# Normal, approach, lever of the servicer and of the target: the contact feels 62, 103, 170 and 271 kg.
GEOMETRIES = [
    ("[1, 0.3, -0.2]", "[1, 0.1, 0]", "[0.2, 0.95, 0.5]", "[-1.2, 0.2, 0.1]"),
    ("[1, 0.1, 0.3]", "[1, 0, 0.1]", "[0.3, -0.8, 0.25]", "[-1.2, 0.3, 0]"),
    ("[1, -0.2, 0.4]", "[1, 0, 0.2]", "[0.4, -0.7, 0.4]", "[-1.2, 0.3, 0]"),
    ("[1, 0.1, 0.1]", "[1, 0, 0]", "[0.6, 0.09, 0.05]", "[-1.0, 0, 0]"),
]


def second_order(whole, pure, zeta):
    return (
        f"robot.kind={'delay+second-order' if pure else 'second-order'}", f"robot.delay={whole} ms",
        f"robot.pure_delay={pure} ms", f"robot.damping_ratio={zeta}", "sensor.delay=2 ms",
    )  # fmt: skip


PURE_20, PURE_40 = ("robot.delay=20 ms",), ("robot.delay=40 ms",)
ROBOTS_20 = [PURE_20, second_order(20, 0, 0.5), second_order(20, 6, 1.0)]
ROBOTS_40 = [PURE_40, second_order(40, 10, 0.7), second_order(40, 0, 1.0)]
NOISES = ("sensor.noise=0.5 N", "encoder.position_noise=2 um", "encoder.velocity_noise=0.1 mm/s")
LOG = np.zeros(40_000, DOCKING.row)


@dataclass
class Runs:
    """CoF of each run and collision, kinetic energy against the ideal one; and what no run may break."""

    cof: np.ndarray
    energy: np.ndarray

    @property
    def worst(self):
        return float(np.abs(self.cof - 1).max())


def wrong(seed):
    draw = np.random.default_rng(seed).uniform
    delay, frequency, damping = draw(-0.1, 0.1, 3)
    return {
        "delay_error": delay, "frequency_error": frequency, "damping_error": damping,
        "stiffness_error": draw(-0.4, 0.4), "surface_error": draw(-1e-3, 1e-3),
    }  # fmt: skip


def scenario(geometry, *changes, mode="guarded"):
    normal, approach, servicer, target = geometry
    settings = (
        "compensate.method=twin", f"compensate.mode={mode}", f"frames.normal={normal}", f"approach.direction={approach}",
        f"servicer.assembly_position={servicer}", f"target.assembly_position={target}", *NOISES, *changes,
    )  # fmt: skip
    return job.find("docking", "oblique", list(settings))[1]


def kept(rows, values):
    """In every run: energy, momentum, and the limits of the commanded tip, as vectors."""
    energy = DOCKING.stored_energy(rows)
    assert energy.max() <= energy[0] * (1 + 1e-9), "no energy is made"
    scale = np.linalg.norm(rows["P_N"][0])
    assert np.abs(rows["P_N"] - rows["P_N"][0]).max() <= 1e-10 * scale
    assert np.abs(rows["L_N"] - rows["L_N"][0]).max() <= 1e-10 * max(scale, np.linalg.norm(rows["L_N"][0]))
    attitude = Rotation.from_quat(np.roll(rows["X_WB_des"]["q"], -1, axis=1))
    v = np.diff(rows["X_WB_des"]["p"] + attitude.apply(values.rod.tip), axis=0) / values.loop.period
    speed, omega = values.approach.speed, math.sqrt(values.contact.stiffness / values.reduced_mass)
    assert np.linalg.norm(v, axis=1).max() <= 1.5 * speed * (1 + 1e-9)
    assert np.linalg.norm(np.diff(v, axis=0), axis=1).max() <= 5 * speed * omega * values.loop.period * (1 + 1e-6)


def run(*changes, robots, geometries=GEOMETRIES, seeds=SEEDS, mode="guarded", told=lambda seed: {}):
    cof, energy = [], []
    for robot in robots:
        for geometry in geometries:
            values = scenario(geometry, *robot, *changes, mode=mode)
            ideal = ideal_of(values)
            for seed in seeds:
                prior = values.prior.model_copy(update={**wrong(seed), **told(seed)})
                bench = DOCKING.set_up(values.model_copy(update={"seed": seed, "prior": prior}))
                rows = LOG[: DOCKING.batch(bench.row, bench.x, bench.w, bench.p, LOG)]
                assert rows["fault"][-1] == 0
                assert rows["collision"][-1] == values.collisions
                kept(rows, values)
                cof.append(np.array(peak_forces(rows)) / ideal.peaks)
                energy.append(DOCKING.stored_energy(rows)[-1] / ideal.energy)
    return Runs(np.array(cof), np.array(energy))


def test_the_geometries_feel_masses_from_60_to_271_kg():
    masses = [effective_mass(scenario(geometry)) for geometry in GEOMETRIES]
    assert 60 < masses[0] < 65
    assert 265 < masses[-1] < 272
    assert masses == sorted(masses)


@pytest.mark.parametrize(
    ("robots", "cof"),
    [(ROBOTS_20, 0.05), (ROBOTS_40, 0.07), ([second_order(40, 0, 0.5)], 0.12)],
    ids=["20 ms", "40 ms", "ζ = 0.5"],
)
def test_guarded_every_contact_is_as_in_space(robots, cof):
    """First touch included; the known frames of collisions 3 to 5 within 0.05."""
    runs = run(robots=robots)
    assert np.abs(runs.energy - 1).max() <= 0.015
    assert runs.worst <= cof
    assert np.abs(runs.cof[:, 2:] - 1).max() <= 0.05


@pytest.mark.parametrize("robot", [PURE_20, PURE_40], ids=["20 ms", "40 ms"])
def test_a_normal_that_is_told_wrong_is_found(robot):
    """By up to 5° in any direction, both frames; the controller is told that it may be off by 2.5°."""

    def told(seed):
        draw = np.random.default_rng(1000 + seed).uniform
        return {
            "normal_error": math.radians(5.0 if seed == SEEDS[0] else draw(0, 5)), "normal_azimuth": draw(0, 2 * math.pi),
            "normal_doubt": math.radians(2.5),
        }  # fmt: skip

    runs = run(robots=[robot], told=told)
    assert np.abs(runs.energy - 1).max() <= 0.015
    assert runs.worst <= 0.06


@pytest.mark.parametrize("robot", [PURE_20, PURE_40], ids=["20 ms", "40 ms"])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_in_real_time_the_first_touch_is_on_the_bound(robot, geometry):
    """CoF_min = ω t_b + 1/(2n) with ω = √(k/m_eff).

    The surface is met at any phase of the tick, here at ten of them: the force is above its threshold after the way to it and,
    in the mean, half a tick. With that in t_b the mean is on the bound.
    """
    values = scenario(geometry, *robot, "collisions=1", mode="realtime")
    touch, ideal = touch_of(values), ideal_of(values)
    felt = touch.threshold / (touch.stiffness * touch.speed) + 0.5 * touch.period
    least = least_cof_of(replace(touch, sensor=touch.sensor + felt - touch.felt))
    found = []
    for seed in range(1, 11):
        gap = values.frames.gap + 0.1 * seed * touch.speed * touch.period
        changes = {
            "frames": values.frames.model_copy(update={"gap": gap}),
            "prior": values.prior.model_copy(update=wrong(seed)),
        }
        bench = DOCKING.set_up(values.model_copy(update={"seed": seed, **changes}))
        rows = LOG[: DOCKING.batch(bench.row, bench.x, bench.w, bench.p, LOG)]
        assert rows["time_slip"][-1] == 0.0
        kept(rows, values)
        found.append(peak_forces(rows)[0] / ideal.peaks[0])
    assert -0.06 <= np.mean(found) - least <= 0.01


def test_a_damped_contact():
    """The bench of He & Shen 2022: what the frame keeps is measured."""
    runs = run("contact.stiffness=76.9 N/mm", "contact.damping=130", robots=[PURE_20, PURE_40], seeds=SEEDS[:2])
    assert np.abs(runs.energy - 1).max() <= 0.015
    assert runs.worst <= 0.05


def test_a_hertz_contact():
    """ω t_b is 2.5 for the lightest geometry at 40 ms, beyond what can be asked for: 20 ms."""
    runs = run("contact.kind=hertz", robots=[PURE_20], seeds=SEEDS[:2])
    assert np.abs(runs.energy - 1).max() <= 0.015
    assert runs.worst <= 0.05


def test_friction_takes_energy_and_makes_none():
    runs = run("contact.friction=0.05", robots=[PURE_20], seeds=SEEDS[:2])
    assert np.abs(runs.energy - 1).max() <= 0.015
    assert runs.worst <= 0.05


def test_bodies_that_tumble():
    spins = ("servicer.angular_velocity=[0.004, -0.005, 0.006]", "target.angular_velocity=[0, 0.002, 0.001]")
    runs = run(*spins, robots=[PURE_40], seeds=SEEDS[:2])
    assert np.abs(runs.energy - 1).max() <= 0.015
    assert runs.worst <= 0.07


def test_the_books_close_and_the_robot_is_where_the_body_is():
    result = job.simulate(DOCKING, scenario(GEOMETRIES[2], *PURE_40))
    rows = result.rows
    net = sum(rows[port]["into"] - rows[port]["out"] for port in DOCKING.ledger_ports)
    stored = DOCKING.stored_energy(rows)
    assert np.abs(net - (stored - stored[0])).max() <= 1e-9 * result.ledger["exchanged_J"]
    assert result.metrics["robot_delay_s"] == pytest.approx(0.0, abs=1e-3)


def test_the_point_of_contact_is_found():
    """The real tip is 4 mm beside the told one; force and torque show it, across the normal, within 1 mm at 0.5 N.

    One sample has an error of (lever × σ/F) ≈ 1 mm; some hundred of them are taken in five contacts.
    """
    values = scenario(GEOMETRIES[3], *PURE_20)
    bench = DOCKING.set_up(values)
    off = np.array([0.0, 4e-3, -2e-3])
    bench.p[0].contact.tip_B[:] += off
    rows = LOG[: DOCKING.batch(bench.row, bench.x, bench.w, bench.p, LOG)]
    n = np.array(values.frames.n_W)
    assert rows["tip_offset_B"][-1] == pytest.approx(off - n * (n @ off), abs=1e-3)
