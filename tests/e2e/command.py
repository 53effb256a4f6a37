"""The command line: as a separate process, or, three seconds faster, in this one."""

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
    """The same without starting Python again, for tests of output and files."""
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
