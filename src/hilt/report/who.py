"""Who armed, started, steered, changed and stopped a run."""

import html

from hilt.job import Result
from hilt.record import deeds
from hilt.report.table import table


def section(result: Result) -> str:
    """Return HTML; nothing for a run without such a record."""
    if not result.who:
        return ""
    rows = [(html.escape(deed["what"]), deeds.when(deed), html.escape(deed["who"])) for deed in result.who]
    return table(("", "when", "who"), rows, numbers=3)
