"""Method twin: first touches in real time, each compared with the bound for its own phase of the tick and noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hilt.systems.docking.analysis.bound import touch_of
from hilt.systems.docking.analysis.bound_phase import Spread, spread_of
from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.metrics import ideal_of, peak_forces
from hilt.systems.docking.paper.twin_runs import NOISES, ROWS, Robot, padded, prior_errors, rows_of, scenario

NOISES_TRIED = (0.0, 0.5, 2.0)  # N
SELDOM = 1e-3  # probability that noise triggers detection this early


@dataclass(frozen=True)
class Touches:
    """CoF of each touch; the bound for its phase, averaged over the noise, and the value that noise rarely goes below."""

    cof: np.ndarray
    mean: np.ndarray
    least: np.ndarray
    phases: np.ndarray

    @property
    def beaten(self) -> float:
        """Largest amount by which a touch is below the bound for its phase; negative if none is."""
        return float((self.least - self.cof).max())

    @property
    def above(self) -> float:
        """Mean CoF minus the mean bound."""
        return float((self.cof - self.mean).mean())


def touches(robot: Robot, n: float, noise: float, seeds: Sequence[int]) -> Touches:
    """Run one first touch per seed, with the frames shifted by a fraction of the travel per tick."""
    values = scenario(
        "table1",
        "compensate.method=twin",
        "compensate.mode=realtime",
        f"limits.command_acceleration_ratio={n}",
        f"sensor.noise={noise} N",
        *(NOISES if noise > 0 else ()),
        *robot,
        "collisions=1",
    )
    touch, peaks = touch_of(values), ideal_of(values).peaks
    log = np.zeros(ROWS, DOCKING.row)
    found = []
    for i, seed in enumerate(seeds):
        gap = values.frames.gap + (i + 0.5) / len(seeds) * touch.speed * touch.period
        changes = {
            "seed": seed,
            "frames": values.frames.model_copy(update={"gap": gap}),
            "prior": values.prior.model_copy(update=prior_errors(seed)),
        }
        run = values.model_copy(update=changes)
        rows = rows_of(run, log)
        depth = float(rows["penetration"][rows["penetration"] > 0.0][0])  # at the first tick inside
        phase = min(depth / (touch.speed * touch.period), 1.0)
        spread = spread_of(touch, phase)
        assert isinstance(spread, Spread), "an elastic contact has a bound"
        found.append((float(padded(peak_forces(rows, run), peaks)[0]), spread.mean, spread.quantile(SELDOM), phase))
    return Touches(*np.array(found).T)
