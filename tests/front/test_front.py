"""The front door: Python gets what the other modules computed, with names and units; nothing is written unless requested."""

import html
import pydoc
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import hilt
from hilt import job
from hilt.core.signals import leaves, unit_of
from hilt.core.units import to_si
from hilt.front import door

ROOT = Path(__file__).parents[2]
FUNCTIONS = (
    "check",
    "compare",
    "list_systems",
    "load",
    "map",
    "margin",
    "method",
    "register",
    "run",
    "scenario",
    "stage",
    "sweep",
    "system",
)
STOPPED = {"compensate.method": "none", "robot.delay": "40 ms", "limits.speed": "30 mm/s"}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wall():
    return hilt.run("freefloat", "wall")


def test_a_run_is_that_of_the_compiled_loop_and_writes_nothing(wall, tmp_path):
    rows = job.simulate(*job.find("freefloat", "wall", [])).rows
    assert wall.result.rows.tobytes() == rows.tobytes()
    assert wall.recording is None
    hilt.run("freefloat", "wall")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "settings",
    [
        {"robot.delay": "2 ms", "body.velocity": [0.04, 0.0, 0.0]},
        {"robot": {"delay": 0.002}, "body": {"velocity": ("40 mm/s", 0, 0)}},
        {"robot.delay": np.float64(0.002), "body.velocity": np.array([0.04, 0, 0])},
    ],
)
def test_all_forms_of_settings_mean_the_same(settings):
    wanted = job.find("freefloat", "wall", ["robot.delay=2 ms", "body.velocity=[0.04, 0, 0]"])[1]
    assert hilt.scenario("freefloat", "wall", settings) == wanted


