"""The stored result of a recording, beside its rows: timing, notes, live changes, who did what, and how the run ended.

It is untrusted, so anything malformed is left out.
"""

from typing import Any

from hilt.core.faults import Fault
from hilt.core.missing import Missing
from hilt.record import deeds

_PERCENTILES = ("p50", "p99", "p999", "max")
_NUMBERS = ("rate_hz", "overruns", "oversleeps", "missed", "rows", "rows_lost")
_FAULT = {"code": int, "name": str, "tick": int, "t": float, "axis": str, "value": float, "limit": float, "sentence": str}


def outside(result: dict[str, Any] | None) -> dict[str, Any]:
    """Timing, notes, changes and deeds, as a `Result` has them."""
    found = result or {}
    timing = found.get("timing")
    return {
        "timing": timing if _is_timing(timing) else None,
        "notes": _notes(found.get("faults")),
        "changes": found.get("changes"),  # already checked by the reader, because a replay repeats them
        "who": deeds.read(found.get("who")),
    }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(tree: Any) -> bool:
    return isinstance(tree, dict) and all(isinstance(value, str) for value in tree.values())


def _is_timing(tree: Any) -> bool:
    if not isinstance(tree, dict) or not isinstance(rights := tree.get("rights"), dict):
        return False
    percentiles = (tree.get("lateness_us"), tree.get("tick_us"))
    devices = tree.get("devices")
    return (
        all(_number(tree.get(name)) for name in _NUMBERS)
        and _number(tree.get("stolen_s", 0.0))
        and all(isinstance(each, dict) and all(_number(each.get(name)) for name in _PERCENTILES) for each in percentiles)
        and _texts(rights.get("granted"))
        and _texts(rights.get("refused"))
        and isinstance(devices, dict)
        and all(isinstance(counts, dict) for counts in devices.values())
    )


def _notes(faults: Any) -> list[str] | None:
    if not isinstance(faults, list):
        return None
    notes = [entry for entry in faults if isinstance(entry, dict) and entry.get("name") == "note"]
    return [entry["sentence"] for entry in notes if isinstance(entry.get("sentence"), str)]


def fault(result: dict[str, Any] | None) -> Fault | None:
    """The fault that ended the run, as reported at the time."""
    tree = (result or {}).get("fault")
    if not isinstance(tree, dict):
        return None
    try:
        return Fault(**{name: kind(tree[name]) for name, kind in _FAULT.items()})
    except (KeyError, TypeError, ValueError):
        return None


def completed(metrics: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    """Metrics of rows that lack signals, completed by the values that the version of the recording had computed."""
    then = (result or {}).get("metrics", {})
    return {
        name: then[name] if isinstance(value, Missing) and _number(then.get(name)) else value for name, value in metrics.items()
    }
