"""Functions that only compiled code calls: intermediate code, linked once, and the same results."""

import numpy as np
import pytest

from hilt.compiled import jit
from tests.compiled.apart import python

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
if not top.stats.cache_hits:
    inside = next(iter(deep.inner().overloads.values()))
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


def test_an_exception_propagates_from_inside():
    assert asks(1.0) == 2.0
    with pytest.raises(ValueError, match=r"-2\.5"):
        asks(-2.5)


def test_what_is_inside_has_no_machine_code_is_linked_once_and_computes_the_same_from_the_cache(tmp_path):
    """From an empty cache, from a full one, and from one with only the inner functions. It is called from three places."""
    program, cache = tmp_path / "program.py", tmp_path / "cache"
    program.write_text(PROGRAM)
    fresh, kept = (python(program, cache=cache)[0] for _ in range(2))
    taken = [path for path in cache.glob("hilt/*/*/*") if "top-" in path.name]
    assert taken
    for path in taken:
        path.unlink()
    again = python(program, cache=cache)[0]
    x = 0.7
    deep = np.sin(x) / 3.0
    expected = (deep + 1e-17 - np.sin(x + deep) / 3.0 * 0.1).hex()
    assert (fresh[:2], kept, again[:2]) == ([expected, "0"], [expected, "1"], [expected, "0"])
    assert fresh[2:] == again[2:] == ["InnerLibrary", "0", "1"]
