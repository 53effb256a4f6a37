"""Whether the texts of a figure are readable: none is cut off, overlaps another, or lies on another panel."""

import hashlib
import io
import itertools

from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.text import Text

PIXELS = 0.7  # points: the margin in a box of text


def texts(figure):
    """Every text drawn, with the axes it belongs to; tick labels outside a panel are not drawn."""
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        for axis in (axes.xaxis, axes.yaxis):
            if axes.axison:
                ticks = axis._update_ticks()  # those that are drawn
                yield from ((label, axes) for tick in ticks for label in (tick.label1, tick.label2))
                yield from ((axis.label, axes), (axis.offsetText, axes))
        legend = axes.get_legend()
        yield from ((text, axes) for text in (*axes.texts, axes.title, *(legend.get_texts() if legend else ())))
    others = (*figure.texts, *(text for legend in figure.legends for text in legend.get_texts()))
    yield from ((text, None) for text in others)


def problems(figure):
    """One sentence for each text that cannot be read; the figure has been laid out already."""
    renderer = RendererSVG(*figure.bbox.size, io.StringIO(), image_dpi=72)  # letters as wide as they are drawn
    shown = [
        (text, axes, text.get_window_extent(renderer))
        for text, axes in texts(figure)
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip()
    ]
    for text, axes, box in shown:
        name = _name(text)
        if text.get_rotation() % 90:
            yield f"{name} is written askew"
        whole = figure.bbox
        if box.x0 < whole.x0 - PIXELS or box.y0 < whole.y0 - PIXELS or box.x1 > whole.x1 + PIXELS or box.y1 > whole.y1 + PIXELS:
            yield f"{name} is cut off at the edge of the figure"
        for panel in figure.axes:
            if axes is not None and panel is not axes and panel.get_visible() and _overlap(box, panel.bbox):
                yield f"{name} lies on another panel"
    for (one, _, box), (two, _, other) in itertools.combinations(shown, 2):
        if _overlap(box, other):
            yield f"{_name(one)} lies on {_name(two)}"


def _name(text):
    return repr(text.get_text().replace("\n", " "))


def _overlap(one, two):
    return min(one.x1, two.x1) - max(one.x0, two.x0) > PIXELS and min(one.y1, two.y1) - max(one.y0, two.y0) > PIXELS


def fingerprint(figure):
    """A hash of what a figure shows, without drawing it: its curves, its texts, its limits."""
    digest = hashlib.sha256()
    for axes in figure.axes:
        for line in axes.lines:
            digest.update(line.get_xydata().tobytes())
        for patch in (*axes.patches, *(path for each in axes.collections for path in each.get_paths())):
            digest.update(getattr(patch, "get_path", lambda path=patch: path)().vertices.tobytes())
        digest.update(repr((axes.get_xlim(), axes.get_ylim(), axes.get_xlabel(), axes.get_ylabel(), axes.get_title())).encode())
        digest.update(repr([text.get_text() for text in axes.texts]).encode())
    return f"data:{digest.hexdigest()}"
