"""Docking sweeps on a GPU: ticks per second, and metrics compared with the CPU's.

The GPU may be in another machine, which needs only Python, NumPy and CuPy:

    python benchmarks/gpu.py export FOLDER     here: kernels, packed scenarios, the CPU's results
    python benchmarks/gpu.py run FOLDER OUT    there: writes the counters to OUT and prints JSON lines
    python benchmarks/gpu.py compare FOLDER    here: largest difference of each metric

A grid of delays and stiffnesses is sent as two lists of parameters, one for each axis: every block is taken from the list that
it depends on. The twin's blocks depend on both, so a smaller grid is sent in full for it, with many seeds.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

DELAYS, STIFFNESSES = (0.012, 0.028), (60e3, 180e3)  # s, N/m: around the facility of the README
GRIDS = {"none": (1000, 1000, 1), "pida": (1000, 1000, 1), "twin": (25, 20, 20)}  # delays, stiffnesses, seeds
COMPARED = 10_000
TIMED = 262_144  # scenarios at least; those of a small grid are repeated


def export(folder: Path) -> None:
    from hilt import job
    from hilt.core import scenario
    from hilt.sweeps.engines import kernel
    from hilt.sweeps.engines.threads import Threads
    from hilt.sweeps.packing import Packing
    from hilt.sweeps.space import Axis, Space

    folder.mkdir(parents=True, exist_ok=True)
    for method, (many, stiff, seeds) in GRIDS.items():
        settings = [f"compensate.method={method}", "sensor.noise=0.2 N"]
        system, values, name = job.find("docking", "table1", settings)
        tree = scenario.read_toml(system.scenario_files["table1"])
        scenario.apply_settings(tree, settings)

        axes = {
            "robot.delay": np.linspace(*DELAYS, many),
            "contact.stiffness": np.geomspace(*STIFFNESSES, stiff),
            "seed": np.arange(1, seeds + 1),
        }
        made_axes = tuple(Axis((key,), tuple((each,) for each in points.tolist())) for key, points in axes.items())
        whole, counter = Space(system, name, tree, values, made_axes), system.metrics
        packing = Packing(whole, counter)
        by_delay, by_stiffness = packing.pack(np.arange(many) * stiff * seeds)[0], packing.pack(np.arange(stiff) * seeds)[0]
        lengths = kernel.length(by_delay), kernel.length(by_stiffness)
        started = time.perf_counter()
        made = kernel.build(system, by_delay.used, max(lengths))
        print(json.dumps({"method": method, "samples": max(lengths), "compile_s": round(time.perf_counter() - started, 1)}))
        (folder / f"{method}.ptx").write_text(made.ptx)
        compared = np.sort(np.random.default_rng(1).choice(whole.count, COMPARED, replace=False))
        parts: dict[str, Any] = {"compared": compared, "stiffnesses": stiff, "entry": made.entry}
        arrays = {"by_delay": by_delay, "by_stiffness": by_stiffness} if seeds == 1 else {"all": packing.pack(compared)[0]}
        for label, group in arrays.items():
            group.complete()
            for key in ("p", "q", "ticks"):
                parts[f"{label}.{key}"] = _bytes(getattr(group, key))
        lead = counter.state["lead"].fields
        begin = counter.state.fields["lead"][1]
        parts["scratch"] = json.dumps([(begin + lead[key][1], lead[key][0].itemsize) for key in ("measured", "used")])
        parts["fields"] = json.dumps({"p": _fields(by_delay.p.dtype), "q": _fields(by_delay.q.dtype)})
        sizes = {"row": made.row.itemsize, "x": made.x.itemsize, "w": made.w.itemsize, "m": counter.state.itemsize}
        sizes |= {"event": counter.event.itemsize, "events": by_delay.each.shape[1], "ends": by_delay.ends.dtype.itemsize}
        parts["sizes"] = json.dumps(sizes)
        np.savez_compressed(folder / f"{method}.npz", **parts)
        started = time.perf_counter()
        _, columns = next(iter(Threads().run(whole, [compared])))
        print(json.dumps({"method": method, "cpu_scenarios_per_s": round(len(compared) / (time.perf_counter() - started))}))
        np.savez_compressed(folder / f"{method}.cpu.npz", **columns)


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)


def _fields(kind: np.dtype) -> list[tuple[int, int]]:
    return [(kind.fields[name][1], kind[name].itemsize) for name in kind.names or ()]


def _grid(parts: Any, key: str, numbers: np.ndarray, fields: list[list[int]]) -> np.ndarray:
    """Return the parameters of a product grid's scenarios, each field from the axis that it depends on."""
    delay, stiffness = parts[f"by_delay.{key}"], parts[f"by_stiffness.{key}"]
    i, j = np.divmod(numbers, int(parts["stiffnesses"]))
    found = delay[i]
    for first, width in fields:
        at = slice(first, first + width)
        if (stiffness[:, at] != stiffness[:1, at]).any():
            assert not (delay[:, at] != delay[:1, at]).any() or key == "q", "a block depends on both axes"
            found[:, at] = stiffness[j][:, at]
    return found


