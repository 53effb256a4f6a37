"""Benches of docking: each scenario is read and set up once, and whoever asks gets copies that nobody else has moved."""

import functools
from dataclasses import replace

import numpy as np

from hilt import job
from hilt.systems.docking.docking import DOCKING

DT, FREE, K = 1e-3, 0.010, 176275.0  # of table1: tick, way to a frame, stiffness of both
HERTZ, ZETA, K_F = 12.0, 0.05, 5e5
BENDS = ("robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz", f"robot.mode_damping_ratio={ZETA}")


@functools.lru_cache(maxsize=16)
def _made(scenario, changes):
    values = job.find("docking", scenario, list(changes))[1]
    return values, DOCKING.set_up(values)


def bench(scenario, *changes):
    """Scenario and bench."""
    values, made = _made(scenario, changes)
    return values, replace(made, **{part: getattr(made, part).copy() for part in ("row", "x", "w", "p")})


def parts(scenario, *changes):
    """Its row, the states of controller and plant, and the parameters."""
    _, made = bench(scenario, *changes)
    return made.row[0], made.x[0], made.w[0], made.p[0]


def run(made):
    """The rows of a run to its end."""
    log = np.zeros(made.ticks, DOCKING.row)
    return log[: made.code.batch(made.row, made.x, made.w, made.p, log)]
