"""Signals of a run as pandas and xarray tables; both are installed with `pip install hilt[data]`."""

import importlib
from collections.abc import Mapping
from typing import Any

from hilt.core.faults import InputError
from hilt.front.signal import Signal, axes_of


def library(name: str, what: str) -> Any:
    """Import an optional library; an InputError if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{what} needs {name}, which is not installed; install it with pip install 'hilt[data]'") from None


def _without_time(signals: Mapping[str, Signal]) -> list[tuple[str, Signal]]:
    """Leave out the time: it is the index of a table, not a column."""
    return [(name, values) for name, values in signals.items() if name != "t"]


def frame(signals: Mapping[str, Signal]) -> Any:
    """Return a pandas table: one row per tick, the time as index, one column per number, with its unit."""
    pandas = library("pandas", "frame()")
    first = next(iter(signals.values()))
    columns: dict[str, Any] = {}
    for name, values in _without_time(signals):
        if values.ndim == 1:
            columns[f"{name} [{values.unit}]"] = values.view(type(first.t))
        else:
            for n, axis in enumerate(axes_of(name, values.shape[1])):
                columns[f"{name}.{axis} [{values.unit}]"] = values[:, n]
    return pandas.DataFrame(columns, index=pandas.Index(first.t, name="t [s]"))


def dataset(signals: Mapping[str, Signal]) -> Any:
    """Return an xarray dataset: one variable per signal over `t`, with unit and meaning as attributes."""
    xarray = library("xarray", "array()")
    first = next(iter(signals.values()))
    coordinates: dict[str, Any] = {"t": ("t", first.t, {"units": "s"})}
    variables = {}
    for name, values in _without_time(signals):
        dimensions = ["t"]
        if values.ndim == 2:
            letters = axes_of(name, values.shape[1])
            axis = {"x": "axis", "w": "quaternion"}.get(letters[0], f"of_{values.shape[1]}")
            coordinates[axis] = list(letters)
            dimensions.append(axis)
        about = {"units": values.unit, "long_name": values.meaning}
        variables[name] = (dimensions, values.view(type(first.t)), about)
    return xarray.Dataset(variables, coordinates)
