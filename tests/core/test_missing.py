"""A metric that a run cannot give has a reason: in the result, in the terminal, in the means over seeds."""

import io
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hilt import job
from hilt.core.missing import Missing, reasons
from hilt.report import terminal, words
from hilt.sweeps import seeds

SHORT = {
    "docking": ("table1", ["loop.duration=0.02 s", "loop.period=5 ms"]),
    "payload": ("pull-3000", ["loop.duration=0.05 s"]),
    "freefloat": ("wall", ["loop.duration=0.05 s"]),
    "aerial": ("push", ["loop.duration=0.2 s"]),
}


def numbers(value):
    return value if isinstance(value, list) else [value]


def unexplained(metrics):
    """Names of metrics that are not finite and give no reason."""
    return [
        name
        for name, value in metrics.items()
        if any(not isinstance(n, Missing) and not math.isfinite(n) for n in numbers(value))
    ]


@given(st.text(min_size=1), st.sampled_from([math.nan, math.inf]))
def test_it_counts_as_the_number_and_keeps_its_reason(why, value):
    missing = Missing(why, value)
    assert repr(float(missing)) == repr(value)
    assert not math.isfinite(missing + 1.0)
    assert pickle.loads(pickle.dumps(missing)).reason == why
    assert reasons({"a": 1.0, "b": missing, "c": [1.0, missing], "d": True}) == {"b": why, "c": why}
    assert job.plain({"b": missing}) == {"b": None}


@pytest.mark.parametrize("name", SHORT)
def test_a_run_that_ends_too_soon_explains_every_missing_metric(name):
    scenario, settings = SHORT[name]
    result = job.simulate(*job.find(name, scenario, settings))
    assert unexplained(result.metrics) == []
    found = result.as_json()
    empty = {key for key, value in found["metrics"].items() if None in numbers(value)}
    assert empty == set(found["reasons"])


def test_terminal_and_words_show_a_dash_and_the_reason():
    result = job.simulate(*job.find("payload", "pull-3000", ["loop.duration=0.05 s"]))
    page = io.StringIO()
    terminal.print_result(Console(file=page, width=200), result)
    assert "— (the virtual payload never reached 1 - 1/e of the reference)" in page.getvalue()
    assert "nan" not in page.getvalue()
    assert words.metric("felt_N", [1.0, Missing("why")]) == "1 N, — (why)"


def test_a_mean_over_seeds_is_missing_if_one_run_has_none():
    none = Missing("it stood")
    assert seeds._mean([1.0, none, none]).reason == "2 of 3 are missing: it stood"
    assert seeds._mean([[1.0, 2.0], [3.0, none]])[0] == 2.0
    assert seeds._worst([1.0, none, 3.0], ratio=False).reason == "1 of 3 are missing: it stood"
