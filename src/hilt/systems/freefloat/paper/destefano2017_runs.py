"""De Stefano et al. 2017: the runs behind the claims and figures, and what is read from them."""

import functools
from dataclasses import dataclass

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


def energy_against_continuous(kind: str, period: float, shift: float) -> float:
    """½ m v² of the velocity commanded at t_k minus H_c at t_k + `shift` T: the largest difference, over the largest H_c."""
    rows = run("paper", kind, period).rows
    reference = continuous_energy(period, shift)
    difference = 0.5 * mass() * rows["v_c"][:, 0] ** 2 - reference
    return float(difference[np.abs(difference).argmax()] / reference.max())


def apart_from_continuous(kind: str, period: float) -> np.ndarray:
    """Position minus that under the force as it varies, not held over the tick [m]."""
    result = run("paper", kind, period)
    apart: np.ndarray = result.rows["X_WBcm"]["p"][:, 0] - continuous(result.scenario, result.rows["t"])["p"][:, 0]
    return apart


def drift_against_continuous(kind: str, period: float) -> tuple[float, float]:
    """The same at 32 s and at 50 s."""
    apart = apart_from_continuous(kind, period)
    return float(apart[round(32.0 / period)]), float(apart[-1])


def controlled_as_printed(force: np.ndarray, period: float, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and v_pc with eq. 16 to 19 in the printed indices: x(k) with F(k), at t_k.

    The shipped `passive-literal` does the same a tick later, when a loop that measures F(k) at t_k can send it.
    """
    x, v_pc = np.zeros(len(force)), np.zeros(len(force))
    v = energy = beta = 0.0
    for k in range(1, len(force)):
        v += period * force[k - 1] / mass
        energy += -((period * force[k - 1]) ** 2) / (2.0 * mass) + beta * force[k - 1] ** 2 * period
        beta = -energy / (force[k] ** 2 * period) if energy < 0.0 and abs(force[k]) > 1e-9 else 0.0
        v_pc[k] = beta * force[k]
        x[k] = x[k - 1] + period * (v - v_pc[k])
    return x, v_pc


@dataclass(frozen=True)
class PowerAreas:
    """Energies of each tick and axis of `oos-sim` [J], F(k-1) held and the continuous body as fast at t_{k-1} as the discrete one."""

    area: np.ndarray  # of Fig. 6: the discrete power F(k-1) v(k-1), held, minus the continuous power
    by_11: np.ndarray  # F T [v(k-1) - v(t)] + ΔH
    by_13: np.ndarray  # F T [v(k-1) - v(t-T)] + ΔH, of which the first is zero: v(t-T) is v(k-1)
    made: np.ndarray  # ΔH
    falling: int  # ticks in which the continuous power falls


def power_areas() -> PowerAreas:
    """[DeStefano2017, eq. 11, eq. 13]"""
    result = run("oos-sim", "euler")
    period, body = result.scenario.loop.period, float(result.scenario.body.mass)  # type: ignore[attr-defined]
    force, before = result.rows["F_Bcm_W"]["f"], result.rows["V_WBcm"]["v"]
    after = before + period * force / body
    into = np.linspace(0.0, 1.0, 101)[:, None, None]
    power = force * (before + into * (after - before))
    made = (period * force) ** 2 / (2.0 * body)
    return PowerAreas(
        area=np.trapezoid(force * before - power, dx=0.01 * period, axis=0),
        by_11=force * period * (before - after) + made,
        by_13=made,
        made=made,
        falling=int((power[-1] < power[0]).sum()),
    )
