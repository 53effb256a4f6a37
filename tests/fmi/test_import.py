"""A body, and what it touches, as an FMU: freefloat's own motion, an instance for each bench, faults, replays, many runs."""

import ctypes
import gc
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.runtime import rtsys

from hilt import job
from hilt.core import faults
from hilt.core.faults import InputError
from hilt.core.signals import LOOP, whole
from hilt.fmi import export, instance
from hilt.record.recording import stored
from hilt.sweeps import results
from hilt.sweeps.batch import tree_of
from hilt.sweeps.engines import kernel
from hilt.sweeps.engines.plain import Plain
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.space import Axis, Space
from tests import peers
from tests.fmi import models
from tests.fmi.models import freefloat
from tests.spoiling import spoil

SHORT = ("loop.duration=3 s",)
MOTION = [(signal, part) for signal in ("X_WBcm", "X_WBcm_next", "X_WB_cmd") for part in "pq"]
MOTION += [(signal, part) for signal in ("V_WBcm", "V_WBcm_next") for part in "vw"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fmu")


@pytest.fixture(scope="module", params=[2, 3])
def body(request, folder):
    return models.c_body(request.param, folder, f"body{request.param}.fmu")


@pytest.fixture(scope="module")
def body2(folder):
    return models.c_body(2, folder, "body.fmu")


def assert_same_motion(rows, own):
    """To 1e-12: the same formulas in another language differ by the rounding of some sums, 1e-16 a tick."""
    assert len(rows) == len(own)
    for signal, part in MOTION:
        np.testing.assert_allclose(rows[signal][part], own[signal][part], rtol=0, atol=1e-12, err_msg=f"{signal}.{part}")


def test_a_body_in_c_moves_as_freefloats_own(body):
    system, values, _ = freefloat(body)
    found, own = job.simulate(system, values), job.simulate(system, job.find("freefloat", "capture", [])[1])
    assert_same_motion(found.rows, own.rows)
    assert np.ptp(own.rows["X_WBcm"]["q"][:, 1:]) > 0.01, "it turned"
    for signal in ("H", "H_rot"):
        np.testing.assert_allclose(found.rows[signal], own.rows[signal], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.rows["L_W"], own.rows["L_W"], rtol=0, atol=1e-12)
    assert abs(found.ledger["residual_J"]) <= 1e-12, "every joule is accounted for"
    for metric in ("position_error_m", "rotation_energy_drift_J", "angular_momentum_error", "largest_speed_m_s"):
        assert found.metrics[metric] == pytest.approx(own.metrics[metric], rel=1e-6, abs=1e-12), metric
    assert "e_obs_min_J" in own.metrics
    assert "e_obs_min_J" not in found.metrics, "there is no observer in an FMU"


def test_a_body_in_python_moves_as_freefloats_own_and_is_reported_slow(folder, capfd):
    system, values, _ = freefloat(models.python_body(folder), settings=SHORT)
    found, own = job.simulate(system, values), job.simulate(system, job.find("freefloat", "capture", list(SHORT))[1])
    assert_same_motion(found.rows, own.rows)
    job.simulate(system, values)
    said = capfd.readouterr().err
    assert said.count("the FMU PythonBody is written in Python") == 1, "once"


@pytest.mark.parametrize(
    ("scenario", "names"), [("oos-sim", {}), ("paper", {"force": ["force[1]"], "position": ["position[1]"]})]
)
def test_a_body_without_turning_needs_only_its_axes(body2, scenario, names):
    settings = ["integrator.kind=momentum", "loop.duration=8 s"]
    system, values, _ = freefloat(body2, scenario, settings, attitude="", torque="", angular_velocity="", **names)
    own = job.simulate(system, job.find("freefloat", scenario, settings)[1])
    assert_same_motion(job.simulate(system, values).rows, own.rows)


def test_fmpy_finds_no_problem_in_the_example(body):
    python = peers.python_with("fmpy")
    check = Path(__file__).with_name("stepping.py")
    ran = subprocess.run([python, "-P", check, "check", body], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout.splitlines()[-1])["problems"] == []


def test_without_the_compiler_it_is_the_same(body, tmp_path):
    """Through ctypes instead of machine code: the same addresses, the same numbers."""
    code = (
        "import sys, numpy as np; from hilt import job; from tests.fmi.models import freefloat\n"
        f"s, v, _ = freefloat({str(body)!r}, settings=['loop.duration=80 ms']); np.save(sys.argv[1], job.simulate(s, v).rows)"
    )
    plain = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "rows.npy")],
        cwd=models.ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert plain.returncode == 0, plain.stderr
    system, values, _ = freefloat(body, settings=["loop.duration=80 ms"])
    assert_same_motion(job.simulate(system, values).rows, np.load(tmp_path / "rows.npy"))


# --- instances ---


def counts(fmu_values):
    """Instances made, freed and terminated, of the library that a scenario's runs have loaded."""
    library = ctypes.CDLL(str(Path(instance._folders[fmu_values.body_fmu.sha256].name) / "binaries" / "linux64" / "body.so"))
    return tuple(ctypes.c_int.in_dll(library, name).value for name in ("made", "freed", "terminated"))


