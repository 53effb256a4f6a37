"""What a run of `payload` is measured by: forces, speeds, and how well the virtual arm tells what the slave arm does."""

import math
from typing import Any

import numpy as np

from hilt.missing import Missing, finite
from hilt.systems import bilateral_metrics
from hilt.teleop.link import playout_delay

IMPULSE_TIME = 9.5  # s from the step, as in the paper
STANDS = 0.02  # of the operator's speed: slower is standing

CAME_APART = "the virtual arm's equations came apart: virtual.step explicit does so with these grips and this period"
NOT_FOLLOWED = "the run ended before the slave arm had anything to follow"

METRIC_WORDS = {
    "time_constant_s": "time constant of the virtual payload",
    "impulse_Ns": "impulse on the payload over 9.5 s from the step",
    "final_speed_m_s": "speed of the payload at the end",
    "peak_force_N": "largest force of the slave arm",
    "mean_square_force_N2": "mean square of that force [N²]",
    "virtual_peak_force_N": "largest force of the virtual arm",
    "position_error_m": "largest distance between virtual and slave hand",
    "final_position_error_m": "the same at the end",
    "attitude_error_rad": "largest angle between virtual and slave hand",
    "mass_error": "mass as identified, relative error",
    "grip_error": "grip as identified, relative error",
    "push_force_N": "largest force of the identification push",
    "push_duration_s": "time it takes",
    "link_loss": "share of packets lost, ground to orbit",
    "link_delay_mean_s": "mean delay of those that came",
    "link_delay_max_s": "longest delay",
    "link_reordered": "share that came after a newer one",
    "link_duplicated": "share that came twice",
    "down_loss": "share of packets lost, orbit to ground",
    "down_delay_mean_s": "mean delay of those that came",
    "down_delay_max_s": "longest delay",
    "down_reordered": "share that came after a newer one",
    "down_duplicated": "share that came twice",
    "travel_after_outage_m": "way of the payload after the link was lost",
    "stopped": "payload stands at the end, of the outage if there is one",
    **bilateral_metrics.METRIC_WORDS,
}


def along(rows: np.ndarray, signal: str, scenario: Any) -> np.ndarray:
    direction = np.array(scenario.operator.direction)
    part: np.ndarray = rows[signal] @ (direction / np.linalg.norm(direction))
    return part


def shift(scenario: Any) -> int:
    """Rows by which orbit lags the ground: the play-out delay."""
    return round(playout_delay(scenario) / scenario.loop.period)


def time_constant(rows: np.ndarray, scenario: Any) -> float:
    """Time in which the virtual payload reaches 1 - 1/e of the reference after the step."""
    speed, reached = along(rows, "v_tvir", scenario), (1.0 - math.exp(-1.0)) * scenario.operator.speed
    above = np.flatnonzero(speed >= reached)
    if not len(above):
        return Missing("the virtual payload never reached 1 - 1/e of the reference")
    if above[0] == 0:
        return Missing("the virtual payload was at 1 - 1/e of the reference from the first tick on")
    k = int(above[0])
    part = (reached - speed[k - 1]) / (speed[k] - speed[k - 1])
    # v_tvir of row k is that of the end of its tick.
    return float(rows["t"][k - 1] + (part + 1.0) * scenario.loop.period) - float(scenario.transport_start)


def position_errors(rows: np.ndarray, scenario: Any) -> np.ndarray:
    """Distance between the slave hand and the virtual hand of one play-out delay ago, for each row that has both.

    The virtual hand of row k is that of the end of its tick, the slave hand that of its beginning.
    """
    late = shift(scenario) + 1
    first = int(np.searchsorted(rows["t"], scenario.transport_start))
    if first + late >= len(rows):
        return np.zeros(0)
    errors: np.ndarray = np.linalg.norm(rows["x_s"][first + late :] - rows["x_vir"][first : len(rows) - late], axis=1)
    return errors


