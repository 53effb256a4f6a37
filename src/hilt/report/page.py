"""The report: a single, self-contained HTML file.

It begins with what matters most: what was run, whether it met its goal, one figure, what to change, ten numbers. The rest is
folded. A system's own parts are in its `views.report`; each of these is optional:

    headline(result)  -> Picture                    speed and force against the ideal
    numbers(result)   -> (name, value), at most ten
    advice(result)    -> sentences, HTML            what to change
    details(result)   -> (title, HTML)              further findings, folded
    pictures(result)  -> Pictures                   all others, folded
"""

import html
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import hilt
from hilt.core.faults import InputError
from hilt.job import Result
from hilt.report import (
    delays,
    figure,
    heading,
    ledger,
    long,
    numbers,
    plain,
    scenario_text,
    style,
    summary,
    timing,
    verdict,
    who,
)
from hilt.report.figure import Picture
from hilt.report.overrides import overrides
from hilt.report.table import table as table


def figures(pictures: Iterable[Picture]) -> str:
    blocks = [f"<h3>{html.escape(p.title)}</h3>{summary.figure(p)}" for p in pictures]
    return f'<div class="grid">{"".join(blocks)}</div>' if blocks else ""


def document(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style.CSS}</style></head><body>{body}'
        f'<p class="sub">hilt {hilt.__version__}</p></body></html>\n'
    )


def fold(title: str, body: str) -> str:
    """Return a collapsed section; nothing for an empty body."""
    return f"<details><summary>{html.escape(title)}</summary><div>{body}</div></details>" if body else ""


def render(result: Result) -> str:
    """Return the whole page."""
    with figure.styled():
        return _render(result)


def _render(result: Result) -> str:
    parts = [heading.section(result), summary.section(result), _changes(result)]
    if ten := numbers.section(result):
        parts.append(f"<h2>Numbers</h2>{ten}")
    parts += [fold(title, body) for title, body in _folds(result)]
    return document(heading.title(result), "".join(parts))


def _changes(result: Result) -> str:
    """What to change, and how to get more advice."""
    own: Any = result.system.part("views.report")
    if result.survey is not None:
        return f"<p class='sub'>{html.escape(long.sentence(result))}</p>"
    advice = list(own.advice(result)) if hasattr(own, "advice") else []
    text = "<h2>What to change</h2>" + "".join(f"<div class='change'>{sentence}</div>" for sentence in advice) if advice else ""
    if result.beside is None and result.system.part("analysis.beside"):
        text += (
            "<p class='sub'>Comparisons that need simulation were not computed for this page; hilt show --advice adds them.</p>"
        )
    return text


def _folds(result: Result) -> Iterator[tuple[str, str]]:
    own: Any = result.system.part("views.report")
    if result.survey is None and hasattr(own, "details"):
        yield from own.details(result)
    yield "Can this work: checks before the run", verdict.checks(result)
    yield "All metrics", numbers.every(result)
    yield "Energy ledger", ledger.section(result)
    yield "Delays of the loop", delays.section(result)
    yield "Timing", timing.section(result)
    yield "Who did what", who.section(result)
    if result.survey is not None:
        yield "Figures", figures(long.pictures(result))
    else:
        yield "Figures", figures((own or plain).pictures(result))
    yield "Scenario", scenario(result)


def scenario(result: Result) -> str:
    """Return HTML with the scenario as a file that runs again."""
    changed = overrides(result.system, result.name, result.scenario)
    rows = [(html.escape(each.key), html.escape(each.shown)) for each in changed]
    differs = (
        f"<h3>Changed from the shipped {html.escape(result.name)}</h3>{table(('', ''), rows, titled=False)}" if rows else ""
    )
    return (
        f"{differs}<p class='sub'>Save it as a file and run it again with hilt run FILE.toml. "
        f"Hash {result.scenario.hash()}.</p><pre>{html.escape(scenario_text.text(result.scenario))}</pre>"
    )


def write(result: Result) -> Path:
    """Write the report beside the recording."""
    assert result.recording is not None
    return _write(result.recording.with_suffix(".html"), render(result))


def write_again(result: Result) -> Path:
    """Write the report of a recording. A report newer than the recording is kept if it differs; the new one goes beside it."""
    assert result.recording is not None
    path, text = result.recording.with_suffix(".html"), render(result)
    if path.is_file() and path.stat().st_mtime >= result.recording.stat().st_mtime:
        if path.read_text(encoding="utf-8") == text:
            return path
        path = path.with_name(f"{path.stem}-shown.html")
    return _write(path, text)


def _write(path: Path, text: str) -> Path:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the report {path} cannot be written: {error.strerror}; fix this and run hilt show again") from None
    return path
