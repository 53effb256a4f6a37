"""NVIDIA GPUs: the same tick, one thread per scenario. The last bits differ from those of a CPU (docs/maps.md)."""

from collections.abc import Iterable, Iterator

import numpy as np

from hilt.core.counter import Counter
from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.sweeps import columns
from hilt.sweeps.columns import Columns
from hilt.sweeps.engines import kernel
from hilt.sweeps.engines.gpu import Gpu
from hilt.sweeps.packing import Packed, Packing
from hilt.sweeps.space import Space


class Cuda:
    name = "cuda"

    def run(self, space: Space, chunks: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, Columns]]:
        system, counter = space.system, space.system.metrics
        kernel.check(system, system.used_by(space.scenario(0)))
        check_gpu()
        assert isinstance(counter, Counter)
        packing, loaded = Packing(space, counter), _Loaded(system)
        for numbers in chunks:
            packed = packing.pack(numbers)
            for group in packed:
                loaded.run(group)
            yield numbers, columns.of_counted(system, counter, packed, len(numbers))


def check_gpu() -> None:
    """Refuse in one sentence if there is no GPU to run on."""
    try:
        import cupy

        found = cupy.cuda.runtime.getDeviceCount()
    except ImportError:
        raise InputError(
            "--engine cuda needs CuPy; install it with: pip install 'hilt[cuda]', or use --engine threads"
        ) from None
    except Exception as error:  # CuPy's own types, which differ from version to version
        raise InputError(
            f"--engine cuda finds no NVIDIA GPU: {str(error).partition(chr(10))[0]}; use --engine threads"
        ) from None
    if found < 1:
        raise InputError("--engine cuda finds no NVIDIA GPU on this machine; use --engine threads")


class _Loaded:
    """The kernels on the GPU, one for each choice of blocks and each length of delay lines."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._known: dict[tuple[int, int], tuple[Gpu, list[np.ndarray]]] = {}

    def run(self, group: Packed) -> None:
        group.complete()
        samples = kernel.length(group)
        key = id(group.diagram), samples
        if key not in self._known:
            made = kernel.build(self._system, group.used, samples)
            self._known[key] = Gpu(made.ptx, made.entry), [np.zeros(1, kind) for kind in (made.row, made.x, made.w)]
        gpu, blanks = self._known[key]
        given = {"p": group.p, "ticks": group.ticks, "m": group.m, "each": group.each, "q": group.q, "ends": group.ends}
        found, _ = gpu.run(blanks, given)
        for name, array in found.items():
            given[name][:] = array
