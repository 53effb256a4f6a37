"""The loop's delays as a table of the report."""

from hilt.job import Result
from hilt.metrics import delays
from hilt.report.table import table


def section(result: Result) -> str:
    """Return HTML; nothing for a system without such a table."""
    found = delays.table(result.system, result.scenario)
    rows = [(delays.WORDS[name], _ms(seconds)) for name, seconds in found.items() if name != "whole" and seconds != 0.0]
    if not rows:
        return ""
    rows.append((f"<b>{delays.WORDS['whole']}</b>", f"<b>{_ms(found['whole'])}</b>"))
    measured = getattr(result.system.part("views.delays"), "measured", None)
    rows += measured(result) if measured is not None else []
    none = [delays.WORDS[name] for name, seconds in found.items() if seconds == 0.0]
    rest = f"<p class='sub'>No delay in: {'; '.join(none)}.</p>" if none else ""
    return table(("part", "delay at low frequency"), rows) + rest


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
