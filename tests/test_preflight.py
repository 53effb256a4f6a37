"""A run's time and space are estimated before it begins, and the impossible is refused before anything is written."""

import numpy as np
import pytest

from hilt import job, preflight
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.sweeps import seeds
from tests.patience import within

SYSTEM = registry.system("freefloat")


def values_with(*settings):
    return job.find("freefloat", None, list(settings))


def refusal(call, *arguments, **words):
    with pytest.raises(InputError) as error:
        call(*arguments, **words)
    assert "\n" not in str(error.value)
    return str(error.value)


IMPOSSIBLE = {
    "more ticks than can be counted": ("loop.period=1 ns", "loop.duration=1e9 s"),
    "more ticks than anybody runs": ("loop.period=1 us", "loop.duration=1 h"),
    "more memory than there is": ("loop.period=1 ms", "loop.duration=9e5 s"),
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_an_impossible_run_is_refused_before_anything_is_written(kind, tmp_path):
    system, values, name = values_with(*IMPOSSIBLE[kind])
    out = tmp_path / "out"
    with within():
        assert "this would take" in refusal(job.run, system, values, name, out)
        assert "this would take" in refusal(job.simulate, system, values, name)
    assert not out.exists()


def test_a_run_that_the_disk_cannot_hold_is_refused(tmp_path):
    found = preflight.Estimate(ticks=1e6, seconds=10.0, memory=0.0, disk=2.0 * preflight.free_disk(tmp_path))
    assert "of disk" in refusal(preflight.check, found, tmp_path / "not" / "there" / "yet")
    preflight.check(preflight.Estimate(ticks=1e6, seconds=10.0, memory=0.0, disk=1e6), tmp_path)


def test_the_free_memory_is_not_a_guess():
    assert 1e7 < preflight.free_memory() < 1e15


@pytest.mark.parametrize("count", [0, -1, 10**7, 10**30, 10**400])
def test_an_impossible_number_of_seeds_is_refused(count):
    system, values, name = values_with()
    assert "--seeds is" in refusal(seeds.run, system, values, name, count)


def test_seeds_do_not_leave_their_range():
    system, values, name = values_with(f"seed={2**63 - 2}")
    assert "smaller one" in refusal(seeds.run, system, values, name, 3)


def test_twice_the_time_needs_twice_as_much_of_everything():
    one, two = (preflight.estimate(SYSTEM, values_with(f"loop.duration={each} s")[1]) for each in (1e4, 2e4))
    for part in ("ticks", "seconds", "memory", "disk"):
        assert getattr(two, part) == pytest.approx(2.0 * getattr(one, part), rel=0.05)


def test_what_is_long_or_large_is_announced_and_nothing_else():
    assert not preflight.estimate(SYSTEM, values_with()[1]).remarkable
    day = preflight.estimate(SYSTEM, values_with("loop.duration=1 d", "loop.period=2 ms")[1])
    assert day.remarkable
    assert "minutes" in day.sentence
    assert "GB of disk" in day.sentence


def test_a_recording_is_not_larger_than_estimated(tmp_path):
    """Nor a tenth of it: an estimate that is far too high refuses what is possible."""
    system, values, name = values_with("loop.duration=4 s", "sensor.noise=0.1 N", "encoder.position_noise=1 um")
    result = job.run(system, values, name, tmp_path)
    said = preflight.estimate(system, values)
    assert len(result.rows) == pytest.approx(said.ticks, abs=1)
    assert 0.1 * said.disk < result.recording.stat().st_size < said.disk


def test_rows_of_many_seeds_are_not_kept():
    system, values, name = values_with("loop.duration=0.1 s")
    summary = seeds.run(system, values, name, 3)
    assert summary.seeds == 3
    assert isinstance(summary.first.rows, np.ndarray)


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000 + "b"])
def test_an_impossible_folder_is_refused(name, tmp_path):
    refusal(job.check_folder, tmp_path / name)
