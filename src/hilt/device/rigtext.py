"""Change a table of a rig file and leave the rest of its text, including comments, unchanged."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hilt.core import toml
from hilt.core.faults import InputError


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(part) for part in value)}]"
    return json.dumps(value, ensure_ascii=False)


def _key(line: str) -> str | None:
    """The key of a line `key = value`, without its quotes."""
    found = re.match(r"""\s*(?:"([^"]+)"|'([^']+)'|([\w.-]+))\s*=""", line)
    return next((part for part in found.groups() if part), None) if found else None


def set_table(text: str, table: str, values: Mapping[str, Any], comment: str = "") -> str:
    """The text with these keys in `[table]`: changed in place, one per line, or added; a new table goes at the end."""
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if re.match(r"\s*\[", line) and _is_head(line)]
    begin = next((i for i in heads if lines[i].split("#")[0].strip() == f"[{table}]"), None)
    note = [f"# {comment}"] if comment else []
    new = {
        key: f"{key if re.fullmatch(r'[A-Za-z_-]+', key) else json.dumps(key)} = {_value(value)}"
        for key, value in values.items()
    }
    if begin is None:
        lines += ["", *note, f"[{table}]", *new.values()]
    else:
        end = next((i for i in heads if i > begin), len(lines))
        while end > begin + 1 and not lines[end - 1].strip():
            end -= 1
        body = [line for line in lines[begin + 1 : end] if line not in note]
        body = [new.pop(key) if (key := _key(line)) in new else line for line in body]
        lines[begin + 1 : end] = [*body, *note, *new.values()]
    changed = "\n".join(lines) + "\n"
    found = toml.parse(changed)
    for part in table.split("."):
        found = found.get(part, {})
    if any(key not in found for key in values):
        raise InputError(f"[{table}] of the rig file cannot be changed automatically; put each of its keys on its own line")
    return changed


def _is_head(line: str) -> bool:
    return re.fullmatch(r"\s*\[\[?[^\[\],=]+\]?\]\s*(#.*)?", line) is not None
