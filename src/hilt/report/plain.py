"""The report of a system that brings none: its energy, how its ticks kept time, and no advice."""

from collections.abc import Iterator

from hilt.job import Result
from hilt.report.figure import Picture
from hilt.report.pictures import energy_made, lateness


def advice(result: Result) -> Iterator[str]:
    yield from ()


def pictures(result: Result) -> Iterator[Picture]:
    t = result.rows["t"]
    if result.ledger["exchanged_J"] > 0:
        yield energy_made(result, t, result.fault.t if result.fault else None)
    yield lateness(result.rows, t)
