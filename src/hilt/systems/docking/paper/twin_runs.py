"""Method twin: the runs behind its claims and figures, in one degree of freedom.

28 robots, 5 collisions. Errors in the controller's assumptions, redrawn for each seed: dead time, natural frequency and
damping ratio of the robot by up to 10 %, stiffness by up to 40 %, positions of the frames by up to 1 mm. Encoder noise 2 µm
and 0.1 mm/s. Commands are at most 1.5 times as fast as the approach and accelerate by at most A = n·v0·ω.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hilt import job
from hilt.systems.docking.docking import DOCKING, Docking
from hilt.systems.docking.metrics import ideal_of, peak_forces, speeds_after

Robot = tuple[str, ...]

ALL_SEEDS = range(1, 21)
SEEDS = range(1, 1 + int(os.environ.get("HILT_SEEDS", "5")))  # 20 runs the full grid, which takes a few minutes
ROWS = 20_000


def pure(delay: int) -> Robot:
    return (f"robot.delay={delay} ms",)


def second_order(whole: int, pure: int, zeta: float) -> Robot:
    """Robot with a total delay of `whole` ms, of which 2 ms are in the sensor and `pure` ms are a pure delay."""
    return (
        f"robot.kind={'delay+second-order' if pure else 'second-order'}",
        f"robot.delay={whole} ms",
        f"robot.pure_delay={pure} ms",
        f"robot.damping_ratio={zeta}",
        "sensor.delay=2 ms",
    )


PURE = [pure(delay) for delay in (10, 20, 30, 40)]
SECOND_ORDER = [
    second_order(whole, dead, zeta)
    for zeta in (0.5, 0.7, 1.0, 1.5)
    for whole, dead in ((20, 0), (40, 0), (20, 6), (20, 12), (40, 10), (40, 24))
]
ROBOTS = [*PURE, *SECOND_ORDER]
NAMES = [f"{delay} ms" for delay in (10, 20, 30, 40)] + [
    f"{whole} ms, ζ {zeta}" + (f", {dead} ms pure" if dead else "")
    for zeta in (0.5, 0.7, 1.0, 1.5)
    for whole, dead in ((20, 0), (40, 0), (20, 6), (20, 12), (40, 10), (40, 24))
]
NOISES = ("encoder.position_noise=2 um", "encoder.velocity_noise=0.1 mm/s", "collisions=5")


@dataclass(frozen=True)
class Runs:
    """CoV and CoF of each robot, seed and collision, NaN where a run ended earlier; the other values are maxima over all runs."""

    cov: np.ndarray
    cof: np.ndarray
    slip: float
    speed: float  # of the simulated body, relative to that at the start
    command_speed: float  # relative to that of the approach
    command_acceleration: float  # relative to v0·ω
    faults: int

    @property
    def worst(self) -> tuple[float, float]:
        """Largest |CoV - 1| and |CoF - 1|."""
        return float(np.abs(self.cov - 1).max()), float(np.abs(self.cof - 1).max())


def prior_errors(seed: int) -> dict[str, float]:
    """Draw the relative errors of the controller's assumptions for a seed, uniformly."""
    draw = np.random.default_rng(seed).uniform
    delay, frequency, damping = draw(-0.1, 0.1, 3)
    return {
        "delay_error": delay,
        "frequency_error": frequency,
        "damping_error": damping,
        "stiffness_error": draw(-0.4, 0.4),
        "surface_error": draw(-1e-3, 1e-3),
    }


def scenario(name: str, *settings: str) -> Docking:
    values = job.find("docking", name, list(settings))[1]
    assert isinstance(values, Docking)
    return values


def rows_of(values: Docking, log: np.ndarray) -> np.ndarray:
    """Run the compiled loop; the rows are written into `log`, which is reused."""
    bench = DOCKING.set_up(values)
    return log[: bench.code.batch(bench.row, bench.x, bench.w, bench.p, log)]


def padded(found: Sequence[float], wanted: Sequence[float]) -> np.ndarray:
    """Return found/ideal for each collision, NaN where a run ended earlier."""
    ratios = np.full(len(wanted), np.nan)
    count = min(len(found), len(wanted))
    ratios[:count] = np.array(found[:count]) / wanted[:count]
    return ratios


def run(
    *changes: str,
    robots: Sequence[Robot] = ROBOTS,
    seeds: Sequence[int] = SEEDS,
    name: str = "table1",
    method: str = "twin",
    mode: str = "guarded",
    n: float = 5,
    noise: float = 0.5,
    errors: Callable[[int], dict[str, float]] = prior_errors,
) -> Runs:
    """Run the compiled loop over all robots and seeds; only the metrics needed here are computed."""
    cov, cof, slips, speeds, ratios, faults = [], [], [], [], [], 0
    log = np.zeros(ROWS, DOCKING.row)
    for robot in robots:
        values = scenario(
            name,
            f"compensate.method={method}",
            f"compensate.mode={mode}",
            f"limits.command_acceleration_ratio={n}",
            f"sensor.noise={noise} N",
            *NOISES,
            *robot,
            *changes,
        )
        ideal, v0 = ideal_of(values), values.approach.speed
        scale = v0 * np.sqrt(values.contact.stiffness / values.reduced_mass)
        for seed in seeds:
            prior = values.prior.model_copy(update=errors(seed))
            rows = rows_of(values.model_copy(update={"seed": seed, "prior": prior}), log)
            faults += int(rows["fault"][-1] != 0)
            cov.append(padded(speeds_after(rows, values), ideal.speeds))
            cof.append(padded(peak_forces(rows, values), ideal.peaks))
            slips.append(rows["time_slip"][-1])
            speeds.append(np.abs(rows["v_C_des_W"][:, 0]).max() / v0)
            command = np.diff(rows["X_WB_cmd"]["p"][:, 0]) / values.loop.period
            ratios.append((np.abs(command).max() / v0, np.abs(np.diff(command)).max() / values.loop.period / scale))
    shape = (len(robots), len(seeds), -1)
    fastest, hardest = np.max(ratios, axis=0)
    return Runs(
        np.reshape(cov, shape),
        np.reshape(cof, shape),
        float(max(slips)),
        float(max(speeds)),
        float(fastest),
        float(hardest),
        faults,
    )
