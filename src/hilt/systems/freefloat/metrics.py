"""Metrics of a run of `freefloat`: deviation from the exact motion, and the energy made by the loop."""

import itertools
from typing import Any

import numpy as np

from hilt.core.ledger import kinetic_energy
from hilt.core.meter import NO_ROWS, Stretch, highest, lowest
from hilt.core.missing import ratio

METRIC_WORDS = {
    "position_error_m": "largest distance from the exact motion under the measured force",
    "energy_made": "energy made by the loop / largest energy of the body",
    "e_obs_min_J": "smallest observed energy, as run",
    "e_obs_uncontrolled_min_J": "smallest observed energy, no controller",
    "largest_v_pc_m_s": "largest correction of the velocity",
    "largest_speed_m_s": "largest speed",
    "drift_m": "drift at the end of each push",
    "rebound_gain": "speed after / before each contact",
    "rotation_energy_drift_J": "energy made by the rotation",
    "angular_momentum_error": "angular momentum, relative error",
}


def held_force_position(rows: np.ndarray, mass: float, period: float) -> np.ndarray:
    """Position of a mass under the measured force, held over each tick: the exact solution."""
    acceleration = rows["F_Bcm_W"]["f"][:-1] / mass
    v = rows["V_WBcm"]["v"][0] + period * np.concatenate([np.zeros((1, 3)), np.cumsum(acceleration, axis=0)])
    step = period * v[:-1] + 0.5 * period**2 * acceleration
    return rows["X_WBcm"]["p"][0] + np.concatenate([np.zeros((1, 3)), np.cumsum(step, axis=0)])


def drift(rows: np.ndarray, scenario: Any) -> np.ndarray:
    """Distance between the simulated position and the exact one, for each row."""
    exact = held_force_position(rows, scenario.body.mass, scenario.loop.period)
    axes = 1 if scenario.body.dof == 1 else 3
    return np.linalg.norm((rows["X_WBcm"]["p"] - exact)[:, :axes], axis=1)


def axes_of(scenario: Any) -> int:
    return 1 if scenario.body.dof == 1 else 3


class FreeFloatMeter:
    """The metrics of a run; those that do not apply to a scenario are left out."""

    def __init__(self, scenario: Any) -> None:
        self._scenario, self._axes = scenario, axes_of(scenario)
        self._exact, self._flights, self._turning = _Exact(scenario), _Flights(), _Turning(scenario.loop.period)
        self._ends = sorted({push.start + push.duration for push in scenario.push})
        self._drifts: list[float] = []
        self._highs = dict.fromkeys(("drift", "v_pc", "speed"), 0.0)
        self._lows = dict.fromkeys(("E_obs", "E_obs_free"), np.inf)
        self._energy = _LoopEnergy()

    def take(self, rows: np.ndarray) -> None:
        away = np.linalg.norm((rows["X_WBcm"]["p"] - self._exact.take(rows))[:, : self._axes], axis=1)
        # The drift at the end of each push, as the paper reads it from its Fig. 3.
        while self._ends and self._ends[0] <= rows["t"][-1] + 1e-9:
            k = int(np.searchsorted(rows["t"], self._ends.pop(0) - 1e-9))
            self._drifts.append(float(away[min(k, len(away) - 1)]))
        highs = {"drift": away, "v_pc": np.abs(rows["v_pc"]), "speed": np.linalg.norm(rows["V_WBcm"]["v"], axis=1)}
        self._highs = {name: highest(before, highs[name]) for name, before in self._highs.items()}
        self._lows = {name: lowest(before, rows[name][:, : self._axes]) for name, before in self._lows.items()}
        self._energy.take(rows)
        if self._scenario.wall is not None:
            self._flights.take(rows)
        if self._scenario.body.dof == 6:
            self._turning.take(rows)

    def result(self) -> dict[str, Any]:
        figures: dict[str, Any] = {
            "position_error_m": self._highs["drift"],
            "energy_made": self._energy.share(),
            "e_obs_min_J": self._lows["E_obs"],
            "e_obs_uncontrolled_min_J": self._lows["E_obs_free"],
            "largest_v_pc_m_s": self._highs["v_pc"],
            "largest_speed_m_s": self._highs["speed"],
        }
        if self._scenario.push:
            figures["drift_m"] = self._drifts
        if self._scenario.wall is not None:
            figures["rebound_gain"] = self._flights.gains()
        if self._scenario.body.dof == 6:
            figures |= self._turning.figures()
        return figures


