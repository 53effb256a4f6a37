"""Signals of a run as tables of other libraries: pandas and xarray, which are asked for with `pip install hilt[data]`."""

import importlib
from collections.abc import Mapping
from typing import Any

from hilt.core.faults import InputError
from hilt.front.signal import Signal, axes_of


def library(name: str, what: str) -> Any:
    """A library that not everybody has; a missing one is one sentence."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{what} needs {name}, which is not installed; install it with pip install 'hilt[data]'") from None


def _without_time(signals: Mapping[str, Signal]) -> list[tuple[str, Signal]]:
    """The time is the index of a table and not a column of it."""
    return [(name, values) for name, values in signals.items() if name != "t"]


def frame(signals: Mapping[str, Signal]) -> Any:
    """A pandas table: a row for each tick, the time as index, a column for each number, with its unit."""
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
    """An xarray dataset: a variable for each signal over `t`, with unit and meaning as attributes."""
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
