"""Sweeps of the recordings folder as pages show them: a list, and one metric over the axes, as far as it is computed.

A chart has at most CELLS points; of longer axes some places are left out. Values are in a readable unit, which is given.
"""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hilt.cockpit import sweep_folder
from hilt.core.faults import InputError, shortened
from hilt.sweeps import scales, sides
from hilt.sweeps.space import Axis, Space, unit_of, value_of
from hilt.sweeps.table import CHUNKS, FILE, NUMBER, Table, as_numpy, base_name

LISTED = 200  # the newest ones
CELLS = 20_000
KEPT = 4  # tables whose columns are remembered
DIGITS = 6
PENDING = False  # in a chart: a point that is not computed yet; None is one without a value


class Charts:
    """Sweeps by the name of their folder. For one worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._summaries: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}
        self._open: dict[str, _Open] = {}

    def list(self) -> list[dict[str, Any]]:
        """List the sweeps, newest first; a folder that is not a sweep is left out."""
        known: list[tuple[float, Path]] = []
        for file in self.folder.glob(f"*/{FILE}"):
            with suppress(OSError, InputError):
                known.append((file.stat().st_mtime, sweep_folder.path(self.folder, file.parent.name)))
        found = []
        for made, path in sorted(known, reverse=True)[:LISTED]:
            with suppress(OSError, ValueError, KeyError, TypeError):
                summary = self._summary(path)
                written = sum(1 for _ in (path / CHUNKS).glob("chunk-*.parquet"))
                at = datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds")
                found.append({"name": path.name, **summary, "written": written, "made": at})
        return found

    def _summary(self, path: Path) -> dict[str, Any]:
        """Return what its file says, without building any scenario."""
        status = (path / FILE).stat()
        key = (status.st_mtime_ns, status.st_size)
        if path not in self._summaries or self._summaries[path][0] != key:
            content = json.loads((path / FILE).read_text(encoding="utf-8"))
            lengths = [len(axis["points"]) for axis in content["axes"]]
            keys = [[str(each)[:100] for each in axis["keys"]] for axis in content["axes"]]
            count = math.prod(lengths)
            summary = {
                "system": str(content["system"])[:100],
                "scenario": str(content["scenario"])[:100],
                "axes": [{"keys": names[:20], "count": length} for names, length in zip(keys, lengths, strict=True)],
                "count": count,
                "chunks": -(-count // int(content["chunk"])),
            }
            self._summaries[path] = key, summary
        return self._summaries[path][1]

    def view(self, name: str, metric: str, seen: str) -> dict[str, Any]:
        """Return one metric of a sweep; only its progress if the page has seen this much of it already."""
        return self._opened(name).view(metric, seen)

    def _opened(self, name: str) -> "_Open":
        path = sweep_folder.path(self.folder, name)
        status = (path / FILE).stat()
        key = (status.st_mtime_ns, status.st_size)
        known = self._open.pop(name, None)
        if known is None or known.key != key:
            known = _Open(key, Table.open(path))
        self._open[name] = known  # the last one used is dropped last
        while len(self._open) > KEPT:
            self._open.pop(next(iter(self._open)))
        return known


class _Open:
    """A table, and what has been read from it."""

    def __init__(self, key: tuple[int, int], table: Table) -> None:
        self.key, self.table, self.layout = key, table, Layout(table.space)
        self._parts: dict[tuple[int, str], tuple[tuple[int, int], np.ndarray | None]] = {}
        self._names: tuple[tuple[int, ...], list[str]] = ((), [])

    def view(self, metric: str, seen: str) -> dict[str, Any]:
        space, written = self.table.space, self.table.written()
        there = [k for k in written if self._part(k, NUMBER) is not None]
        names = self._columns(there)
        name = chosen(space, names, metric)
        state = f"{name} {len(there)} {there[-1] if there else -1}"
        done = sum(len(self.table.plan.numbers(k)) for k in there)
        progress = {"seen": state, "done": done, "count": space.count, "whole": len(there) == self.table.plan.count}
        if seen == state:
            return progress
        values = self._column(name, there)
        computed = np.zeros(space.count, bool)
        for k in there:
            computed[self.table.plan.numbers(k)] = True
        shares = self._column(sides.DIVERGED, there) if sides.DIVERGED in names and name != sides.DIVERGED else None
        return {
            **progress,
            "system": space.system.name,
            "scenario": space.name,
            "summary": space.base.summary,
            "metric": name,
            "metrics": [{"name": each, "title": sides.title(space.system, each)} for each in names],
            "damaged": len(written) - len(there),
            **self.layout.as_json(),
            **self.layout.measured(name, values, computed),
            "diverged": None if shares is None else self.layout.shares(shares, computed),
        }

    def _columns(self, chunks: list[int]) -> list[str]:
        """Return the result columns, the most telling first: errors against the ideal, whether it diverged, the rest."""
        if self._names[0] != tuple(chunks):
            known = self.table.space.system
            found = [name for name in self.table.names(chunks) if name not in ("ticks", "fault")]
            order = {name: n for n, name in enumerate(found)}
            found.sort(key=lambda name: (not sides.is_error(known, name), name != sides.DIVERGED, order[name]))
            self._names = tuple(chunks), found
        return self._names[1]

    def _column(self, name: str, chunks: list[int]) -> np.ndarray:
        """Return the values of all scenarios; NaN where there is none."""
        values = np.full(self.table.space.count, np.nan)
        for k in chunks:
            part = self._part(k, name)
            if part is not None:
                values[self.table.plan.numbers(k)] = part
        return values

    def _part(self, k: int, name: str) -> np.ndarray | None:
        """Return a chunk's column; None if it has no such column, or is damaged."""
        status = self.table.path(k).stat()
        key = (status.st_mtime_ns, status.st_size)
        known = self._parts.get((k, name))
        if known is None or known[0] != key:
            known = key, None
            with suppress(InputError):
                found = self.table.read(k, [] if name == NUMBER else [name])
                known = key, as_numpy(found[name]).astype(float) if name in found.column_names else None
            self._parts[k, name] = known
        return known[1]


