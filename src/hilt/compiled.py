"""The compiler's one door: `jit`, with a cache that cannot be stale.

Numba's own cache looks at one file at a time: after an edit in a callee of another module the old machine code still
runs. So the cache directory is named by a hash of all our sources and Numba's version, before Numba is imported.
"""

import ctypes
import hashlib
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

_KEPT_CACHES = 4
_KEPT_SECONDS = 7 * 24 * 3600.0


def _sources_hash() -> str:
    # Bounds checks change the machine code but not Numba's own key.
    digest = hashlib.sha256(f"{version('numba')} {os.environ.get('NUMBA_BOUNDSCHECK', '')}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_directory() -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hilt"
    return root / f"numba-{_sources_hash()}"


def _forget_old_caches(newest: Path) -> None:
    """Old and unused ones only: another version of hilt may be running from its own."""
    age = {path: newest.stat().st_mtime - path.stat().st_mtime for path in newest.parent.glob("numba-*")}
    for stale in sorted(age, key=lambda path: age[path])[_KEPT_CACHES:]:
        if age[stale] > _KEPT_SECONDS:
            shutil.rmtree(stale, ignore_errors=True)


def _choose_cache() -> None:
    directory = _cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        directory.touch()
        _forget_old_caches(directory)
    except OSError:  # a home that cannot be written to
        directory = Path(tempfile.gettempdir()) / f"hilt-{os.getuid()}" / directory.name
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ["NUMBA_CACHE_DIR"] = str(directory)


if not os.environ.get("NUMBA_CACHE_DIR"):
    _choose_cache()

import numba  # noqa: E402  (the cache directory must be known first)
from llvmlite import binding  # noqa: E402
from numba import types  # noqa: E402

# In case somebody imported Numba before us.
vars(numba.config)["CACHE_DIR"] = os.environ.get("NUMBA_CACHE_DIR", "")

# error_model="numpy": a division by zero is inf, which the guard sees, and not an exception inside a tick.
# forceinline: left alone, LLVM stops inlining half-way through a tick, which costs a third of its speed.
jit = numba.njit(error_model="numpy", cache=True, forceinline=True)

# For a function that is big and called from several places: copied into each of them it would cost seconds of compiling.
jit_apart = numba.njit(error_model="numpy", cache=True)


def external(name: str, result: Any, *arguments: Any, library: Path | None = None) -> Any:
    """A C function, called alike from compiled code and without the compiler; addresses are whole numbers (intp).

    It enters compiled code as an external symbol: a pointer would forbid the cache.
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
