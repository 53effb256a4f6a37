"""Which sources a module can reach: itself, and what it imports, transitively.

Compiled code is valid as long as these are unchanged. Imports are read from the source and not from a running program, so
the answer does not depend on what happens to be imported.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
_FROM = re.compile(r"^[ \t]*from +([\w.]+) +import +(?:\(([^)]*)\)|([^(\n]+))", re.M)
_IMPORT = re.compile(r"^[ \t]*import +([^\n]+)", re.M)
_COMMENT = re.compile(r"#.*")


def _file_of(name: str, beside: Path) -> Path | None:
    """The source of a module: one of hilt, or one in the folder `beside` (a user's own file and its neighbours)."""
    parts = name.split(".")
    root = PACKAGE.parent if parts[0] == PACKAGE.name else beside
    stem = root.joinpath(*parts)
    return next((path for path in (stem / "__init__.py", stem.with_suffix(".py")) if path.is_file()), None)


def imports(source: str) -> Iterator[tuple[str, str | None]]:
    """Pairs of a module and a name imported from it. By pattern: parsing every source would add half a second to each start."""
    for module, inside, line in _FROM.findall(source):
        for entry in _COMMENT.sub("", inside or line).split(","):
            if name := entry.split(" as ")[0].strip():
                yield module, name
    for line in _IMPORT.findall(source):
        for entry in _COMMENT.sub("", line).split(","):
            yield entry.split(" as ")[0].strip(), None


@functools.cache
def neighbours(path: Path, beside: Path) -> tuple[Path, ...]:
    """The sources that a module imports directly."""
    found = set()
    for module, name in imports(path.read_text(encoding="utf-8")):
        # `from hilt import job` means the module hilt.job; any other name comes from the package's own file.
        inner = _file_of(f"{module}.{name}", beside) if name else None
        source = inner or _file_of(module, beside)
        if source is not None:
            found.add(source)
    return tuple(sorted(found))


def sources(path: Path) -> list[Path]:
    """All sources that the module in `path` can reach."""
    beside = path.parent
    found, waiting = {path}, [path]
    while waiting:
        new = set(neighbours(waiting.pop(), beside)) - found
        found |= new
        waiting += new
    return sorted(found)


@functools.cache
def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


@functools.cache
def digest(path: Path) -> str:
    """A hash of everything that the module in `path` can reach; the same wherever hilt is installed."""
    found = hashlib.sha256()
    for source in sources(path):
        ours = source.is_relative_to(PACKAGE)
        found.update(str(source.relative_to(PACKAGE) if ours else source.name).encode())
        found.update(_digest(source))
    return found.hexdigest()[:16]
