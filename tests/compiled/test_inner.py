"""Functions that only compiled code calls: intermediate code, linked once, and the same results."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core.registry import cpu_target

from hilt.compiled import jit, jit_apart
from hilt.compiled.inner import InnerLibrary

PROGRAM = """
import numpy as np
from hilt.compiled import jit, jit_apart

@jit_apart
def deep(x):
    return np.sin(x) / 3.0

@jit
def left(x):
    return deep(x) + 1e-17

@jit
def right(x):
    return deep(x) * 0.1

@jit
def top(x):
    return left(x) - right(x + deep(x))

print(top(0.7).hex(), len(top.stats.cache_hits))
"""


@jit_apart
def deep(x):
    return np.sin(x) / 3.0


@jit
def left(x):
    return deep(x) + 1e-17


@jit
def right(x):
    return deep(x) * 0.1


@jit
def top(x):
    return left(x) - right(x + deep(x))


@jit
def refuse(x):
    if x < 0.0:
        raise ValueError(x)
    return x


@jit
def asks(x):
    return refuse(x) + 1.0


def test_what_is_inside_has_no_machine_code_and_is_linked_once():
    assert top(0.7) == top.py_func(0.7)
    inside = next(iter(deep.inner.overloads.values()))
    assert isinstance(inside.library, InnerLibrary)
    name = inside.fndesc.llvm_func_name
    assert inside.library.get_pointer_to_function(name) == 0
    assert not cpu_target.target_context.codegen()._engine.is_symbol_defined(inside.fndesc.llvm_cpython_wrapper_name)
    called = next(iter(top.overloads.values())).library.get_llvm_str()
    assert called.count(f"define linkonce_odr i32 @{name}(") <= 1


def test_an_exception_comes_through_from_inside():
    assert asks(1.0) == 2.0
    with pytest.raises(ValueError, match=r"-2\.5"):
        asks(-2.5)


def test_what_was_kept_computes_the_same(tmp_path):
    """From an empty cache, from a full one, and from one that has the inner functions alone."""
    program, cache = tmp_path / "program.py", tmp_path / "cache"
    program.write_text(PROGRAM)

    def run():
        environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
        environment["XDG_CACHE_HOME"] = str(cache)
        done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    fresh = run()
    kept = run()
    assert [fresh[1], kept[1]] == ["0", "1"]
    taken = [path for path in cache.glob("hilt/*/*/*") if "top-" in path.name]
    assert taken
    for path in taken:
        path.unlink()
    again = run()
    assert again[1] == "0"
    assert fresh[0] == kept[0] == again[0] == float(top.py_func(0.7)).hex()
