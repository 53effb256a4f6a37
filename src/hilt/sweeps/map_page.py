"""A map for people: its picture, its page, and the sentences that the terminal prints."""

import html
import math
from collections.abc import Iterator
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from hilt.report import figure, page, summary
from hilt.report.colours import BOUND, IDEAL, MADE
from hilt.report.figure import Picture
from hilt.report.table import table
from hilt.report.words import prefixed, si
from hilt.sweeps.batch import Batch
from hilt.sweeps.maps import Map, Side

BEYOND = "#fbe3e0"  # colour of the region beyond the limits


def panel(axes: Axes, found: Map) -> None:
    """Draw one map: the region beyond the limits, its boundary, closed forms, and a cross at the scenario."""
    scales = set_up(axes, found)
    region(axes, found, scales, BEYOND, f"boundary of {named(found)}", color=MADE)
    forms(axes, found, scales)
    cross(axes, found, scales)


def set_up(axes: Axes, found: Map) -> tuple[float, float]:
    """Set up the axes of a map; return the factors from SI to the units shown."""
    axes.grid(visible=False)
    return _scale(axes, found.x, "x"), _scale(axes, found.y, "y")


def region(axes: Axes, found: Map, scales: tuple[float, float], fill: str, label: str, **style: Any) -> None:
    axes.add_collection(
        PolyCollection(
            [patch * scales for patch in found.patches], facecolors=fill, edgecolors=fill, linewidths=0.4, rasterized=True
        )
    )
    for n, line in enumerate(found.lines):
        axes.plot(*(line * scales).T, label=label if n == 0 else None, **style)


def forms(axes: Axes, found: Map, scales: tuple[float, float]) -> None:
    for curve in found.curves:
        style: dict[str, Any] = BOUND if curve.form.bound else IDEAL
        name = curve.form.name if curve.form.bound else f"closed form: {curve.form.name}"
        for n, line in enumerate(curve.lines):
            axes.plot(*(line * scales).T, label=name if n == 0 else None, **style)


def cross(axes: Axes, found: Map, scales: tuple[float, float], label: str = "the scenario") -> None:
    axes.plot(found.here[0] * scales[0], found.here[1] * scales[1], "x", color="black", ms=9, mew=2, label=label, clip_on=False)


def named(found: Map) -> str:
    return " or ".join(limit.meaning for limit in found.limits)


def _scale(axes: Axes, side: Side, which: str) -> float:
    """Set up one axis; return the factor from SI to the unit shown."""
    typical = math.sqrt(side.low * side.high) if side.log else side.high
    factor, unit = prefixed(typical, side.unit) if side.unit and not side.unit.startswith("kg") else (1.0, side.unit)
    one = axes.xaxis if which == "x" else axes.yaxis
    if side.log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        decades = side.high / side.low
        one.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 1000.0 else (1.0,)))
        one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        one.set_minor_formatter(NullFormatter())
    (axes.set_xlim if which == "x" else axes.set_ylim)(side.low * factor, side.high * factor)
    (axes.set_xlabel if which == "x" else axes.set_ylabel)(f"{side.key} [{unit}]" if unit else side.key)
    return factor


def picture(found: Map) -> Picture:
    with figure.styled():
        drawn, axes = figure.subplots(figsize=(7.2, 4.6))
        panel(axes, found)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=3, fontsize=8)
    return Picture("Map", " ".join(sentences(found)), drawn)


def title(batch: Batch, found: Map) -> str:
    return f"{batch.system.name} · {batch.name}: {found.y.key} over {found.x.key}"


def sentences(found: Map) -> Iterator[str]:
    """Yield what the map says about the scenario."""
    over = f"{100 * found.share_beyond:.0f} %"
    if not found.lines:
        all_of = "the whole map" if found.grid.all() else "no point of the map"
        yield f"No boundary: {all_of} is beyond the limit ({named(found)})."
        return
    yield f"Beyond the limit ({named(found)}): {over} of the map (shaded)."
    across, up = found.crossings()
    for n, (side, other, values) in enumerate(((found.x, found.y, across), (found.y, found.x, up))):
        if not values:
            continue
        listed = ", ".join(si(value, side.unit) if side.unit else f"{value:.4g}" for value in values)
        held = found.here[1 - n]
        yield (
            f"With {other.key} = {si(held, other.unit) if other.unit else f'{held:g}'} as in the scenario, "
            f"the boundary is at {side.key} = {listed}{_beside(found, n)}."
        )


def _beside(found: Map, n: int) -> str:
    """Return the boundary according to each closed form."""
    side = (found.x, found.y)[n]
    texts = []
    for curve in found.curves:
        values = found.crossings(curve.lines)[n]
        if values and not curve.form.bound:
            texts.append(", ".join(si(value, side.unit) if side.unit else f"{value:.4g}" for value in values))
    return f" (closed form {'; '.join(texts)})" if texts else ""


def render(found: Map, heading: str, sub: str) -> str:
    with figure.styled():
        body = f"<h1>{html.escape(heading)}</h1><p class='sub'>{html.escape(sub)}</p>{summary.figure(picture(found))}"
        if found.curves:
            rows = [
                (
                    html.escape(curve.form.name),
                    f"<code>{html.escape(curve.form.formula)}</code>",
                    html.escape(curve.form.leaves_out),
                )
                for curve in found.curves
            ]
            body += "<h2>Closed forms</h2>" + table(("form", "edge", "leaves out"), rows, numbers=3)
        body += (
            f"<p class='sub'>{found.runs} runs with the engine {html.escape(found.engine)}: a grid of {found.x.points} × "
            f"{found.y.points}, then bisection along the edges of the cells that the boundary crosses. An island smaller than "
            "a cell may be missed. Runs that ended with a fault count as beyond the limit.</p>"
        )
        return page.document(heading, body)
