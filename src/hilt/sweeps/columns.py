"""The results of many runs as columns: one value for each run, NaN where a run has none.

A list, such as the CoV of each collision, becomes a column for each entry (`cov_1`, `cov_2`, …); where the ideal is 1, also the
largest error (`cov_error`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.counter import Column, Counter
from hilt.core.system import System
from hilt.job import Result

Columns = dict[str, np.ndarray]


def flat(system: System, metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics of one run with every list split into its entries."""
    found: dict[str, Any] = {}
    for name, value in metrics.items():
        if not isinstance(value, list):
            found[name] = value
            continue
        found.update({f"{name}_{n}": each for n, each in enumerate(value, 1)})
        if name in system.ratios and value:
            found[f"{name}_error"] = float(np.max(np.abs(np.array(value) - 1.0)))
    return found


@dataclass(frozen=True)
class End:
    """What a sweep keeps of one run."""

    metrics: dict[str, Any]
    ticks: int
    fault: int


def of_results(system: System, results: Sequence[Result]) -> Columns:
    """Return the columns of runs whose rows were kept."""
    return of_ends(system, [End(each.metrics, int(each.rows["tick"][-1]) + 1, int(each.rows["fault"][-1])) for each in results])


def of_ends(system: System, ends: Sequence[End]) -> Columns:
    rows = [flat(system, end.metrics) for end in ends]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name, np.nan) for row in rows]) for name in names}
    columns["ticks"] = np.array([end.ticks for end in ends], np.int64)
    columns["fault"] = np.array([end.fault for end in ends], np.int32)
    return columns


def _column(values: list[Any]) -> np.ndarray:
    if all(isinstance(value, bool) for value in values):
        return np.array(values, bool)
    return np.array(values, np.float64)


def of_counted(system: System, counter: Counter, packed: Sequence[Any], count: int) -> Columns:
    """Return the columns of runs whose metrics were counted while they ran, in the order of their chunk."""
    found: Columns = {}
    for group in packed:
        with np.errstate(all="ignore"):
            made = counter.result(group.m, group.each, group.q, *group.references)
        parts: Columns = {}
        for name, column in made.items():
            parts.update(_flat_column(name, column, name in system.ratios))
        parts["ticks"], parts["fault"] = group.ends["ticks"], group.ends["fault"].astype(np.int32)
        for name, values in parts.items():
            if name not in found:
                found[name] = np.zeros(count, values.dtype) if values.dtype.kind != "f" else np.full(count, np.nan)
            found[name][group.at] = values
    return found


def _flat_column(name: str, column: Column, ratio: bool) -> Columns:
    values = column.values
    if column.entries is None:
        if column.present is not None:
            values = np.where(column.present, values, np.nan)
        return {} if column.present is not None and not column.present.any() else {name: values}
    most = int(column.entries.max(initial=0))
    listed = np.arange(most)[None, :] < column.entries[:, None]
    values = np.where(listed, values[:, :most], np.nan)
    found = {f"{name}_{n + 1}": values[:, n] for n in range(most)}
    if ratio and most:
        errors = np.where(listed, np.abs(values - 1.0), -np.inf).max(axis=1)
        found[f"{name}_error"] = np.where(np.isneginf(errors), np.nan, errors)
    return found
