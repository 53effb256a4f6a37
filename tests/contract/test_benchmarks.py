"""Benchmarks are only run by hand, so a broken import would go unnoticed until then."""

import importlib
from pathlib import Path

import pytest

NAMES = sorted(path.stem for path in (Path(__file__).parents[2] / "benchmarks").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported(name, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))  # they import each other as programs do
    assert importlib.import_module(f"benchmarks.{name}").__doc__, "it says what it measures"
