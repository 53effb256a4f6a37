"""A user's own methods and systems: chosen, compared, reported and replayed like hilt's; a bad one is one sentence."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hilt
from hilt import job
from hilt.cockpit import desk
from hilt.core import methods, registry
from hilt.core.stage import StageKind
from hilt.record.reading import stored
from hilt.report import page

EXAMPLE = Path(__file__).parents[2] / "examples" / "02_own_method.py"
SHORT = {"robot.delay": "4 ms", "collisions": 2}


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """What a test registers is removed after it."""
    monkeypatch.setattr(methods, "_added", {})
    monkeypatch.setattr(registry, "_added", {})


@hilt.jit
def halving_step(sig, x, p, dt):
    for i in range(3):
        sig.F_comp_W[i] = sig.F_hat_W[i] = 0.5 * sig.F_mea_W[i]


HALVING = StageKind("halving", halving_step, reads=("F_mea_W",), writes=("F_comp_W", "F_hat_W"))


def test_a_registered_method_is_a_value_of_its_key_everywhere(tmp_path):
    assert hilt.method("docking")(HALVING) is HALVING
    runs = hilt.compare("docking", settings=SHORT, over={"compensate.method": ["none", "halving"]}, record=tmp_path)
    run = runs["halving"]
    assert np.array_equal(run["F_hat_W"], 0.5 * run["F_mea_W"])
    assert abs(run.ledger["residual_J"]) < 1e-12 * run.ledger["exchanged_J"]  # its work is in the ledger
    assert "halving" in page.render(run.result)
    assert hilt.load(run.recording).metrics == run.metrics
    assert job.replay(stored(run.recording)) is None


def test_the_cockpit_offers_it():
    hilt.method("docking")(HALVING)
    assert "halving" in desk.sheet("docking", "table1")["schema"]["$defs"]["Compensate"]["properties"]["method"]["enum"]
    order = desk.Order(system="docking", scenario="table1", settings={"compensate.method": "halving"})
    assert desk.check(order) == []
    methods._added.clear()
    assert [error["key"] for error in desk.check(order)] == ["compensate.method"]


def test_hilts_own_methods_compute_what_they_did_before_one_was_added():
    before = hilt.run("docking", settings=SHORT).result.rows.tobytes()
    hilt.method("docking")(HALVING)
    assert hilt.run("docking", settings=SHORT).result.rows.tobytes() == before


def test_a_method_is_the_block_that_one_would_put_there():
    hilt.method("docking")(HALVING)
    chosen = hilt.run("docking", settings={**SHORT, "compensate.method": "halving"})
    for own in (
        hilt.system("docking").with_block(HALVING, after="compensate"),
        hilt.system("docking").replace_block("compensate", HALVING),
    ):
        placed = hilt.run(own, settings={**SHORT, "compensate.method": "none"})
        assert np.array_equal(placed["X_WB_cmd.p"], chosen["X_WB_cmd.p"])


def test_a_step_function_becomes_a_stage_and_a_later_one_takes_its_place():
    """As in a notebook, where a cell is run again with another number."""

    def pack(p, scenario, loop):
        p.share = scenario.robot.delay / 0.008  # of the scenario as believed

    def scaled(sig, x, p, dt):
        for i in range(3):
            sig.F_comp_W[i] = sig.F_hat_W[i] = p.share * sig.F_mea_W[i]

    parts = {"reads": ("F_mea_W",), "writes": ("F_comp_W", "F_hat_W"), "params": {"share": "f8"}}
    settings = {**SHORT, "compensate.method": "scaled"}
    hilt.method("docking", pack=pack, **parts)(scaled)
    run = hilt.run("docking", settings=settings)
    assert np.array_equal(run["F_hat_W"], 0.5 * run["F_mea_W"])

    def other_pack(p, scenario, loop):
        p.share = 0.25

    hilt.method("docking", pack=other_pack, **parts)(scaled)
    run = hilt.run("docking", settings=settings)
    assert np.array_equal(run["F_hat_W"], 0.25 * run["F_mea_W"])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (replace(HALVING, name="lost", reads=("F_mea_W", "E_tank")), "uses E_tank, which docking does not have"),
        (replace(HALVING, name="mute", writes=("F_hat_W",)), "does not write F_comp_W"),
    ],
)
def test_a_method_that_does_not_fit_is_one_sentence(kind, words):
    hilt.method("docking")(kind)
    with pytest.raises(hilt.InputError, match=words):
        hilt.run("docking", settings={"compensate.method": kind.name})


@pytest.mark.parametrize("thing", [5, "damper", replace(HALVING, name="two words")])
def test_what_is_not_a_method_is_refused(thing):
    with pytest.raises(hilt.InputError):
        hilt.method("docking")(thing)


def test_a_system_without_methods_says_which_have_some():
    with pytest.raises(hilt.InputError, match=r"freefloat has no key that chooses a method; docking"):
        hilt.method("freefloat")


@pytest.fixture
def oscillator(monkeypatch):
    """The system of the example, under the name of its file, by which its compiled code is found again."""
    spec = importlib.util.spec_from_file_location("05_own_system", EXAMPLE.with_name("05_own_system.py"))
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "05_own_system", module)
    spec.loader.exec_module(module)
    return module.OSCILLATOR


def test_a_registered_system_is_known_by_its_name(oscillator, tmp_path):
    assert hilt.system("oscillator") is oscillator
    run = hilt.run("oscillator", settings={"loop.duration": "1 s", "robot.delay": "8 ms"}, record=tmp_path)
    assert (run.scenario.loop.duration, run.scenario.loop.period) == (1.0, 0.001)
    assert abs(run.ledger["residual_J"]) < 1e-12 * run.ledger["exchanged_J"]
    assert hilt.load(run.recording).metrics == run.metrics
    assert job.replay(stored(run.recording)) is None
    with pytest.raises(hilt.InputError, match=r"robot\.delay is 1\.0 s; it must be at most 0\.06 s"):
        hilt.run("oscillator", settings={"robot.delay": "1 s"})


def test_a_system_of_blocks_alone_has_runs_and_a_report(oscillator, tmp_path):
    bare = hilt.System("bare", "nothing but blocks", oscillator.scenario, oscillator.tick, oscillator.plant)
    run = hilt.run(bare, record=tmp_path)
    assert run.result.rows.tobytes() == hilt.run(oscillator, record=tmp_path).result.rows.tobytes()
    assert run.metrics == {}
    assert "no metrics" in repr(run)
    assert "bare" in run.report(tmp_path / "bare.html").read_text()
    assert "bare" in run._repr_html_()


def test_a_name_that_is_taken_and_what_is_not_a_system_are_refused(oscillator):
    with pytest.raises(hilt.InputError, match="there is already a system docking"):
        hilt.register(replace(oscillator, name="docking"))
    with pytest.raises(hilt.InputError, match="a str cannot be registered"):
        hilt.register("docking")


def command(folder, *arguments, plugins="", **environment):
    """hilt as a user has it, with a folder of packages."""
    env = {**os.environ, "PYTHONPATH": str(folder), "HILT_PLUGINS": str(plugins), **environment}
    line = [sys.executable, "-m", "hilt.cli.main", *arguments]
    return subprocess.run(line, env=env, cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_file_named_in_the_environment_is_found_by_every_command(tmp_path):
    settings = ("--set", "robot.delay=4 ms", "--set", "collisions=1")
    done = command(
        tmp_path, "compare", "docking", *settings, "--over", "compensate.method=none,damper", "--json", plugins=EXAMPLE
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["none"]["metrics"]["cov"][0] == pytest.approx(1.171, rel=0.01)
    assert found["damper"]["metrics"]["cov"][0] == pytest.approx(1.0, abs=0.01)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A package with a method, a system that cannot be imported, and an object that is not a system."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "tests_method.py").write_text(EXAMPLE.read_text())
    (folder / "tests_broken.py").write_text("import no_such_library\n")
    about = folder / "tests_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tests-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[hilt.methods]\ndocking.damper = tests_method:damper\ndocking.broken = tests_broken:METHOD\n"
        "[hilt.systems]\nbroken = tests_broken:SYSTEM\nwrong = tests_method:pack\n"
    )
    return folder


def test_bad_plugins_are_named_and_the_rest_works(packages):
    done = command(packages, "list", "--json")
    assert done.returncode == 0
    assert set(json.loads(done.stdout)) == {"aerial", "docking", "freefloat", "payload"}
    broken, wrong = done.stderr.splitlines()
    assert "broken (tests_broken:SYSTEM of tests-plugin) cannot be loaded: ModuleNotFoundError" in broken
    assert "the system wrong of a plugin is a function" in wrong


ASKED = """
import hilt
from hilt.core import methods

