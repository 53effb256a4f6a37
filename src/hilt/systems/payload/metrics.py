"""Metrics of a run of `payload`: forces, speeds, and how well the virtual arm represents the slave arm."""

import math
from typing import Any

import numpy as np

from hilt.core.meter import NO_ROWS, Lag, Meter, highest, joined, lengths
from hilt.core.missing import Missing, finite
from hilt.systems.payload import bilateral_metrics, grasp_metrics
from hilt.systems.payload.grasp_metrics import GraspMeter
from hilt.systems.payload.link import playout_delay

IMPULSE_TIME = 9.5  # s from the step, as in the paper
AT_REST = 0.02  # fraction of the operator's speed: slower counts as stopped

NOT_FOLLOWED = "the run ended before the slave arm had anything to follow"

DIVERGED = "the virtual arm's equations diverged, as virtual.step = 'explicit' does with these grips and this period"

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
    "mass_error": "relative error of the identified mass",
    "grip_error": "relative error of the identified grip stiffness",
    "push_force_N": "largest force of the identification push",
    "push_duration_s": "time it takes",
    "link_loss": "fraction of packets lost, ground to orbit",
    "link_delay_mean_s": "mean delay of those that arrived",
    "link_delay_max_s": "longest delay",
    "link_reordered": "fraction that arrived after a newer one",
    "link_duplicated": "fraction that arrived twice",
    "down_loss": "fraction of packets lost, orbit to ground",
    "down_delay_mean_s": "mean delay of those that arrived",
    "down_delay_max_s": "longest delay",
    "down_reordered": "fraction that arrived after a newer one",
    "down_duplicated": "fraction that arrived twice",
    "travel_after_outage_m": "travel of the payload after the link was lost",
    "stopped": "payload at rest at the end (of the outage if there is one)",
    **bilateral_metrics.METRIC_WORDS,
    **grasp_metrics.METRIC_WORDS,
}


def along(rows: np.ndarray, signal: str, scenario: Any) -> np.ndarray:
    direction = np.array(scenario.operator.direction)
    part: np.ndarray = rows[signal] @ (direction / np.linalg.norm(direction))
    return part


def shift(scenario: Any) -> int:
    """Rows by which orbit lags behind the ground: the play-out delay."""
    return round(playout_delay(scenario) / scenario.loop.period)


def position_errors(rows: np.ndarray, scenario: Any) -> np.ndarray:
    """Distance between the slave hand and the virtual hand of one play-out delay ago, for each row that has both.

    The virtual hand of row k is that at the end of its tick, the slave hand that at its beginning.
    """
    late = shift(scenario) + 1
    first = int(np.searchsorted(rows["t"], scenario.transport_start))
    if first + late >= len(rows):
        return np.zeros(0)
    errors: np.ndarray = np.linalg.norm(rows["x_s"][first + late :] - rows["x_vir"][first : len(rows) - late], axis=1)
    return errors


def meter(scenario: Any) -> Meter:
    """The meter for a run."""
    return Combined(BilateralRun(scenario) if scenario.bilateral_mode else UnilateralRun(scenario), GraspMeter(scenario))


class Combined:
    """The metrics of several meters, combined."""

    def __init__(self, *meters: Meter) -> None:
        self._meters = meters

    def take(self, rows: np.ndarray) -> None:
        for each in self._meters:
            each.take(rows)

    def result(self) -> dict[str, Any]:
        return {name: value for each in self._meters for name, value in each.result().items()}


class BilateralRun:
    """The metrics of a run in which the hand feels the slave arm."""

    def __init__(self, scenario: Any) -> None:
        self._scenario, self._bilateral = scenario, bilateral_metrics.BilateralMeter(scenario)
        self._peak = 0.0
        self._last = NO_ROWS

    def take(self, rows: np.ndarray) -> None:
        self._bilateral.take(rows)
        self._peak = highest(self._peak, lengths(rows["f_s"]))
        self._last = joined([rows[-1:]])

    def result(self) -> dict[str, Any]:
        return {**self._bilateral.result(), "peak_force_N": self._peak, **_link(self._last[0], self._scenario.link)}


