"""Reading recordings chunk by chunk, in memory that does not grow with the recording.

A recording may be cut, damaged or malicious: it is read up to the first error, every text in it is checked, and one that cannot
be read at all gives one sentence.
"""

import json
import math
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.record.container import Contents, Damage, open_file, rows_of, unpack
from hilt.record.layout import type_from

LOADED_BYTES = 2 << 30  # largest size of rows loaded into memory at once
ROWS_AT_ONCE = 1 << 14  # chunk size for rows that are in memory already
DEEPEST = 32  # nesting of a result
ORIGIN, RESULT = "hilt", "result"


class Recording:
    """A recording whose rows are in memory."""

    damage = ""  # where and why reading stopped; empty if the end was reached

    def __init__(self, path: Path, origin: dict[str, str], rows: np.ndarray, result: dict[str, Any] | None) -> None:
        self.path, self.origin, self.result = path, origin, result
        self.dtype = rows.dtype
        self._rows: np.ndarray | None = rows

    @property
    def rows(self) -> np.ndarray:
        """All rows, in memory."""
        assert self._rows is not None
        return self._rows

    @property
    def nbytes(self) -> int:
        """Upper bound of the memory of its rows."""
        return self.rows.nbytes

    @cached_property
    def _ends(self) -> tuple[int, np.ndarray]:
        count, last = 0, np.zeros(0, self.dtype)
        for rows in self.chunks():
            count, last = count + len(rows), rows[-1:].copy() if len(rows) else last
        return count, last

    @property
    def count(self) -> int:
        """Number of rows that can be read."""
        return self._ends[0]

    @property
    def last(self) -> np.ndarray:
        """The last row, as an array of one."""
        return self._ends[1]

    def chunks(self) -> Iterator[np.ndarray]:
        """The rows in order, some at a time."""
        for begin in range(0, len(self.rows), ROWS_AT_ONCE):
            yield self.rows[begin : begin + ROWS_AT_ONCE]

    @property
    def system(self) -> str:
        return self.origin["system"][:60]

    @property
    def version(self) -> str:
        """The version of hilt that made it."""
        return self.origin.get("hilt", "of an unknown version")[:40]

    @property
    def scenario(self) -> dict[str, Any]:
        tree = read_json(self.origin["scenario"], f"the scenario in {self.path}")
        if not isinstance(tree, dict):
            raise InputError(f"the scenario in {self.path} is not a hilt scenario; give a recording made by hilt")
        return tree


class Stored(Recording):
    """A recording whose rows stay in its file until they are needed."""

    def __init__(self, path: Path) -> None:
        self._file = open_file(path)
        weakref.finalize(self, os.close, self._file)
        contents = Contents(self._file, (ORIGIN, RESULT))
        self.path, self.damage, self._contents = path, contents.damage, contents
        self.origin = origin_in(contents, path)
        self.dtype = row_in(self.origin, path)
        self.result = result_in(contents, path)
        self._rows = None

    @property
    def rows(self) -> np.ndarray:
        if self._rows is None:
            if self.nbytes > LOADED_BYTES:
                raise InputError(
                    f"the rows of {self.path} would take {self.nbytes / 1e9:.3g} GB of memory at once; at most "
                    f"{LOADED_BYTES / 1e9:.3g} GB are loaded; record a shorter run"
                )
            parts = list(self.chunks())
            self._rows = np.concatenate(parts) if parts else np.zeros(0, self.dtype)
        return self._rows

    @property
    def nbytes(self) -> int:
        return self._contents.claimed

    def chunks(self) -> Iterator[np.ndarray]:
        """The rows in order, as they were written; up to the first chunk that is damaged."""
        last: np.ndarray = np.zeros(0, self.dtype)
        try:
            for chunk in self._contents.chunks:
                rows = rows_of(unpack(self._file, chunk), self.dtype)
                _check_order(last, rows)
                last = rows[-1:] if len(rows) else last
                yield rows
        except Damage as damage:
            self.damage = str(damage)
        except OSError as error:
            self.damage = os.strerror(error.errno or 0)


