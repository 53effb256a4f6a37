"""De Stefano et al. 2017: the runs behind the claims and figures, and what is read from them."""

import functools

import numpy as np

from hilt import job
from hilt.job import Result
from hilt.systems.freefloat.analysis.reference import continuous

T1, T2, T3 = 0.1, 0.01, 0.001


@functools.cache
def run(name: str, kind: str, period: float | None = None, *settings: str) -> Result:
    changes = [f"integrator.kind={kind}", *([f"loop.period={period}"] if period else []), *settings]
    return job.simulate(*job.find("freefloat", name, changes))


def mass() -> float:
    return float(run("paper", "euler", T1).scenario.body.mass)  # type: ignore[attr-defined]


@functools.cache
def continuous_energy(period: float, shift: float = 0.0) -> np.ndarray:
    """H_c of the paper's profile, `shift` samples after each tick."""
    result = run("paper", "euler", period)
    values = result.scenario
    t = result.rows["t"] + shift * period
    return continuous(values, np.r_[0.0, t])["H"][1:] if shift else continuous(values, t)["H"]


def energy_difference(period: float) -> tuple[np.ndarray, np.ndarray]:
    """Time and ΔE - ΔH = F(k-1) T [v(k-1) - v(t)] of each tick [DeStefano2017, eq. 12]; v(t) is continuous."""
    result = run("paper", "euler", period)
    rows = result.rows
    v = np.sqrt(2.0 * continuous_energy(period) / mass())
    force, speed = rows["F_Bcm_W"]["f"][:-1, 0], rows["V_WBcm"]["v"][:-1, 0]
    return rows["t"][1:], force * period * (speed - v[1:])


def balance_error() -> float:
    """Largest error of H(k) = H(k-1) + T v F + ΔH [DeStefano2017, eq. 9] over the run."""
    rows = run("paper", "euler", T1).rows
    force, v = rows["F_Bcm_W"]["f"][:-1, 0], rows["V_WBcm"]["v"][:-1, 0]
    return float(np.abs(np.diff(rows["H"]) - T1 * v * force - T1**2 * force**2 / (2 * mass())).max())