print(methods.find("docking", "damper").name)
for ask in (hilt.system, lambda name: hilt.scenario("docking", settings={"compensate.method": name})):
    try:
        ask("broken")
    except hilt.InputError as error:
        print(error)
"""


def test_what_a_package_brings_is_found_and_requesting_a_bad_plugin_is_bad_input(packages):
    env = {**os.environ, "PYTHONPATH": str(packages)}
    found, *sentences = subprocess.check_output([sys.executable, "-c", ASKED], env=env, text=True).splitlines()
    assert found == "damper"
    assert len(sentences) == 2
    assert all("cannot be loaded: ModuleNotFoundError" in sentence for sentence in sentences)
    done = command(packages, "run", "wrong")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "not a hilt.System" in done.stderr


def test_a_file_that_cannot_be_a_plugin_is_one_sentence_each(tmp_path):
    (tmp_path / "bad.py").write_text("1 / 0\n")
    (tmp_path / "json.py").write_text("")
    plugins = ":".join(str(tmp_path / name) for name in ("bad.py", "json.py", "none.py"))
    done = command(Path(__file__).parent, "list", "--json", plugins=plugins)
    assert done.returncode == 0
    assert [line.split(": ")[0] for line in done.stderr.splitlines()] == ["hilt"] * 3
    assert "ZeroDivisionError" in done.stderr
    assert "another module is also called json" in done.stderr
    assert "there is no file" in done.stderr