def chosen(space: Space, names: Sequence[str], metric: str) -> str:
    """Return a column by its name or by that of its metric; the most telling one if no metric is given."""
    if not names:
        return metric
    if not metric:
        return names[0]
    if metric in names:
        return metric
    of_it = [name for name in names if base_name(name) == metric]
    if of_it:
        return of_it[0]
    if metric in space.system.metric_words:  # which no run has had so far
        return names[0]
    raise InputError(f"{shortened(metric)!r} is not a column of this sweep; choose one of {', '.join(names)}")


class Shown:
    """One axis of a chart."""

    def __init__(self, space: Space, n: int, most: int) -> None:
        axis: Axis = space.axes[n]
        key = axis.keys[0]
        column = axis.column(key)
        self.number = column.dtype.kind in "if"
        order = np.argsort(column.astype(float), kind="stable") if self.number else np.arange(len(axis))
        self.places = order[_evenly(len(axis), most)]
        shown: dict[str, Any] = {"key": key, "log": axis.log, "dots": axis.drawn or key == "seed"}
        here = value_of(space.base, key)
        if self.number:
            values = column.astype(float)[self.places]
            factor, unit = scales.readable(float(np.abs(column.astype(float)).max()), unit_of(space.system, key))
            inside = isinstance(here, int | float) and values[0] <= here <= values[-1]
            shown |= {"unit": unit, "values": _short(factor * values), "here": _digits(factor * here) if inside else None}
        else:
            words = [_word(axis.points[at][0]) for at in self.places]
            colours = sides.colours_of(space.system, axis)
            shown |= {"unit": "", "values": words, "here": _word(here) if _word(here) in words else None}
            shown |= {"colours": [colours[at] for at in self.places]}
        stride = math.prod(space.shape[n + 1 :])
        self.json = {**shown, "numbers": (stride * self.places).tolist()}


