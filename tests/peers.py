"""Third-party programs that speak the devices' protocols: installed by tools/peers.sh into their own environment."""

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-peers" / "bin" / "python"


@functools.cache
def _missing(module: str) -> str:
    if not PYTHON.exists():
        return f"the peer {module} is not installed: run tools/peers.sh"
    tried = subprocess.run([PYTHON, "-P", "-c", f"import {module}"], capture_output=True, text=True)
    return f"the peer {module} does not work here: {tried.stderr.strip().splitlines()[-1]}" if tried.returncode else ""


def python_with(module: str) -> str:
    """The Python that can import a peer; without it the test is skipped, with one sentence."""
    missing = _missing(module)
    if missing:
        pytest.skip(missing)
    return str(PYTHON)


def node_with(folder: Path) -> str:
    """The Node that can import what a folder's package-lock.json lists; without it the test is skipped, with one sentence."""
    node = shutil.which("node")
    if node is None or not (folder / "node_modules" / ".lock").is_file():
        pytest.skip(f"the packages of {folder.relative_to(ROOT)} are not installed: needs npm, then run tools/peers.sh")
    return node