def _check_order(before: np.ndarray, rows: np.ndarray) -> None:
    """Check that time increases from row to row: pictures and metrics search by it."""
    ticks, times = (np.concatenate([before[name], rows[name]]) for name in ("tick", "t"))
    rising = (ticks[1:] > ticks[:-1]) & (times[1:] >= times[:-1])
    if not rising.all() or not np.isfinite(times).all():
        raise Damage("its rows are not in order of time")


def stored(path: Path) -> Stored:
    """Open a recording, even if it was cut or damaged; its rows stay in the file."""
    return Stored(path)


def load(path: Path) -> Recording:
    """Read a recording into memory, even if it was cut or damaged: up to its last complete chunk."""
    found = Stored(path)
    loaded = Recording(path, found.origin, found.rows, found.result)
    loaded.damage = found.damage
    return loaded


def no_rows(found: Recording) -> InputError:
    """The error for a recording without rows."""
    why = f": {found.damage}" if found.damage else ""
    return InputError(f"{found.path} has no complete chunk of rows{why}; it was cut too early; run the scenario again")


@contextmanager
def rows_of_a_stranger(path: Path | str) -> Iterator[None]:
    """Turn any failure to compute metrics or pictures of untrusted rows into one sentence.

    Everything here may fail on numbers that no run produces (a mass of 1e308, a collision -4), so any exception counts.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{path} has rows that no run of hilt produces ({type(error).__name__}: {str(error)[:100]}); give another recording"
        ) from error


def read_json(text: str, what: str) -> Any:
    """Parse untrusted JSON; bad text, however deeply nested, gives one sentence."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{what} is not JSON as hilt writes it; give a recording made by hilt") from None


def origin_in(contents: Contents, path: Path) -> dict[str, str]:
    """The header of the file, which describes the rows."""
    origin = contents.texts.get(ORIGIN, {})
    if not {"system", "scenario", "row"} <= set(origin):
        why = f" ({contents.damage})" if contents.damage else ""
        raise InputError(
            f"{path} is not a hilt recording, or it ends before its first rows{why}; give an .mcap file made by hilt"
        )
    return origin


def row_in(origin: dict[str, str], path: Path) -> np.dtype:
    """The type of its rows; every row has the loop's own signals."""
    try:
        row = type_from(read_json(origin["row"], f"the description of the rows in {path}"))
    except InputError as error:
        raise InputError(f"{path} is not a hilt recording: {error}") from None
    if any(row[name].str != kind if name in (row.names or ()) else True for name, kind in (("tick", "<i8"), ("t", "<f8"))):
        raise InputError(f"{path} is not a hilt recording: its rows have no tick and no time; give another")
    return row


def result_in(contents: Contents, path: Path) -> dict[str, Any] | None:
    """The result of the run, if it has one: its structure is checked, and its numbers are finite or None."""
    texts = contents.texts.get(RESULT)
    if texts is None:
        return None
    tree = _plain(read_json(texts.get("json", ""), f"the result in {path}"), DEEPEST, path)
    fits = (
        isinstance(tree, dict)
        and isinstance(tree.get("scenario", ""), str)
        and isinstance(tree.get("metrics"), dict)
        and isinstance(tree.get("recording", ""), str | None)
        and isinstance(tree.get("changes"), list | None)
        and all(map(_is_change, tree.get("changes") or ()))
        and isinstance(tree.get("reasons", {}), dict)
        and (tree.get("fault") is None or (isinstance(tree["fault"], dict) and isinstance(tree["fault"].get("sentence"), str)))
    )
    if not fits:
        raise InputError(f"the result in {path} is not a hilt result; give a recording made by hilt")
    return dict(tree)


def _is_change(change: Any) -> bool:
    """Whether this is a change of a live value that a replay can repeat."""
    return (
        isinstance(change, dict)
        and type(change.get("tick")) is int
        and isinstance(change.get("key"), str)
        and all(type(change.get(name)) in (int, float) and abs(change[name]) < 1e300 for name in ("value", "ramp"))
    )


def _plain(tree: Any, depth: int, path: Path) -> Any:
    if depth < 0:
        raise InputError(f"the result in {path} is nested deeper than {DEEPEST}; give a recording made by hilt")
    if isinstance(tree, dict):
        return {key: _plain(each, depth - 1, path) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_plain(each, depth - 1, path) for each in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree
