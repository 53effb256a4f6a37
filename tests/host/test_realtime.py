"""Rights and the doctor: rights are given back, refusals are explained, and the numbers are right."""

import gc
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.faults import InputError
from hilt.host import machine, realtime
from hilt.lab import doctor
from hilt.live import cores
from hilt.report import timing

pytestmark = pytest.mark.wall


def state():
    policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK  # the mark may stay with the unprivileged
    return os.sched_getaffinity(0), policy, os.sched_getparam(0).sched_priority, gc.isenabled()


def test_rights_are_given_back():
    before = state()
    core = max(os.sched_getaffinity(0))
    rights = realtime.take_rights(core)
    try:
        assert os.sched_getaffinity(0) == {core}
        assert not gc.isenabled()
        # Each is granted or refused, with a sentence; which of them depends on the host.
        assert {"core", "priority", "memory", "collector"} == set(rights.granted) | set(rights.refused)
        assert bool(os.sched_getscheduler(0) & os.SCHED_FIFO) == ("priority" in rights.granted)
        ask = "import os; print(os.sched_getscheduler(0))"
        child = subprocess.run([sys.executable, "-c", ask], stdout=subprocess.PIPE, check=True)
        assert int(child.stdout) == os.SCHED_OTHER  # it is not inherited
    finally:
        rights.release()
    rights.release()
    assert state() == before


def test_a_core_that_is_not_there_is_refused_in_words():
    before = state()
    rights = realtime.take_rights(1023)
    rights.release()
    assert "core 1023 was refused" in rights.refused["core"]
    assert rights.core is None
    assert state() == before


@pytest.mark.parametrize(("text", "cores"), [("", set()), ("3\n", {3}), ("0-2,5", {0, 1, 2, 5}), ("1,3-4\n", {1, 3, 4})])
def test_core_lists_are_read_as_the_kernel_writes_them(text, cores):
    assert realtime.cores_in(text) == cores


@pytest.mark.parametrize(
    ("worst", "grade"), [(49.9, "excellent"), (50, "good"), (99, "good"), (199, "fair"), (499, "poor"), (500, "unfit")]
)
def test_the_grade_is_by_the_worst_lateness(worst, grade):
    assert doctor.grade(worst) == grade


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=300))
def test_a_histogram_has_the_percentiles_of_its_samples(samples):
    values, counts = np.unique(samples, return_counts=True)
    found = doctor.histogram_percentiles(dict(zip(values.tolist(), counts.tolist(), strict=True)), max(samples))
    assert found["lateness_us"] == realtime.percentiles(np.array(samples, float))
    assert sum(np.array(samples) <= found["lateness_us"]["p99"]) >= 0.99 * len(samples)


# What cyclictest of rt-tests 2 prints, shortened.
HISTOGRAM = """# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000
000007 000090
000009 000009
000015 000001
# Total: 000000100
# Min Latencies: 00007
# Avg Latencies: 00007
# Max Latencies: 00123
# Histogram Overflows: 00000
"""


def test_cyclictests_answer_is_read():
    """What is later than the histogram counts as the worst; without an answer there is none."""
    assert doctor.read_histogram(HISTOGRAM) == ({7: 90, 9: 9, 15: 1}, 123)
    found = doctor.histogram_percentiles(*doctor.read_histogram(HISTOGRAM))
    assert found == {"lateness_us": {"p50": 7.0, "p99": 9.0, "p999": 15.0, "max": 123.0}}
    later = HISTOGRAM.replace("Overflows: 00000", "Overflows: 00100")
    assert doctor.read_histogram(later) == ({7: 90, 9: 9, 15: 1, 123: 100}, 123)
    assert doctor.histogram_percentiles({}, 0) is None


@pytest.mark.parametrize(("rate", "seconds"), [(0.0, 1.0), (1e6, 1.0), (1000.0, 0.0), (1000.0, float("nan"))])
def test_a_senseless_measurement_is_refused(rate, seconds):
    with pytest.raises(InputError, match="in this range"):
        doctor.examine(rate, seconds)


def test_the_doctor_finds_what_the_loop_needs_to_know(monkeypatch):
    """Also beside another session of this host, beside which it does not measure (tests/live/test_cores.py)."""
    monkeypatch.setattr(cores, "live", dict)
    monkeypatch.setattr(cores, "take", lambda ours: None)
    found = doctor.examine(500.0, 0.2)
    late = found["lateness_us"]
    assert 0.0 <= late["p50"] <= late["p99"] <= late["p999"] <= late["max"]
    assert found["grade"] == doctor.grade(late["max"])
    assert found["overruns"] >= 0
    assert json.loads(json.dumps(found)) == found
    assert found["robots"]["rtde"] == {"cycle": 0.002, "share": pytest.approx(1e-3 * late["max"] / 2.0, abs=1e-3)}
    text = doctor.words(found)
    assert text.startswith(found["grade"])
    assert "rtde 2 ms: " in text
    assert "fci 1 ms: " in text
    for each in found["advice"]:
        assert each in text


def test_advice_follows_from_what_was_found():
    host = {
        "refused": {},
        "preemption": "realtime",
        "virtual": False,
        "governors": ["performance"],
        "isolated_cores": [3],
        "cores": 4,
        "clock_source": "tsc",
        "load": 0.1,
        "interfaces": {"eth0": {"state": "up", "wireless": False}},
    }
    perfect = {"host": host, "lateness_us": {"max": 20.0}, "rate_hz": 1000.0}
    assert doctor.advise(perfect) == []
    for change, word in [
        ({"preemption": "voluntary"}, "PREEMPT_RT"),
        ({"virtual": True}, "virtual machine"),
        ({"governors": ["powersave"]}, "cpupower"),
        ({"isolated_cores": []}, "isolcpus"),
        ({"clock_source": "hpet"}, "hpet"),
        ({"load": 9.0}, "busy"),
        ({"refused": {"memory": "memory is not locked"}}, "not locked"),
        ({"interfaces": {"wlan0": {"state": "up", "wireless": True}}}, "cable"),
    ]:
        (advice,) = doctor.advise({**perfect, "host": {**host, **change}})
        assert word in advice
    assert "lower rate" in doctor.advise({**perfect, "lateness_us": {"max": 600.0}})[0]


def test_what_the_host_took_away_only_grows():
    first, second = machine.stolen(), machine.stolen()
    assert 0.0 <= first <= second


def test_the_line_on_timing_tells_what_was_lost_and_who_took_it():
    figures = {"rows": 14392, "rate_hz": 250.0, "missed": 3, "overruns": 1, "rows_lost": 0, "stolen_s": 0.16}
    line = timing.sentence({**figures, "lateness_us": {"p50": 50.0, "p99": 367.0, "p999": 1098.0, "max": 9088.0}})
    assert "14392 ticks at 250 Hz, 3 missed, 1 overruns, 0 rows lost" in line
    assert line.endswith("at worst 9088 µs; the host took 0.16 s of computing time away")
