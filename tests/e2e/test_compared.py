"""docs/compared.md says what benchmarks/compared.py computes, for the tools that are installed here."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("compared", ROOT / "benchmarks" / "compared.py")
compared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compared)
PAGE = (ROOT / "docs" / "compared.md").read_text()


def row(tool, figures, digits):
    return f"| {tool} | {figures['rebound']:.{digits}f} | {figures['peak_N']:.2f} N |"


def test_the_limit_of_small_steps():
    assert row("limit of small steps (1 MHz)", compared.reference(), 4) in PAGE


@pytest.mark.parametrize(
    ("tool", "own", "run"),
    [
        ("hilt", "hilt", compared.in_hilt),
        ("MuJoCo", "MuJoCo, `solref` set to this stiffness over mass, `solimp` near 1", compared.in_mujoco),
    ],
)
def test_the_page_has_what_is_computed(tool, own, run):
    found = run()
    assert row(tool, found["late"], 4) in PAGE
    assert row(own, found["contact"], 6) in PAGE
    assert f"{tool} {found['version']}" in PAGE


def test_an_independent_loop_gives_hilts_rebound():
    """Delay line, spring and bodies of hilt against the same written around MuJoCo: equal to rounding."""
    assert compared.in_mujoco()["late"]["rebound"] == pytest.approx(compared.in_hilt()["late"]["rebound"], rel=1e-12)
