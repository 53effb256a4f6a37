"""Access to the compiler: `jit`, with a cache that cannot be stale and that nobody else can write to.

Numba's own cache looks at one file at a time: after an edit in a callee of another module the old machine code still runs.
Here the code of a module is kept under a hash of all sources that the module can reach (reach.py), so it is found again as
long as those are unchanged, and an edit elsewhere causes no compiling.

Cached code is unpickled, so it is read only from a folder that only we can write to (private.py). Without one nothing is kept.
"""

import ctypes
import functools
import os
import shutil
import sys
import threading
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba import types
from numba.core import caching
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.runtime import rtsys

from hilt.compiled import inner, private, reach, turns
from hilt.compiled.interpreted import interpreted as interpreted
from hilt.compiled.interpreted import reaches_c as reaches_c

# One process may use two records that begin alike: the same fields at the same offsets, so this is harmless.
warnings.filterwarnings("ignore", r"[\s\S]*has been considered a subtype", NumbaExperimentalFeatureWarning)

_KEPT = 4  # versions of a module
_KEPT_SECONDS = 7 * 24 * 3600.0
SOURCE = "source.py"  # name of generated source files
_SAID = "HILT_NO_CACHE"  # in the environment, so that child processes do not repeat the message


def _root() -> Path | None:
    """The folder of compiled code; None, with a message, if there is none."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # ignore a relative one: it would depend on the working folder
        cache = os.path.expanduser("~/.cache")
    folder = Path(chosen) if chosen else Path(cache) / "hilt"
    # Numba's version and bounds checks change the machine code, but not Numba's key.
    folder /= f"numba-{version('numba')}{'-bounds' if os.environ.get('NUMBA_BOUNDSCHECK') == '1' else ''}"
    homeless = not chosen and not os.path.isabs(cache)  # no HOME, and no entry in the list of users
    objection = "there is no home folder" if homeless else private.make(folder.parent) or private.make(folder)
    if not objection:
        return folder
    if not os.environ.get(_SAID):
        print(
            f"hilt: compiled code is not kept, so every start takes a minute: {objection}; "
            "set XDG_CACHE_HOME to a folder that only you can write to",
            file=sys.stderr,
        )
        os.environ[_SAID] = "1"
    return None


ROOT = _root()


@functools.cache
def _folder_of(path: Path) -> Path:
    """Where the code of a module is kept."""
    assert ROOT is not None
    if path.parent.parent == ROOT:  # generated source: see keep_source
        return path.parent
    name = ".".join(path.relative_to(reach.PACKAGE).parts) if path.is_relative_to(reach.PACKAGE) else path.name
    folder = ROOT / f"{name}-{reach.digest(path)}"
    if folder.is_dir():
        os.utime(folder)  # still in use
    return folder


def _make(folder: Path) -> None:
    """Make a folder for the code of a module, and remove those that have not been used for long."""
    folder.mkdir(mode=private.MODE, exist_ok=True)
    name = folder.name.rpartition("-")[0]
    used = sorted(folder.parent.glob(f"{name}-*"), key=lambda path: -path.stat().st_mtime)
    newest = used[0].stat().st_mtime
    for old in used[_KEPT:]:  # some are kept, because another version of hilt may be running from its own
        if newest - old.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(old, ignore_errors=True)


def keep_source(name: str, stamp: str, text: str) -> Path | None:
    """Write generated source to the folder of its compiled code; None if nothing is kept.

    `stamp` is a hash of everything that the code depends on, the text included.
    """
    if ROOT is None:
        return None
    file = ROOT / f"{name}-{stamp}" / SOURCE
    if not file.is_file():
        _make(file.parent)
        # Another process or thread may be writing the same file.
        draft = file.with_name(f"{os.getpid()}-{threading.get_ident()}.draft")
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    else:
        os.utime(file.parent)  # still in use
    return file


class _Place(caching._CacheLocator):
    """Tells Numba where a function's code is kept and which sources it was made from."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file, self._line, self._module = file, function.__code__.co_firstlineno, function.__module__
        self._path = _folder_of(Path(file))

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_Place":
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(self._path)

    def ensure_cache_path(self) -> None:
        if self._path.is_dir():
            return
        _make(self._path)

    def get_source_stamp(self) -> str:
        return self._path.name

    def get_disambiguator(self) -> str:
        return f"{self._line}-{self._module}"  # cached code looks up its module by name


class _InnerPlace(_Place):
    """The same for code that only compiled code calls."""

    def get_disambiguator(self) -> str:
        return f"{super().get_disambiguator()}-inner"


class _Results(caching.CompileResultCacheImpl):
    _locator_classes = [_Place]  # noqa: RUF012  (as Numba has it)


