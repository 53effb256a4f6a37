"""An instance of an FMU: made and initialized for one bench, and freed with it.

Only this module calls an FMU from Python; during a run compiled code calls it (calls.py).
"""

import atexit
import ctypes
import functools
import sys
import weakref
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_void_p
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hilt.core.faults import InputError, shortened
from hilt.fmi import archive, calls, description, section, wiring
from hilt.fmi.description import Description
from hilt.fmi.section import Fmu
from hilt.fmi.wiring import Wires

CO_SIMULATION = 1  # fmi2Type
ERROR, FATAL = 3, 4  # statuses: after ERROR an instance may only be freed, after FATAL not even that
ROUNDING = 1e-9  # relative, of a step
# The logger of FMI 2 is called like printf: a format and its arguments, of which we take the first.
_LOGGER_2 = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p, c_void_p)
_LOGGER_3 = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)


class _Callbacks2(ctypes.Structure):
    _fields_ = (
        ("logger", _LOGGER_2),
        ("allocate", c_void_p),
        ("free", c_void_p),
        ("finished", c_void_p),
        ("environment", c_void_p),
    )


# Argument types of the functions called here; every function but the one that instantiates returns a status.
_REALS = {2: (c_void_p, c_void_p, c_size_t, c_void_p), 3: (c_void_p, c_void_p, c_size_t, c_void_p, c_size_t)}
_FUNCTIONS: dict[int, dict[str, tuple[Any, ...]]] = {
    2: {
        "fmi2Instantiate": (c_char_p, c_int, c_char_p, c_char_p, POINTER(_Callbacks2), c_int, c_int),
        "fmi2SetupExperiment": (c_void_p, c_int, c_double, c_double, c_int, c_double),
        "fmi2EnterInitializationMode": (c_void_p,),
        "fmi2ExitInitializationMode": (c_void_p,),
        "fmi2SetReal": _REALS[2],
        "fmi2GetReal": _REALS[2],
        "fmi2DoStep": (c_void_p, c_double, c_double, c_int),
        "fmi2Terminate": (c_void_p,),
        "fmi2FreeInstance": (c_void_p,),
    },
    3: {
        "fmi3InstantiateCoSimulation": (
            *(c_char_p, c_char_p, c_char_p, c_bool, c_bool, c_bool, c_bool),
            *(c_void_p, c_size_t, c_void_p, _LOGGER_3, c_void_p),
        ),
        "fmi3EnterInitializationMode": (c_void_p, c_bool, c_double, c_double, c_bool, c_double),
        "fmi3ExitInitializationMode": (c_void_p,),
        "fmi3SetFloat64": _REALS[3],
        "fmi3GetFloat64": _REALS[3],
        "fmi3DoStep": (c_void_p, c_double, c_double, c_bool, c_void_p, c_void_p, c_void_p, c_void_p),
        "fmi3Terminate": (c_void_p,),
        "fmi3FreeInstance": (c_void_p,),
    },
}


def open_for(p: Any, fmu: Fmu, about: Description, sends: Wires, takes: Wires, inputs: np.ndarray) -> "Instance":
    """Open an instance for a bench with these parameters; it lives as long as they do."""
    made = Instance(fmu, about, sends, takes)
    memory = p
    while getattr(memory, "base", None) is not None:
        memory = memory.base
    weakref.finalize(memory, made.free)
    made.initialize(inputs)
    return made


def described(fmu: Fmu, period: float) -> Description:
    """Return the FMU's description, if it is the scenario's FMU and can be stepped here at this period."""
    key, path = fmu.KEY, fmu.file
    found = section.digest(path, key)
    if found != fmu.sha256:
        raise archive.refusal(
            path,
            f"has the hash {found[:12]}…, but the scenario was made with {fmu.sha256[:12]}…",
            f"use that FMU, or leave out {key}.sha256 to start a scenario with this one",
            f"{key}.sha256",
        )
    about = _read(path, found, key)
    if about.needs_tool and not about.in_python:
        raise archive.refusal(
            path,
            f"needs {about.tool or 'its tool'} on this machine, and a licence for it (needsExecutionTool)",
            "export it as a standalone FMU",
            key,
        )
    if about.fixed_step:
        ratio = period / about.fixed_step
        if ratio < 0.5 or abs(ratio - round(ratio)) > ROUNDING * ratio:
            raise archive.refusal(
                path,
                f"can only be stepped by multiples of {about.fixed_step:g} s, but loop.period is {period:g} s",
                "change loop.period, or export it with another step",
                "loop.period",
            )
    return about


