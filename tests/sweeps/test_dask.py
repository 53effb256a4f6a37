"""A Dask cluster of processes gives the same bytes with any number of workers, also if one, or the sweep itself, is killed."""

import os
import signal
import subprocess
import sys
import threading

import distributed
import numpy as np
import pytest

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.sweeps import making, sweep
from hilt.sweeps.engines.dask import Cluster
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.making import Request, over_of
from hilt.sweeps.table import Plan, Table
from tests.e2e.command import here

pytestmark = pytest.mark.long

OVER = ("collisions=1..5:5", "robot.delay=1..30 ms:8")


def plan(chunk=2):
    return Plan(making.find("docking", "table1", [], Request(over_of(OVER))), None, chunk)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The files of the same sweep run by all cores of this machine."""
    return files(sweep.run(plan(), Threads(), tmp_path_factory.mktemp("local") / "a").table)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0) as found:
        yield found


def files(table):
    return {path.name: path.read_bytes() for path in table.chunks.iterdir()}


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_gives_the_same_bytes(cluster, local, tmp_path, workers):
    cluster.scale(workers)
    cluster.wait_for_workers(workers, timeout=60)
    assert files(sweep.run(plan(), Cluster(cluster.scheduler_address), tmp_path / "a").table) == local


def test_a_killed_worker_costs_nothing(cluster, local, tmp_path):
    killed = []

    def kill(_):
        if not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    done = sweep.run(plan(), Cluster(cluster.scheduler_address), tmp_path / "a", watch=kill)
    assert killed
    assert files(done.table) == local


def test_a_killed_sweep_goes_on_with_nothing_lost_and_nothing_twice(cluster, local, tmp_path):
    over = [word for each in OVER for word in ("--over", each)]
    arguments = ["docking", "--scenario", "table1", *over, "--chunk", "2", "--out", "a", "--cluster", cluster.scheduler_address]
    process = subprocess.Popen([sys.executable, "-m", "hilt.cli.main", "sweep", *arguments, "--json"], cwd=tmp_path)
    while len(there := list(tmp_path.glob("a/table/chunk-*"))) < 2 and process.poll() is None:
        clock.pause(0.005)
    process.kill()
    process.wait(timeout=10)
    assert 2 <= len(list(tmp_path.glob("a/table/chunk-*"))) < 20, there
    sweep.run(plan(), Cluster(cluster.scheduler_address), tmp_path / "a", resume=True)
    assert files(Table.open(tmp_path / "a")) == local
    assert np.array_equal(Table.open(tmp_path / "a").columns()["scenario"], np.arange(40))


def test_a_task_knows_its_scenarios_and_no_others():
    space = plan().space
    numbers = np.array([3, 17, 18, 39])
    part, inside = space.part(numbers)
    assert part.count < space.count
    assert [part.scenario(int(n)) for n in inside] == [space.scenario(int(n)) for n in numbers]


def test_a_cluster_that_does_not_answer_is_one_sentence_and_nothing_is_written(tmp_path):
    done = here(tmp_path, "sweep", "docking", "--over", OVER[0], "--cluster", "tcp://127.0.0.1:9", "--json", "--out", "a")
    assert done.returncode == 2
    assert "the cluster tcp://127.0.0.1:9 does not answer within 5 s" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "a").exists()


def test_an_invalid_address_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="does not answer"):
        sweep.run(plan(), Cluster("nowhere at all"), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_cluster_that_is_lost_in_the_middle_keeps_the_chunks(tmp_path, local):
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as lost:
        stopped = []

        def stop(_):
            if not stopped:
                stopped.append(threading.Thread(target=lost.close, daemon=True))
                stopped[0].start()
                stopped[0].join(20)

        with pytest.raises(InputError, match=r"the cluster was lost .* continue the sweep with --resume"):
            sweep.run(plan(), Cluster(lost.scheduler_address), tmp_path / "a", watch=stop)
    assert Table.open(tmp_path / "a").written()
    assert files(sweep.run(plan(), Threads(), tmp_path / "a", resume=True).table) == local


def test_a_system_that_only_this_program_knows_is_refused(tmp_path):
    from dataclasses import replace

    made = plan()
    own = replace(made.space, system=replace(made.space.system, name="own"))
    with pytest.raises(InputError, match="the system own of this program is not known to other processes"):
        sweep.run(replace(made, space=own), Cluster("tcp://127.0.0.1:9"), tmp_path / "a")
