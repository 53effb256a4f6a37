"""The recordings folder: what is in it, and nothing outside it.

Listing reads only the texts of each file, not its rows, and keeps them until the file changes. A file that is not a recording
is left out.
"""

import math
import re
import subprocess
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hilt.cockpit import differences
from hilt.cockpit.film import Film, Films
from hilt.cockpit.wire import without_paths
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.host import child
from hilt.record import deeds
from hilt.record.container import Contents, open_file
from hilt.record.reading import ORIGIN, RESULT, origin_in, read_json, result_in, row_in

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
FRESH = 5.0  # [s]: an incomplete file that has grown this recently is still being written
LISTED = 500  # the newest ones
REPORT_PATIENCE = 300.0  # [s]
_NAME_LENGTH, _SENTENCE_LENGTH = 100, 1000  # characters taken from a file


class Library:
    """Recordings by file name, without its ending. For several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.films = Films()
        self._read: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}
        self._reports = threading.Lock()  # one at a time

    def path(self, name: str) -> Path:
        """Return the file of a recording; a link that leads out of the folder is refused."""
        path = self.folder / f"{name}.mcap"
        if not NAME.fullmatch(name) or not path.is_file() or path.resolve().parent != self.folder.resolve():
            raise InputError(f"{name!r} is not a recording here; choose one from the list")
        return path

    def open(self, name: str) -> Film:
        return self.films.open(self.path(name))

    def list(self) -> list[dict[str, Any]]:
        """List the recordings, newest first."""
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

    def summary(self, name: str) -> dict[str, Any]:
        """Return the summary of a recording, with its result."""
        return self._summary(self.path(name))

    def first_contact(self, name: str) -> float | None:
        """Return when it first touches something [s]; None if never, or if it cannot be opened, as from another version."""
        try:
            return self.open(name).first_contact
        except InputError:
            return None

    def _summary(self, path: Path) -> dict[str, Any]:
        status = path.stat()
        key = (status.st_mtime_ns, status.st_size)
        known = self._read.get(path)
        if known is None or known[0] != key:
            known = key, _read(path)
            self._read[path] = known
        running = not known[1]["whole"] and clock.wall() - status.st_mtime < FRESH
        made = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
        found = {name: value for name, value in known[1].items() if name != "whole"}
        found["scenario"] = found["scenario"] or _scenario_by_name(path.stem, found["system"])
        tree = found.pop("values")
        found["overrides"] = without_paths(differences.overrides(found["system"], found["scenario"], tree))
        found["method"] = differences.method(tree)
        return {"name": path.stem, **found, "made": made, "bytes": status.st_size, "running": running}

    def result_message(self, system: System, path: str) -> dict[str, Any]:
        """Return how a run ended, for the page. The path comes from a station; in another folder the recording has no name."""
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
            "verdict": found["verdict"],
            "recording": name,
        }

    def report(self, name: str) -> str:
        """Return the report of a recording as HTML; made if it is missing or outdated."""
        path = self.path(name)
        self._summary(path)  # refuses a file that is not a recording
        page = path.with_suffix(".html")
        own = page.is_file() and page.resolve().parent == self.folder.resolve()
        if own and page.stat().st_mtime >= path.stat().st_mtime:
            return page.read_text(encoding="utf-8")
        if page.exists() and not own:
            raise InputError(f"the report of {name} would be written through a link out of the folder; remove the link")
        with self._reports:  # in its own process: drawing it takes seconds
            done = subprocess.run(
                child.command("hilt.cli.main", "show", "--advice", str(path)),
                capture_output=True,
                text=True,
                timeout=REPORT_PATIENCE,
            )
        if done.returncode or not page.is_file():
            raise InputError(f"the report of {name} cannot be made: {last_line(done.stderr)}")
        return page.read_text(encoding="utf-8")


def last_line(output: str) -> str:
    """Return the last line of a command's output, after those about compiling."""
    return output.strip().rpartition("\n")[2].removeprefix("hilt: ")


def _read(path: Path) -> dict[str, Any]:
    """Read a file's texts without its rows: its records are skipped from header to header."""
    with open(open_file(path), "rb") as file:
        contents = Contents(file.fileno(), (ORIGIN, RESULT))
    origin = origin_in(contents, path)
    row_in(origin, path)
    return _summarised(origin, result_in(contents, path), contents)


def _scenario_by_name(stem: str, system: str) -> str:
    """Return the scenario from the file name, for a file without a result: system-scenario-date-time."""
    found = re.fullmatch(rf"{re.escape(system)}-(.+)-\d{{8}}-\d{{6}}(-\d+)?", stem)
    return found[1] if found else ""


def _verdict(result: dict[str, Any]) -> dict[str, str] | None:
    """Return the verdict as a word and a sentence, if the recording has one; the person who stopped the run is named."""
    found = result.get("verdict")
    if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in ("kind", "sentence")):
        return None
    sentence = found["sentence"][:_SENTENCE_LENGTH]
    stops = [deed for deed in deeds.read(result.get("who")) or () if deed["what"] == "stop"]
    if found["kind"] == "stopped" and stops:
        sentence = sentence.replace("by a person", f"by {stops[-1]['who'][:_NAME_LENGTH]}", 1)
    return {"kind": found["kind"][:_NAME_LENGTH], "sentence": without_paths(sentence)}


def _period(values: dict[str, Any]) -> float:
    """Return the period of the scenario, which is not checked yet."""
    try:
        period = float(values["loop"]["period"])
    except (TypeError, KeyError, ValueError, OverflowError):
        period = math.nan
    if not 0.0 < period < math.inf:
        raise InputError("the scenario in this recording has no period; give a recording made by hilt")
    return period


def _summarised(origin: dict[str, str], result: dict[str, Any] | None, contents: Contents) -> dict[str, Any]:
    values = read_json(origin["scenario"], "the scenario")
    period = _period(values)
    fault = (result or {}).get("fault")
    if result is not None:
        result = without_paths({**result, "recording": Path(result.get("recording") or "").name.removesuffix(".mcap")})
    return {
        "system": origin["system"][:_NAME_LENGTH],
        "scenario": (result or {}).get("scenario", "")[:_NAME_LENGTH],
        "seconds": contents.seconds,
        "rows": contents.rows,
        "rate_hz": 1.0 / period,
        "fault": fault and without_paths(fault["sentence"]),
        "verdict": _verdict(result or {}),
        "metrics": (result or {}).get("metrics", {}),
        "result": result,
        "values": values,
        "whole": contents.whole,
    }
