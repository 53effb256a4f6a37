"""Turn a block diagram into compiled code: `tick`, `plant`, `observe` and `go_on`, with the blocks that a scenario uses.

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

import numpy as np

from hilt.compiled import SOURCE, importable, jit, jit_free, keep_source, plain, progress, reach
from hilt.core.stage import Blocks, nothing

HEAD = '''"""The block diagram of {name}, written by hilt/core/diagram.py from the system's table."""
'''
FUNCTION = """

def {name}(row, {state}, p):
    sig, {state}, p = row[0], {state}[0], p[0]
{calls}
"""
BATCH = '''

def go_on(row, x, w, p, log, first):
    """Plant and tick in a compiled loop, starting at tick `first`; returns the number of rows."""
    for k in range(len(log)):
        row[0].tick = first + k
        row[0].t = (first + k) * p[0].dt
        plant(row, w, p)
        tick(row, x, p)
        log[k] = row[0]
        if row[0].fault or row[0].done:
            return k + 1
    return len(log)
'''
SWEEP = '''

def reset(row, x, w, p):
    sig, x, w, p = row[0], x[0], w[0], p[0]
    sig.fault_axis = -1
{resets}


def sweep(first, last, row, x, w, blank_row, blank_x, blank_w, p, ticks, m, each, q, ends):
    """Run after run, all in the same memory; only the counts are kept."""
    for i in range(first, last):
        row[0] = blank_row[0]
        x[0] = blank_x[0]
        w[0] = blank_w[0]
        own, events = p[i : i + 1], each[i]  # here, not in every tick: a view of an array counts its owners
        reset(row, x, w, own)
        k = 0
        while k < ticks[i]:
            row[0].tick = k
            row[0].t = k * own[0].dt
            plant(row, w, own)
            tick(row, x, own)
            count_step(row[0], m[i], events, q[i])
            k += 1
            if row[0].fault or row[0].done:
                break
        ends[i].ticks = k
        ends[i].fault = row[0].fault
'''


@dataclass(frozen=True)
class Code:
    """The compiled functions of a diagram. Each is compiled when it is first called."""

    tick: Callable[..., None]  # (row, x, p): measurements to set-points; runs in simulation and in the lab
    plant: Callable[..., None]  # (row, w, p): set-points to measurements; replaced by the real thing in the lab
    observe: Callable[..., None]  # (row, w, p): what remains of the plant in the lab
    go_on: Callable[..., int]  # (row, x, w, p, log, first): plant and tick in a compiled loop, from tick `first` on

    def batch(self, row: np.ndarray, x: np.ndarray, w: np.ndarray, p: np.ndarray, log: np.ndarray) -> int:
        """A run from its start."""
        return self.go_on(row, x, w, p, log, 0)


def _function(name: str, state: str, blocks: Blocks) -> str:
    calls = [f"    {block.name}_step(sig, {state}.{block.name}, p.{block.name}, p.dt)" for block in blocks]
    return FUNCTION.format(name=name, state=state, calls="\n".join(calls) or "    return")


def source(name: str, tick: Blocks, plant: Blocks, observe: Blocks) -> str:
    """The source of a module with the functions of a diagram."""
    parts = (_function("tick", "x", tick), _function("plant", "w", plant), _function("observe", "w", observe))
    return HEAD.format(name=name) + "".join(parts) + BATCH


def _file(function: Any) -> Path:
    return Path(plain(function).__code__.co_filename)


def _stamp(text: str, functions: dict[str, Any]) -> str | None:
    """A hash of all sources of the code; None if one has no file, as in a notebook, or cannot be imported."""
    found = hashlib.sha256(text.encode())
    for name, function in functions.items():
        file, own = _file(function), plain(function)
        if not file.is_file() or not importable(function):
            return None
        known = (
            file.parent.name if file.name == SOURCE else reach.digest(file)
        )  # a generated module is named after its own stamp
        found.update(f"{name} {own.__module__} {own.__qualname__} {known}".encode())
    return found.hexdigest()[:16]


def build(name: str, tick: Blocks, plant: Blocks, observe: Blocks) -> Code:
    """Compile a diagram, or load it from the cache."""
    blocks = (*tick, *plant, *observe)
    steps = {f"{block.name}_step": block.kind.step for block in blocks}
    made = _module(name, source(name, tick, plant, observe), steps)
    for each, compiled in (("tick", jit), ("plant", jit), ("observe", jit), ("go_on", jit_free)):
        made[each] = compiled(made[each])  # in place: the functions that call it find the compiled one
    return Code(*(made[each] for each in ("tick", "plant", "observe", "go_on")))


def build_sweep(name: str, code: Code, tick: Blocks, world: Blocks, count_step: Callable[..., None]) -> Callable[..., None]:
    """Compile a loop over many runs; `tick` and `world` are the blocks in the order in which they start."""
    resets = [
        (block, state) for blocks, state in ((tick, "x"), (world, "w")) for block in blocks if block.kind.reset is not nothing
    ]
    calls = [f"    {block.name}_reset(sig, {state}.{block.name}, p.{block.name})" for block, state in resets]
    functions = {f"{block.name}_reset": block.kind.reset for block, _ in resets}
    text = HEAD.format(name=name) + SWEEP.format(resets="\n".join(calls))
    made = _module(name, text, {**functions, "count_step": count_step}, {"tick": code.tick, "plant": code.plant})
    made["reset"] = jit(made["reset"])
    made["sweep"] = jit_free(made["sweep"])
    found: Callable[..., None] = made["sweep"]
    return found


def _module(name: str, text: str, functions: dict[str, Any], made: dict[str, Any] | None = None) -> dict[str, Any]:
    """The namespace of a module with this source and these functions; `made` come from another such module."""
    stamp = _stamp(text, {**functions, **(made or {})})
    short = hashlib.sha256(text.encode()).hexdigest()[:8]
    file = keep_source(f"diagram.{name}.{short}", stamp, text) if stamp else None
    shown = str(file) if file else f"<diagram of {name}>"
    linecache.cache[shown] = (len(text), None, text.splitlines(keepends=True), shown)
    module = ModuleType(f"hilt_diagram_{name.replace('-', '_')}_{short}_{stamp or id(functions)}")
    sys.modules[module.__name__] = module  # compiled code is found again by the name of its module
    found = vars(module)
    found[progress.DIAGRAM] = name
    found.update(functions)
    found.update(made or {})
    exec(compile(text, shown, "exec"), found)
    return found
