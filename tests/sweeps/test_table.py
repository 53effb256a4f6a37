"""Tables on disk: complete or absent, the same bytes however they were computed, and one sentence for every error."""

import json
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.sweeps import columns, making, sweep
from hilt.sweeps.engines.plain import Plain
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.making import Request, over_of
from hilt.sweeps.table import Plan, Table
from tests.e2e.command import here

OVER = ("collisions=1..5:5", "robot.delay=1,2,30 ms")


def plan(chunk=4, over=OVER, metrics=None):
    return Plan(making.find("docking", "table1", [], Request(over_of(over))), metrics, chunk)


def bytes_of(table):
    """Bytes of the contents, whatever the chunks."""
    found = table.columns()
    return list(found), {name: (each.dtype.str, each.tobytes()) for name, each in found.items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return sweep.run(plan(), Plain(), tmp_path_factory.mktemp("sweep") / "a").table


@pytest.fixture
def copy(made, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(made.folder, folder)
    return folder


class Shuffled:
    """The same in another order."""

    name = "shuffled"

    def __init__(self, engine):
        self._engine = engine

    def run(self, space, chunks):
        every = list(chunks)
        yield from self._engine.run(space, [every[n] for n in np.random.default_rng(3).permutation(len(every))])


def test_a_table_has_what_single_runs_have(made):
    found = made.frame()
    assert len(found) == 15
    for number in (0, 7, 14):
        result = job.simulate(made.space.system, made.space.scenario(number))
        alone = columns.flat(made.space.system, result.metrics)
        line = found.loc[number]
        assert line["ticks"] == len(result.rows)
        for name, value in alone.items():
            assert line[name] == value or (np.isnan(line[name]) and np.isnan(value))
        assert {name for name in found if name.startswith("cov_") and pd.notna(line[name])} == {
            name for name in alone if name.startswith("cov_")
        }


@pytest.mark.parametrize(
    ("first", "others"),
    [
        (Plain(), [(1, Plain()), (15, Plain()), (4, Shuffled(Plain()))]),
        (Threads(1), [(4, Threads(2)), (1, Threads(2)), (15, Threads(1)), (4, Shuffled(Threads(3)))]),
    ],
    ids=["plain", "threads"],
)
def test_contents_do_not_depend_on_chunks_order_or_workers(tmp_path, first, others):
    made = sweep.run(plan(), first, tmp_path / "first").table
    for n, (chunk, engine) in enumerate(others):
        other = sweep.run(plan(chunk), engine, tmp_path / str(n)).table
        assert bytes_of(other) == bytes_of(made)
        if chunk == 4:  # and files of the same chunks are the same files
            assert all(other.path(k).read_bytes() == made.path(k).read_bytes() for k in range(4))


def test_pandas_reads_the_folder_as_it_is_with_all_columns(made):
    assert {"cov_1", "cov_5", "robot.delay", "collisions", "fault"} <= set(pd.read_parquet(made.chunks))
    found = pd.read_parquet(made.chunks).sort_values("scenario").set_index("scenario")
    pd.testing.assert_frame_equal(found, made.frame(), check_flags=False)
    assert found["cov_5"].isna().sum() == 12  # only runs with five collisions have a fifth


def test_an_array_has_an_axis_for_each_key(made):
    found = made.array()
    assert found["cov_error"].dims == ("collisions", "robot.delay")
    assert found["robot.delay"].attrs["units"] == "s"
    number = int(np.ravel_multi_index((3, 1), made.space.shape))
    assert float(found["cov_error"].sel({"collisions": 4, "robot.delay": 0.002})) == made.frame()["cov_error"][number]


def test_joint_draws_are_one_axis(tmp_path):
    request = Request(over_of(["robot.delay=uniform(1,2) ms", "collisions=1,2", "contact.damping=uniform(0,1) N*s/m"]), draws=3)
    drawn = Plan(making.find("docking", "table1", [], request), None, 4)
    found = sweep.run(drawn, Plain(), tmp_path / "a").table.array()
    assert found["cov_error"].dims == ("collisions", "draw")
    assert found["contact.damping"].dims == ("draw",)


def test_only_the_requested_metrics(tmp_path):
    found = sweep.run(plan(metrics=("cof",)), Plain(), tmp_path / "a").table
    assert found.names() == ["cof_1", "cof_2", "cof_3", "cof_4", "cof_5", "cof_error", "ticks", "fault"]


def test_a_killed_sweep_goes_on_where_it_was(made, tmp_path):
    class Killed(Plain):
        def run(self, space, chunks):
            for n, each in enumerate(super().run(space, chunks)):
                if n == 2:
                    raise RuntimeError("killed")
                yield each

    class Counting(Plain):
        requested = 0

        def run(self, space, chunks):
            for each in super().run(space, chunks):
                Counting.requested += 1
                yield each

    with pytest.raises(RuntimeError):
        sweep.run(plan(), Killed(), tmp_path / "a")
    (tmp_path / "a" / "table" / ".chunk-000002.parquet.draft").write_bytes(b"half")
    sweep.run(plan(), Counting(), tmp_path / "a", resume=True)
    assert Counting.requested == 2
    for k in range(4):
        assert Table.open(tmp_path / "a").path(k).read_bytes() == made.path(k).read_bytes()
    assert len(list((tmp_path / "a" / "table").iterdir())) == 4  # the draft is gone


def test_a_flipped_bit_is_noticed_or_changes_no_number(made, copy):
    path, truth, noticed = copy / "table" / "chunk-000001.parquet", made.read(1), 0
    whole, table = path.read_bytes(), Table.open(copy)
    for at in range(0, len(whole), len(whole) // 150):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        try:
            assert table.read(1).equals(truth)
        except InputError:
            noticed += 1
    assert noticed > 30


@pytest.mark.parametrize("spoil", ["cut", "empty", "other"])
def test_a_damaged_chunk_is_named_and_computed_again(made, copy, spoil):
    path = copy / "table" / "chunk-000001.parquet"
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-30], "empty": b"", "other": made.path(2).read_bytes()}[spoil])
    with pytest.raises(InputError, match=r"chunk-000001\.parquet is damaged.*hilt sweep --resume"):
        Table.open(copy).columns()
    said = []
    sweep.run(plan(), Plain(), copy, resume=True, say=said.append)
    assert [f"{path} was damaged; it is computed again"] == said
    assert path.read_bytes() == made.path(1).read_bytes()


