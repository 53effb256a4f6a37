"""The first thing a report says: whether the run did what it should."""

import html

from hilt.job import Result


def section(result: Result) -> str:
    """HTML; nothing for a run that ended in order and has no goal."""
    if result.fault is not None:
        return f"<div class='verdict bad'><b>Stopped.</b> {html.escape(result.fault.sentence)}</div>"
    if result.metrics.get("diverged") is True:
        return "<div class='verdict bad'><b>Diverged.</b></div>"
    return ""
