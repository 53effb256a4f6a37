"""The picture that fits a sweep: a curve over one axis, a map over two, small multiples over three.

Words (methods, kinds) are lines of a curve or panels of a map. Seeds and draws are not drawn as axes: a curve shows their mean
and the range from the smallest to the largest, a map their mean. A cross, or a dotted line, marks the scenario itself.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from hilt.core.faults import InputError, shortened
from hilt.report import colours, figure
from hilt.report.colours import IDEAL, LIMIT, MEASURED
from hilt.report.figure import Picture
from hilt.sweeps import scales, sides
from hilt.sweeps.sides import DIVERGED, Side
from hilt.sweeps.space import Axis, unit_of, value_of
from hilt.sweeps.table import Table

LINES = 7  # in one panel
PANELS = 12
RASTER = 4000  # cells of a map, above which it is stored as an image
POINTS = 2000  # of draws in one panel, and of a curve
FLOOR = 1e-4  # smaller errors are drawn as this


def _logarithmic(axes: Axes, which: str, low: float, high: float) -> None:
    """Make an axis logarithmic, with its numbers written out."""
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    one = axes.xaxis if which == "x" else axes.yaxis
    one.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300.0 * low else (1.0,)))
    one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    one.set_minor_formatter(NullFormatter())


@dataclass(frozen=True)
class Heights:
    """A metric as drawn; its axes are numbers, then words, then those averaged over."""

    name: str
    label: str
    values: np.ndarray
    log: bool
    clipped: bool  # whether some errors are smaller than drawn


def picture(table: Table, name: str) -> Picture:
    """Draw one column of a table."""
    if name not in table.names():
        raise InputError(f"{shortened(name)!r} is not a column of this sweep; choose one of {', '.join(table.names())}")
    with figure.styled():
        return _Drawing(table, name).picture()


class _Drawing:
    """One metric of one table, its axes sorted by their role."""

    def __init__(self, table: Table, name: str) -> None:
        self.table, self.name, self.space = table, name, table.space
        kinds = [sides.kind(axis) for axis in self.space.axes]
        self.sides = [sides.of(table.space, n) for n, one in enumerate(kinds) if one == "number"]
        self.words = [self.space.axes[n] for n, one in enumerate(kinds) if one == "word"]
        order = [n for wanted in ("number", "word", "averaged") for n, one in enumerate(kinds) if one == wanted]
        self.averaged = [self.space.axes[n] for n, one in enumerate(kinds) if one == "averaged"]
        self._order, self._kept = order, len(self.sides) + len(self.words)
        self.heights = self._heights(name)

    def _cube(self, name: str) -> np.ndarray:
        """Return the values with their axes in drawing order; everything averaged over is the last axis."""
        column = self.table.columns([name])[name].astype(float)
        cube = column.reshape(self.space.shape).transpose(self._order)
        for n, side in enumerate(self.sides):
            cube = cube.take(side.order, axis=n)
        return cube.reshape(*cube.shape[: self._kept], -1)

    def _heights(self, name: str) -> Heights:
        cube = self._cube(name)
        there = np.abs(cube[np.isfinite(cube)])
        clipped = sides.is_error(self.space.system, name) and bool((cube < FLOOR).any())
        factor, unit = sides.shown_as(self.space.system, name, float(there.max()) if there.size else 0.0)
        cube = factor * (np.maximum(cube, FLOOR) if clipped else cube)
        finite = cube[np.isfinite(cube)]
        log = bool(finite.size and finite.min() > 0.0 and finite.max() > 50.0 * finite.min())
        return Heights(name, scales.labelled(name, unit), cube, log, clipped)

    def picture(self) -> Picture:
        draw = (self._strips, self._curves, self._maps, self._multiples)[min(len(self.sides), 3)]
        if not self.sides and len(self.averaged) == 1 and self.averaged[0].drawn:
            draw = self._scatter
        drawn, caption = draw()
        return Picture(sides.title(self.space.system, self.name), caption, drawn)

    # -- one axis ------------------------------------------------------------------------------------------------------

    def _curves(self) -> tuple[Figure, str]:
        side, heights = self.sides[0], self.heights
        choices = _choices(self.words)
        inside, outside = (choices, [((), "")]) if len(choices) <= LINES else _split(self.words)
        drawn, panels = _panels(len(outside), (7.2, 3.6))
        for panel, (at, named) in zip(panels, outside, strict=True):
            for n, (place, label) in enumerate(inside):
                picked: tuple[Any, ...] = (slice(None), *place, *at)
                values = heights.values[picked]
                mean, low, high = _mean(values), _least(values), _most(values)
                colour = self._colour(n, place)
                some = _evenly(len(mean))
                x = side.values[some]
                panel.plot(x, mean[some], ".-" if len(some) < 60 else "-", color=colour, label=label or None)
                if values.shape[-1] > 1:
                    panel.fill_between(x, low[some], high[some], color=colour, alpha=0.15, linewidth=0)
            self._scaled(panel, side)
            panel.set(ylabel=heights.label, title=named)
            if not heights.log:
                figure.widen(panel, 0.02)
            if side.here is not None:
                panel.axvline(side.here, label="the scenario", **IDEAL)
        if len(inside) > 1 or side.here is not None:
            figure.legend(panels[0])
        return drawn, f"{self._over()}{self._missing()}"

    def _colour(self, n: int, place: tuple[int, ...]) -> str:
        """Return the colour of a line: that of its word, such as a method, if only one word varies; else the nth."""
        own = sides.colours_of(self.space.system, self.words[0])[place[0]] if len(self.words) == 1 and place else None
        return own or colours.of(n)

    def _scaled(self, panel: Axes, side: Side) -> None:
        panel.set(xlabel=side.label)
        if side.log:
            _logarithmic(panel, "x", side.values[0], side.values[-1])
        if self.heights.log:
            finite = self.heights.values[np.isfinite(self.heights.values)]
            _logarithmic(panel, "y", finite.min(), finite.max())

    # -- two axes ------------------------------------------------------------------------------------------------------

    def _maps(self, sides: tuple[int, int] = (0, 1), third: Iterable[tuple[int, str]] = ((-1, ""),)) -> tuple[Figure, str]:
        x, y = (self.sides[n] for n in sides)
        choices = _choices(self.words)
        panels_of = [
            ((n,) if n >= 0 else (), at, ", ".join(filter(None, (value, label)))) for n, value in third for at, label in choices
        ]
        left = len(panels_of) - PANELS
        panels_of = panels_of[:PANELS]
        drawn, panels = _panels(len(panels_of), (7.2, 4.4), shared=True)
        norm = self._norm()
        mesh: Any = None
        for panel, (slab, at, named) in zip(panels, panels_of, strict=True):
            mesh = self._map(panel, (x, y), self._slab(self.heights.values, sides, slab, at), norm)
            self._diverged(panel, (x, y), sides, slab, at)
            panel.set(title=named)
            if self._own(at, slab, sides):
                _cross(panel, x, y)
        for panel in panels:
            if panel.get_subplotspec().is_last_row() or len(panels_of) <= 3:  # type: ignore[union-attr]
                panel.set_xlabel(x.label)
            if panel.get_subplotspec().is_first_col():  # type: ignore[union-attr]
                panel.set_ylabel(y.label)
        drawn.colorbar(mesh, ax=panels, label=self.heights.label, shrink=0.9, **_ticks(norm))
        more = f" {left} more panels are not drawn." if left > 0 else ""
        crossed = " Cross: the scenario." if any(panel.get_legend_handles_labels()[1] for panel in panels) else ""
        return drawn, f"{self._over()}{self._legend()}{crossed}{self._missing()}{more}".strip()

    def _slab(self, cube: np.ndarray, sides: tuple[int, int], slab: tuple[int, ...], at: tuple[int, ...]) -> np.ndarray:
        """Return the mean over seeds and draws, y before x."""
        numeric = len(self.sides)
        picked: list[Any] = [slice(None) if n in sides else 0 for n in range(numeric)]
        others = [n for n in range(numeric) if n not in sides]
        for n, place in zip(others, slab, strict=False):
            picked[n] = place
        values = _mean(cube[(*picked, *at)])
        return values.T if sides[0] < sides[1] else values

    def _map(self, panel: Axes, pair: tuple[Side, Side], values: np.ndarray, norm: Any) -> Any:
        x, y = pair
        panel.grid(visible=False)
        panel.set_facecolor("0.85")  # where there is no value
        mesh = panel.pcolormesh(
            scales.edges(x.values, x.log),
            scales.edges(y.values, y.log),
            np.ma.masked_invalid(values),
            norm=norm,
            cmap="viridis",
            edgecolors="face",
            linewidth=0.2,
            rasterized=values.size > RASTER,
        )
        if x.log:
            _logarithmic(panel, "x", x.values[0], x.values[-1])
        if y.log:
            _logarithmic(panel, "y", y.values[0], y.values[-1])
        return mesh

    def _norm(self) -> Any:
        """Return one colour scale for all panels; a handful of runs that blew up must not take all of it."""
        means = _mean(self.heights.values)
        finite = means[np.isfinite(means)]
        if not finite.size:
            return Normalize(0.0, 1.0)
        low, high = float(finite.min()), float(np.quantile(finite, 0.98))
        if self.name.endswith("_error"):
            low, high = max(low, 100.0 * FLOOR), max(min(high, 1000.0), 1.0)
        if high <= low:
            high = low + max(abs(low), 1e-12)
        return LogNorm(low, high) if self.heights.log and low > 0.0 else Normalize(low, high)

    def _diverged(self, panel: Axes, pair: tuple[Side, Side], sides: tuple[int, int], slab: Any, at: Any) -> None:
        """Draw the line at which half of the runs diverge, on the map of any other metric."""
        if self.name == DIVERGED or DIVERGED not in self.table.names():
            return
        share = self._slab(self._cube(DIVERGED), sides, slab, at)
        if min(share.shape) > 1 and np.nanmin(share) < 0.5 < np.nanmax(share):
            panel.contour(
                pair[0].values, pair[1].values, share, levels=[0.5], colors=[LIMIT], linestyles=["-."], linewidths=1.3
            )

    def _legend(self) -> str:
        if self.name == DIVERGED or DIVERGED not in self.table.names():
            return ""
        share = self._cube(DIVERGED)
        return " Beyond the violet line the loop diverges." if np.nanmin(share) < 0.5 < np.nanmax(share) else ""

    def _own(self, at: tuple[int, ...], slab: tuple[int, ...], sides: tuple[int, int]) -> bool:
        """Whether a panel is the one that contains the scenario."""
        words = (axis.points[n][0] == value_of(self.space.base, axis.keys[0]) for axis, n in zip(self.words, at, strict=True))
        others = [side for n, side in enumerate(self.sides) if n not in sides]
        numbers = (side.here == side.values[n] for side, n in zip(others, (*slab, *[0] * len(others)), strict=False))
        return all(words) and all(numbers)

    # -- three axes ----------------------------------------------------------------------------------------------------

    def _multiples(self) -> tuple[Figure, str]:
        """Draw a panel for each value of the axis with the fewest values; of any further axes only the first value."""
        lengths = [len(side.values) for side in self.sides]
        third = min(range(len(lengths)), key=lambda n: (lengths[n], -n))
        first, second = [n for n in range(len(lengths)) if n != third][:2]
        most = max(1, PANELS // len(_choices(self.words)))
        at = np.unique(np.linspace(0, lengths[third] - 1, min(most, lengths[third])).round().astype(int))
        left = [n for n in range(len(lengths)) if n not in (first, second, third)]
        slabs = [(int(n), self.sides[third].text(int(n))) for n in at]
        # `_slab` fills the axes that are not drawn in their order: those after the third are left at their first value.
        order = [n for n in range(len(lengths)) if n not in (first, second)]
        if order[0] != third:
            self._swap(order[0], third)
            third = order[0]
        drawn, caption = self._maps((first, second), slabs)
        rest = "".join(f" Only {self.sides[n].text(0)} is drawn." for n in left)
        return drawn, caption + rest

    def _swap(self, one: int, other: int) -> None:
        self.sides[one], self.sides[other] = self.sides[other], self.sides[one]
        self._order[one], self._order[other] = self._order[other], self._order[one]
        self.heights = self._heights(self.name)

    # -- no axis of numbers --------------------------------------------------------------------------------------------

    def _strips(self) -> tuple[Figure, str]:
        """Draw a line for each choice of words, with mean and range over the seeds; without words a histogram of the seeds."""
        choices = _choices(self.words)
        if not self.words:
            drawn, panel = figure.subplots(figsize=(7.2, 2.8))
            values = self.heights.values.ravel()
            panel.hist(values[np.isfinite(values)], bins=min(40, max(5, values.size // 5)), color=MEASURED)
            panel.set(xlabel=self.heights.label, ylabel="runs")
            return drawn, f"{self._over()}{self._missing()}"
        drawn, panel = figure.subplots(figsize=(7.2, 0.4 * len(choices) + 1.2))
        for n, (at, _) in enumerate(choices):
            values = self.heights.values[at]
            panel.plot([_least(values), _most(values)], [n, n], color=self._colour(n, at), alpha=0.4, linewidth=5)
            panel.plot(_mean(values), n, "o", color=self._colour(n, at))
        panel.set_yticks(range(len(choices)), [label for _, label in choices])
        panel.invert_yaxis()
        panel.set(xlabel=self.heights.label)
        if self.heights.log:
            finite = self.heights.values[np.isfinite(self.heights.values)]
            _logarithmic(panel, "x", finite.min(), finite.max())
        return drawn, f"{self._over()}{self._missing()}"

    def _scatter(self) -> tuple[Figure, str]:
        """Draw the metric over each drawn key."""
        axis = self.averaged[0]
        drawn, panels = _panels(len(axis.keys), (7.2, 3.4))
        some = _evenly(len(axis))
        for panel, key in zip(panels, axis.keys, strict=True):
            values = axis.column(key).astype(float)[some]
            factor, unit = scales.readable(float(np.abs(values).max()), unit_of(self.space.system, key))
            for n, (at, label) in enumerate(_choices(self.words)[:LINES]):
                panel.plot(
                    factor * values, self.heights.values[at][some], ".", ms=3, color=self._colour(n, at), label=label or None
                )
            panel.set(xlabel=scales.labelled(key, unit), ylabel=self.heights.label)
            if self.heights.log:
                finite = self.heights.values[np.isfinite(self.heights.values)]
                _logarithmic(panel, "y", finite.min(), finite.max())
        if self.words:
            figure.legend(panels[-1])
        many = f"each of {len(axis):,} draws" if len(some) == len(axis) else f"{len(some):,} of {len(axis):,} draws"
        return drawn, f"A point for {many}.{self._missing()}"

    # -- words ---------------------------------------------------------------------------------------------------------

    def _over(self) -> str:
        """Say what is averaged over."""
        if not self.averaged:
            return ""
        runs = " and ".join(f"{len(axis)} {'draws' if axis.drawn else 'seeds'}" for axis in self.averaged)
        return f"Mean of {runs}" + ("; the band spans the smallest to the largest." if len(self.sides) < 2 else ".")

    def _missing(self) -> str:
        values = self.heights.values
        missing = int(np.count_nonzero(~np.isfinite(values)))
        text = f" {missing:,} of {values.size:,} runs have no such value." if missing else ""
        if self.heights.clipped:
            text += f" Errors below {100.0 * FLOOR:g} % are drawn as {100.0 * FLOOR:g} %."
        return text


def _cross(panel: Axes, x: Side, y: Side) -> None:
    """Draw a cross, black on white so that it is visible on every colour."""
    if x.here is not None and y.here is not None:
        panel.plot(x.here, y.here, "x", color="white", ms=10, mew=4)
        panel.plot(x.here, y.here, "x", color="black", ms=8, mew=2, label="the scenario")


def _choices(axes: list[Axis]) -> list[tuple[tuple[int, ...], str]]:
    """Return each combination of words with its place and its label."""
    return [
        (places, ", ".join(_word(axis.keys[0], axis.points[at][0]) for axis, at in zip(axes, places, strict=True)))
        for places in itertools.product(*(range(len(axis)) for axis in axes))
    ]


def _word(key: str, value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{key.rpartition('.')[2]} {'yes' if value else 'no'}"


def _split(axes: list[Axis]) -> tuple[list[tuple[tuple[int, ...], str]], list[tuple[tuple[int, ...], str]]]:
    """Lines and panels, if there are too many lines for one panel: the first word's values are lines."""
    return _choices(axes[:1])[:LINES], _choices(axes[1:])[:PANELS]


