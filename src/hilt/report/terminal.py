"""What the terminal shows: progress, metrics, ledger, verdicts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from hilt.compiled.progress import Step
from hilt.core import clock
from hilt.core.verdict import Verdict
from hilt.job import Result
from hilt.report import timing, words
from hilt.report.compiling import in_bar
from hilt.report.compiling import words as compiling_words


class _SpeedColumn(ProgressColumn):
    """Simulated seconds per second of wall time from the first tick on; before that, what is being compiled."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.fields['speed']:.3g} × real time" if task.fields["speed"] else task.fields["compiling"])


class _Running(ProgressColumn):
    """A column that is empty while the compiler's line is shown."""

    def __init__(self, column: ProgressColumn) -> None:
        super().__init__()
        self._column = column

    def render(self, task: Task) -> Any:
        return Text("") if task.fields["compiling"] else self._column.render(task)


@contextmanager
def progress(console: Console, duration: float, period: float, what: str = "simulating") -> Iterator[Callable[[int], None]]:
    """Show a bar with simulated time and speed factor; yields the loop's `watch`."""
    columns = (TextColumn(f"{what:10s}"), BarColumn(), TextColumn("{task.completed:.2f} of {task.total:.6g} s"))
    bar = Progress(*map(_Running, columns), _SpeedColumn(), console=console)
    started: list[float] = []

    def watch(k: int) -> None:
        if not started:
            started.append(clock.now())
        elif (elapsed := clock.now() - started[0]) > 0.0:
            bar.update(task, completed=k * period, speed=k * period / elapsed)

    def compiling(step: Step | None) -> None:
        bar.update(task, compiling="" if step is None else compiling_words(step))

    with bar, in_bar(compiling):
        task = bar.add_task("run", total=duration, speed=0.0, compiling="")
        yield watch
        bar.update(task, total=bar.tasks[0].completed)  # a run may end before its longest duration


_COLOURS = {"met": "green", "missed": "red", "diverged": "red", "stopped": "red", "no contact": "red"}


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Print the first line: how the run ended."""
    console.print(Text(verdict.sentence, f"bold {_COLOURS.get(verdict.kind, '')}".strip()))


def print_result(console: Console, result: Result) -> None:
    print_verdict(console, result.verdict)
    console.print(f"[bold]{result.system.name} · {result.name}[/]  {result.scenario.summary}", highlight=False)
    metrics = Table("metric", "value", title="Metrics", title_justify="left")
    for name, value in result.metrics.items():
        metrics.add_row(result.system.metric_words.get(name, name), words.metric(name, value))
    console.print(metrics)

    console.print(_ledger(result.ledger, "Energy ledger"))
    if result.timing is not None:
        console.print(timing.sentence(result.timing), highlight=False)
    if result.fault is not None:
        console.print(f"[bold red]{result.fault.sentence}[/]", highlight=False)


def _ledger(found: dict[str, Any], title: str) -> Table:
    ledger = Table("port", "in", "out", "net", title=title, title_justify="left")
    for row in found["rows"]:
        made = row["port"] != "environment" and row["net_J"] > 1e-6 * found["exchanged_J"]
        ledger.add_row(
            row["meaning"],
            words.si(row["in_J"], "J"),
            words.si(row["out_J"], "J"),
            words.si(row["net_J"], "J"),
            style="red" if made else None,
        )
    ledger.add_section()
    ledger.add_row("sum = change of the stored energy", "", "", words.si(found["stored_change_J"], "J"))
    if found["beside"]:
        ledger.add_section()
        ledger.add_row("[bold]beside the balance[/]")
    for row in found["beside"]:
        ledger.add_row(row["meaning"], *(words.si(row[key], "J") for key in ("in_J", "out_J", "net_J")))
    for column in ledger.columns[1:]:
        column.justify = "right"
    return ledger


def print_seeds(console: Console, summary: Any) -> None:
    print_verdict(console, summary.verdict)
    system = summary.first.system
    table = Table(
        "metric", "mean", "worst", title=f"{system.name} · {summary.first.name}: {summary.seeds} seeds", title_justify="left"
    )
    for name, value in summary.mean.items():
        worst = words.metric(name, summary.worst[name])
        table.add_row(
            system.metric_words[name], words.metric(name, value), f"off by {worst}" if name in system.ratios else worst
        )
    console.print(table)
    console.print(_ledger(summary.ledger, "Energy ledger, mean"))
    if summary.faults:
        console.print(f"[bold red]{summary.sentence}[/]", highlight=False)


def print_systems(console: Console, found: dict[str, Any], folders: dict[str, Path]) -> None:
    for name, system in found.items():
        console.print(f"[bold]{name}[/]  {system['summary']}", highlight=False)
        lines = Table.grid(padding=(0, 1, 0, 0))
        lines.add_column(no_wrap=True, min_width=16)
        for scenario, summary in system["scenarios"].items():
            lines.add_row(f"    {scenario}", Text(summary))
        console.print(lines)
        if name in folders:
            console.print(f"    in {folders[name]}", highlight=False, soft_wrap=True)


def print_rigs(console: Console, found: dict[str, str]) -> None:
    console.print(
        "[bold]rigs[/]  robots and sensors: --rig dry-lab, or a copy of lab-template with your addresses", highlight=False
    )
    for name, summary in found.items():
        console.print(f"    {name:15s} {summary}", highlight=False)


def print_claims(console: Console, reproduction: Any) -> None:
    console.print(f"[bold]{reproduction.title}[/]", highlight=False)
    coverage = Table("verdict", "targets" if reproduction.own else "claims", "meaning")
    for verdict, count in reproduction.coverage.items():
        coverage.add_row(verdict, str(count), reproduction.meaning[verdict])
    console.print(coverage)
    table = Table("where", "claim", reproduction.against, "here", "verdict", show_lines=True)
    reasons = []
    for claim in reproduction.claims:
        verdict = reproduction.verdict(claim)
        colour = "green" if verdict in ("reproduced", "met") else "red" if not claim.holds and not claim.declared else "yellow"
        mark = ""
        if claim.because and (not claim.holds or claim.declared):
            reasons.append(claim.because)
            mark = f" ({len(reasons)})"
        cells = [escape(text) for text in (claim.where, claim.what, claim.paper, claim.here)]  # brackets are the paper's
        table.add_row(*cells, f"[{colour}]{verdict}[/]{mark}")
    console.print(table)
    for number, reason in enumerate(reasons, 1):
        console.print(f"({number}) {escape(reason)}", highlight=False)
    for listing in (each() for each in reproduction.tables):
        beside = Table(*listing.head, title=listing.title, title_justify="left")
        for row, good in zip(listing.rows, listing.good, strict=True):
            beside.add_row(*map(escape, row[:-1]), f"[{'green' if good else 'red'}]{escape(row[-1])}[/]")
        console.print(beside)
    console.print(f"[bold]{reproduction.tally}[/]", highlight=False)
