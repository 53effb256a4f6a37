"""The loop's delays as a table of the report."""

from hilt.job import Result
from hilt.metrics import delays
from hilt.report.table import table


def section(result: Result) -> str:
    """HTML; nothing for a system without such a table."""
    found = delays.table(result.system, result.scenario)
    rows = [(delays.WORDS[name], f"{1e3 * seconds:.3g}") for name, seconds in found.items() if name != "whole"]
    if not rows:
        return ""
    rows.append((f"<b>{delays.WORDS['whole']}</b>", f"<b>{1e3 * found['whole']:.3g}</b>"))
    return "<h2>Delays of the loop</h2>" + table(("part", "delay at low frequency [ms]"), rows)
