"""User-defined drivers: `driver = "module:Class"` in a rig file runs that module's code, with all your rights.

So a rig file alone cannot choose the code. The module is beside the rig file, or the user names it on the command line:

    --driver FILE.py          a file; `driver = "FILE:Class"` in the rig file then refers to it
    --driver module:Class     a class of an installed package

Wherever it is, nobody else may have write access to it, to its folder, or to a folder above. Being in the working folder is
not enough.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from hilt.compiled import private
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.host import machine

_files: dict[str, Path] = {}  # named on the command line, by module name
_classes: list[str] = []


def allow(*given: str) -> None:
    """Register what the command line names: files, and classes of installed packages."""
    for each in given:
        if each.endswith(".py"):
            path = Path(each).absolute()
            if not path.is_file():
                raise InputError(f"--driver {each}: there is no such file; give the path of a .py file")
            _files[path.stem] = path
        elif ":" in each:
            _classes.append(each)
        else:
            raise InputError(f"--driver {each} is neither a .py file nor module:Class; write for example --driver my_robot.py")


def allowed() -> list[str]:
    """Return what `allow` registered, for a child process."""
    return [*map(str, _files.values()), *_classes]


def driver(group: str, name: str, beside: Path | None = None) -> Any:
    """Return the rig file's section of a robot or a sensor, by its name or as the user's `module:Class`."""
    return find(name, beside) if ":" in name else registry.load(group, name)


def find(name: str, beside: Path | None) -> Any:
    """Return the class that `module:Class` names, for a rig file in the folder `beside`."""
    module, _, attribute = name.partition(":")
    parts = module.split(".")
    if not all(part.isidentifier() for part in (*parts, attribute)):
        raise InputError(f"driver {name!r} is not module:Class; write for example my_robot:Robot", key="driver")
    path = _files.get(module) or _beside(parts, beside)
    if path is not None:
        found = _load(name, module, path)
    elif name in _classes:
        found = _import(name, module)
    else:
        raise InputError(
            f"driver {name!r} was not found: put {parts[0]}.py beside the rig file, or name it: --driver {parts[0]}.py, or "
            f"--driver {name} for an installed package",
            key="driver",
        )
    machine.look_at(found)
    made = getattr(found, attribute, None)
    if not (isinstance(made, type) and issubclass(made, BaseModel) and hasattr(made, "connect")):
        raise InputError(
            f"driver {name!r}: {attribute} must be a hilt.scenario.Section with connect(); see docs/lab.md", key="driver"
        )
    return made


def _beside(parts: list[str], folder: Path | None) -> Path | None:
    if folder is None:
        return None
    stem = folder.joinpath(*parts)
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def _check(name: str, path: Path) -> None:
    """Refuse code that others can change: the file, what it may import from beside it, and the folders that contain them."""
    places = [path, *path.parent.glob("*.py")]
    folders = [path.parent, *(each for each in (path.parent / "__pycache__",) if each.exists())]
    objections = [private.objection(each, file=True, roots=True) for each in places]
    objections += [private.objection(each, roots=True) for each in folders]
    if objection := next(filter(None, objections), ""):
        raise InputError(
            f"driver {name!r} is not loaded: {objection}; only you (and root) may be able to write there", key="driver"
        )


def _load(name: str, module: str, path: Path) -> ModuleType:
    _check(name, path)
    known = sys.modules.get(module)
    if known is not None:
        if Path(str(getattr(known, "__file__", ""))).absolute() == path.absolute():
            return known
        raise InputError(f"driver {name!r}: another module is also called {module}; rename {path.name}", key="driver")
    folder = str(path.absolute().parents[module.count(".") + (path.name == "__init__.py")])
    if folder not in sys.path:
        sys.path.append(folder)  # for its imports from the same folder; last, so that it hides no other modules
    if "." in module:  # its package comes first
        return _import(name, module)
    spec = importlib.util.spec_from_file_location(module, path.absolute())
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[module] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(made)
    except Exception as error:
        del sys.modules[module]
        if isinstance(error, InputError):
            raise
        raise _broken(name, error) from None
    return made


def _import(name: str, module: str) -> ModuleType:
    if module in sys.modules:  # already loaded
        return sys.modules[module]
    try:
        top = importlib.util.find_spec(module.partition(".")[0])
        if top is not None and top.origin is not None and Path(top.origin).is_file():
            _check(name, Path(top.origin))
        return importlib.import_module(module)
    except InputError:
        raise
    except Exception as error:
        raise _broken(name, error) from None


def _broken(name: str, error: Exception) -> InputError:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return InputError(f"driver {name!r} cannot be loaded: {words}; fix its module", key="driver")
