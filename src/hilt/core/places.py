"""Line numbers of the keys in a TOML file, so that an error can say where it is: `robot.delay` on line 12.

Python's parser returns no line numbers. This module reads headers and keys at the beginning of lines; anything inside an inline
table or a list has the line of its key.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")

Places = Mapping[str, str]


def lines(text: str) -> dict[str, int]:
    """The line of each key and table; entries of lists of tables have numbers, as in the tree."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _plain(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}.{counts[table]}"
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            name = _plain(key[1])
            found.setdefault(f"{table}.{name}" if table else name, number)
    return found


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def of(path: Path, changed: Iterable[str] = ()) -> Places:
    """Places in a file that has been read; keys that were changed afterwards are not in it."""
    try:
        found = lines(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    places = {key: f"{path.name}, line {number}" for key, number in found.items()}
    return {**places, **dict.fromkeys(changed, "")}


def place(key: str, places: Places) -> str:
    """The place of a key, or of the table that lacks it; empty if neither is in the file."""
    while key and key not in places:
        key = key.rpartition(".")[0]
    return places.get(key, "")
