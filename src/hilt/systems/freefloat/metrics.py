"""Metrics of a run of `freefloat`: deviation from the exact motion, and the energy made by the loop."""

from typing import Any

import numpy as np

from hilt.core.counter import Column, Counter
from hilt.core.flight import speeds_at
from hilt.systems.freefloat import counting

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
    "angular_momentum_error": "relative error of the angular momentum",
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


def result(m: np.ndarray, each: np.ndarray, q: np.ndarray) -> dict[str, Column]:
    """The metrics of many runs; those that do not apply to a scenario are left out."""
    turning, rotates, observed = m["turning"], q["rotates"] != 0, q["observed"] != 0
    still = m["most_energy"] == 0.0
    spin = np.sqrt((turning["L_W"] ** 2).sum(axis=1))
    return {
        "position_error_m": Column(np.sqrt(m["away2"])),
        # Gained beyond the work of the world; negative if lost.
        "energy_made": Column(np.where(still, 0.0, m["made"] / np.where(still, 1.0, m["most_energy"]))),
        "e_obs_min_J": Column(m["E_obs"], present=observed),
        "e_obs_uncontrolled_min_J": Column(m["E_obs_free"], present=observed),
        "largest_v_pc_m_s": Column(m["v_pc"], present=observed),
        "largest_speed_m_s": Column(np.sqrt(m["speed2"])),
        "drift_m": Column(np.sqrt(m["drifts2"]), entries=m["over"], present=q["pushes"] > 0),
        "rebound_gain": _gains(m, each, q["wall"] != 0),
        "rotation_energy_drift_J": Column(turning["H_last"] - turning["H_first"] - turning["work"], present=rotates),
        "angular_momentum_error": Column(turning["error"] / np.where(spin == 0.0, 1.0, spin), present=rotates),
    }


def _gains(m: np.ndarray, each: np.ndarray, walls: np.ndarray) -> Column:
    """Ratio of the speeds after and before, for each completed contact; 1 is a perfect spring."""
    open_ones = np.flatnonzero((m["flight"] > 0) & (m["flights"] < each.shape[1]) & walls)
    flights = m["flights"].copy()
    flights[open_ones] += 1  # the end of a run ends its last flight
    speeds = each["speed"][:, : int(flights.max(initial=0))].copy()
    speeds[open_ones, flights[open_ones] - 1] = speeds_at(m, open_ones, m["flight"][open_ones] // 2)
    before, after = speeds[:, :-1], speeds[:, 1:]
    stood = before == 0.0
    gains = np.where(stood, np.nan, after / np.where(stood, 1.0, before))
    return Column(gains, ((stood, "the body was at rest before it"),), np.maximum(flights - 1, 0), walls)


COUNTER = Counter(
    state=counting.STATE,
    event=counting.EVENT,
    params=counting.PARAMS,
    events=counting.events,
    pack=counting.pack,
    step=counting.count_step,
    feed=counting.feed,
    references=(),
    result=result,
)