@functools.lru_cache(maxsize=16)
def _read(path: Path, digest: str, key: str) -> Description:
    return description.read(path, key)


class Instance:
    """An FMU instance, made but not yet initialized."""

    def __init__(self, fmu: Fmu, about: Description, sends: Wires, takes: Wires) -> None:
        self._fmu, self._about, self.version = fmu, about, about.version
        self.sends, self.takes = sends, takes
        self._message = ""
        self._instance: int | None = None
        self._folder = _unpacked(fmu, about)
        self._library = _loaded(fmu, about, Path(self._folder.name))
        if about.in_python:
            _warn_slow(about.name)
        # For the compiled code: what was done so far (calls.py), and the references in C's format.
        self._memory = np.zeros(calls.MEMORY, np.int64)
        self._references = [np.array(wires.references, np.uint32) for wires in (sends, takes)]
        self._instance = self._instantiate()
        if not self._instance:
            raise self._refused("cannot be instantiated", "see what its tool requires of this machine")
        get, put = ("fmi2GetReal", "fmi2SetReal") if self.version == 2 else ("fmi3GetFloat64", "fmi3SetFloat64")
        self.addresses: dict[str, int] = {
            "instance": self._instance,
            "do_step": self._address(f"fmi{self.version}DoStep"),
            "get": self._address(get),
            "set": self._address(put),
            "memory": self._memory.ctypes.data,
            "sends": self._references[0].ctypes.data,
            "takes": self._references[1].ctypes.data,
        }
        self.start = np.zeros(calls.MOST)  # the outputs at the start

    def _address(self, name: str) -> int:
        return ctypes.cast(getattr(self._library, name), c_void_p).value or 0

    def _instantiate(self) -> int | None:
        resources, token = Path(self._folder.name) / "resources", self._about.token.encode()
        found: int | None
        if self.version == 2:
            libc = ctypes.CDLL(None)
            memory = (ctypes.cast(function, c_void_p) for function in (libc.calloc, libc.free))
            self._callbacks = _Callbacks2(_LOGGER_2(self._log_2), *memory, None, None)
            found = self._library.fmi2Instantiate(
                b"hilt", CO_SIMULATION, token, resources.as_uri().encode(), byref(self._callbacks), 0, 0
            )
        else:
            self._logger = _LOGGER_3(self._log_3)
            found = self._library.fmi3InstantiateCoSimulation(
                b"hilt", token, f"{resources}/".encode(), *[False] * 4, None, 0, None, self._logger, None
            )
        return found

    def _log_2(self, environment: Any, name: bytes, status: int, category: bytes, words: bytes, first: int) -> None:
        # Only the format "%s" guarantees that there is a text.
        found = ctypes.cast(first, c_char_p).value if words == b"%s" and first else words
        self._message = (found or b"")[:300].decode(errors="replace")

    def _log_3(self, environment: Any, status: int, category: bytes, words: bytes) -> None:
        self._message = (words or b"")[:300].decode(errors="replace")

    def initialize(self, inputs: np.ndarray) -> None:
        """Set parameters and start values of the inputs, and read the outputs at the start."""
        self._set_parameters()
        if self.version == 2:
            self._call("fmi2SetupExperiment", 0, 0.0, 0.0, 0, 0.0)
            self._call("fmi2EnterInitializationMode")
        else:
            self._call("fmi3EnterInitializationMode", False, 0.0, 0.0, False, 0.0)
        self._reals("set", self._references[0], np.array([inputs[place] for place in self.sends.places], float))
        self._call(f"fmi{self.version}ExitInitializationMode")
        found = np.zeros(len(self.takes.places))
        self._reals("get", self._references[1], found)
        self.start[list(self.takes.places)] = found

    def _set_parameters(self) -> None:
        key = f"{self._fmu.KEY}.parameters"
        for name, value in self._fmu.parameters.items():
            values = np.atleast_1d(np.array(value, float))
            references = wiring.vector(self._about, name, len(values))
            if references is None:
                entries = f" of {len(values)} entries" if len(values) > 1 else ""
                raise InputError(
                    f"the FMU {self._about.name} has no parameter {shortened(name)!r}{entries}; correct {key}", key=key
                )
            self._reals("set", np.array(references, np.uint32), values, f"does not take {shortened(name)!r}")

    def _reals(self, verb: str, references: np.ndarray, values: np.ndarray, what: str = "") -> None:
        if not len(references):
            return
        name = f"fmi{self.version}{verb.capitalize()}{description.NUMBERS[self.version]}"
        sizes = (len(values),) if self.version == 3 else ()
        self._call(name, references.ctypes.data, len(references), values.ctypes.data, *sizes, what=what)

    def _call(self, name: str, *arguments: Any, what: str = "") -> None:
        status = getattr(self._library, name)(self._instance, *arguments)
        if status > calls.WARNING or status < 0:
            self._memory[1] = status
            raise self._refused(what or f"fails to start: {name} returns {status}", "check its parameters and its variables")

    def _refused(self, why: str, advice: str) -> InputError:
        message = f" and says {shortened(self._message)!r}" if self._message else ""
        return archive.refusal(self._fmu.file, why + message, advice, self._fmu.KEY)

    def free(self) -> None:
        """Free the instance once; not after a fatal error, which forbids any further call."""
        instance, self._instance = self._instance, None
        status = int(self._memory[1])
        if instance and status != FATAL:
            if status != ERROR:
                getattr(self._library, f"fmi{self.version}Terminate")(instance)
            getattr(self._library, f"fmi{self.version}FreeInstance")(instance)
        if self._about.only_once:
            self._folder.cleanup()