def test_every_bench_has_an_instance_and_frees_it(folder):
    system, values, _ = freefloat(models.troubled(2, folder), settings=SHORT)
    benches = [system.set_up(values) for _ in range(3)]
    assert counts(values) == (3, 0, 0)
    del benches
    gc.collect()
    assert counts(values) == (3, 3, 3)
    job.simulate(system, values)
    gc.collect()
    assert counts(values) == (4, 4, 4)


@pytest.mark.parametrize(("status", "freed", "terminated"), [(2, 1, 1), (3, 1, 0), (4, 0, 0)])
def test_after_an_error_only_what_fmi_allows_is_called(folder, status, freed, terminated):
    """Error: free, but do not terminate. Fatal: touch nothing."""
    system, values, _ = freefloat(models.troubled(2, folder, 0.5, status), settings=SHORT)
    found = job.simulate(system, values)
    gc.collect()
    assert found.fault.code == faults.FMU_STEP
    assert counts(values) == (1, freed, terminated)


def test_two_runs_side_by_side_do_not_disturb_each_other(body):
    system, values, _ = freefloat(body, settings=SHORT)
    alone = job.simulate(system, values).rows
    one, other = system.set_up(values), system.set_up(values)
    logs = [np.zeros(len(alone), system.row) for _ in range(2)]
    for first in range(0, len(alone) - 50, 50):
        for bench, log in zip((one, other), logs, strict=True):
            bench.code.go_on(bench.row, bench.x, bench.w, bench.p, log[first : first + 50], first)
    for log in logs:
        assert log[: len(alone) - 51].tobytes() == alone[: len(alone) - 51].tobytes()


def test_a_library_that_works_once_in_a_process_is_loaded_for_every_bench(body2, tmp_path):
    words = {'modelIdentifier="body"': 'modelIdentifier="body" canBeInstantiatedOnlyOncePerProcess="true"'}
    only_once = models.changed(body2, tmp_path / "once.fmu", description=words)
    system, values, _ = freefloat(only_once, settings=SHORT)
    benches = [system.set_up(values) for _ in range(2)]
    steps = {int(bench.p[0].body_fmu.link.do_step) for bench in benches}
    assert len(steps) == 2


def test_a_step_out_of_order_is_a_fault_and_not_a_wrong_number(body2):
    system, values, _ = freefloat(body2, settings=SHORT)
    bench = system.set_up(values)
    old = bench.x.copy()
    log = np.zeros(10, system.row)
    bench.code.go_on(bench.row, bench.x, bench.w, bench.p, log, 0)
    row = bench.row.copy()
    bench.code.tick(row, old, bench.p)
    assert row[0]["fault"] == faults.FMU_ELSEWHERE
    assert "stepped outside this run" in faults.read_fault(row[0]).sentence


def test_a_step_allocates_nothing(body):
    system, values, _ = freefloat(body)
    bench = system.set_up(values)
    bench.code.batch(bench.row, bench.x, bench.w, bench.p, np.zeros(10, system.row))
    kind, dt = system.kinds(values)["body_fmu"], float(bench.p[0].dt)
    found = []
    for steps in (1, 10, 1000):
        before = rtsys.get_allocation_stats().alloc
        for _ in range(steps):
            kind.step(bench.row[0], bench.x[0].body_fmu, bench.p[0].body_fmu, dt)
        found.append(rtsys.get_allocation_stats().alloc - before)
    assert found[1] == found[2] == 0
    assert bench.row[0]["fault"] == 0


# --- faults, recordings ---


@pytest.mark.parametrize(
    ("version", "status", "last", "words"),
    [
        (2, 3, 0.504, "failed to make its step and returned the status error"),
        (3, 0, 0.504, "ended its simulation"),
    ],
)
def test_a_model_that_fails_or_ends_ends_the_run_with_a_sentence_and_so_does_its_replay(
    folder, tmp_path, version, status, last, words
):
    found = job.run(*freefloat(models.troubled(version, folder, 0.5, status), settings=SHORT), tmp_path)
    assert found.rows["t"][-1] == pytest.approx(last)
    assert words in found.fault.sentence
    assert job.replay(stored(found.recording)) is None


@pytest.mark.parametrize("limit", ["limits.force=100 N", "limits.force=15 N"])
def test_a_replay_is_the_same_also_after_a_fault(body, tmp_path, limit):
    system, values, name = freefloat(body, settings=[limit, *SHORT])
    found = job.run(system, values, name, tmp_path)
    assert (found.fault is not None) == (limit == "limits.force=15 N")
    assert job.replay(stored(found.recording)) is None


def test_a_replay_with_another_fmu_is_refused_but_the_recording_can_be_shown(folder, tmp_path):
    fmu = models.c_body(2, tmp_path)
    system, values, name = freefloat(fmu, settings=SHORT)
    found = job.run(system, values, name, tmp_path)
    models.changed(models.c_body(2, folder, "other.fmu"), fmu, {"resources/note.txt": b"another"})
    with pytest.raises(InputError, match=r"has the hash .* but the scenario was made with"):
        job.replay(stored(found.recording))
    assert job.reopened(stored(found.recording)).metrics == found.metrics
    fmu.unlink()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        job.replay(stored(found.recording))
    assert job.reopened(stored(found.recording)).metrics == found.metrics


