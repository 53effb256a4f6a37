"""Limits: what is read, what is beyond, and what is refused."""

import numpy as np
import pytest

from hilt.core import registry
from hilt.core.faults import InputError
from hilt.sweeps import beyond
from hilt.sweeps.beyond import Limit

DOCKING = registry.system("docking")
NAN = float("nan")
COLUMNS = {
    "cov_1": np.array([1.0, 1.02, 0.9, NAN, 1.0]),
    "cov_2": np.array([1.0, 1.01, 0.8, NAN, 1.0]),
    "cov_error": np.array([0.0, 0.02, 0.2, NAN, 0.0]),
    "mean_cof": np.array([1.0, 1.1, 1.2, 1.0, 1.0]),
    "diverged": np.array([False, False, True, False, False]),
    "fault": np.array([0, 0, 0, 0, 8]),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("diverged", [False, False, True, False, True]),  # the last run was stopped by a fault
        ("cov=5%", [False, False, True, True, True]),  # the one before it has no such value
        ("cov_2=1.005", [False, True, False, True, True]),
        ("mean_cof < 1.05", [True, False, False, True, True]),
        ("mean_cof>1.05", [False, True, True, False, True]),
    ],
)
def test_what_is_beyond(text, expected):
    assert beyond.read(DOCKING, text).beyond(DOCKING, COLUMNS).tolist() == expected


def test_any_of_several():
    found = beyond.beyond(DOCKING, (Limit("diverged"), Limit("mean_cof", 1.05)), COLUMNS)
    assert found.tolist() == [False, True, True, False, True]


@pytest.mark.parametrize("text", ["", "=3", "cov=", "cov=3 kg", "nothing=1", "cov=1=2", "cov_error_error=1"])
def test_bad_limits_are_refused_in_one_sentence(text):
    with pytest.raises(InputError) as error:
        beyond.read(DOCKING, text)
    assert "\n" not in str(error.value)


def test_a_metric_that_no_run_has_is_refused_with_a_list_of_those_there_are():
    with pytest.raises(InputError, match="choose one of cov_1, cov_2, cov_error, mean_cof, diverged"):
        Limit("time_slip_s", 1.0).beyond(DOCKING, COLUMNS)
