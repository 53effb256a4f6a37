"""The energy ledger as a table of the report: the ports that exchanged energy."""

import html
from typing import Any

from hilt.job import Result
from hilt.report import words
from hilt.report.table import table

LEAST = 1e-6  # share of the energy exchanged; less is rounding


def section(result: Result) -> str:
    """Return HTML; without a balance if no energy was exchanged."""
    exchanged = float(result.ledger["exchanged_J"])
    if not exchanged > 0.0:
        return _beside(result)
    rows, nothing = [], []
    for line in result.ledger["rows"]:
        if max(line["in_J"], line["out_J"]) < LEAST * exchanged:
            nothing.append(line["port"])
            continue
        made = line["port"] != "environment" and line["net_J"] > LEAST * exchanged
        net = _joules(line["net_J"], exchanged)
        rows.append((*_cells(line, exchanged)[:3], f'<span class="made">{net}</span>' if made else net))
    change = _joules(result.ledger["stored_change_J"], exchanged)
    rows.append(("<b>sum = change of the stored energy</b>", "", "", f"<b>{change}</b>"))
    share = abs(result.ledger["residual_J"]) / exchanged
    closes = f"The sum closes to {share:.1e} of the energy exchanged."
    if nothing:
        closes += f" Not listed, because no energy flowed: {', '.join(nothing)}."
    return table(("port", "in", "out", "net"), rows) + f"<p class='sub'>{closes}</p>" + _beside(result)


def _joules(value: float, exchanged: float) -> str:
    return "0 J" if abs(value) < LEAST * exchanged else words.si(value, "J", 3)


def _cells(line: dict[str, Any], exchanged: float) -> tuple[str, ...]:
    return (html.escape(line["meaning"]), *(_joules(line[key], exchanged) for key in ("in_J", "out_J", "net_J")))


def _beside(result: Result) -> str:
    moved = [line for line in result.ledger["beside"] if line["in_J"] or line["out_J"]]
    exchanged = max((max(line["in_J"], line["out_J"]) for line in moved), default=0.0)
    rows = [_cells(line, exchanged) for line in moved]
    return "<h3>Beside the balance</h3>" + table(("port", "in", "out", "net"), rows) if rows else ""