class _InnerResults(inner.InnerResults):
    _locator_classes = [_InnerPlace]  # noqa: RUF012


class _Kept(caching.FunctionCache):
    """The kept code of a function."""

    def __init__(self, function: Any, turns: turns.Turns, impl_class: type[caching.CompileResultCacheImpl]) -> None:
        self._impl_class = impl_class
        super().__init__(function)
        self._turns = turns

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._load(sig, target_context)
        if found is None:
            self._impl.locator.ensure_cache_path()
            if self._turns.wait(f"{self._cache_file._index_path}.lock"):
                found = self._load(sig, target_context)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        """Numba's own `load_overload` first imports all that compiling needs, for a third of a second; kept code needs only the
        runtime."""
        rtsys.initialize(target_context)
        try:
            return self._load_overload(sig, target_context)
        except ImportError:  # it calls into a module that was loaded under a name unknown here
            return None


def importable(function: Any) -> bool:
    """Whether its module can be found by name, as cached code has to."""
    module = sys.modules.get(plain(function).__module__)
    return module is not None and vars(module) is plain(function).__globals__


class _Cache:
    """The cache of a function, made when it is first asked for: a process calls few of the functions that it imports. Code is
    kept if the function has a source file and a module, and if there is a folder."""

    def __init__(self, function: Any, impl_class: type[caching.CompileResultCacheImpl]) -> None:
        self.turns = turns.Turns()
        self._function, self._impl_class = function, impl_class

    @functools.cached_property
    def _made(self) -> Any:
        function = self._function
        if ROOT is None or not os.path.exists(function.__code__.co_filename) or not importable(function):
            return caching.NullCache()
        return _Kept(function, self.turns, self._impl_class)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _cached(dispatcher: Any, impl_class: type[caching.CompileResultCacheImpl]) -> Any:
    dispatcher._cache = _Cache(dispatcher.py_func, impl_class)
    dispatcher.compile = turns.taken(dispatcher.compile, dispatcher._cache.turns)
    return dispatcher


def _compiled(function: Any, **options: Any) -> Any:
    """Make two entries to a function: one for Python, and one for compiled code, which needs neither a wrapper nor its own
    machine code (inner.py). The second one is made when something that calls it is compiled."""
    njit: Any = functools.partial(numba.njit, error_model="numpy", no_cfunc_wrapper=True, **options)
    outer = njit(pipeline_class=inner.TopCompiler)(function)
    if not hasattr(outer, "py_func"):  # NUMBA_DISABLE_JIT
        return outer

    @functools.cache
    def within() -> Any:
        return _cached(njit(no_cpython_wrapper=True, pipeline_class=inner.InnerCompiler)(function), _InnerResults)

    outer.inner = within
    outer.get_call_template = lambda args, kws: within().get_call_template(args, kws)
    outer.get_overload = lambda sig: within().get_overload(sig)
    return _cached(outer, _Results)


def jit(function: Any) -> Any:
    """Compile a function of the loop.

    error_model="numpy": a division by zero gives inf, which the guard sees, instead of an exception inside a tick.
    forceinline: otherwise LLVM stops inlining half-way through a tick, which costs a third of its speed.
    """
    return _compiled(function, forceinline=True)


def jit_apart(function: Any) -> Any:
    """Compile a big function that is called from several places; inlining it in each would cost seconds of compiling."""
    return _compiled(function, forceinline=False)  # explicit, since otherwise the caller's setting is inherited


def jit_free(function: Any) -> Any:
    """Compile a long-running loop: it releases the GIL, so that other Python threads can run meanwhile."""
    return _compiled(function, forceinline=True, nogil=True)


def plain(function: Any) -> Any:
    """The Python function behind a compiled one."""
    return getattr(function, "py_func", function)


def external(name: str, result: Any, *arguments: Any, library: Path | None = None) -> Any:
    """A C function that can be called from compiled code and without the compiler alike; addresses are integers (intp).

    It enters compiled code as an external symbol: a pointer would prevent caching.
    """
    if not vars(numba.config)["DISABLE_JIT"]:
        if library is not None:
            binding.load_library_permanently(str(library))
        return types.ExternalFunction(name, result(*arguments))
    native = {types.void: None, types.intp: ctypes.c_ssize_t, types.int32: ctypes.c_int, types.float64: ctypes.c_double}
    function = getattr(ctypes.CDLL(None if library is None else str(library)), name)
    function.restype, function.argtypes = native[result], [native[kind] for kind in arguments]
    return function


memcpy = external("memcpy", types.intp, types.intp, types.intp, types.intp)
