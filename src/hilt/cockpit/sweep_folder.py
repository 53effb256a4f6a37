"""Sweeps of the recordings folder by name, and nothing outside it."""

import subprocess
import threading
from pathlib import Path

from hilt.cockpit.library import NAME, REPORT_PATIENCE, last_line
from hilt.core.faults import InputError, shortened
from hilt.host import child
from hilt.sweeps.table import FILE, Table

FILE_BYTES = 32 << 20  # of a sweep.json
REPORT = "report.html"
_reports = threading.Lock()  # one at a time


def path(out: Path, name: str) -> Path:
    """Return the folder of a sweep; a link that leads out of ours is refused."""
    found = out / name
    if not NAME.fullmatch(name) or not (found / FILE).is_file() or found.resolve().parent != out.resolve():
        raise InputError(f"{shortened(name)!r} is not a sweep here; choose one from the list")
    if (found / FILE).stat().st_size > FILE_BYTES:
        raise InputError(f"{name} has more values on its axes than can be shown here; open its {REPORT}")
    return found


def report(out: Path, name: str) -> str:
    """Return the report of a complete sweep; made if there is none, in its own process: drawing it takes seconds."""
    folder = path(out, name)
    found = folder / REPORT
    if found.exists() and found.resolve().parent != folder.resolve():
        raise InputError(f"the report of {name} would be written through a link out of the folder; remove the link")
    with _reports:
        if not found.is_file():
            table = Table.open(folder)
            if len(table.written()) < table.plan.count:
                raise InputError(f"{name} is not finished and has no report yet; continue it first")
            command = child.command("hilt.cli.main", "sweep", "--resume", str(folder))
            done = subprocess.run(command, capture_output=True, text=True, timeout=REPORT_PATIENCE)
            if done.returncode or not found.is_file():
                raise InputError(f"the report of {name} cannot be made: {last_line(done.stderr)}")
    return found.read_text(encoding="utf-8")
