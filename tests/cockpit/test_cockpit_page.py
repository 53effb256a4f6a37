"""The page's own tests, which need no browser: decoder, history, forms, export, layouts. Run by Node."""

import shutil
import subprocess
from pathlib import Path

import pytest

import hilt

PAGE = Path(hilt.__file__).parent / "cockpit" / "page"


@pytest.mark.skipif(
    shutil.which("node") is None or not (PAGE / "node_modules" / ".lock").is_file(), reason="needs sh tools/build_page.sh"
)
def test_the_pages_own_tests_hold():
    done = subprocess.run(["node", "test.mjs"], cwd=PAGE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