@pytest.mark.parametrize(
    "other", [plan(chunk=5), plan(over=("collisions=1..5:5", "robot.delay=1,2,31 ms")), plan(metrics=("cof",))]
)
def test_a_different_sweep_does_not_continue_in_a_folder(copy, other):
    before = {path: path.read_bytes() for path in copy.rglob("*.*")}
    with pytest.raises(InputError, match="holds another sweep"):
        sweep.run(other, Plain(), copy, resume=True)
    with pytest.raises(InputError, match="holds a sweep already; continue it with --resume"):
        sweep.run(plan(), Plain(), copy)
    assert {path: path.read_bytes() for path in copy.rglob("*.*")} == before


def test_numbers_of_a_gpu_and_of_a_cpu_are_not_mixed(tmp_path):
    with pytest.raises(InputError, match="was started on a GPU"):
        sweep.run(replace(plan(), arithmetic="gpu"), Plain(), tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"axes": 3}', "\0"])
def test_a_damaged_description_is_one_sentence(copy, text):
    (copy / "sweep.json").write_text(text)
    with pytest.raises(InputError, match="is damaged"):
        Table.open(copy)


def test_a_changed_description_is_noticed(copy):
    said = json.loads((copy / "sweep.json").read_text())
    said["axes"][0]["points"][0] = [2]
    (copy / "sweep.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match="is damaged"):
        Table.open(copy)


def test_a_folder_without_a_sweep_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="holds no sweep"):
        Table.open(tmp_path)


ARGUMENTS = ("docking", "--scenario", "table1", "--over", OVER[0], "--over", OVER[1], "--chunk", "4", "--out", "a")