class _LoopEnergy:
    """Energy gained beyond the work of the world, as a fraction of the body's largest energy; negative if lost."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._most = self._made = 0.0

    def take(self, rows: np.ndarray) -> None:
        energy, work = kinetic_energy(rows), rows["W_environment"]["into"] - rows["W_environment"]["out"]
        if self._first is None:
            self._first = float(energy[0])
        self._most = highest(self._most, energy)
        self._made = float(energy[-1] - work[-1]) - self._first

    def share(self) -> float:
        return self._made / self._most if self._most else 0.0


class _Exact:
    """The exact solution, continued block by block: the sums of `held_force_position`, in the same order."""

    def __init__(self, scenario: Any) -> None:
        self._mass, self._period = scenario.body.mass, scenario.loop.period
        self._sums = np.zeros((2, 1, 3))  # of accelerations, of steps
        self._start: tuple[np.ndarray, np.ndarray] | None = None
        self._force = np.zeros((0, 3))  # of the last row

    def take(self, rows: np.ndarray) -> np.ndarray:
        if self._start is None:
            self._start = rows["V_WBcm"]["v"][0].copy(), rows["X_WBcm"]["p"][0].copy()
        period, (v0, p0) = self._period, self._start
        acceleration = np.concatenate([self._force, rows["F_Bcm_W"]["f"][:-1]]) / self._mass
        # Row 0 has no force before it; in later blocks the first row follows the last one of the previous block.
        sums = np.cumsum(np.concatenate([self._sums[0], acceleration]), axis=0)
        v = v0 + period * sums
        step = period * v[:-1] + 0.5 * period**2 * acceleration
        steps = np.cumsum(np.concatenate([self._sums[1], step]), axis=0)
        self._sums = np.stack([sums[-1:], steps[-1:]])
        places: np.ndarray = p0 + (steps[1:] if len(self._force) else steps)
        self._force = rows["F_Bcm_W"]["f"][-1:].copy()
        return places


class _Flights:
    """Stretches of free motion between contacts, including the first and the last: the speed in the middle of each."""

    def __init__(self) -> None:
        self._flight = Stretch()
        self._speeds: list[float] = []

    def take(self, rows: np.ndarray) -> None:
        free, v = rows["contact"] == 0, rows["V_WBcm"]["v"][:, 0]
        cuts = np.flatnonzero(np.diff(free)) + 1
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            if free[begin]:
                self._flight.append(v[begin:end])
            else:
                self._close()

    def _close(self) -> None:
        if self._flight.count:
            self._speeds.append(abs(self._flight.at(self._flight.count // 2)))
            self._flight = Stretch()

    def gains(self) -> list[float]:
        """Ratio of the speeds after and before, for each completed contact; 1 is a perfect spring."""
        self._close()
        stood = "the body was at rest before it"
        return [ratio(after, before, stood) for before, after in itertools.pairwise(self._speeds)]


class _Turning:
    """Energy and angular momentum of the turning body, compared with the work and the impulse of the measured torque."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._first: np.ndarray | None = None
        self._last = NO_ROWS
        self._work, self._impulse = 0.0, np.zeros((1, 3))
        self._error = 0.0

    def take(self, rows: np.ndarray) -> None:
        joined = rows if self._first is None else np.concatenate([self._last, rows])
        if self._first is None:
            self._first = rows[:1].copy()
        tau, w, dt = joined["F_Bcm_W"]["tau"][:-1], joined["V_WBcm"]["w"], np.diff(joined["t"])
        # By the trapezoid of its rates.
        self._work = float(np.cumsum(np.r_[self._work, np.einsum("ij,ij->i", tau, 0.5 * (w[:-1] + w[1:])) * dt])[-1])
        impulses = np.cumsum(np.concatenate([self._impulse, tau]), axis=0)
        expected = self._first["L_W"] + impulses * self._period
        self._error = highest(self._error, np.abs(joined["L_W"] - expected))
        self._impulse, self._last = impulses[-1:], rows[-1:].copy()

    def figures(self) -> dict[str, float]:
        assert self._first is not None
        made = float(self._last["H_rot"][0]) - float(self._first["H_rot"][0]) - self._work
        size = float(np.linalg.norm(self._first["L_W"][0])) or 1.0
        return {"rotation_energy_drift_J": made, "angular_momentum_error": self._error / size}
