"""Turn a block diagram into compiled code: `tick`, `plant`, `observe` and `batch`, with the blocks that a scenario uses.

A system lists its blocks once, as a table (system.py). The functions are generated from it as source, one call per block,
and compiled like any other. The source is kept beside its machine code in the cache, to read and to step through.
"""

import hashlib
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from hilt.compiled import importable, jit, keep_source, plain, progress, reach
from hilt.core.stage import Blocks

HEAD = '''"""The block diagram of {name}, written by hilt/core/diagram.py from the system's table."""
'''
FUNCTION = """

def {name}(row, {state}, p):
    sig, {state}, p = row[0], {state}[0], p[0]
{calls}
"""
BATCH = '''

def batch(row, x, w, p, log):
    """Plant and tick in a compiled loop; returns the number of rows."""
    for k in range(len(log)):
        row[0].tick = k
        row[0].t = k * p[0].dt
        plant(row, w, p)
        tick(row, x, p)
        log[k] = row[0]
        if row[0].fault or row[0].done:
            return k + 1
    return len(log)
'''


@dataclass(frozen=True)
class Code:
    """The compiled functions of a diagram. Each is compiled when it is first called."""

    tick: Callable[..., None]  # (row, x, p): measurements to set-points; runs in simulation and in the lab
    plant: Callable[..., None]  # (row, w, p): set-points to measurements; replaced by the real thing in the lab
    observe: Callable[..., None]  # (row, w, p): what remains of the plant in the lab
    batch: Callable[..., int]  # (row, x, w, p, log): plant and tick in a compiled loop


def _function(name: str, state: str, blocks: Blocks) -> str:
    calls = [f"    {block.name}_step(sig, {state}.{block.name}, p.{block.name}, p.dt)" for block in blocks]
    return FUNCTION.format(name=name, state=state, calls="\n".join(calls) or "    return")


def source(name: str, tick: Blocks, plant: Blocks, observe: Blocks) -> str:
    """The diagram as a module."""
    parts = (_function("tick", "x", tick), _function("plant", "w", plant), _function("observe", "w", observe))
    return HEAD.format(name=name) + "".join(parts) + BATCH


def _file(function: Any) -> Path:
    return Path(plain(function).__code__.co_filename)


def _stamp(text: str, blocks: Blocks) -> str | None:
    """A hash of all the sources that the code is made of; None if some have no file, as in a notebook, or no module's name."""
    found = hashlib.sha256(text.encode())
    for block in blocks:
        file = _file(block.kind.step)
        if not file.is_file() or not importable(block.kind.step):
            return None
        step = plain(block.kind.step)
        found.update(f"{block.name} {step.__module__} {step.__qualname__} {reach.digest(file)}".encode())
    return found.hexdigest()[:16]


def build(name: str, tick: Blocks, plant: Blocks, observe: Blocks) -> Code:
    """Compile a diagram, or load it from the cache."""
    blocks = (*tick, *plant, *observe)
    text = source(name, tick, plant, observe)
    stamp = _stamp(text, blocks)
    short = hashlib.sha256(text.encode()).hexdigest()[:8]
    file = keep_source(f"diagram.{name}.{short}", stamp, text) if stamp else None
    shown = str(file) if file else f"<diagram of {name}>"
    linecache.cache[shown] = (len(text), None, text.splitlines(keepends=True), shown)
    module = ModuleType(f"hilt_diagram_{name.replace('-', '_')}_{short}_{stamp or id(blocks)}")
    sys.modules[module.__name__] = module  # compiled code is found again by the name of its module
    made = vars(module)
    made[progress.DIAGRAM] = name
    made.update({f"{block.name}_step": block.kind.step for block in blocks})
    exec(compile(text, shown, "exec"), made)
    for each in ("tick", "plant", "observe", "batch"):  # the batch finds the compiled ones
        made[each] = jit(made[each])
    return Code(made["tick"], made["plant"], made["observe"], made["batch"])