def test_files_are_strings_or_paths_and_a_scenario_runs_as_it_is(wall, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(hilt.system("freefloat").scenario_files["wall"].read_text())
    wanted = wall.result.rows.tobytes()
    for target, scenario in ((file, None), (str(file), None), ("freefloat", file), (hilt.system("freefloat"), "wall")):
        assert hilt.run(target, scenario).result.rows.tobytes() == wanted
    values = hilt.scenario(file)
    assert hilt.run(values).result.rows.tobytes() == hilt.run("freefloat", values).result.rows.tobytes() == wanted
    assert hilt.run(values, settings={"robot.delay": "2 ms"}).scenario.robot.delay == 0.002


@pytest.mark.parametrize("name", list(leaves(hilt.system("freefloat").row)))
def test_every_signal_has_its_values_its_unit_and_its_times(wall, name):
    rows = wall.result.rows
    values = rows
    for part in name.split("."):
        values = values[part]
    found = wall[name]
    assert np.array_equal(found, values, equal_nan=True)
    assert (found.unit, found.name) == (unit_of(name), name)
    assert np.array_equal(found.t, rows["t"])


def test_what_is_computed_from_a_signal_has_no_unit(wall):
    force = wall["F_So_S.f"]
    for derived in (
        force**2,
        2 * force,
        force[:, 0],
        force[10:],
        np.linalg.norm(force, axis=1),
        force.max(axis=0),
        force - force,
    ):
        assert type(derived) is np.ndarray
    assert force.copy().unit == "" == force.T.unit
    assert wall["F_So_S.f.x"].unit == "N"
    assert np.array_equal(wall["F_So_S.f.x"], force[:, 0])


@pytest.mark.parametrize(
    ("name", "words"),
    [("F_So_S", "its parts: F_So_S.f, F_So_S.tau"), ("F_So_S.g", "did you mean F_So_S.f"), ("F_So_S.f.w", "not a signal")],
)
def test_a_name_that_is_not_a_signal_is_one_sentence(wall, name, words):
    with pytest.raises(hilt.InputError, match=words) as error:
        wall[name]
    assert len(str(error.value).splitlines()) == 1


def test_a_force_without_torque_is_found_by_its_part_as_well():
    run = hilt.run("docking", settings={"collisions": 1})
    assert np.array_equal(run["F_C_true_W.f"], run["F_C_true_W"])
    assert run["F_C_true_W.f"].unit == "N"


def test_a_frame_has_every_number_once_with_its_unit(wall):
    frame = wall.frame()
    assert frame.index.name == "t [s]"
    sizes = [int(np.prod(shape)) for name, (_, _, shape) in leaves(wall.system.row).items() if name != "t"]
    assert frame.shape == (len(wall.t), sum(sizes))
    assert np.array_equal(frame["F_So_S.f.x [N]"], wall["F_So_S.f"][:, 0])
    assert list(wall.frame("X_WB_cmd.q", "H")) == [*(f"X_WB_cmd.q.{axis} [1]" for axis in "wxyz"), "H [J]"]


def test_an_array_has_every_signal_with_its_unit(wall):
    found = wall.array()
    assert set(found) == set(wall.signals) - {"t"}
    assert found["F_So_S.f"].attrs["units"] == "N"
    assert np.array_equal(found["F_So_S.f"].sel(axis="x"), wall["F_So_S.f.x"])
    assert np.array_equal(found["t"], wall.t)


@pytest.mark.parametrize(("library", "method"), [("pandas", "frame"), ("xarray", "array")])
def test_a_missing_library_is_one_sentence(wall, library, method, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(hilt.InputError, match=rf"needs {library}.*pip install 'hilt\[data\]'"):
        getattr(wall, method)()


def test_a_plot_has_labels_units_and_all_points(wall):
    axes = wall.plot("F_So_S.f")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("t [s]", "F_So_S.f [N]")
    assert [line.get_label() for line in axes.lines] == ["x", "y", "z"]
    assert np.array_equal(axes.lines[0].get_ydata(), wall["F_So_S.f"][:, 0])
    assert wall.plot("F_So_S.f.x", "F_Bcm_W.f.x", axes=axes) is axes
    with pytest.raises(hilt.InputError, match="one plot has one unit"):
        wall.plot("F_So_S.f", "H")


def test_a_recording_loads_as_the_run_that_made_it(tmp_path):
    run = hilt.run("freefloat", "wall", record=tmp_path / "kept")
    assert run.recording.parent == tmp_path / "kept"
    for path in (run.recording, str(run.recording)):
        again = hilt.load(path)
        assert again.metrics == run.metrics
        assert again.scenario == run.scenario
        assert again.result.rows.tobytes() == run.result.rows.tobytes()
        assert repr(again) == repr(run)


def test_a_long_recording_gives_all_rows(tmp_path, monkeypatch):
    run = hilt.run("freefloat", "wall", record=tmp_path)
    monkeypatch.setattr(job, "KEPT_BYTES", 0)
    long = hilt.load(run.recording)
    assert long.result.survey is not None
    assert np.array_equal(long["F_So_S.f"], run["F_So_S.f"])
    assert np.array_equal(long.t, run.t)


def test_a_fault_warns_where_it_was_called_and_is_in_every_form(tmp_path):
    with pytest.warns(hilt.FaultWarning, match="beyond its limit") as warned:
        run = hilt.run("docking", settings=STOPPED, record=tmp_path)
    assert warned[0].filename == __file__
    assert run.fault.sentence in repr(run)
    assert html.escape(run.fault.sentence) in run._repr_html_()
    with pytest.warns(hilt.FaultWarning, match="beyond its limit"):
        hilt.load(run.recording)
    with pytest.warns(hilt.FaultWarning, match="1 of 2 runs ended with a fault") as warned:
        hilt.compare("docking", settings=STOPPED, over={"robot.delay": ["1 ms", "40 ms"]})
    assert [each.filename for each in warned] == [__file__]


def test_a_run_that_ended_well_warns_of_nothing(wall):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "fault" not in repr(hilt.run("freefloat", "wall"))
    assert len(repr(wall)) < 200


def test_the_verdict_is_that_of_the_command_line_and_is_in_every_form():
    run = hilt.run("docking", settings={"collisions": 1, "compensate.method": "none"})
    assert run.verdict == run.result.verdict
    assert run.verdict.kind == run.result.as_json()["verdict"]["kind"] == "diverged"
    assert run.verdict.sentence.rstrip(".") in repr(run)
    assert run.verdict.sentence in run._repr_html_()


def test_a_comparison_has_the_runs_of_all_combinations():
    over = {"robot.delay": ["1 ms", np.float64(0.002)], "integrator.kind": ["euler", "passive"]}
    runs = hilt.compare("freefloat", "wall", over=over)
    assert list(runs) == ["1 ms, euler", "1 ms, passive", "0.002, euler", "0.002, passive"]
    alone = hilt.run("freefloat", "wall", {"robot.delay": "2 ms", "integrator.kind": "euler"})
    assert runs["0.002, euler"].result.rows.tobytes() == alone.result.rows.tobytes()
    frame = runs.frame()
    assert list(frame["robot.delay [s]"]) == [0.001, 0.001, 0.002, 0.002]
    assert list(frame["rebound_gain[0]"]) == [run.metrics["rebound_gain"][0] for run in runs.values()]
    assert repr(runs).count("\n") == 3


def test_a_scenario_may_be_valid_only_with_what_is_compared():
    wrong = {"robot.kind": "ideal"}  # which has no delay, and the file gives one
    runs = hilt.compare(
        "docking", settings={**wrong, "collisions": 1, "compensate.method": "none"}, over={"robot.delay": [0.0]}
    )
    assert runs["0"].metrics["cov"][0] == pytest.approx(1.0, abs=0.01)


def test_runs_beyond_the_memory_of_a_comparison_are_simulated_again(monkeypatch):
    over = {"robot.delay": ["1 ms", "2 ms"]}
    kept = hilt.compare("freefloat", "wall", over=over)
    monkeypatch.setattr(door, "KEPT_BYTES", 0)
    slim = hilt.compare("freefloat", "wall", over=over)
    for label, run in slim.items():
        assert len(run._result.rows) == 1
        assert repr(run) == repr(kept[label])
        assert np.array_equal(run["F_So_S.f"], kept[label]["F_So_S.f"])


def test_a_metric_is_drawn_over_what_was_changed():
    runs = hilt.compare("freefloat", "wall", over={"robot.delay": ["1 ms", "2 ms", "4 ms"]})
    axes = runs.plot("rebound_gain")
    assert axes.get_xlabel() == "robot.delay [s]"
    assert list(axes.lines[0].get_xdata()) == [to_si(each, "s") for each in ("1 ms", "2 ms", "4 ms")]
    assert list(axes.lines[0].get_ydata()) == [run.metrics["rebound_gain"][0] for run in runs.values()]
    assert len(runs.plot("F_So_S.f.x").lines) == 3


@pytest.mark.parametrize("over", [{}, {"robot.delay": []}, {"robot.delay": "2 ms"}])
def test_nothing_to_compare_is_one_sentence(over):
    with pytest.raises(hilt.InputError, match="over"):
        hilt.compare("freefloat", "wall", over=over)


def test_a_notebook_shows_summary_and_picture_and_keeps_its_own_style(wall):
    plt.switch_backend("svg")
    matplotlib.rcParams["font.size"] = 13.0
    before = dict(matplotlib.rcParams)
    try:
        for shown in (wall, hilt.compare("docking", settings={"collisions": 1}, over={"compensate.method": ["none", "pida"]})):
            assert "<table>" in shown._repr_html_()
            assert "data:image/svg+xml" in shown._repr_html_()
        assert dict(matplotlib.rcParams) == before
        assert plt.get_backend() == "svg"
        assert not plt.get_fignums()
    finally:
        plt.switch_backend("agg")
        matplotlib.rcParams["font.size"] = 9.0


def test_a_report_is_written_where_requested(wall, tmp_path):
    path = wall.report(tmp_path / "new" / "wall.html")
    assert "freefloat · wall" in path.read_text()


def test_importing_it_is_cheap():
    heavy = ("numba", "numpy", "pydantic", "matplotlib", "pandas")
    program = f"import sys, hilt; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_help_shows_every_function_with_an_example():
    text = pydoc.plain(pydoc.render_doc(hilt))
    for name in FUNCTIONS:
        assert f"{name}(" in text
        assert ">>> " in getattr(hilt, name).__doc__
        assert set(getattr(hilt, name).__annotations__) >= {"return"}
    assert set(FUNCTIONS) == set(hilt.__all__)
    assert "CLASSES" not in text  # a thousand lines of methods would stand before the functions


def test_the_classes_are_exported_and_typed():
    names = (
        "Block",
        "Comparison",
        "FaultWarning",
        "InputError",
        "Map",
        "Margin",
        "PluginWarning",
        "Run",
        "Scenario",
        "Section",
        "StageKind",
        "Sweep",
        "System",
    )
    assert all(isinstance(getattr(hilt, name), type) and name in dir(hilt) for name in names)
    assert (Path(hilt.__file__).parent / "py.typed").is_file()


def test_systems_are_found_by_name_and_listed():
    assert set(hilt.list_systems()) >= {"docking", "freefloat", "aerial", "payload"}
    assert "table1" in repr(hilt.system("docking"))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hilt.nothing  # noqa: B018
