"""The compiled loop of a sweep as PTX, the assembly of NVIDIA's GPUs: one thread per scenario, made from the same functions.

Compiling needs no GPU. Row, states, parameters and counters are local to a thread, which the hardware interleaves; the
delay lines are as short as the scenarios allow.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from hilt.compiled import plain, reaches_c
from hilt.compiled.records import shortened
from hilt.core.counter import Counter
from hilt.core.faults import InputError
from hilt.core.system import System, Used
from hilt.maths.delay import CAPACITY
from hilt.sweeps.packing import ENDS, Packed

ARCHITECTURE = (9, 0)  # a newer GPU runs it as well
PTX_VERSION = "9.0"  # what drivers of CUDA 13.0 read; nothing newer is used
REGISTERS = 128  # per thread: the fastest of 64 to 255 on an H200; fewer are spilled, more leave cores idle
SHORTEST = 16  # samples of a delay line
SOURCE = """
def kernel(blank_row, blank_x, blank_w, p, ticks, m, each, q, ends):
    i = cuda.grid(1)
    if i >= len(p):
        return
    row, x, w = cuda.local.array(1, ROW), cuda.local.array(1, X), cuda.local.array(1, W)
    own, counted, constants = cuda.local.array(1, P), cuda.local.array(1, M), cuda.local.array(1, Q)
    row[0], x[0], w[0] = blank_row[0], blank_x[0], blank_w[0]
    own[0], counted[0], constants[0] = p[i], m[i], q[i]
    reset(row, x, w, own)
    k = 0
    while k < ticks[i]:
        row[0].tick = k
        row[0].t = k * own[0].dt
        plant(row, w, own)
        tick(row, x, own)
        count_step(row[0], counted[0], each[i], constants[0])
        k += 1
        if row[0].fault or row[0].done:
            break
    m[i] = counted[0]
    ends[i].ticks = k
    ends[i].fault = row[0].fault
"""


@dataclass(frozen=True)
class Kernel:
    """What a GPU needs to run a choice of blocks."""

    ptx: str
    entry: str
    row: np.dtype
    x: np.dtype
    w: np.dtype


def check(system: System, used: Used) -> None:
    """Refuse what cannot run on a GPU, naming the block."""
    for block in (*used.tick, *used.plant, *used.observe):
        if reaches_c(block.kind.step) or reaches_c(block.kind.reset):
            raise InputError(
                f"--engine cuda cannot run {system.name}: its block {block.name} calls a C library, which a GPU does not have; "
                "use --engine threads or dask"
            )
    if not isinstance(system.metrics, Counter):
        raise InputError(
            f"--engine cuda cannot run {system.name}: its metrics are measured from rows, which a GPU does not keep; "
            "use --engine threads or dask"
        )


def length(group: Packed) -> int:
    """Return the samples that the delay lines of these scenarios need: a power of two."""
    most = 0.0
    for block in (*group.used.believing, *group.used.plant):
        if block.kind.looks_back is not None:
            most = max(most, float(np.max(block.kind.looks_back(group.p[block.name]))))
        elif shortened(block.kind.state, SHORTEST, CAPACITY) != block.kind.state:
            return CAPACITY  # it does not say how far it looks back
    return min(CAPACITY, max(SHORTEST, 1 << int(np.ceil(np.log2(most + 3.0)))))


def build(system: System, used: Used, samples: int) -> Kernel:
    """Compile the loop for delay lines of this many samples."""
    check(system, used)
    cuda, numba, types = _compiler()
    counter, made = system.metrics, system.diagram(used)
    assert isinstance(counter, Counter)
    x, w = (shortened(kind, samples, CAPACITY) for kind in (made.x, made.w))
    names = dict(plain(system.many(used, counter.step)).__globals__)
    records = {"ROW": system.row, "X": x, "W": w, "P": made.p, "M": counter.state, "Q": counter.params}
    names.update({name: numba.from_dtype(kind) for name, kind in records.items()}, cuda=cuda)
    exec(compile(SOURCE, "<kernel>", "exec"), names)

    def array(kind: np.dtype, dimensions: int = 1) -> Any:
        return types.Array(numba.from_dtype(kind), dimensions, "C")

    arguments = [array(kind) for kind in (system.row, x, w, made.p)]
    arguments += [types.int64[::1], array(counter.state), array(counter.event, 2), array(counter.params), array(ENDS)]
    with _pretended_gpu():
        ptx, _ = cuda.compile_ptx(names["kernel"], types.void(*arguments), cc=ARCHITECTURE)
    ptx = re.sub(r"^\.version .*$", f".version {PTX_VERSION}", ptx, count=1, flags=re.MULTILINE)
    entry = re.search(r"\.entry (\w+)\([^)]*\)", ptx)
    assert entry is not None
    ptx = f"{ptx[: entry.end()]}\n.maxnreg {REGISTERS}\n{ptx[entry.end() :]}"
    return Kernel(ptx, entry[1], system.row, x, w)


def _compiler() -> tuple[Any, Any, Any]:
    try:
        import numba
        import numba_cuda  # noqa: F401  (Numba's own `cuda` is not maintained)
        from numba import cuda
        from numba.core import types
    except ImportError:
        raise InputError("--engine cuda needs numba-cuda; install it with: pip install 'hilt[cuda]'") from None
    return cuda, numba, types


@contextmanager
def _pretended_gpu() -> Iterator[None]:
    """Pretend there is a GPU: the compiler looks for one on this machine, though the target is given."""
    from numba.cuda import dispatcher

    original = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=ARCHITECTURE)
    try:
        yield
    finally:
        dispatcher.get_current_device = original
