"""Export a system's loop as an FMU: plant and tick of a scenario as machine code, without Python.

Stepped at the loop's period it computes the rows of `hilt run`, bit for bit on the same machine.
"""

import hashlib
import platform
import shutil
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
from numba import carray, types

from hilt.compiled.objects import foreign, object_code
from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import Bench, System
from hilt.fmi import description2, tables, variables
from hilt.fmi.description2 import About
from hilt.fmi.variables import Shown
from hilt.plant.joystick import JOYSTICK

NATIVE = Path(__file__).parent / "native"
PLATFORMS = {("Linux", "x86_64"): "linux64"}  # FMI 2.0 has no name for other kinds of Linux
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off", "-Wall", "-Wextra")
LINKING = ("-Wl,--no-undefined", "-Wl,--exclude-libs,ALL", "-lm")


def export(system: System, values: Scenario, name: str, path: Path) -> Shown:
    """Write the FMU of a scenario and return its variables."""
    folder, compiler = _platform(), _compiler()
    check(system, values)
    bench = system.set_up(values)
    shown = variables.of(system, values, bench)
    identifier = _identifier(f"{system.name}_{name}")
    guid = _guid(system, values, bench)
    words = f"{system.summary}; scenario {name}, hash {values.hash()}, one step is {values.loop.period:g} s"
    about = About(
        f"{system.name} {name}", identifier, guid, words, f"hilt {version('hilt')}", values.loop.period, values.loop.duration
    )
    header = tables.text(system, bench, shown, variables.stick(system, values, bench), guid)
    library = _library(header, object_code(_turn(bench), _signature(bench), "hilt_turn"), compiler)
    draft = path.with_name(f"{path.name}.draft")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", description2.text(about, shown.variables))
        archive.writestr(f"binaries/{folder}/{identifier}.so", library)
        archive.writestr("resources/scenario.json", values.model_dump_json(indent=1))
    draft.replace(path)
    return shown


def check(system: System, values: Scenario) -> None:
    """Refuse what cannot go into a library, naming the block."""
    used = system.used_by(values)
    for block in (*used.tick, *used.plant):
        called = foreign(block.kind.step)
        if called and block.kind is not JOYSTICK:
            raise InputError(
                f"{system.name} cannot be exported: its block {block.name} calls a C library ({min(called)}), "
                "which an FMU would have to include; export a scenario without this block"
            )


def _platform() -> str:
    found = platform.system(), platform.machine()
    if found not in PLATFORMS:
        raise InputError(f"an FMU cannot be made on {' '.join(found)}; export on Linux with an x86-64 processor")
    return PLATFORMS[found]


def _compiler() -> str:
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is None:
        raise InputError("hilt export needs a C compiler and finds none; install gcc, for example with: apt install gcc")
    return found


def _turn(bench: Bench) -> Any:
    plant, tick = bench.code.plant, bench.code.tick

    def turn(part, row, x, w, p):
        row, x, w, p = carray(row, 1), carray(x, 1), carray(w, 1), carray(p, 1)
        if part == 0:
            plant(row, w, p)
        else:
            tick(row, x, p)

    return turn


def _signature(bench: Bench) -> Any:
    records = (types.CPointer(numba.from_dtype(each.dtype)) for each in (bench.row, bench.x, bench.w, bench.p))
    return types.void(types.int64, *records)


def _library(header: str, code: bytes, compiler: str) -> bytes:
    with TemporaryDirectory(prefix="hilt-fmu-") as name:
        folder = Path(name)
        (folder / "model.h").write_text(header, encoding="utf-8")
        (folder / "turn.o").write_bytes(code)
        library = folder / "library.so"
        sources = [str(NATIVE / "fmi2.c"), str(folder / "turn.o")]
        ran = subprocess.run(
            [compiler, *FLAGS, f"-I{folder}", f"-I{NATIVE}", *sources, "-o", str(library), *LINKING],
            capture_output=True,
            text=True,
        )
        if ran.returncode:
            first = next((line for line in ran.stderr.splitlines() if "error" in line or "undefined" in line), ran.stderr)
            raise InputError(f"the C compiler {compiler} cannot make the library: {first[:300]}; is it complete?")
        return library.read_bytes()


def _identifier(name: str) -> str:
    """Return a name that C accepts."""
    return "".join(each if each.isascii() and each.isalnum() else "_" for each in name)


def _guid(system: System, values: Scenario, bench: Bench) -> str:
    """Return a GUID of what is computed: equal exports have the same."""
    found = hashlib.sha256(f"{version('hilt')} {system.name} {values.canonical()}".encode())
    for memory in (bench.row, bench.x, bench.w):
        found.update(memory.tobytes())
    found.update(repr(system.row).encode())
    digits = found.hexdigest()[:32]
    return f"{{{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}}}"
