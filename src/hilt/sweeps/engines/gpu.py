"""Launches a compiled sweep on a GPU through CuPy. It uses only arrays and PTX, nothing of hilt: it runs wherever CuPy does."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 64  # per block: each has much local memory, and more of them would wait for it
Arrays = dict[str, np.ndarray]


def _argument(array: Any, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return an array as compiled code expects it: two empty owners, count, item size, address, shape and strides."""
    strides = [itemsize * int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape))]
    return (0, 0, int(np.prod(shape, dtype=np.int64)), itemsize, int(array.data.ptr), *shape, *strides)


class Gpu:
    """One loaded kernel."""

    def __init__(self, ptx: str, entry: str) -> None:
        import cupy

        self._cupy = cupy
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.ptx"
            path.write_text(ptx)
            self._function = cupy.RawModule(path=str(path)).get_function(entry)

    def run(self, blanks: list[np.ndarray], given: Arrays) -> tuple[Arrays, float]:
        """Run scenarios given by `p`, `ticks`, `m`, `each`, `q`, `ends`; return what was counted and the seconds on the GPU."""
        cupy = self._cupy
        names = ("p", "ticks", "m", "each", "q", "ends")
        arrays = [*blanks, *(given[name] for name in names)]
        on_gpu = [cupy.asarray(np.ascontiguousarray(each).view(np.uint8).reshape(-1)) for each in arrays]
        arguments: tuple[Any, ...] = ()
        for place, array in zip(on_gpu, arrays, strict=True):
            arguments += _argument(place, array.shape, array.dtype.itemsize)
        count = len(given["p"])
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        self._function(((count + THREADS - 1) // THREADS,), (THREADS,), tuple(np.int64(each) for each in arguments))
        end.record()
        end.synchronize()
        found = {}
        for name, place in zip(("blank_row", "blank_x", "blank_w", *names), on_gpu, strict=True):
            if name in ("m", "each", "ends"):
                found[name] = cupy.asnumpy(place).view(given[name].dtype).reshape(given[name].shape)
        return found, cupy.cuda.get_elapsed_time(begin, end) * 1e-3
