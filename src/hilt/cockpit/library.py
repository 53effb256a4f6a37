"""The recordings folder: what is in it, and nothing outside it.

A list reads of each file its beginning and its end, not its rows; what was read is kept until the file changes.
"""

import json
import re
import struct
import subprocess
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcap.exceptions import McapError
from mcap.reader import SeekingReader
from mcap.records import Chunk, Metadata
from mcap.stream_reader import StreamReader

from hilt import child, clock
from hilt.cockpit.film import Film, Films
from hilt.cockpit.wire import without_paths
from hilt.faults import InputError
from hilt.stage import System

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
FRESH = 5.0  # [s]: a file without an end that has grown so lately is still being written
LISTED = 500  # the newest ones
REPORT_PATIENCE = 300.0  # [s]
_DAMAGE = (McapError, ValueError, KeyError, TypeError, EOFError, OSError, struct.error)


class Library:
    """Recordings by name: the file's, without its ending. For several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.films = Films()
        self._read: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}
        self._reports = threading.Lock()  # one at a time

    def path(self, name: str) -> Path:
        """The file of a recording; a link that leads out of the folder is none."""
        path = self.folder / f"{name}.mcap"
        if not NAME.fullmatch(name) or not path.is_file() or path.resolve().parent != self.folder.resolve():
            raise InputError(f"{name!r} is not a recording here; choose one of the list")
        return path

    def open(self, name: str) -> Film:
        return self.films.open(self.path(name))

    def list(self) -> list[dict[str, Any]]:
        """The newest recordings first."""
        inside = [path for path in self.folder.glob("*.mcap") if NAME.fullmatch(path.stem)] if self.folder.is_dir() else []
        known: list[tuple[float, Path]] = []
        for path in inside:
            with suppress(OSError, InputError):
                known.append((self.path(path.stem).stat().st_mtime, path))
        found = []
        for _, path in sorted(known, reverse=True)[:LISTED]:
            with suppress(InputError, OSError):
                summary = self._summary(path)
                found.append({key: value for key, value in summary.items() if key != "result"})
        return found

    def details(self, name: str) -> dict[str, Any]:
        """A recording and its result; opening it here makes watching it quick. One of another version has no first contact."""
        summary = self._summary(self.path(name))
        try:
            return {**summary, "first_contact": self.open(name).first_contact}
        except InputError:
            return {**summary, "first_contact": None}

    def _summary(self, path: Path) -> dict[str, Any]:
        status = path.stat()
        key = (status.st_mtime_ns, status.st_size)
        known = self._read.get(path)
        if known is None or known[0] != key:
            known = key, _read(path)
            self._read[path] = known
        running = not known[1]["whole"] and clock.wall() - status.st_mtime < FRESH
        made = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
        told = {name: value for name, value in known[1].items() if name != "whole"}
        told["scenario"] = told["scenario"] or _scenario_by_name(path.stem, told["system"])
        return {"name": path.stem, **told, "made": made, "bytes": status.st_size, "running": running}

    def result_message(self, system: System, path: str) -> dict[str, Any]:
        """How a run ended, for the page. The path is a station's word, so it may lie in another folder: then it has no name."""
        found = self._summary(Path(path))
        try:
            name = found["name"] if self.path(found["name"]).samefile(path) else ""
        except InputError:
            name = ""
        return {
            "type": "result",
            "metrics": found["metrics"],
            "reasons": (found["result"] or {}).get("reasons", {}),
            "words": dict(system.metric_words),
            "fault": found["fault"],
            "recording": name,
        }

    def report(self, name: str) -> str:
        """The report of a recording as HTML; made if there is none, or an older one."""
        path = self.path(name)
        self._summary(path)  # what is no recording is refused here
        page = path.with_suffix(".html")
        own = page.is_file() and page.resolve().parent == self.folder.resolve()
        if own and page.stat().st_mtime >= path.stat().st_mtime:
            return page.read_text(encoding="utf-8")
        if page.exists() and not own:
            raise InputError(f"the report of {name} would be written through a link out of the folder; take the link away")
        with self._reports:  # by a process of its own: drawing it takes seconds
            done = subprocess.run(
                child.command("hilt.cli", "show", str(path)), capture_output=True, text=True, timeout=REPORT_PATIENCE
            )
        if done.returncode or not page.is_file():
            raise InputError(f"the report of {name} cannot be made: {done.stderr.strip().removeprefix('hilt: ')}")
        return page.read_text(encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    """What a file says of itself, its rows left where they are."""
    try:
        with path.open("rb") as stream, suppress(*_DAMAGE):
            found = _by_its_end(stream)
            if found is not None:
                return found
        with path.open("rb") as stream:
            return _by_its_chunks(stream)
    except OSError as error:
        raise InputError(f"recording {path.stem} cannot be read: {error.strerror}") from None


def _by_its_end(stream: Any) -> dict[str, Any] | None:
    reader = SeekingReader(stream)
    summary = reader.get_summary()
    if summary is None or summary.statistics is None:
        return None
    texts = {record.name: record.metadata for record in reader.iter_metadata()}
    seconds = (summary.statistics.message_end_time - summary.statistics.message_start_time) * 1e-9
    return _told(texts, summary.statistics.message_count, seconds, whole=True)


def _by_its_chunks(stream: Any) -> dict[str, Any]:
    """A file without an end: cut, or still growing."""
    texts: dict[str, dict[str, str]] = {}
    last = 0
    with suppress(*_DAMAGE):
        for record in StreamReader(stream, emit_chunks=True).records:
            if isinstance(record, Metadata):
                texts[record.name] = record.metadata
            elif isinstance(record, Chunk):
                last = record.message_end_time
    if "hilt" not in texts:
        raise InputError("this is not a recording of hilt")
    seconds = last * 1e-9
    return _told(texts, round(seconds / _period(texts)) + 1 if last else 0, seconds, whole=False)


def _scenario_by_name(stem: str, system: str) -> str:
    """A file without a result has only its name to go by: system-scenario-date-time."""
    found = re.fullmatch(rf"{re.escape(system)}-(.+)-\d{{8}}-\d{{6}}(-\d+)?", stem)
    return found[1] if found else ""


def _period(texts: dict[str, dict[str, str]]) -> float:
    return float(json.loads(texts["hilt"]["scenario"])["loop"]["period"])


def _told(texts: dict[str, dict[str, str]], rows: int, seconds: float, whole: bool) -> dict[str, Any]:
    result = json.loads(texts["result"]["json"]) if "result" in texts else None
    fault = (result or {}).get("fault")
    if result is not None:
        result = without_paths({**result, "recording": Path(result["recording"] or "").stem})
    return {
        "system": texts["hilt"]["system"],
        "scenario": (result or {}).get("scenario", ""),
        "seconds": seconds,
        "rows": rows,
        "rate_hz": 1.0 / _period(texts),
        "fault": fault and without_paths(fault["sentence"]),
        "metrics": (result or {}).get("metrics", {}),
        "result": result,
        "whole": whole,
    }
