"""Unpacks long recordings in a separate process: seconds of work that must not delay pages watching a run.

The child writes one line of JSON, padded, and then the rows as they are in memory, into a file without a name; the server
maps that file. It uses memory that the system can reclaim, and disappears when it is no longer viewed.
"""

import json
import mmap
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.host import child
from hilt.record import recording
from hilt.record.layout import type_from
from hilt.record.recording import Recording

SHORT_BYTES = 16 << 20  # of rows, read in an instant
HEADER_STEP = 64
PATIENCE = 300.0  # [s]
NICENESS = 10  # lower priority than the loop and the pages


def load(path: Path) -> Recording:
    """Load as recording.load does; a long recording in a child process."""
    if recording.stored(path).nbytes < SHORT_BYTES:  # what it unpacks to: a short file may be a long recording
        return recording.load(path)
    with tempfile.TemporaryFile() as file:
        try:
            subprocess.run(
                child.command("hilt.cockpit.unpack", str(path)),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            raise InputError(
                f"{path.stem} cannot be opened: unpacking it failed; check the free space for temporary files"
            ) from None
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    line = memory.readline()
    head = json.loads(line)  # from our own child
    if "error" in head:
        raise InputError(head["error"])
    rows = np.frombuffer(memory, type_from(json.loads(head["origin"]["row"])), offset=len(line))
    found = Recording(path, head["origin"], rows, head["result"])
    found.damage = head["damage"]
    return found


def main(path: Path) -> None:
    """Run the child: write the header and the rows."""
    os.nice(NICENESS)
    head: dict[str, Any]
    rows = np.zeros(0)
    try:
        found = recording.load(path)
        head, rows = {"origin": found.origin, "result": found.result, "damage": found.damage}, found.rows
    except InputError as error:
        head = {"error": str(error)}
    text = json.dumps(head).encode()
    text += b" " * (-(len(text) + 1) % HEADER_STEP) + b"\n"
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.write(rows.data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
