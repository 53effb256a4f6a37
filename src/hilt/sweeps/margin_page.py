"""A margin for people: the tables that the terminal and the page share, and the page itself."""

import html
from collections.abc import Iterator

from matplotlib.axes import Axes

from hilt.report import figure, page, summary
from hilt.report.colours import MEASURED, of
from hilt.report.figure import Picture
from hilt.report.table import table
from hilt.report.words import NONE, si
from hilt.sweeps.batch import Batch
from hilt.sweeps.critical import Critical, Found
from hilt.sweeps.margin import Margin, named
from hilt.sweeps.sensitivity import Indices, Sensitivity

SIGN = (
    "Margin is (critical - now)/now: positive if the limit is above the value, negative if it is below. Each critical "
    "value is the nearest one, with everything else unchanged."
)


def quantity(value: float, unit: str) -> str:
    return si(value, unit) if unit else f"{value:.4g}"


def head(found: Margin) -> tuple[str, ...]:
    edge = ("holds at" if found.edge.beyond else "edge at", "margin")
    goal = ("goal met at" if found.goal.beyond else "goal lost at", "margin") if found.goal is not None else ()
    return ("key", "now", *edge, *goal, "searched")


def rows(found: Margin) -> Iterator[tuple[str, ...]]:
    goals = found.goal.keys if found.goal is not None else (None,) * len(found.edge.keys)
    for edge, goal in zip(found.edge.keys, goals, strict=True):
        searched = f"{quantity(edge.searched[0], edge.unit)} … {quantity(edge.searched[1], edge.unit)}"
        beside = _critical(goal, found.goal) if goal is not None else ()
        yield (edge.key, quantity(edge.now, edge.unit), *_critical(edge, found.edge), *beside, searched)


def _critical(each: Critical, among: Found | None) -> tuple[str, str]:
    if each.value is None:
        return "nowhere" if among is not None and among.beyond else "no limit", NONE
    return quantity(each.value, each.unit), NONE if each.margin is None else share(each.margin)


def share(margin: float) -> str:
    return f"{100 * margin:+.0f} %" if abs(margin) < 10 else f"× {margin + 1:.3g}"


def title(batch: Batch) -> str:
    return f"{batch.system.name} · {batch.name}: margins"


def verdict(found: Margin) -> Iterator[str]:
    """Sentences, the most important first."""
    yield found.sentence
    if found.goal is not None:
        missed = "It misses" if found.goal.beyond else "It meets"
        yield f"{missed} its goal (missed if {named(found.goal)})."
    if found.advice:
        yield found.advice
    if found.sobol is not None and found.sobol.sentence:
        yield found.sobol.sentence


def index_head(sobol: Sensitivity) -> tuple[str, ...]:
    return ("metric", "5 … 95 % of the runs", *sobol.uncertain)


def index_rows(sobol: Sensitivity) -> Iterator[tuple[str, ...]]:
    for each in sobol.metrics:
        if each.why:
            yield (each.metric, each.why, *(NONE for _ in sobol.uncertain))
            continue
        totals = (f"{each.total[key]:.2f} ± {each.error[key]:.2f}" for key in sobol.uncertain)
        yield (each.metric, f"{each.middle[0]:.4g} … {each.middle[1]:.4g}", *totals)


def _bars(axes: Axes, each: Indices) -> None:
    keys = list(each.total)[::-1]
    axes.barh(
        keys, [each.total[key] for key in keys], xerr=[each.error[key] for key in keys], color=of(5), height=0.6, label="total"
    )
    axes.barh(keys, [each.first[key] for key in keys], color=MEASURED, height=0.3, label="first order")
    axes.set_title(each.metric, fontsize=9)
    axes.set_xlim(left=min(0.0, *each.first.values()))
    axes.axvline(0.0, color="black", linewidth=0.8)


def picture(sobol: Sensitivity) -> Picture | None:
    """The indices of each metric as bars."""
    shown = [each for each in sobol.metrics if each.total]
    if not shown:
        return None
    with figure.styled():
        drawn, panels = figure.subplots(
            1, len(shown), figsize=(9.0, 0.8 + 0.35 * len(sobol.uncertain)), squeeze=False, sharey=True
        )
        for axes, each in zip(panels[0], shown, strict=True):
            _bars(axes, each)
        panels[0][-1].legend(loc="lower right", fontsize=8)
    caption = (
        "Sobol indices: the share of each metric's variance due to each key. Thin: the key alone; wide: including its "
        "interactions with other keys; the whisker is the 95 % interval of the wide bar."
    )
    return Picture("Sensitivity", caption, drawn)


def render(found: Margin, heading: str, sub: str) -> str:
    sentences = list(verdict(found))
    good = not found.edge.beyond and not (found.goal is not None and found.goal.beyond)
    kind = "bad" if found.edge.beyond else "good" if good else ""
    body = f"<h1>{html.escape(heading)}</h1><p class='sub'>{html.escape(sub)}</p>"
    body += f"<div class='verdict {kind}'>{html.escape(sentences[0])}"
    body += "".join(f"<p>{html.escape(each)}</p>" for each in sentences[1:])
    body += "</div><h2>Critical values</h2>"
    body += table(head(found), [tuple(map(html.escape, row)) for row in rows(found)])
    body += f"<p class='sub'>{_legend(found.edge)} {SIGN}</p>"
    if found.sobol is not None:
        drawn = picture(found.sobol)
        body += "<h2>What the metrics depend on</h2>" + (summary.figure(drawn) if drawn is not None else "")
        body += table(index_head(found.sobol), [tuple(map(html.escape, row)) for row in index_rows(found.sobol)])
        ranges = ", ".join(f"{key} {text}" for key, text in found.sobol.uncertain.items())
        body += f"<p class='sub'>Total indices over {html.escape(ranges)}; {found.sobol.samples} samples of each.</p>"
    body += f"<p class='sub'>{found.runs} runs with the engine {html.escape(found.engine)}.</p>"
    with figure.styled():
        return page.document(heading, body)


def _legend(edge: Found) -> str:
    return f"Edge: {html.escape(named(edge))}, or stopped by a fault."