def test_the_command(made, tmp_path):
    done = here(tmp_path, "sweep", *ARGUMENTS, "--engine", "plain", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"scenarios", "seconds", "engine", "failed", "table"}
    assert (found["scenarios"], found["engine"], found["failed"]) == (15, "plain", 0)
    assert len(pd.read_parquet(tmp_path / found["table"])) == 15
    assert not (tmp_path / "a" / "report.html").exists()
    for k in range(4):
        assert (tmp_path / "a" / "table" / f"chunk-{k:06d}.parquet").read_bytes() == made.path(k).read_bytes()
    (tmp_path / "a" / "table" / "chunk-000002.parquet").unlink()
    assert here(tmp_path, "sweep", *ARGUMENTS).returncode == 2
    assert here(tmp_path, "sweep", *ARGUMENTS, "--engine", "plain", "--resume", "--json").returncode == 0
    assert bytes_of(Table.open(tmp_path / "a")) == bytes_of(made)
    (tmp_path / "a" / "table" / "chunk-000002.parquet").unlink()
    done = here(tmp_path, "sweep", "--resume", "a", "--engine", "plain")
    assert done.returncode == 0
    assert "15 scenarios" in done.stdout
    assert "<img" in (tmp_path / "a" / "report.html").read_text()
    assert bytes_of(Table.open(tmp_path / "a")) == bytes_of(made)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["docking"], "there is no axis"),
        (["docking", "--over", "robot.dela=1..2 ms:3"], "did you mean robot.delay?"),
        (["docking", "--over", OVER[0], "--metrics", "cov,speed"], "'speed' is not a metric of docking"),
        (["docking", "--over", OVER[0], "--engine", "magic"], "--engine is 'magic'"),
        (["docking", "--over", OVER[0], "--chunk", "0"], "--chunk is 0"),
        (["docking", "--over", OVER[0], "--engine", "plain", "--cluster", "tcp://x:1"], "--cluster tcp://x:1"),
        (["docking", "--over", "robot.delay=1..2 ms:1000000000000"], "1e+12 scenarios"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path, arguments, words):
    done = here(tmp_path, "sweep", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def _started(folder, *arguments, **options):
    command = [sys.executable, "-m", "hilt.cli.main", "sweep", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_a_full_disk_keeps_what_is_written(made, tmp_path):
    """Room for a chunk with two collisions: one with five, which has more columns, does not fit."""
    limit = 8_300
    arguments = ("docking", "--scenario", "table1", "--over", OVER[0], "--over", OVER[1], "--chunk", "3", "--out", "a")
    process = _started(
        tmp_path,
        *arguments,
        "--engine",
        "plain",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    said = process.communicate(timeout=60)[1].splitlines()[-1]
    assert process.returncode == 2, said
    there = len(list(tmp_path.glob("a/table/*")))
    assert 1 <= there < 5
    assert not list(tmp_path.glob("a/table/.*"))
    assert (
        f"the disk is full; make room or choose another folder with --out; {there} of 5 chunks are written and complete" in said
    )
    assert len(Table.open(tmp_path / "a").columns()["fault"]) == 3 * there
    assert here(tmp_path, "sweep", "--resume", "a", "--engine", "plain", "--json").returncode == 0
    assert bytes_of(Table.open(tmp_path / "a")) == bytes_of(made)


def test_a_signal_ends_a_sweep_with_its_chunks_whole(tmp_path):
    process = _started(tmp_path, "freefloat", "--over", "seed=1..3000:3000", "--chunk", "2", "--out", "a", "--engine", "plain")
    while len(list(tmp_path.glob("a/table/chunk-*"))) < 3 and process.poll() is None:
        clock.pause(0.02)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1].splitlines()[-1]
    assert process.returncode == 130
    there = len(list(tmp_path.glob("a/table/chunk-*")))
    assert said == f"hilt: interrupted; {there} of 1500 chunks are written; continue with hilt sweep --resume a"
    assert len(Table.open(tmp_path / "a").columns()["seed"]) == 2 * there


def test_without_pyarrow_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)  # Python then reports that there is no such module
    done = here(tmp_path, "sweep", *ARGUMENTS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "hilt: sweeps need pyarrow, which is not installed; install it with pip install 'hilt[sweep]'\n"
    assert not (tmp_path / "a").exists()
