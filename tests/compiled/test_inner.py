"""Functions that only compiled code calls: intermediate code, linked once, and the same results."""

import os
import subprocess
import sys

import numpy as np
import pytest

from hilt.compiled import jit

pytestmark = pytest.mark.long

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
INSPECTED = """
inside = next(iter(deep.inner.overloads.values()))
name = inside.fndesc.llvm_func_name
code = next(iter(top.overloads.values())).library.get_llvm_str()
defined = [line for line in code.splitlines() if line.startswith("define") and f"@{name}(" in line]
print(type(inside.library).__name__, inside.library.get_pointer_to_function(name), len(defined))
"""


@jit
def refuse(x):
    if x < 0.0:
        raise ValueError(x)
    return x


@jit
def asks(x):
    return refuse(x) + 1.0


def run(program, cache):
    """What a program prints, with this folder as the compiler's cache."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(cache)
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_what_is_inside_has_no_machine_code_and_is_linked_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + INSPECTED)
    kind, pointer, linked = run(program, tmp_path / "cache")[2:]
    assert (kind, pointer) == ("InnerLibrary", "0")
    assert linked == "1", "called from three places, and linked once"


def test_an_exception_propagates_from_inside():
    assert asks(1.0) == 2.0
    with pytest.raises(ValueError, match=r"-2\.5"):
        asks(-2.5)


def test_cached_code_computes_the_same(tmp_path):
    """From an empty cache, from a full one, and from one with only the inner functions."""
    program, cache = tmp_path / "program.py", tmp_path / "cache"
    program.write_text(PROGRAM)
    fresh, kept = run(program, cache), run(program, cache)
    assert [fresh[1], kept[1]] == ["0", "1"]
    taken = [path for path in cache.glob("hilt/*/*/*") if "top-" in path.name]
    assert taken
    for path in taken:
        path.unlink()
    again = run(program, cache)
    assert again[1] == "0"
    x = 0.7
    deep = np.sin(x) / 3.0
    expected = deep + 1e-17 - np.sin(x + deep) / 3.0 * 0.1
    assert fresh[0] == kept[0] == again[0] == float(expected).hex()
