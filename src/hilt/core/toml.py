"""TOML from untrusted sources: size, line length and nesting are limited, which bounds the time and memory of the parser.

The parser's time grows with the square of the number of parts of a dotted key, and it recurses into brackets: 64 kB of the
worst lines allowed here take a fraction of a second.
"""

import tomllib
from pathlib import Path
from typing import Any

from hilt.core.faults import InputError, shortened

MOST_BYTES = 1 << 16  # of a file
LONGEST_LINE = 1000  # characters
DEEPEST = 12  # nesting of tables and lists


def parse(text: str) -> dict[str, Any]:
    """The tree of a text; a ValueError says what is wrong with it."""
    if len(text) > MOST_BYTES:
        raise ValueError(f"it has {len(text)} characters; at most {MOST_BYTES} are read")
    if len(longest := max(text.split("\n"), key=len)) > LONGEST_LINE:
        raise ValueError(f"a line has {len(longest)} characters; at most {LONGEST_LINE} are read; break it into several")
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"its tables and lists are nested more than {DEEPEST} deep; write it flatter") from None
    check_depth(tree)
    return tree


def check_depth(tree: Any) -> None:
    """Refuse nesting that would exhaust the stack of later code; this check itself does not recurse."""
    level = [tree]
    for _ in range(DEEPEST):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    if any(isinstance(node, dict | list) for node in level):
        raise ValueError(f"its tables and lists are nested more than {DEEPEST} deep; write it flatter")


def read(path: Path, kind: str = "scenario") -> dict[str, Any]:
    """The tree of a file; only a regular file is opened, and no more than the limit is read."""
    name = f"{kind} file {path if len(str(path)) < LONGEST_LINE and str(path).isprintable() else shortened(str(path))}"
    try:
        if not path.exists():
            raise InputError(f"{name} does not exist; give the path of a TOML file")
        if not path.is_file():
            raise InputError(f"{name} is not a regular file; give the path of a TOML file")
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError(f"{name} has more than {MOST_BYTES} bytes, which is the limit; make it shorter")
        return parse(data.decode("utf-8"))
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}; give the path of a TOML file") from None
    except ValueError as error:  # bytes that are not text, or text that is not TOML
        raise InputError(f"{name} cannot be read: {shortened(str(error))}; fix the file") from None
