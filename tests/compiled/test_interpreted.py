"""Compiled functions without the compiler: the same numbers to the last bit, and no compiling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import event

from hilt import job
from hilt.compiled import interpreted, jit
from hilt.compiled.interpreted import OFTEN, sparing
from hilt.core import registry
from hilt.maths import once, so3, spatial

numbers = st.floats(-10.0, 10.0)
vectors = st.tuples(numbers, numbers, numbers)


class Compiled(event.Listener):
    def __init__(self):
        self.names = []

    def on_start(self, found):
        self.names.append(found.data["dispatcher"].py_func.__name__)

    def on_end(self, _):
        pass


@jit
def _half(x):
    return 0.5 * x


@jit
def _quarter(x):
    return _half(_half(x))


def test_neither_a_function_nor_what_it_calls_is_compiled():
    with event.install_listener("numba:compile", Compiled()) as seen:
        assert interpreted(_quarter)(8.0) == 2.0
    assert seen.names == []


def test_what_is_called_often_is_compiled_eventually():
    @jit
    def third(x):
        return x / 3.0

    found = [sparing(third)(1.0) for _ in range(OFTEN)]
    assert not third.signatures  # the cache of an earlier test run saves the compiling, but never the signature
    found.append(sparing(third)(1.0))
    assert len(third.signatures) == 1
    assert set(found) == {1.0 / 3.0}


@given(vectors, vectors)
def test_bits_are_those_of_the_compiled_function(turn, place):
    assert once.so3.exp(turn) == so3.exp(turn)
    X = (place, so3.exp(turn))
    assert once.spatial.inverse(X) == spatial.inverse(X)


@pytest.mark.parametrize("name", registry.names("systems"))
def test_start_values_are_those_of_compiled_resets(name):
    system, values, _ = job.find(name, None, [])
    bench = system.set_up(values)
    row, x, w = (np.zeros_like(part) for part in (bench.row, bench.x, bench.w))
    row["fault_axis"] = -1
    for blocks, state in ((system.tick, x), (system.plant, w)):
        used = [block for block in blocks if block.when(values)]
        for block in sorted(used, key=lambda block: not block.starts_first):
            block.kind.reset(row[0], state[0][block.name], bench.p[0][block.name])
    assert row.tobytes() == bench.row.tobytes()
    assert x.tobytes() == bench.x.tobytes()
