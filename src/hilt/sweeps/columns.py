"""The results of many runs as columns: one value for each run, NaN where a run has none.

A list, such as the CoV of each collision, becomes a column for each entry (`cov_1`, `cov_2`, …); where the ideal is 1, also the
largest error (`cov_error`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hilt.core.system import System
from hilt.job import Result

Columns = dict[str, np.ndarray]


def flat(system: System, metrics: dict[str, Any]) -> dict[str, Any]:
    """The metrics of one run without lists."""
    found: dict[str, Any] = {}
    for name, value in metrics.items():
        if not isinstance(value, list):
            found[name] = value
            continue
        found.update({f"{name}_{n}": each for n, each in enumerate(value, 1)})
        if name in system.ratios and value:
            found[f"{name}_error"] = float(np.max(np.abs(np.array(value) - 1.0)))
    return found


def of_results(system: System, results: Sequence[Result]) -> Columns:
    rows = [flat(system, result.metrics) for result in results]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name, np.nan) for row in rows]) for name in names}
    columns["ticks"] = np.array([result.rows["tick"][-1] + 1 for result in results], np.int64)
    columns["fault"] = np.array([result.rows["fault"][-1] for result in results], np.int32)
    return columns


def _column(values: list[Any]) -> np.ndarray:
    if all(isinstance(value, bool) for value in values):
        return np.array(values, bool)
    return np.array(values, np.float64)