class Layout:
    """Which axes of a space a chart has: numbers first, then words; seeds and draws are averaged over.

    If nothing else is left, the seeds, the draws or the words are the axis.
    """

    def __init__(self, space: Space) -> None:
        kinds = [sides.kind(axis) for axis in space.axes]
        self._space = space
        order = [n for wanted in ("number", "word", "averaged") for n, kind in enumerate(kinds) if kind == wanted]
        kept = [n for n in order if kinds[n] != "averaged"] or order[:1]
        self._kept, self._averaged = kept, [n for n in order if n not in kept]
        self.axes = [Shown(space, n, most) for n, most in zip(kept, self._most(kept), strict=True)]

    def _most(self, kept: Sequence[int]) -> list[int]:
        """Return how many places of each axis are shown: all of words and of short axes, fewer of the longest ones."""
        most = [len(self._space.axes[n]) for n in kept]
        while math.prod(most) > CELLS:
            longest = most.index(max(most))
            most[longest] = most[longest] * 9 // 10
        return most

    def as_json(self) -> dict[str, Any]:
        count = math.prod(len(self._space.axes[n]) for n in self._averaged)
        what = " and ".join("draws" if self._space.axes[n].drawn else "seeds" for n in self._averaged)
        return {
            "axes": [axis.json for axis in self.axes],
            "averaged": {"count": count, "what": what} if self._averaged else None,
        }

    def _cube(self, values: np.ndarray) -> np.ndarray:
        """Return a line for each point of the chart, the first axis slowest, with the values that are averaged over."""
        cube = values.reshape(self._space.shape or (1,))
        cube = cube.transpose([*self._kept, *self._averaged]) if self._space.axes else cube
        for n, axis in enumerate(self.axes):
            cube = cube.take(axis.places, axis=n)
        points = math.prod(len(axis.places) for axis in self.axes)
        return cube.reshape(points, -1)

    def measured(self, name: str, values: np.ndarray, there: np.ndarray) -> dict[str, Any]:
        """Return the mean at each point, and where there are several runs also the smallest and the largest."""
        cube, computed = self._cube(values), self._cube(there)
        finite = cube[np.isfinite(cube)]
        factor, unit = sides.shown_as(self._space.system, name, float(np.abs(finite).max()) if finite.size else 0.0)
        found: dict[str, Any] = {
            "title": sides.title(self._space.system, name),
            "label": scales.labelled(name, unit),
            "unit": unit,
            "values": _reduced(factor * cube, computed, "mean"),
        }
        if cube.shape[1] > 1 and sum(axis.number for axis in self.axes) < 2:
            found |= {"low": _reduced(factor * cube, computed, "low"), "high": _reduced(factor * cube, computed, "high")}
        return found

    def shares(self, diverged: np.ndarray, there: np.ndarray) -> list[Any]:
        """Return the share of the runs at each point that diverged."""
        return _reduced(self._cube(diverged), self._cube(there), "mean")


def _reduced(cube: np.ndarray, computed: np.ndarray, of: str) -> list[Any]:
    """Return the mean, the smallest or the largest of each line."""
    fine = computed & np.isfinite(cube)
    count, there = fine.sum(axis=1), computed.sum(axis=1)
    if of == "mean":
        values = np.where(fine, cube, 0.0).sum(axis=1) / np.maximum(count, 1)
    else:
        values = np.where(fine, cube, np.inf).min(axis=1) if of == "low" else np.where(fine, cube, -np.inf).max(axis=1)
    lines = zip(values.tolist(), count.tolist(), there.tolist(), strict=True)
    return [_digits(value) if many else None if some else PENDING for value, many, some in lines]


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _short(values: np.ndarray) -> list[float]:
    return [_digits(value) for value in values.tolist()]


def _word(value: Any) -> str:
    return str(value) if isinstance(value, str) else "yes" if value is True else "no" if value is False else str(value)


def _evenly(count: int, most: int) -> np.ndarray:
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, most).round().astype(int))
