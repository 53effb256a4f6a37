"""model.h: sizes, start values and the table of variables of one export, for the C sources in native/."""

import json
import math
from collections.abc import Iterable

import numpy as np

from hilt.core import faults
from hilt.core.signals import leaves
from hilt.core.system import Bench, System
from hilt.fmi.variables import LiveValue, Shown, Variable

_LAST_FAULT = 100


def text(system: System, bench: Bench, shown: Shown, stick: int, guid: str) -> str:
    places = max((len(live.places) for live in shown.lives), default=1)
    row = leaves(system.row)
    numbers = {
        "PERIOD": repr(float(bench.p["dt"][0])),
        "MODEL_GUID": json.dumps(guid),
        "VARIABLE_COUNT": len(shown.variables),
        "LIVE_PLACES": places,
        "LIVE_COUNT": len(shown.lives) + 1,  # C has no empty arrays
        "STICK_ADDRESS": f"({stick})",
        **{f"ROW_{name.upper()}": row[name][0] for name in ("tick", "t", "fault", "done")},
    }
    tables = {
        "VARIABLES": _braces(_variable(each) for each in shown.variables),
        "LIVES": _braces([*(_live(each) for each in shown.lives), "{0}"]),
        "CONSTANTS": _braces([*map(_number, shown.constants), "0"]),
        "FAULTS": _braces(_faults()),
    }
    for name, memory in (("ROW", bench.row), ("X", bench.x), ("W", bench.w), ("P", bench.p)):
        words = memory.view(np.uint64)
        numbers[f"{name}_WORDS"] = len(words)
        tables[f"START_{name}"] = _braces(f"[{place}]=0x{words[place]:x}u" for place in np.flatnonzero(words)) or "{0}"
    return "".join(f"#define {name} {value}\n" for name, value in {**numbers, **tables}.items())


def _braces(entries: Iterable[str]) -> str:
    inside = ",".join(entries)
    return f"{{{inside}}}" if inside else "{0}"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "INFINITY" if value > 0 else "-INFINITY"


def _variable(variable: Variable) -> str:
    return f"{{{json.dumps(variable.name)},{int(variable.kind)},{variable.offset},1}}"


def _live(live: LiveValue) -> str:
    places = _braces(map(str, live.places))
    numbers = ",".join(map(_number, (live.low, live.high, live.start)))
    return f"{{{json.dumps(live.name)},{numbers},{live.ramp},{places},{len(live.places)}}}"


def _faults() -> Iterable[str]:
    for code in range(1, _LAST_FAULT):
        words = faults.explain(code)
        if "does not know" not in words:
            yield f"{{{code},{_c_text(words)}}}"


def _c_text(words: str) -> str:
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'