def _panels(count: int, size: tuple[float, float], shared: bool = False) -> tuple[Figure, list[Axes]]:
    """Create panels, up to three in a row."""
    across = min(count, 3) if count != 4 else 2
    rows = -(-count // across)
    width, height = size
    each = height if rows == 1 and count == 1 else 3.0 if across < 3 else 2.8
    drawn, axes = figure.subplots(
        rows, across, figsize=(max(width, 3.3 * across), each * rows), squeeze=False, sharex=shared, sharey=shared
    )
    flat = list(axes.ravel())
    for extra in flat[count:]:
        extra.remove()
    return drawn, flat[:count]


def _evenly(count: int) -> np.ndarray:
    """Return at most POINTS evenly spread indices: more cannot be seen, and a page of a million points does not open."""
    return np.arange(count) if count <= POINTS else np.linspace(0, count - 1, POINTS).round().astype(int)


def _ticks(norm: Any) -> dict[str, Any]:
    """Return options of a colour bar: numbers written out, and an arrow where values exceed it."""
    from matplotlib.ticker import FuncFormatter

    return {"extend": "max", "format": FuncFormatter(lambda value, _: f"{value:g}")} if isinstance(norm, LogNorm) else {}


def _mean(values: np.ndarray) -> np.ndarray:
    """Average over the last axis; NaN where there is no value at all."""
    there = np.isfinite(values)
    count = there.sum(axis=-1)
    return np.where(count, np.where(there, values, 0.0).sum(axis=-1) / np.maximum(count, 1), np.nan)


def _least(values: np.ndarray) -> np.ndarray:
    return _or_nan(np.where(np.isfinite(values), values, np.inf).min(axis=-1))


def _most(values: np.ndarray) -> np.ndarray:
    return _or_nan(np.where(np.isfinite(values), values, -np.inf).max(axis=-1))


def _or_nan(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)
