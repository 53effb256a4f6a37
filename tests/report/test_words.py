"""Numbers for people: sensible digits, percent off the ideal, nothing twice."""

import math

import pytest

from hilt.core import registry
from hilt.core.missing import Missing
from hilt.report import numbers, words


@pytest.mark.parametrize(
    ("value", "unit", "digits", "shown"),
    [
        (0.00455, "J", 4, "4.55 mJ"),
        (3e-9, "N", 4, "0 N"),
        (7.57e-8, "m", 3, "0.08 µm"),
        (1e6, "m/s²", 4, "1000 km/s²"),
        (6.84e-4, "m", 2, "684 µm"),
        (3890.0, "N/m", 3, "3.89 kN/m"),
        (140.4, "N", 3, "140 N"),
        (-42.25e-6, "s", 3, "-42.2 µs"),
        (math.nan, "N", 4, words.NONE),
    ],
)
def test_a_quantity(value, unit, digits, shown):
    assert words.si(value, unit, digits) == shown


def test_the_entries_of_a_list_have_one_unit():
    assert words.metric("largest_m", [0.0829, 0.000828, 0.00183], 3) == "82.9 mm, 0.8 mm, 1.8 mm"
    assert words.metric("largest_m", [0.0829, 0.0, 0.01], 3) == "82.9 mm, 0 m, 10 mm"
    assert words.metric("largest_m", [0.05, 0.15], 3) == "50 mm, 150 mm"
    assert words.metric("largest_m", [0.05, Missing("no contact"), 1.0], 3) == f"50 mm, {words.NONE} (no contact), 1 m"


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (1.0, "0.0 %"),
        (1.0 + 1e-15, "0.0 %"),
        (1.012, "+1.2 %"),
        (0.9349, "-6.5 %"),
        (1.451, "+45 %"),
        (41.01, "41 times"),
        (1562.0, "1562 times"),
    ],
)
def test_a_ratio_is_shown_as_its_error(ratio, shown):
    assert words.off_one(ratio) == shown


def test_equal_entries_are_shown_once():
    assert words.off_one([1.0] * 5) == "0.0 %, all 5"
    assert words.off_one([2.102, 41.0]) == "+110 %, 41 times"
    docking = registry.system("docking")
    assert numbers.shown(docking, "cov", [1.0, 1.0]) == "0.0 %, all 2"
    assert numbers.shown(docking, "diverged", False) == "no"
    assert numbers.shown(docking, "bound_cof", Missing("no bound")) == f"{words.NONE} (no bound)"
