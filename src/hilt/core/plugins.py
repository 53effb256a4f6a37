"""Third-party code: packages are found by entry points, single files by the environment variable HILT_PLUGINS.

    HILT_PLUGINS=damper.py hilt compare docking --over compensate.method=pida,damper

A plugin that cannot be loaded is reported in one sentence; everything else works without it. Only the user can choose the
files, never a scenario or a recording: a plugin runs with all of the user's rights.
"""

import importlib.util
import os
import sys
import warnings
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from hilt.compiled import private
from hilt.core.faults import InputError

VARIABLE = "HILT_PLUGINS"
_done: set[Path] = set()
_warned: set[str] = set()


class PluginWarning(UserWarning):
    """A plugin cannot be used; the rest of hilt works without it."""


def warn(error: InputError) -> None:
    """Warn about an error, but only once."""
    if str(error) not in _warned:
        _warned.add(str(error))
        warnings.warn(str(error), PluginWarning, stacklevel=2)


def load(entry: EntryPoint) -> Any:
    """Load an entry point of a package."""
    try:
        return entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist is not None else "a package"
        raise InputError(
            f"{entry.name} ({entry.value} of {package}) cannot be loaded: {_cause(error)}; fix or uninstall {package}"
        ) from None


def run_files() -> None:
    """Run the files of HILT_PLUGINS that have not been run yet: they register what they provide."""
    for text in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        path = Path(text).absolute()
        if path not in _done:
            _done.add(path)  # first, because what it registers may need the other files
            try:
                _run(path)
            except InputError as error:
                warn(error)


def _run(path: Path) -> None:
    what = f"the plugin {path.name} of {VARIABLE}"
    if not path.is_file():
        raise InputError(f"{what} is not loaded: there is no file {path}; name a .py file")
    objection = private.objection(path, file=True, roots=True) or private.objection(path.parent, roots=True)
    if objection:
        raise InputError(f"{what} is not loaded: {objection}; only you (and root) may be able to write there")
    if path.stem in sys.modules:
        raise InputError(f"{what} is not loaded: another module is also called {path.stem}; rename the file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{what} is not loaded: it is not a Python file; name a .py file")
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[path.stem]
        raise InputError(f"{what} cannot be loaded: {_cause(error)}; fix it") from None


def _cause(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
