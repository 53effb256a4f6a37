"""Method twin: damped contacts drawn at random, a demanding test of the energy that a contact returns.

Damping ratios up to 0.05, ticks of 0.5 to 2 ms, sensor delays up to 5 ms that are not multiples of the tick, 76.9 to
176 N/mm, robots of all kinds with a total delay of 15 to 40 ms; priors wrong as in all runs. Guarded, n = 5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.metrics import ideal_of, peak_forces, speeds_after
from hilt.systems.docking.paper.twin_runs import NOISES, padded, prior_errors, rows_of, scenario

CASES = 60
SEED = 17
ROWS = 60_000
REDUCED = 300.0 * 4000.0 / 4300.0  # kg, of table1
Case = tuple[str, ...]


def cases(seed: int = SEED, count: int = CASES) -> list[Case]:
    draw = np.random.default_rng(seed)
    found: list[Case] = []
    for _ in range(count):
        period, zeta, sensor = draw.uniform(0.5e-3, 2e-3), draw.uniform(0, 0.05), draw.uniform(0, 5e-3)
        k = math.exp(draw.uniform(math.log(76.9e3), math.log(176.275e3)))
        kind, whole = draw.choice(["delay", "second-order", "delay+second-order"]), draw.uniform(0.015, 0.040)
        found.append(
            (
                f"loop.period={period}",
                f"contact.stiffness={k}",
                f"contact.damping={2.0 * zeta * math.sqrt(k * REDUCED)}",
                f"sensor.delay={sensor}",
                f"robot.kind={kind}",
                f"robot.delay={whole}",
                f"robot.pure_delay={(whole - sensor) * draw.uniform(0.2, 0.7)}",
                f"robot.damping_ratio={draw.uniform(0.5, 1.5)}",
            )
        )
    return found


@dataclass(frozen=True)
class Damped:
    """CoV and CoF of each case and collision; largest speed relative to that at the start."""

    cov: np.ndarray
    cof: np.ndarray
    speed: float
    faults: int

    @property
    def errors(self) -> np.ndarray:
        """Largest |CoV - 1| of each case."""
        worst: np.ndarray = np.abs(self.cov - 1).max(axis=1)
        return worst

    @property
    def bias(self) -> float:
        """Mean of CoV₅ - 1."""
        return float(self.cov[:, -1].mean() - 1)


def run(drawn: Sequence[Case], noise: float = 0.5) -> Damped:
    """Run all cases; if the sensor has no noise, the encoder has none either."""
    cov, cof, speeds, faults = [], [], [], 0
    log = np.zeros(ROWS, DOCKING.row)
    for i, case in enumerate(drawn):
        values = scenario(
            "table1",
            "compensate.method=twin",
            "limits.command_acceleration_ratio=5",
            f"sensor.noise={noise} N",
            *(NOISES if noise > 0 else ("collisions=5",)),
            *case,
        )
        prior = values.prior.model_copy(update=prior_errors(1000 + i))
        values = values.model_copy(update={"seed": 1000 + i, "prior": prior})
        ideal, rows = ideal_of(values), rows_of(values, log)
        cov.append(padded(speeds_after(rows, values), ideal.speeds))
        cof.append(padded(peak_forces(rows, values), ideal.peaks))
        speeds.append(float(np.abs(rows["v_C_des_W"][:, 0]).max() / values.approach.speed))
        faults += int(rows["fault"][-1] != 0)
    return Damped(np.array(cov), np.array(cof), max(speeds), faults)
