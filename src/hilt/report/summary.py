"""A result at a glance, as HTML: verdict and headline figure, for the top of a report and for a notebook."""

import html
from typing import Any

from hilt.job import Result
from hilt.report import long, numbers, plain, verdict
from hilt.report.figure import Picture, styled


def figure_of(result: Result) -> Picture | None:
    """Return speed and force: the system's own picture, else one from the names of its signals."""
    own: Any = result.system.part("views.report")
    if len(result.rows) < 3:  # stopped at once: nothing moved
        return None
    if result.survey is not None:
        return long.headline(result)
    found: Picture | None = own.headline(result) if hasattr(own, "headline") else plain.headline(result)
    return found


def figure(picture: Picture) -> str:
    """Return a picture as HTML, without a heading."""
    return (
        f'<figure><img alt="{html.escape(picture.title)}" src="{picture.svg()}">'
        f"<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
    )


def notebook(result: Result) -> str:
    """Return verdict, figure and numbers, with inline style because a notebook has none."""
    look = "border-left:6px solid #57606a;padding:8px 12px;margin:8px 0;max-width:980px"
    picture = section(result).replace("<figure>", "<figure style='margin:0;max-width:1000px'>")
    return picture.replace("<div class='verdict", f"<div style='{look}' class='verdict") + numbers.section(result)


def section(result: Result) -> str:
    """Return verdict and figure."""
    with styled():
        picture = figure_of(result)
        return verdict.section(result) + (figure(picture) if picture is not None else "")