def _packed(parts: Any, numbers: np.ndarray) -> dict[str, np.ndarray]:
    """Return everything that the kernel takes, as plain bytes."""
    sizes, fields = json.loads(str(parts["sizes"])), json.loads(str(parts["fields"]))
    if "all.p" in parts:
        which = np.searchsorted(parts["compared"], numbers)
        raw = {key: parts[f"all.{key}"][which] for key in ("p", "q", "ticks")}
    else:
        raw = {key: _grid(parts, key, numbers, fields[key]) for key in ("p", "q")}
        raw["ticks"] = parts["by_delay.ticks"][numbers // int(parts["stiffnesses"])]
    count = len(numbers)
    found = {key: raw[key].reshape(-1).view(f"V{raw[key].shape[1]}") for key in ("p", "q")}
    found["ticks"] = raw["ticks"].reshape(-1).view(np.int64)
    found["m"], found["ends"] = np.zeros(count, f"V{sizes['m']}"), np.zeros(count, f"V{sizes['ends']}")
    found["each"] = np.zeros((count, sizes["events"]), f"V{sizes['event']}")
    return found


def run(folder: Path, out: str) -> None:
    where = Path(__file__).parents[1] / "src/hilt/sweeps/engines/gpu.py"  # loaded alone: hilt itself is not installed there
    spec = importlib.util.spec_from_file_location("gpu", where)
    assert spec is not None
    assert spec.loader is not None
    gpu = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gpu)
    for method, grid in GRIDS.items():
        parts = dict(np.load(folder / f"{method}.npz"))
        sizes = json.loads(str(parts["sizes"]))
        started = time.perf_counter()
        loaded = gpu.Gpu((folder / f"{method}.ptx").read_text(), str(parts["entry"]))
        result: dict[str, Any] = {"method": method, "load_s": round(time.perf_counter() - started, 1)}
        blanks = [np.zeros(1, f"V{sizes[name]}") for name in ("row", "x", "w")]
        found, seconds = loaded.run(blanks, _packed(parts, parts["compared"]))
        counted = found["m"].view(np.uint8).reshape(len(found["m"]), -1)
        for first, width in json.loads(str(parts["scratch"])):
            counted[:, first : first + width] = 0  # only needed while counting; it would be most of the file
        for half, at in enumerate(np.array_split(np.arange(len(counted)), 2)):
            kept = {key: found[key][at].view(np.uint8) for key in ("m", "each", "ends")}
            np.savez_compressed(Path(out) / f"{method}.found{half}.npz", **kept)
        result |= {"compared": len(parts["compared"]), "kernel_s": round(seconds, 4)}
        every = np.resize(parts["compared"], TIMED) if "all.p" in parts else np.arange(int(np.prod(grid)))
        started, ticks, kernel_s = time.perf_counter(), 0, 0.0
        for numbers in np.array_split(every, max(1, len(every) // TIMED)):
            found, seconds = loaded.run(blanks, _packed(parts, numbers))
            ticks += int(found["ends"].view(np.int64).reshape(-1, sizes["ends"] // 8)[:, 0].sum())
            kernel_s += seconds
        wall = time.perf_counter() - started
        result |= {"scenarios": len(every), "ticks": ticks, "seconds": round(wall, 2), "kernel_seconds": round(kernel_s, 3)}
        result |= {"gticks_per_s": round(ticks / kernel_s / 1e9, 3), "scenarios_per_s": round(len(every) / wall)}
        print(json.dumps(result), flush=True)


def compare(folder: Path) -> None:
    from hilt import job
    from hilt.core.counter import References
    from hilt.sweeps.columns import _flat_column

    for method in [name for name in GRIDS if (folder / f"{name}.found0.npz").exists()]:
        system, values, _ = job.find("docking", "table1", [f"compensate.method={method}"])
        counter, parts = system.metrics, np.load(folder / f"{method}.npz")
        halves, cpu = [np.load(folder / f"{method}.found{half}.npz") for half in (0, 1)], np.load(folder / f"{method}.cpu.npz")
        raw = {key: np.concatenate([half[key] for half in halves]) for key in ("m", "each", "ends")}
        sizes, fields = json.loads(str(parts["sizes"])), json.loads(str(parts["fields"]))
        numbers = parts["compared"]
        q = (parts["all.q"] if "all.q" in parts else _grid(parts, "q", numbers, fields["q"])).reshape(-1).view(counter.params)
        m = raw["m"].reshape(-1).view(counter.state)
        each = raw["each"].reshape(-1).view(counter.event).reshape(len(m), sizes["events"])
        ideals = _ideals(values, q)
        bounds = References([None], np.zeros(len(m), np.int64))
        with np.errstate(all="ignore"):
            found = counter.result(m, each, q, ideals, bounds)
        columns: dict[str, np.ndarray] = {}
        for name, column in found.items():
            columns.update(_flat_column(name, column, name in system.ratios))
        worst = {}
        for name, ours in columns.items():
            if name in cpu:
                a, b = ours.astype(float), cpu[name].astype(float)
                differ = np.abs(a - b) / np.maximum(1.0, np.abs(b))
                worst[name] = {
                    "worst": float(np.nanmax(differ, initial=0.0)),
                    "p99.9": float(np.nanquantile(differ, 0.999)) if np.isfinite(differ).any() else 0.0,
                    "missing_differs": int((np.isnan(a) != np.isnan(b)).sum()),
                }
        ticks = raw["ends"].reshape(-1).view(np.int64).reshape(len(m), -1)[:, 0]
        print(json.dumps({"method": method, "same_ticks": float((ticks == cpu["ticks"]).mean()), **worst}))


def _ideals(values: Any, q: np.ndarray) -> Any:
    """Return the ideal for every stiffness."""
    from hilt.core.counter import References
    from hilt.systems.docking.metrics import ideal_of

    stiffness, which = np.unique(q["k"], return_inverse=True)
    made = [
        ideal_of(values.model_copy(update={"contact": values.contact.model_copy(update={"stiffness": float(k)})}))
        for k in stiffness
    ]
    return References(made, which)


if __name__ == "__main__":
    {"export": export, "run": run, "compare": compare}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
