"""A result at a glance, as HTML: verdict and the one figure. The top of every report, and what a notebook shows."""

import html
from typing import Any

from hilt.job import Result
from hilt.report import long, numbers, plain, verdict
from hilt.report.figure import Picture, styled


def figure_of(result: Result) -> Picture | None:
    """Speed and force against the ideal; what the system draws of it, else what its signals are called."""
    own: Any = result.system.part("views.report")
    if len(result.rows) < 3:  # stopped at once: nothing moved
        return None
    if result.survey is not None:
        return long.headline(result)
    found: Picture | None = own.headline(result) if hasattr(own, "headline") else plain.headline(result)
    return found


def figure(picture: Picture) -> str:
    """A picture without a heading of its own."""
    return (
        f'<figure><img alt="{html.escape(picture.title)}" src="{picture.svg()}">'
        f"<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
    )


def notebook(result: Result) -> str:
    """The same with the numbers, and with a style of its own: a notebook has none."""
    look = "border-left:6px solid #57606a;padding:8px 12px;margin:8px 0;max-width:980px"
    picture = section(result).replace("<figure>", "<figure style='margin:0;max-width:1000px'>")
    return picture.replace("<div class='verdict", f"<div style='{look}' class='verdict") + numbers.section(result)


def section(result: Result) -> str:
    """Verdict and figure."""
    with styled():
        picture = figure_of(result)
        return verdict.section(result) + (figure(picture) if picture is not None else "")
