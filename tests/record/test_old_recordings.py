"""Recordings of older versions can still be opened, shown and plotted.

`old/freefloat-renamed.mcap`: its set-point was called X_WB_des and V_WB_des. `old/freefloat-fewer.mcap` is older: it has
no tick_time, and no filtered or weighed wrench. Both are the scenario `wall` with a gap of 0.4 mm, 0.12 s of it: one rebound.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hilt import job
from hilt.cockpit.film import Film
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.record.fitting import fitted
from hilt.record.recording import load, stored
from tests.e2e.command import here as hilt

OLD = sorted((Path(__file__).parent / "old").glob("*.mcap"))


@pytest.fixture(params=OLD, ids=lambda path: path.stem)
def path(request, tmp_path):
    return Path(shutil.copy(request.param, tmp_path))


def test_it_is_shown_with_the_metrics_it_was_made_with(path, tmp_path):
    done = hilt(tmp_path, "show", path.name, "--json")
    found = json.loads(done.stdout)
    assert found["metrics"]["rebound_gain"] == pytest.approx([1.1697], abs=1e-4)
    then = stored(path).result["metrics"]
    assert {name: found["metrics"][name] for name in then} == then
    assert set(found["metrics"]) - set(then) == {"energy_made"}, "metrics of later versions are computed from the rows"


@pytest.mark.usefixtures("undrawn")
def test_it_is_judged_by_a_goal_that_it_does_not_have_and_its_report_has_all_pictures(path, tmp_path):
    """17 % faster after one rebound: 27 % of its energy then came from the loop."""
    done = hilt(tmp_path, "show", path.name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Goal missed: the loop made 26.9 % of the body's energy")
    text = path.with_suffix(".html").read_text()
    assert all(f'<img alt="{title}"' in text for title in ("Speed and force", "Position", "Energy", "Rebounds"))


def test_a_renamed_signal_has_the_numbers_it_had(path):
    raw, film = load(path), Film(path)
    assert (film.rows["X_WB_cmd"]["p"] == raw.rows["X_WB_des"]["p"]).all()
    assert film.range(["X_WB_cmd.p.0"], 0.0, 0.12, 1000)


def test_what_it_does_not_have_is_not_a_number(path):
    raw = load(path)
    found = fitted(raw, registry.system("freefloat").row)
    for name in ("tick_time", "F_So_filt_S"):
        there = name in raw.rows.dtype.names
        values = found.rows[name]["f"] if name == "F_So_filt_S" else found.rows[name]
        assert np.isnan(values).all() != there
    assert not np.isnan(found.rows["t"]).any()
    assert np.concatenate(list(found.chunks())).tobytes() == found.rows.tobytes()


def test_a_replay_reports_in_one_sentence_that_the_signals_differ(path, tmp_path):
    with pytest.raises(InputError, match="other signals"):
        job.replay(stored(path))
    done = hilt(tmp_path, "replay", path.name)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "this version has no V_WB_des, X_WB_des" in done.stderr
