"""Programs in a Python of their own."""

import os
import subprocess
import sys


def python(*words, cache, folder=None, **more):
    """What a program prints, in words, and its errors; with this folder as the compiler's cache, and compiling in any case."""
    usual = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    given = {**usual, "XDG_CACHE_HOME": str(cache), "NUMBA_DISABLE_JIT": "0", **more}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr
