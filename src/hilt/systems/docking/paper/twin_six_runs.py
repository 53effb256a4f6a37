"""Method twin: the runs behind its claims and figures, in six degrees of freedom.

Oblique contact off the centres of mass. The controller's assumptions are wrong as in one degree of freedom; it knows normals,
lever arms and inertias exactly unless `errors` says otherwise. Noise 0.5 N, 2 µm and 0.1 mm/s; A = 5·v0·ω, V = 1.5·v0.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from hilt.systems.docking.analysis.bound import least_cof_of, touch_of
from hilt.systems.docking.docking import DOCKING, Docking
from hilt.systems.docking.metrics import ideal_of, peak_forces
from hilt.systems.docking.paper import twin_runs
from hilt.systems.docking.paper.twin_runs import Robot, padded, prior_errors, pure, rows_of, second_order

Geometry = tuple[str, str, str, str]

SEEDS = range(1, 5)
ROWS = 40_000
# Normal, approach, lever arm of the servicer and of the target; effective masses of 62, 103, 170 and 271 kg.
GEOMETRIES: list[Geometry] = [
    ("[1, 0.3, -0.2]", "[1, 0.1, 0]", "[0.2, 0.95, 0.5]", "[-1.2, 0.2, 0.1]"),
    ("[1, 0.1, 0.3]", "[1, 0, 0.1]", "[0.3, -0.8, 0.25]", "[-1.2, 0.3, 0]"),
    ("[1, -0.2, 0.4]", "[1, 0, 0.2]", "[0.4, -0.7, 0.4]", "[-1.2, 0.3, 0]"),
    ("[1, 0.1, 0.1]", "[1, 0, 0]", "[0.6, 0.09, 0.05]", "[-1.0, 0, 0]"),
]
PURE_20, PURE_40 = pure(20), pure(40)
ROBOTS_20 = [PURE_20, second_order(20, 0, 0.5), second_order(20, 6, 1.0)]
ROBOTS_40 = [PURE_40, second_order(40, 10, 0.7), second_order(40, 0, 1.0)]
HARDEST = [second_order(40, 0, 0.5)]
NOISES = ("sensor.noise=0.5 N", "encoder.position_noise=2 um", "encoder.velocity_noise=0.1 mm/s")


@dataclass(frozen=True)
class Kept:
    """Quantities that every run must keep within limits; maxima over all runs."""

    energy: float  # kinetic, relative to that at the start
    drift: float  # of momentum and angular momentum, relative
    command_speed: float  # of the tip, as a vector, relative to that of the approach
    command_acceleration: float  # the same, relative to v0·ω


@dataclass(frozen=True)
class Runs:
    """CoF of each run and collision, final kinetic energy relative to ideal, and the quantities to keep within limits."""

    cof: np.ndarray
    energy: np.ndarray
    slip: float
    faults: int  # runs that ended with a fault or before their last collision
    kept: Kept

    @property
    def worst(self) -> float:
        """Largest |CoF - 1|."""
        return float(np.abs(self.cof - 1).max())

    @property
    def energy_error(self) -> float:
        return float(np.abs(self.energy - 1).max())


def scenario(geometry: Geometry, *changes: str, method: str = "twin", mode: str = "guarded") -> Docking:
    normal, approach, servicer, target = geometry
    return twin_runs.scenario(
        "oblique",
        f"compensate.method={method}",
        f"compensate.mode={mode}",
        f"frames.normal={normal}",
        f"approach.direction={approach}",
        f"servicer.assembly_position={servicer}",
        f"target.assembly_position={target}",
        *NOISES,
        *changes,
    )


def kept(rows: np.ndarray, values: Docking) -> tuple[float, float, float, float]:
    """Return the values of `Kept` for one run; speed and acceleration of the commanded tip are taken as vectors."""
    energy = DOCKING.stored_energy(rows)
    scale = float(np.linalg.norm(rows["P_N"][0]))
    linear, angular = (np.abs(rows[name] - rows[name][0]).max() for name in ("P_N", "L_N"))
    attitude = Rotation.from_quat(rows["X_WB_cmd"]["q"], scalar_first=True)
    v = np.diff(rows["X_WB_cmd"]["p"] + attitude.apply(values.rod.tip), axis=0) / values.loop.period
    speed, omega = values.approach.speed, math.sqrt(values.contact.stiffness / values.reduced_mass)
    change = np.linalg.norm(np.diff(v, axis=0), axis=1).max() / values.loop.period
    return (
        float(energy.max() / energy[0]),
        float(max(linear / scale, angular / max(scale, float(np.linalg.norm(rows["L_N"][0]))))),
        float(np.linalg.norm(v, axis=1).max() / speed),
        float(change / (speed * omega)),
    )


def run(
    *changes: str,
    robots: Sequence[Robot],
    geometries: Sequence[Geometry] = GEOMETRIES,
    seeds: Sequence[int] = SEEDS,
    method: str = "twin",
    mode: str = "guarded",
    errors: Callable[[int], dict[str, float]] = prior_errors,
) -> Runs:
    cof, energy, slips, held, faults = [], [], [], [], 0
    log = np.zeros(ROWS, DOCKING.row)
    for robot in robots:
        for geometry in geometries:
            values = scenario(geometry, *robot, *changes, method=method, mode=mode)
            ideal = ideal_of(values)
            for seed in seeds:
                prior = values.prior.model_copy(update=errors(seed))
                rows = rows_of(values.model_copy(update={"seed": seed, "prior": prior}), log)
                faults += int(rows["fault"][-1] != 0 or rows["collision"][-1] != values.collisions)
                cof.append(padded(peak_forces(rows, values), ideal.peaks))
                energy.append(float(DOCKING.stored_energy(rows)[-1]) / ideal.energy)
                slips.append(float(rows["time_slip"][-1]))
                held.append(kept(rows, values))
    return Runs(np.array(cof), np.array(energy), max(slips), faults, Kept(*(float(most) for most in np.max(held, axis=0))))


def prior_errors_with_normal(seed: int) -> dict[str, float]:
    """The same, with both normals off by up to 5° in any direction (5° for seed 1); the controller assumes 2.5° of uncertainty."""
    draw = np.random.default_rng(1000 + seed).uniform
    return {
        **prior_errors(seed),
        "normal_error": math.radians(5.0 if seed == SEEDS[0] else draw(0, 5)),
        "normal_azimuth": draw(0, 2 * math.pi),
        "normal_doubt": math.radians(2.5),
    }


@dataclass(frozen=True)
class FirstTouches:
    """CoF of first touches in real time, and the bound for m_eff and the mean detection time; the rest are maxima over all runs."""

    cof: np.ndarray
    bound: float
    slip: float
    faults: int
    kept: Kept


def first_touches(robot: Robot, geometry: Geometry, seeds: Sequence[int] = range(1, 11)) -> FirstTouches:
    """Touch the surface at ten phases of the tick; on average the sample that exceeds the threshold comes half a tick later."""
    values = scenario(geometry, *robot, "collisions=1", mode="realtime")
    touch, ideal = touch_of(values), ideal_of(values)
    felt = touch.threshold / (touch.stiffness * touch.speed) + 0.5 * touch.period
    least = least_cof_of(replace(touch, sensor=touch.sensor + felt - touch.felt))
    log = np.zeros(ROWS, DOCKING.row)
    found, held, slip, faults = [], [], 0.0, 0
    for seed in seeds:
        gap = values.frames.gap + 0.1 * seed * touch.speed * touch.period
        changes = {
            "seed": seed,
            "frames": values.frames.model_copy(update={"gap": gap}),
            "prior": values.prior.model_copy(update=prior_errors(seed)),
        }
        rows = rows_of(values.model_copy(update=changes), log)
        faults += int(rows["fault"][-1] != 0 or rows["collision"][-1] != values.collisions)
        slip = max(slip, float(rows["time_slip"][-1]))
        held.append(kept(rows, values))
        found.append(peak_forces(rows, values)[0] / ideal.peaks[0])
    bound = math.nan if least is None else least
    return FirstTouches(np.array(found), bound, slip, faults, Kept(*(float(most) for most in np.max(held, axis=0))))