def test_another_fmu_is_another_scenario(body2, folder):
    one = folder / "one.fmu"
    models.changed(body2, one)
    first = freefloat(one)[1]
    models.changed(body2, one, {"resources/note.txt": b"another"})
    assert freefloat(one)[1].hash() != first.hash()


# --- what it touches ---


def test_walls_as_an_fmu_are_freefloats_walls(tmp_path):
    system, values, _ = models.wall(tmp_path)
    own = job.find("freefloat", "wall", ["loop.duration=4 s", "collisions=100"])[1]
    rows, ours = job.simulate(system, values).rows, job.simulate(system, own).rows
    assert np.abs(ours["F_Bcm_true_W"]["f"][:, 0]).max() > 10.0, "it touched"
    motion = (("F_Bcm_true_W", "f"), ("X_WB_true", "p"), ("X_WBcm", "p"), ("V_WBcm", "v"), ("W_environment", "into"))
    for signal, part in motion:
        np.testing.assert_array_equal(rows[signal][part], ours[signal][part], err_msg=signal)


@pytest.mark.parametrize("fails_after", [1e9, 0.7])
def test_a_replay_needs_no_world_but_gives_the_same(tmp_path, fails_after):
    """The replay sets the fault of a model in the plant again, like that of a device."""
    system, values, name = models.wall(tmp_path, fails_after)
    found = job.run(system, values, name, tmp_path)
    assert (found.fault is not None) == (fails_after == 0.7)
    if found.fault:
        assert found.fault.code == faults.FMU_STEP
    assert job.replay(stored(found.recording)) is None


@pytest.mark.parametrize("key", ["body_fmu", "contact_fmu"])
def test_a_block_touches_only_what_it_declares(body2, tmp_path, key):
    system, values, _ = freefloat(body2) if key == "body_fmu" else models.wall(tmp_path)
    bench = system.set_up(values)
    bench.code.batch(bench.row, bench.x, bench.w, bench.p, np.zeros(540, system.row))  # the wall is touched
    kind, state = system.kinds(values)[key], bench.x if key == "body_fmu" else bench.w
    for signal in set(system.row.names) - {whole(name) for name in (*kind.reads, *kind.writes)} - set(LOOP):
        spoil(bench.row[signal])
    before, params = bench.row.copy(), bench.p.tobytes()
    kind.step(bench.row[0], state[0][key], bench.p[0][key], float(bench.p[0].dt))
    assert bench.row[0]["fault"] == 0
    written = [name for name in system.row.names if bench.row[name].tobytes() != before[name].tobytes()]
    assert written
    assert set(written) <= {whole(name) for name in kind.writes}
    assert bench.p.tobytes() == params


# --- many runs, other engines, export ---


def space_of(body, count):
    system, values, name = freefloat(body, settings=SHORT)
    return Space(system, name, tree_of(values), values, (Axis(("seed",), tuple((seed,) for seed in range(1, count + 1))),))


def test_seeds_are_the_single_runs(body):
    space = space_of(body, 4)
    singles = [job.simulate(space.system, space.scenario(number)).metrics for number in range(4)]
    assert [found.metrics for found in results.run(space)] == singles
    assert singles[0] != singles[1]


def test_a_sweep_on_all_cores_is_the_plain_one(body):
    space, numbers = space_of(body, 6), np.arange(6)
    (found,) = [columns for _, columns in Threads(2).run(space, [numbers])]
    (plain,) = [columns for _, columns in Plain().run(space, [numbers])]
    assert repr(found) == repr(plain)


def test_a_gpu_cannot_run_it(body2):
    system, values, _ = freefloat(body2)
    with pytest.raises(InputError, match="--engine cuda cannot run freefloat: its block body_fmu calls a C library"):
        kernel.check(system, system.used_by(values))


def test_it_is_not_exported(body2, tmp_path):
    system, values, name = freefloat(body2)
    with pytest.raises(InputError, match="freefloat cannot be exported: its block body_fmu calls a C library"):
        export.export(system, values, name, tmp_path / "never.fmu")
    assert not list(tmp_path.iterdir())


# --- the command line ---


def test_the_example_runs_and_its_report_is_written(tmp_path, monkeypatch):
    """As its file says: made, run from its folder, replayed; and --seeds."""
    models.c_body(3, tmp_path)
    shutil.copy(models.EXAMPLE / "body.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    hilt = [sys.executable, "-m", "hilt.cli.main"]
    ran = subprocess.run([*hilt, "run", "body.toml", "--json"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["verdict"]["kind"] == "met", found["verdict"]
    again = subprocess.run([*hilt, "replay", found["recording"]], capture_output=True, text=True)
    assert again.returncode == 0, again.stdout + again.stderr
    bad = subprocess.run([*hilt, "run", "body.toml", "--set", "body_fmu.force=thrust"], capture_output=True, text=True)
    assert bad.returncode == 2
    assert len(bad.stderr.strip().splitlines()) == 1
