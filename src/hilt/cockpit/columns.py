"""Rows as columns of plain numbers: what a plot shows has a name such as `F_So_S.f.0`, a unit, a frame and a meaning."""

import functools
from typing import Any

import numpy as np

from hilt.core.signals import TABLE, leaves, unit_of


@functools.cache
def columns_of(dtype: np.dtype) -> dict[str, int]:
    """Name of each number of a row -> its place. All numbers are eight bytes wide, so the place is the offset in eights."""
    places: dict[str, int] = {}
    for name, (offset, _, shape) in leaves(dtype).items():
        count = int(np.prod(shape))
        for i in range(count):
            places[f"{name}.{i}" if shape else name] = offset // 8 + i
    return places


@functools.cache
def _whole_numbers(dtype: np.dtype) -> np.ndarray:
    """Places of the numbers that are no floats."""
    places = [
        offset // 8 + i
        for offset, number, shape in leaves(dtype).values()
        if number.kind in "iu"
        for i in range(int(np.prod(shape)))
    ]
    return np.array(places, dtype=np.intp)


def numbers(rows: np.ndarray) -> np.ndarray:
    """Rows as a table of single precision, one line for each row: enough for a picture, half the memory."""
    count = len(rows)
    plain = rows.view(np.uint8).reshape(count, -1)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large for single precision is infinite
        table: np.ndarray = plain.view(np.float64).astype(np.float32)
    whole = _whole_numbers(rows.dtype)
    table[:, whole] = plain.view(np.int64)[:, whole]
    return table


def column(rows: np.ndarray, name: str) -> np.ndarray:
    """One number of every row, in single precision."""
    place = columns_of(rows.dtype)[name]
    kind = np.int64 if place in _whole_numbers(rows.dtype) else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        found: np.ndarray = rows.view(kind).reshape(len(rows), -1)[:, place].astype(np.float32)
    return found


def describe(dtype: np.dtype, prefix: str = "") -> list[dict[str, Any]]:
    """Every number of a row in words, for the search of the page."""
    found = []
    flat = leaves(dtype)
    for name, (_, _, shape) in flat.items():
        signal = TABLE.get(name.partition(".")[0])
        if signal is None:  # a row of another version
            unit, frame, meaning = "", "", ""
        else:
            unit, frame, meaning = unit_of(name), signal.frame, signal.meaning
        for i in range(int(np.prod(shape))):
            leaf = f"{name}.{i}" if shape else name
            found.append({"name": prefix + leaf, "unit": unit, "frame": frame, "meaning": meaning})
    return found


def lowest_highest(values: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest of each group of so many neighbours along the last axis; a last group may be smaller.

    A number that is not one is left out, unless the group has no other.
    """
    starts = np.arange(0, values.shape[-1], group)
    return np.fmin.reduceat(values, starts, axis=-1), np.fmax.reduceat(values, starts, axis=-1)
