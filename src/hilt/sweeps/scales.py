"""Axes of pictures in units that people read: ms, mm, N/mm, percent."""

import numpy as np

from hilt.report.words import UNITS, prefixed

_SPOKEN = {"N/m": (1e4, 1e-3, "N/mm"), "m/s²": (0.0, 1.0, "m/s²"), "rad": (0.0, 180.0 / np.pi, "°"), "1": (0.0, 1.0, "")}
_PLAIN = ("kg", "°", "Hz")  # used without a prefix


def readable(largest: float, unit: str) -> tuple[float, str]:
    """Return the factor from SI and the unit shown: 0.02 s is drawn as 20 ms, 176 000 N/m as 176 N/mm."""
    least, factor, spoken = _SPOKEN.get(unit, (np.inf, 1.0, unit))
    if abs(largest) >= least:
        return factor, spoken
    if not unit or unit.startswith(_PLAIN):
        return 1.0, unit
    return prefixed(abs(largest), unit)


def unit_of_metric(name: str) -> str:
    """Return the unit of a metric, by the ending of its name; empty if it has none."""
    return next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")


def labelled(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def edges(values: np.ndarray, log: bool) -> np.ndarray:
    """Return the borders of cells around values, for a map: halfway between neighbours on the axis's own scale."""
    at = np.log(values) if log else values.astype(float)
    if len(at) == 1:
        between = np.array([at[0] - 0.5, at[0] + 0.5])
    else:
        half = 0.5 * np.diff(at)
        between = np.concatenate([[at[0] - half[0]], at[:-1] + half, [at[-1] + half[-1]]])
    return np.exp(between) if log else between
