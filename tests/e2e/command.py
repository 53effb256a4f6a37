"""The command line: as a process of its own, or, three seconds quicker, in this one."""

import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

from hilt.cli import main as cli


def hilt(folder, *arguments, **environment):
    """As a user calls it."""
    command = [sys.executable, "-m", "hilt.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)


def here(folder, *arguments):
    """The same without starting Python anew, for tests that are about what is said and written."""
    said, complained, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(complained),
        mock.patch.object(sys, "argv", ["hilt", *arguments]),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    return subprocess.CompletedProcess(arguments, code, said.getvalue(), complained.getvalue())