def _loaded(fmu: Fmu, about: Description, folder: Path) -> ctypes.CDLL:
    path = folder / "binaries" / (about.folder or "") / f"{about.identifier}.so"
    if about.folder is None or not path.is_file():
        there = sorted(each.name for each in (folder / "binaries").glob("*") if each.is_dir())
        has = (
            f"has libraries for {', '.join(there[:6])}, but none for this machine"
            if there
            else "has no library for this machine"
        )
        wanted = about.folder or "a machine that FMI has no name for"
        raise archive.refusal(
            fmu.file,
            f"{has}, {wanted}",
            "export it for this machine, or compile its sources",
            fmu.KEY,
        )
    try:
        library = ctypes.CDLL(str(path))
        for name, arguments in _FUNCTIONS[about.version].items():
            function = getattr(library, name)
            function.argtypes = arguments
            function.restype = c_void_p if "Instantiate" in name else None if "Free" in name else c_int
    except OSError as error:
        why = shortened(str(error).replace(str(folder), ""))
        raise archive.refusal(
            fmu.file, f"has a library that cannot be loaded: {why}", "install what it needs", fmu.KEY
        ) from None
    except AttributeError:
        raise archive.refusal(
            fmu.file, f"has a library without {name}", "export it again, for co-simulation", fmu.KEY
        ) from None
    return library


_folders: dict[str, TemporaryDirectory[str]] = {}


def _unpacked(fmu: Fmu, about: Description) -> TemporaryDirectory[str]:
    """Return the folder of its files. A library that works only once in a process is unpacked again, as another library."""
    if about.only_once:
        return _unpack(fmu)
    if fmu.sha256 not in _folders:
        _folders[fmu.sha256] = _unpack(fmu)
        atexit.register(_folders[fmu.sha256].cleanup)
    return _folders[fmu.sha256]


def _unpack(fmu: Fmu) -> TemporaryDirectory[str]:
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="hilt-fmu-")
    archive.unpack(fmu.file, Path(folder.name), fmu.KEY)
    return folder


@functools.cache
def _warn_slow(name: str) -> None:
    print(
        f"hilt: the FMU {name} is written in Python: a step takes tens of microseconds, and occasionally much longer; "
        "use one in C on a robot",
        file=sys.stderr,
    )
