"""Every Python block of README and docs runs: those of one page in sequence, as a reader would type them."""

import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from hilt.core import methods, registry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def blocks(page):
    """The code of a page, with blank lines for the rest, so that an error names the page's own line."""
    for found in BLOCK.finditer(text := page.read_text()):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1]


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for registered in (methods, registry):  # what a page registers is removed after it
        monkeypatch.setattr(registered, "_added", {})
    names = {"__name__": __name__}  # compiled code is found again by the name of its module
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for code in blocks(page):
            exec(compile(code, str(page), "exec"), names)
    plt.close("all")
    printed = capsys.readouterr().out
    for shown in re.findall(r"^```python\n[^`]*^```\n```\n(.*?)^```", page.read_text(), re.M | re.S):
        assert shown in printed  # what a page shows as output is the output


def test_readme_shows_what_its_program_prints():
    assert re.search(r"^```python\n[^`]*^```\n```\n", PAGES[0].read_text(), re.M)


def test_there_are_such_pages():
    assert {page.stem for page in PAGES if BLOCK.search(page.read_text())} >= {"README", "python"}
