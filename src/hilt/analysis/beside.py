"""What a report shows beside a run: the same scenario with another method, integrator or policy, and its ideal.

Computing it needs simulations, and takes longer than drawing. So a command requests it (`computed`) and it is kept in a file
beside the recording (`keep`), from which the same page is drawn again without simulating anything (`kept`). A system provides
`analysis.beside` with a function `beside(result) -> Beside`; without it there is nothing to add.

The file is a compressed NumPy archive: a description as JSON, and the rows of each run with the signals that are drawn. Like a
recording, it may come from an untrusted source: nothing in it is trusted, and a file that does not fit is ignored.
"""

import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields

from hilt.core import scenario
from hilt.core.faults import Fault, InputError
from hilt.core.missing import Missing
from hilt.job import Beside, Result
from hilt.record.layout import describe, type_from

MOST_BYTES = 1 << 29  # of a file, unpacked
MOST_PARTS = 100
_FAULT = {"code": int, "name": str, "tick": int, "t": float, "axis": str, "value": float, "limit": float, "sentence": str}


def computed(result: Result) -> Result:
    """The result with its system's comparison runs; a long run, of which not all rows are kept, is returned unchanged."""
    own = result.system.part("analysis.beside")
    if own is None or result.survey is not None:
        return result
    return replace(result, beside=own.beside(result))


def slim(run: Result, signals: Iterable[str]) -> Result:
    """A run reduced to its time and the signals that are drawn."""
    rows: np.ndarray = repack_fields(run.rows[["t", *signals]])
    return replace(run, rows=rows, recording=None)


def path_of(recording: Path) -> Path:
    return recording.with_suffix(".beside.npz")


def keep(result: Result) -> None:
    """Write the comparison runs to a file beside the recording; if that fails, they are computed again when needed."""
    if result.beside is None or result.recording is None:
        return
    arrays = {f"rows{n}": np.frombuffer(run.rows.tobytes(), np.uint8) for n, run in enumerate(result.beside.runs.values())}
    about = {
        "hash": result.scenario.hash(),
        "figures": _encoded(result.beside.numbers),
        "runs": {name: _described(run) for name, run in result.beside.runs.items()},
    }
    packed = io.BytesIO()
    np.savez_compressed(packed, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
    try:
        path_of(result.recording).write_bytes(packed.getvalue())
    except OSError:
        return


def _described(run: Result) -> dict[str, Any]:
    return {
        "scenario": run.scenario.model_dump(mode="json"),
        "metrics": _encoded(run.metrics),
        "fault": run.fault and run.fault.as_json(),
        "row": describe(run.rows.dtype),
    }


def kept(result: Result) -> Result:
    """The result with the comparison runs stored beside its recording; unchanged if there are none that fit."""
    if result.recording is None or result.survey is not None:
        return result
    try:
        return replace(result, beside=_read(path_of(result.recording), result))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError, InputError):
        return result
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):  # whatever a broken archive may raise
        return result


def _read(path: Path, result: Result) -> Beside:
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        if len(parts) > MOST_PARTS or sum(part.file_size for part in parts) > MOST_BYTES:
            raise ValueError("too large")
    with np.load(path, allow_pickle=False) as found:
        about = json.loads(found["about"].tobytes())
        if about["hash"] != result.scenario.hash():
            raise ValueError("of another scenario")
        runs = {
            str(name): _run(kept, found[f"rows{n}"].tobytes(), result) for n, (name, kept) in enumerate(about["runs"].items())
        }
    return Beside(runs, dict(_decoded(about["figures"])))


def _run(description: dict[str, Any], data: bytes, result: Result) -> Result:
    fault = description["fault"]
    if fault is not None:
        fault = Fault(**{name: kind(fault[name]) for name, kind in _FAULT.items()})
    values = scenario.build(type(result.scenario), description["scenario"])
    rows = np.frombuffer(data, type_from(description["row"]))
    return Result(result.system, values, result.name, rows, dict(_decoded(description["metrics"])), {}, fault, None)


def _encoded(value: Any) -> Any:
    """JSON has no missing or infinite numbers: they are written with their value and reason."""
    if isinstance(value, dict):
        return {key: _encoded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(each) for each in value]
    if isinstance(value, Missing):
        return {"missing": value.reason, "value": str(float(value))}
    if isinstance(value, float) and not np.isfinite(value):
        return {"missing": "", "value": str(float(value))}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"missing", "value"}:
        number = float(value["value"])
        return Missing(str(value["missing"]), number) if value["missing"] else number
    if isinstance(value, dict):
        return {str(key): _decoded(each) for key, each in value.items()}
    return [_decoded(each) for each in value] if isinstance(value, list) else value
