"""The top of a report: whether the run met its goal, and which checks failed before it began."""

import html

from hilt.analysis import check
from hilt.analysis.check import Remark
from hilt.job import Result
from hilt.report.table import table

_LOOKS = {"met": "good", "not judged": ""}  # all others are bad


def section(result: Result) -> str:
    """Return HTML: the verdict, the fault if any, and the checks that failed."""
    found = result.verdict
    lines = [] if result.system.judge is None and result.fault is None else [f"<b>{html.escape(found.sentence)}</b>"]
    if result.fault is not None:
        lines.append(f"<p>{html.escape(result.fault.sentence)}</p>")
    lines += [f"<p>{html.escape(remark.sentence)}</p>" for remark in _remarks(result) if not remark.fine]
    look = f"verdict {_LOOKS.get(found.kind, 'bad')}".strip()
    return f"<div class='{look}'>{''.join(lines)}</div>" if lines else ""


def checks(result: Result) -> str:
    """Return all checks as HTML; nothing for a system without checks."""
    rows = [
        (
            html.escape(remark.about),
            f"<span class='{'yes' if remark.fine else 'no'}'>{'yes' if remark.fine else 'no'}</span>",
            html.escape(remark.sentence),
        )
        for remark in _remarks(result)
    ]
    return table(("", "fine", ""), rows, numbers=9) if rows else ""


def _remarks(result: Result) -> tuple[Remark, ...]:
    return check.check(result.system, result.scenario)
