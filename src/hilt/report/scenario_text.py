"""A scenario as TOML that runs again: SI numbers, each with its unit as a comment."""

import json
from typing import Any

from hilt.core import scenario
from hilt.core.scenario import Scenario

LONGEST = 100  # characters of a list on one line


def text(values: Scenario) -> str:
    """Return all values of a scenario as TOML, including defaults."""
    units = dict(scenario.keys(type(values)))
    lines: list[str] = []
    _table(lines, values.model_dump(mode="json"), "", units)
    return "\n".join(lines) + "\n"


def _table(lines: list[str], tree: dict[str, Any], path: str, units: dict[str, str]) -> None:
    """Plain values first, as TOML requires, then the tables below them; None is left out, as in a file."""
    for key, value in tree.items():
        if not isinstance(value, dict) and not _tables(value) and value is not None:
            unit = units.get(path + key, "")
            lines.append(f"{key} = {literal(value)}" + (f"  # {unit}" if unit not in ("", "1") else ""))
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            lines += ["", f"[{path}{key}]"]
            _table(lines, value, f"{path}{key}.", units)
        elif _tables(value):
            for entry in value:
                lines += ["", f"[[{path}{key}]]"]
                _table(lines, entry, f"{path}{key}.", units)


def _tables(value: Any) -> bool:
    """Whether a value is a list of tables, such as pushes."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def literal(value: Any) -> str:
    """Return one value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        inside = [literal(entry) for entry in value if entry is not None]
        short = f"[{', '.join(inside)}]"
        return short if len(short) <= LONGEST else "[\n  " + ",\n  ".join(inside) + ",\n]"
    return json.dumps(value, ensure_ascii=False)  # strings and integers look the same in both
