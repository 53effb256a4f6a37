"""The compiler's one door: `jit`, with a cache that cannot be stale.

Numba's own cache looks at one file at a time: after an edit in a callee of another module the old machine code still
runs. So the cache directory is named by a hash of all our sources and Numba's version, before Numba is imported.
"""

import hashlib
import os
import shutil
from importlib.metadata import version
from pathlib import Path

_KEPT_CACHES = 4


def _sources_hash() -> str:
    # Bounds checks change the machine code but not Numba's own key.
    digest = hashlib.sha256(f"{version('numba')} {os.environ.get('NUMBA_BOUNDSCHECK', '')}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_directory() -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hilt"
    return root / f"numba-{_sources_hash()}"


def _forget_old_caches(root: Path) -> None:
    by_age = sorted(root.glob("numba-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for stale in by_age[_KEPT_CACHES:]:
        shutil.rmtree(stale, ignore_errors=True)


def _choose_cache() -> None:
    directory = _cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _forget_old_caches(directory.parent)
    except OSError:
        return  # a read-only home: Numba falls back to its own choice
    os.environ["NUMBA_CACHE_DIR"] = str(directory)


if "NUMBA_CACHE_DIR" not in os.environ:
    _choose_cache()

import numba  # noqa: E402  (the cache directory must be known first)

# In case somebody imported Numba before us.
vars(numba.config)["CACHE_DIR"] = os.environ.get("NUMBA_CACHE_DIR", "")

# error_model="numpy": a division by zero is inf, which the guard sees, and not an exception inside a tick.
# forceinline: left alone, LLVM stops inlining half-way through a tick, which costs a third of its speed.
jit = numba.njit(error_model="numpy", cache=True, forceinline=True)
