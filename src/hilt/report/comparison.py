"""Several runs of one scenario side by side: a table, a picture, a sentence."""

import html
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hilt.job import Result
from hilt.report import page, words


def rows(results: dict[str, Result]) -> list[tuple[str, ...]]:
    """A line for each metric, then for each port of the ledger."""
    first = next(iter(results.values()))
    lines = []
    for name, text in first.system.metric_words.items():
        if any(name in result.metrics for result in results.values()):
            lines.append((text, *(words.metric(name, r.metrics[name]) if name in r.metrics else "" for r in results.values())))
    for n, port in enumerate(first.ledger["rows"]):
        lines.append((port["meaning"], *(words.si(r.ledger["rows"][n]["net_J"], "J") for r in results.values())))
    return lines


def sentence(results: dict[str, Result]) -> str:
    found = _module(results)
    return str(found.comparison_sentence(results)) if hasattr(found, "comparison_sentence") else ""


def _module(results: dict[str, Result]) -> Any:
    return next(iter(results.values())).system.part("views.report")


def print_comparison(console: Console, results: dict[str, Result]) -> None:
    first = next(iter(results.values()))
    console.print(f"[bold]{first.system.name} · {first.name}[/]  {first.scenario.summary}", highlight=False)
    table = Table("", *results)
    for line in rows(results):
        if any(not cell.startswith("0") for cell in line[1:]):  # zeros are for the page
            table.add_row(*line)
    for column in table.columns[1:]:
        column.justify = "right"
    console.print(table)
    console.print(sentence(results), highlight=False)


def write(results: dict[str, Result], path: Path) -> Path:
    """The comparison as a page of its own, with links to the reports of the runs."""
    first = next(iter(results.values()))
    title = f"{first.system.name} · {first.name}: {', '.join(results)}"
    body = f"<h1>{html.escape(title)}</h1><p class='sub'>{html.escape(first.scenario.summary)}</p>"
    body += f"<div class='advice'>{html.escape(sentence(results))}</div>"
    module = _module(results)
    if hasattr(module, "comparison_picture"):
        body += page.figures([module.comparison_picture(results)])
    body += page.table(("", *results), [tuple(html.escape(cell) for cell in line) for line in rows(results)])
    path.write_text(page.document(title, body), encoding="utf-8")
    return path
