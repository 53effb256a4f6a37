"""The timing of a run on devices, and notes about it."""

import html
from typing import Any

import numpy as np

from hilt.job import Result
from hilt.report.table import table

WORST = 5  # ticks


def _row(name: str, percentiles: dict[str, Any]) -> tuple[str, ...]:
    return (name, *(f"{percentiles[key]:.0f}" for key in ("p50", "p99", "p999", "max")))


def _worst(rows: np.ndarray) -> str:
    """Return the latest and the longest ticks, with their times."""
    late, long = (np.argsort(rows[name])[::-1][:WORST] for name in ("lateness", "tick_time"))
    lines = [
        (
            f"{rows['t'][a]:.3f} s",
            f"{1e6 * rows['lateness'][a]:.0f}",
            f"{rows['t'][b]:.3f} s",
            f"{1e6 * rows['tick_time'][b]:.0f}",
        )
        for a, b in zip(late, long, strict=True)
    ]
    return table(("latest tick at", "late by [µs]", "longest tick at", "took [µs]"), lines)


def _taken(timing: dict[str, Any]) -> str:
    """Return the time that the host took: late ticks on a virtual machine may have their cause outside it."""
    stolen = timing.get("stolen_s", 0.0)
    if stolen == 0.0:
        return "nothing"
    return f"{stolen:g} s of computing time went to other guests of the machine; no tick can run during that time"


def sentence(timing: dict[str, Any]) -> str:
    """Return one line for the terminal."""
    late = timing["lateness_us"]
    words = (
        f"{timing['rows']} ticks at {timing['rate_hz']:g} Hz, {timing['missed']} missed, {timing['overruns']} overruns, "
        f"{timing['rows_lost']} rows lost; late by {late['p50']:.0f} µs (median), {late['p99']:.0f} µs (p99), "
        f"at worst {late['max']:.0f} µs"
    )
    stolen = timing.get("stolen_s", 0.0)
    return f"{words}; the host took {stolen:g} s of computing time away" if stolen else words


def section(result: Result) -> str:
    """Return HTML for the timing of a run on devices; nothing for a simulation."""
    timing = result.timing
    if timing is None:
        return ""
    rights = timing["rights"]
    refused = "; ".join(f"{name}: {why}" for name, why in rights["refused"].items())
    facts = [
        ("rate", f"{timing['rate_hz']:g} Hz, {timing['rows']} ticks, {timing['rows_lost']} rows lost"),
        ("overruns, oversleeps, missed", f"{timing['overruns']}, {timing['oversleeps']}, {timing['missed']}"),
        ("taken by the host", _taken(timing)),
        ("rights", html.escape("; ".join(rights["granted"].values()) or "none")),
        ("not permitted", html.escape(refused or "none")),
        *(
            (html.escape(name), html.escape(", ".join(f"{key} {value}" for key, value in counts.items())))
            for name, counts in timing["devices"].items()
        ),
        *(("note", html.escape(note)) for note in result.notes or ()),
    ]
    percentiles = table(
        ("[µs]", "p50", "p99", "p999", "max"),
        [_row("lateness", timing["lateness_us"]), _row("duration of a tick", timing["tick_us"])],
    )
    worst = "" if result.survey else _worst(result.rows)  # a long run may not have kept its worst rows
    return f"{percentiles}{table(('', ''), facts, numbers=2)}{worst}"
