"""Benches of docking, and what is in them."""

import functools

import numpy as np

from hilt.systems.docking.docking import DOCKING
from tests.systems import benches

DT, FREE, K = 1e-3, 0.010, 176275.0  # of table1: tick, way to a frame, stiffness of both
HERTZ, ZETA, K_F = 12.0, 0.05, 5e5
BENDS = ("robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz", f"robot.mode_damping_ratio={ZETA}")

bench = functools.partial(benches.bench, "docking")
parts = functools.partial(benches.parts, "docking")


def run(made):
    """The rows of a run to its end."""
    log = np.zeros(made.ticks, DOCKING.row)
    return log[: made.code.batch(made.row, made.x, made.w, made.p, log)]