def metrics(rows: np.ndarray, scenario: Any) -> dict[str, Any]:
    """The figures of a run."""
    if scenario.bilateral_mode:
        return {
            **bilateral_metrics.metrics(rows, scenario),
            "peak_force_N": float(np.linalg.norm(rows["f_s"], axis=1).max()),
            **_link(rows[-1], scenario.link),
        }
    force = along(rows, "f_s", scenario)
    size = np.linalg.norm(rows["f_s"], axis=1)
    t, period = rows["t"], scenario.loop.period
    step = scenario.transport_start + playout_delay(scenario)
    window = (t >= step - 1e-9) & (t < step + IMPULSE_TIME - 1e-9)
    errors = position_errors(rows, scenario)
    speed = np.linalg.norm(rows["V_WBcm"]["v"], axis=1)
    figures: dict[str, Any] = {
        "impulse_Ns": float(force[window].sum() * period),
        "final_speed_m_s": float(speed[-1]),
        "peak_force_N": float(size.max()),
        "mean_square_force_N2": float(np.mean(size**2)),
        "virtual_peak_force_N": finite(float(np.linalg.norm(rows["f_vir"], axis=1).max()), CAME_APART),
        "position_error_m": finite(float(errors.max()), CAME_APART) if len(errors) else Missing(NOT_FOLLOWED),
        "final_position_error_m": finite(float(errors[-1]), CAME_APART) if len(errors) else Missing(NOT_FOLLOWED),
        **_identified(rows, scenario),
        **_link(rows[-1], scenario.link),
        "stopped": bool(speed[_last_row(rows, scenario)] < STANDS * scenario.operator.speed),
    }
    if scenario.rotates:
        figures["attitude_error_rad"] = _attitude_error(rows, scenario)
    if scenario.operator.kind == "step":
        figures["time_constant_s"] = time_constant(rows, scenario)
    if scenario.link.outage_duration > 0:
        figures["travel_after_outage_m"] = _travel(rows, scenario)
    return figures


def _link(last: Any, link: Any) -> dict[str, float]:
    """Statistics of both directions; of a clean link only that nothing was lost."""
    found = {}
    for name in ("link", "down"):
        sent = max(int(last[f"{name}_sent"]), 1)
        found[f"{name}_loss"] = float(last[f"{name}_lost"] / sent)
        if link.jitter > 0 or link.duplication > 0 or link.loss > 0:
            found[f"{name}_delay_mean_s"] = float(last[f"{name}_delay_mean"])
            found[f"{name}_delay_max_s"] = float(last[f"{name}_delay_max"])
            found[f"{name}_reordered"] = float(last[f"{name}_reordered"] / sent)
            found[f"{name}_duplicated"] = float(last[f"{name}_duplicated"] / sent)
    return found


def _attitude_error(rows: np.ndarray, scenario: Any) -> float:
    late = shift(scenario) + 1
    if late >= len(rows):
        return Missing(NOT_FOLLOWED)
    same = np.abs((rows["q_s"][late:] * rows["q_vir"][:-late]).sum(axis=1))
    return float(2.0 * np.arccos(np.clip(same, 0.0, 1.0)).max())


def _identified(rows: np.ndarray, scenario: Any) -> dict[str, float]:
    """Errors of what orbit has reported to the ground, and the force it took to find out."""
    if not scenario.virtual.identify or rows["pushed_ground"][-1] < 1.0:
        return {}
    found = {
        "mass_error": float(abs(rows["m_ground"][-1] / scenario.payload.mass - 1.0)),
        "grip_error": float(abs(rows["k_ground"][-1] / scenario.grip.stiffness - 1.0)),
    }
    if scenario.identify.push:
        push = rows["t"] < scenario.identify.push_end
        found |= {
            "push_force_N": float(np.abs(rows["f_s"][push]).max()),
            "push_duration_s": float(scenario.identify.push_end),
        }
    return found


def _last_row(rows: np.ndarray, scenario: Any) -> int:
    """The end of the run; of an outage the last moment before packets come again."""
    if scenario.link.outage_duration == 0:
        return -1
    end = scenario.link.outage_start + scenario.link.outage_duration + playout_delay(scenario)
    return int(np.searchsorted(rows["t"], end - 1e-9)) - 1


def _travel(rows: np.ndarray, scenario: Any) -> float:
    """From the moment at which orbit runs out of packets to the end of the outage, or of the run."""
    begin = scenario.link.outage_start + playout_delay(scenario)
    end = begin + scenario.link.outage_duration
    inside = (rows["t"] >= begin) & (rows["t"] < end)
    if not inside.any():
        return 0.0
    path = rows["X_WBcm"]["p"][inside]
    return float(np.linalg.norm(path[-1] - path[0]))