class UnilateralRun:
    """The metrics of a run in which the operator moves the virtual payload."""

    def __init__(self, scenario: Any) -> None:
        self._scenario = scenario
        self._rise = _Rise((1.0 - math.exp(-1.0)) * scenario.operator.speed)
        self._hands = _Following(scenario)
        self._turns, self._turned = Lag(shift(scenario) + 1), -math.inf
        self._impulse = self._squares = self._peak = self._virtual_peak = self._push = 0.0
        self._count = 0
        self._last = NO_ROWS
        self._speed_then: float | None = None  # at the last moment before packets arrive again
        self._path: list[np.ndarray] = []  # of the payload in the outage: its first and last position

    def take(self, rows: np.ndarray) -> None:
        scenario, t = self._scenario, rows["t"]
        late = playout_delay(scenario)
        step = scenario.transport_start + late
        window = (t >= step - 1e-9) & (t < step + IMPULSE_TIME - 1e-9)
        size = lengths(rows["f_s"])
        self._impulse += float(along(rows, "f_s", scenario)[window].sum())
        self._squares += float((size**2).sum())
        self._peak = highest(self._peak, size)
        self._virtual_peak = highest(self._virtual_peak, lengths(rows["f_vir"]))
        self._count += len(rows)
        self._last = joined([rows[-1:]])
        self._rise.take(t, along(rows, "v_tvir", scenario))
        self._hands.take(rows)
        if scenario.rotates:
            first, before = self._turns.take(rows["q_vir"])
            same = np.abs((rows["q_s"][first:] * before).sum(axis=1))
            self._turned = highest(self._turned, 2.0 * np.arccos(np.clip(same, 0.0, 1.0)))
        if scenario.virtual.identify and scenario.identify.push:
            self._push = highest(self._push, np.abs(rows["f_s"][t < scenario.identify.push_end]))
        if scenario.link.outage_duration > 0:
            begin = scenario.link.outage_start + late
            end = begin + scenario.link.outage_duration
            before_end = np.flatnonzero(t < end - 1e-9)
            if len(before_end):
                self._speed_then = _speed(rows[before_end[-1]])
            inside = np.flatnonzero((t >= begin) & (t < end))
            if len(inside):
                places = rows["X_WBcm"]["p"]
                self._path = [*(self._path[:1] or [places[inside[0]].copy()]), places[inside[-1]].copy()]

    def result(self) -> dict[str, Any]:
        scenario, last = self._scenario, self._last[0]
        final = _speed(last)
        then = final if self._speed_then is None else self._speed_then
        metrics: dict[str, Any] = {
            "impulse_Ns": self._impulse * scenario.loop.period,
            "final_speed_m_s": final,
            "peak_force_N": self._peak,
            "mean_square_force_N2": self._squares / self._count,
            "virtual_peak_force_N": finite(self._virtual_peak, DIVERGED),
            "position_error_m": _unless_diverged(self._hands.largest),
            "final_position_error_m": _unless_diverged(self._hands.last),
            **self._identified(),
            **_link(last, scenario.link),
            "stopped": bool(then < AT_REST * scenario.operator.speed),
        }
        if scenario.rotates:
            metrics["attitude_error_rad"] = self._turned if self._turned >= 0.0 else Missing(NOT_FOLLOWED)
        if scenario.operator.kind == "step":
            # v_tvir of a row is that at the end of its tick.
            reached = self._rise.time()
            moved = reached + scenario.loop.period - float(scenario.transport_start)
            metrics["time_constant_s"] = reached if isinstance(reached, Missing) else moved
        if scenario.link.outage_duration > 0:
            metrics["travel_after_outage_m"] = float(np.linalg.norm(self._path[-1] - self._path[0])) if self._path else 0.0
        return metrics

    def _identified(self) -> dict[str, float]:
        """Errors of the values that orbit has reported to the ground, and the force needed to identify them."""
        scenario, last = self._scenario, self._last[0]
        if not scenario.virtual.identify or last["pushed_ground"] < 1.0:
            return {}
        found = {
            "mass_error": float(abs(last["m_ground"] / scenario.payload.mass - 1.0)),
            "grip_error": float(abs(last["k_ground"] / scenario.grip.stiffness - 1.0)),
        }
        if scenario.identify.push:
            found |= {"push_force_N": self._push, "push_duration_s": float(scenario.identify.push_end)}
        return found


def _unless_diverged(value: float) -> float:
    return value if isinstance(value, Missing) else finite(value, DIVERGED)


def _speed(row: Any) -> float:
    return float(np.linalg.norm(row["V_WBcm"]["v"]))


class _Rise:
    """Time at which a signal first reaches a level, interpolated between two rows."""

    def __init__(self, level: float) -> None:
        self._level = level
        self._before: tuple[float, float] | None = None
        self._found: float | None = None

    def take(self, t: np.ndarray, values: np.ndarray) -> None:
        above = np.flatnonzero(values >= self._level)
        if self._found is None and len(above):
            k = int(above[0])
            before = self._before if k == 0 else (float(t[k - 1]), float(values[k - 1]))
            if before is None:
                self._found = Missing("the virtual payload was at 1 - 1/e of the reference from the first tick")
            else:
                part = (self._level - before[1]) / (float(values[k]) - before[1])
                self._found = before[0] + part * (float(t[k]) - before[0])
        self._before = float(t[-1]), float(values[-1])

    def time(self) -> float:
        if self._found is None:
            return Missing("the virtual payload never reached 1 - 1/e of the reference")
        return self._found


class _Following:
    """Distance between the slave hand and the virtual hand of one play-out delay ago, from the start of the transport."""

    def __init__(self, scenario: Any) -> None:
        self._start, self._late = scenario.transport_start, shift(scenario) + 1
        self._lag = Lag(self._late)
        self._seen = 0
        self._first: int | None = None  # row of the start
        self.largest: float = Missing(NOT_FOLLOWED)
        self.last: float = Missing(NOT_FOLLOWED)

    def take(self, rows: np.ndarray) -> None:
        begin = int(np.searchsorted(rows["t"], self._start))
        if self._first is None and begin < len(rows):
            self._first = self._seen + begin
        first, before = self._lag.take(rows["x_vir"])
        if self._first is not None:
            skip = max(0, self._first + self._late - self._seen - first)
            errors = lengths(rows["x_s"][first + skip :] - before[skip:])
            if len(errors):
                known = 0.0 if isinstance(self.largest, Missing) else self.largest
                self.largest, self.last = highest(known, errors), float(errors[-1])
        self._seen += len(rows)


def _link(last: Any, link: Any) -> dict[str, float]:
    """Statistics of both directions; for a clean link only the loss, which is 0."""
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
