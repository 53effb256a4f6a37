"""Chunks as tasks of a Dask cluster: one with an address, or processes on this machine.

A task contains its scenarios and nothing else, so a worker that dies costs only its current chunk, which runs again elsewhere.
Results are on disk before the next task is awaited, so they survive if the scheduler dies.
"""

import importlib
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np

import hilt
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.sweeps.columns import Columns
from hilt.sweeps.space import Axis, Space, restored

ANSWER, FIRST_WORKER = 5, 20  # s until a scheduler answers, and until it has a worker
AHEAD = 3  # tasks queued per core of the cluster: enough to keep it busy


class Cluster:
    """`address` of a scheduler; without one, `workers` processes on this machine."""

    name = "dask"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        try:
            self._distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise InputError(
                "--engine dask needs distributed, which is not installed; install it with pip install 'hilt[sweep]'"
            ) from None
        self._address, self._workers = address, workers or len(os.sched_getaffinity(0))

    def run(self, space: Space, chunks: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, Columns]]:
        _check_known(space)
        _be_quiet()
        with ExitStack() as stack:
            client = self._client(stack)
            yield from self._results(client, space, iter(chunks))

    def _client(self, stack: ExitStack) -> Any:
        address = self._address
        if address is None:
            cluster = self._distributed.LocalCluster(
                n_workers=self._workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
            address = stack.enter_context(cluster).scheduler_address
        try:
            client = self._distributed.Client(address, timeout=f"{ANSWER}s", set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            raise InputError(
                f"the cluster {address} does not answer within {ANSWER} s ({why}); start one with dask scheduler, "
                "or check its address"
            ) from None
        stack.callback(_close, client)
        try:
            client.wait_for_workers(1, timeout=FIRST_WORKER)
        except TimeoutError:
            raise InputError(
                f"the cluster {address} has had no worker for {FIRST_WORKER} s; start some with dask worker {address}"
            ) from None
        return client

    def _results(self, client: Any, space: Space, chunks: Iterator[np.ndarray]) -> Iterator[tuple[np.ndarray, Columns]]:
        """Yield results as they are ready; only a few tasks are submitted at a time, however many chunks there are."""
        running: dict[str, np.ndarray] = {}
        ready = self._distributed.as_completed(loop=client.loop)

        def submit() -> None:
            cores = max(1, sum(client.nthreads().values()))
            for numbers in chunks:
                part, inside = space.part(numbers)
                # Not pure: the cluster may have seen the same task in a sweep of another version.
                future = client.submit(compute, described(part), inside, hilt.__version__, pure=False)
                running[future.key] = numbers
                ready.add(future)
                if len(running) >= AHEAD * cores:
                    return

        try:
            submit()
            for future in ready:
                results = future.result()
                yield running.pop(future.key), results
                submit()
        except InputError:
            raise
        except (OSError, TimeoutError, self._distributed.CancelledError, self._distributed.scheduler.KilledWorker) as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            raise InputError(
                f"the cluster was lost ({why}); the chunks written so far are complete; continue the sweep with --resume"
            ) from None


def _be_quiet() -> None:
    """Silence Dask's log: a worker that dies is not news, and we report a failure once ourselves."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _close(client: Any) -> None:
    with suppress(OSError, TimeoutError):
        client.close(timeout=ANSWER)


def _check_known(space: Space) -> None:
    """Refuse a system that workers cannot find by its name."""
    try:
        known = registry.system(space.system.name) is space.system
    except InputError:
        known = False
    if not known:
        raise InputError(
            f"the system {space.system.name} of this program is not known to other processes; put it into a package "
            "or a file of HILT_PLUGINS, or use the engine threads"
        )


def described(space: Space) -> dict[str, Any]:
    """Return a space as plain data, for another process."""
    axes = [(axis.keys, axis.points, axis.log, axis.drawn) for axis in space.axes]
    return {"system": space.system.name, "name": space.name, "tree": space.tree, "axes": axes}


def compute(description: dict[str, Any], numbers: np.ndarray, version: str) -> Columns:
    """Run the scenarios of one chunk with one thread, on a worker."""
    from hilt.sweeps import engines

    if version != hilt.__version__:
        raise InputError(f"a worker has hilt {hilt.__version__} and this program {version}; install the same version")
    axes = tuple(Axis(*each) for each in description["axes"])
    space = restored(registry.system(description["system"]), description["name"], description["tree"], axes)
    ((_, results),) = engines.named("threads", workers=1).run(space, [numbers])
    return results
