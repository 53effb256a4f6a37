"""Long recordings are unpacked by a process of their own: seconds of work that must not hold up who is watching a run.

The child writes one line of JSON, padded, and then the rows as they are in memory, into a file that has no name; the server
maps that file. It takes the memory that the system can spare, and goes when nobody looks at it any more.
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

SHORT_BYTES = 16 << 20  # of rows that are read within a moment
HEADER_STEP = 64
PATIENCE = 300.0  # [s]
NICENESS = 10  # behind the loop and behind who watches it


def load(path: Path) -> Recording:
    """As recording.load; a long one by a child."""
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
                f"{path.stem} cannot be opened: unpacking it failed; look at the room for temporary files"
            ) from None
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    line = memory.readline()
    head = json.loads(line)  # our own child's
    if "error" in head:
        raise InputError(head["error"])
    rows = np.frombuffer(memory, type_from(json.loads(head["origin"]["row"])), offset=len(line))
    found = Recording(path, head["origin"], rows, head["result"])
    found.damage = head["damage"]
    return found


def main(path: Path) -> None:
    """The child: what there is to say, and the rows."""
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
