"""Rows as columns of plain numbers: each has a name such as `F_So_S.f.0`, a unit, a frame and a meaning."""

import functools
from typing import Any

import numpy as np

from hilt.core.signals import TABLE, leaves, unit_of

# Sums of signals, shown like signals of their own; their places come after those of the row.
SUMS = {"H_all": (("H", "H_rot"), "J", "kinetic energy of the bodies, of translation and rotation")}


@functools.cache
def columns_of(dtype: np.dtype) -> dict[str, int]:
    """Name of each number of a row -> its place. All numbers are eight bytes wide, so the place is the offset in eights."""
    places = _places(dtype)
    return {**places, **{name: len(places) + number for number, name in enumerate(_sums(dtype))}}


@functools.cache
def _sums(dtype: np.dtype) -> tuple[str, ...]:
    """Return the sums that can be computed from a row."""
    return tuple(name for name, (parts, _, _) in SUMS.items() if set(parts) <= set(dtype.names or ()))


@functools.cache
def _places(dtype: np.dtype) -> dict[str, int]:
    places: dict[str, int] = {}
    for name, (offset, _, shape) in leaves(dtype).items():
        count = int(np.prod(shape))
        for i in range(count):
            places[f"{name}.{i}" if shape else name] = offset // 8 + i
    return places


@functools.cache
def _whole_numbers(dtype: np.dtype) -> np.ndarray:
    """Return the places of the numbers that are not floats."""
    places = [
        offset // 8 + i
        for offset, number, shape in leaves(dtype).values()
        if number.kind in "iu"
        for i in range(int(np.prod(shape)))
    ]
    return np.array(places, dtype=np.intp)


def numbers(rows: np.ndarray) -> np.ndarray:
    """Return rows as a table in single precision, one line per row: enough for a picture, half the memory."""
    count, width, sums = len(rows), rows.dtype.itemsize // 8, _sums(rows.dtype)
    plain = rows.view(np.uint8).reshape(count, -1)
    table = np.empty((count, width + len(sums)), np.float32)
    whole = _whole_numbers(rows.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # values too large for single precision become infinite
        table[:, :width] = plain.view(np.float64)
        for number, name in enumerate(sums):
            table[:, width + number] = _sum(rows, name)
    table[:, whole] = plain.view(np.int64)[:, whole]
    return table


def _sum(rows: np.ndarray, name: str) -> np.ndarray:
    found: np.ndarray = np.sum([rows[part] for part in SUMS[name][0]], axis=0)
    return found


def column(rows: np.ndarray, name: str) -> np.ndarray:
    """Return one number of every row, in single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        if name in _sums(rows.dtype):
            return _sum(rows, name).astype(np.float32)
        place = columns_of(rows.dtype)[name]
        kind = np.int64 if place in _whole_numbers(rows.dtype) else np.float64
        found: np.ndarray = rows.view(kind).reshape(len(rows), -1)[:, place].astype(np.float32)
    return found


def describe(dtype: np.dtype, prefix: str = "") -> list[dict[str, Any]]:
    """Describe every number of a row, for the page's search."""
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
    for name in _sums(dtype):
        _, unit, meaning = SUMS[name]
        found.append({"name": prefix + name, "unit": unit, "frame": "", "meaning": meaning})
    return found


def lowest_highest(values: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Return smallest and largest of each group of `group` neighbours along the last axis; the last group may be smaller.

    NaN is ignored, unless the group has nothing else.
    """
    starts = np.arange(0, values.shape[-1], group)
    return np.fmin.reduceat(values, starts, axis=-1), np.fmax.reduceat(values, starts, axis=-1)
