"""Several runs of one scenario side by side: a table, a picture, a sentence."""

import html
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.table import Table

from hilt.job import Result
from hilt.report import figure, heading, ledger, numbers, page, summary, words


def rows(results: dict[str, Result]) -> list[tuple[str, ...]]:
    """Return a row per metric, then per ledger port that exchanged energy in at least one run."""
    first = next(iter(results.values()))
    lines = []
    for name, text in first.system.metric_words.items():
        if any(name in result.metrics for result in results.values()):
            cells = (numbers.shown(first.system, name, r.metrics[name]) if name in r.metrics else "" for r in results.values())
            lines.append((text, *cells))
    least = ledger.LEAST * max(float(result.ledger["exchanged_J"]) for result in results.values())
    for n, port in enumerate(first.ledger["rows"]):
        net = [float(result.ledger["rows"][n]["net_J"]) for result in results.values()]
        if any(abs(joules) > least for joules in net):
            lines.append((port["meaning"], *(words.si(joules, "J", 3) for joules in net)))
    return lines


def sentence(results: dict[str, Result]) -> str:
    found = _module(results)
    return str(found.comparison_sentence(results)) if hasattr(found, "comparison_sentence") else ""


def _module(results: dict[str, Result]) -> Any:
    return next(iter(results.values())).system.part("views.report")


COLUMNS = 5  # in the terminal's table, including the name of the run


def brief(results: dict[str, Result]) -> list[tuple[str, ...]]:
    """Return a head, then a row per run: its name, its verdict, and the figures it is judged by."""
    verdicts = {name: result.verdict for name, result in results.items()}
    labels = list(dict.fromkeys(figure.label for verdict in verdicts.values() for figure in verdict.figures))[: COLUMNS - 2]
    made = len(labels) < COLUMNS - 2
    lines = [("", "verdict", *labels, *(["made by the loop"] if made else []))]
    for name, verdict in verdicts.items():
        shown = {figure.label: figure.shown for figure in verdict.figures}
        energy = [words.si(_made(results[name]), "J", 3)] if made else []
        lines.append((name, verdict.kind, *(shown.get(label, words.NONE) for label in labels), *energy))
    return lines


def _made(result: Result) -> float:
    """Return the energy that came from the loop and not from the world [J]."""
    return float(sum(row["net_J"] for row in result.ledger["rows"] if row["port"] != "environment"))


def print_comparison(console: Console, results: dict[str, Result], every: bool = False) -> None:
    """Print one row per run with what it is judged by; with `every`, one row per metric and port."""
    first = next(iter(results.values()))
    console.print(f"[bold]{first.system.name} · {first.name}[/]  {first.scenario.summary}", highlight=False)
    lines = [("", *results), *rows(results)] if every else brief(results)
    table = Table(*lines[0])
    for line in lines[1:]:
        table.add_row(*line)
    for column in table.columns[1 if every else 2 :]:
        column.justify = "right"
    console.print(table)
    console.print(sentence(results), highlight=False)


def write(results: dict[str, Result], path: Path) -> Path:
    """Write the comparison as a page, with links to the reports of the runs."""
    first = next(iter(results.values()))
    title = f"{heading.title(first)}: {', '.join(results)}"
    with figure.styled():
        text = page.document(title, _body(results, first))
    path.write_text(text, encoding="utf-8")
    return path


def _body(results: dict[str, Result], first: Result) -> str:
    body = heading.comparison(results)
    if found := sentence(results):
        body += f"<div class='change'>{html.escape(found)}</div>"
    module = _module(results)
    if hasattr(module, "comparison_picture"):
        body += summary.figure(module.comparison_picture(results))
    body += f"<h2>Numbers</h2>{_numbers(results)}"
    every = [tuple(html.escape(cell) for cell in line) for line in rows(results)]
    body += page.fold("All metrics and the energy ledger", page.table(("", *map(html.escape, results)), every))
    return body + page.fold(f"Scenario of {next(iter(results))}", page.scenario(first))


def _numbers(results: dict[str, Result]) -> str:
    """The ten numbers of each run side by side; the heads link to the reports."""
    found = {name: {"verdict": result.verdict.kind, **dict(numbers.ten(result))} for name, result in results.items()}
    lines = dict.fromkeys(what for each in found.values() for what in each)
    cells = [(html.escape(what), *(html.escape(each.get(what, "")) for each in found.values())) for what in lines]
    return page.table(("", *(_linked(name, result) for name, result in results.items())), cells)


def _linked(name: str, result: Result) -> str:
    if result.recording is None:
        return html.escape(name)
    return f"<a href='{html.escape(quote(result.recording.with_suffix('.html').name))}'>{html.escape(name)}</a>"
