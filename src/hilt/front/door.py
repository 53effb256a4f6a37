"""run, scenario, compare, load and system: what the functions of `import hilt` do."""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hilt import job, preflight
from hilt.core import registry, scenario
from hilt.core.faults import InputError
from hilt.core.scenario import Scenario, Setting
from hilt.core.system import System
from hilt.front.comparison import Comparison
from hilt.front.run import Run, warn_of_faults
from hilt.job import Result
from hilt.metrics.survey import KEPT_BYTES
from hilt.record.reading import rows_of_a_stranger, stored

Target = str | os.PathLike[str] | System | Scenario
Choice = str | os.PathLike[str] | Scenario | None
Found = tuple[System, Scenario, str]
LEVEL = 3  # stack level of the line that called the front door: hilt/__init__.py is in between
MOST = 100_000  # runs in a comparison


def settings_of(settings: Mapping[str, Any] | None) -> list[Setting]:
    """Flatten nested tables to dotted keys; NumPy numbers and paths become plain values."""
    return [(key, _plain(value)) for key, value in _flat(settings or {})]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def find(target: Target, choice: Choice, changes: Sequence[Setting]) -> Found:
    """Return the system, the checked scenario and its name."""
    if isinstance(target, Scenario):
        if choice is not None:
            raise InputError("a scenario was given twice; give it once, and changes to it as settings")
        return _changed(registry.system(target.system), target, changes)
    if isinstance(choice, Scenario):
        system = target if isinstance(target, System) else registry.system(os.fspath(target))
        return _changed(system, choice, changes)
    name = None if choice is None else os.fspath(choice)
    if isinstance(target, System):
        return job.of_system(target, name, changes)
    return job.find(os.fspath(target), name, changes)


def _changed(system: System, values: Scenario, changes: Sequence[Setting], name: str = "scenario") -> Found:
    if changes:
        tree = values.model_dump(mode="json")
        scenario.apply_settings(tree, changes)
        values = scenario.build(type(values), tree)
    return system, values, name


def run(
    target: Target,
    choice: Choice,
    settings: Mapping[str, Any] | None,
    record: str | os.PathLike[str] | None,
    rig: str | os.PathLike[str] | None,
) -> Run:
    result = _result(target, choice, settings, record, rig)
    warn_of_faults([result], LEVEL)
    return Run(result)


def _result(
    target: Target,
    choice: Choice,
    settings: Mapping[str, Any] | None,
    record: str | os.PathLike[str] | None,
    rig: str | os.PathLike[str] | None,
) -> Result:
    if rig is not None:
        return _on_devices(target, choice, settings, Path(record or "runs"), os.fspath(rig))
    found = find(target, choice, settings_of(settings))
    return job.simulate(*found) if record is None else job.run(*found, Path(record))


def _on_devices(target: Target, choice: Choice, settings: Mapping[str, Any] | None, folder: Path, rig: str) -> Result:
    from hilt.device import rigfile
    from hilt.live import session

    file = rigfile.load(rigfile.find(rig))
    system, _, _ = find(target, choice, ())
    return session.run(*find(target, choice, [*file.settings(system.name), *settings_of(settings)]), folder, file)


def compare(
    target: Target,
    choice: Choice,
    settings: Mapping[str, Any] | None,
    over: Mapping[str, Sequence[Any]],
    record: str | os.PathLike[str] | None,
) -> Comparison:
    values = {key: list(each) for key, each in over.items() if not isinstance(each, str)}
    if wrong := next((key for key in over if not values.get(key)), None):
        raise InputError(f"over[{wrong!r}] must be a list of at least one value, such as ['10 ms', '20 ms']", key=wrong)
    if not values:
        raise InputError("over names no key; give one with its values, such as {'robot.delay': ['10 ms', '20 ms']}")
    found: dict[str, Found] = {}
    with_changes = _finder(target, choice, settings_of(settings))
    for chosen in itertools.product(*values.values()):
        label = _unused(", ".join(_words(each) for each in chosen), found)
        found[label] = with_changes(settings_of(dict(zip(values, chosen, strict=True))))
        if len(found) > MOST:
            raise InputError(f"over makes more than {MOST} runs; give fewer values")
    longest = max(found.values(), key=lambda each: each[1].loop.duration / each[1].loop.period)
    preflight.check(preflight.estimate(*longest[:2], len(found), recorded=record is not None))
    return Comparison(_runs(found, record), values)


def _finder(target: Target, choice: Choice, settings: list[Setting]) -> Callable[[list[Setting]], Found]:
    """Return a function that applies changes to one scenario, read only once unless it needs the changes to be valid."""
    try:
        system, values, name = find(target, choice, settings)
    except InputError:
        return lambda changes: find(target, choice, [*settings, *changes])
    return lambda changes: _changed(system, values, changes, name)


def _runs(found: dict[str, Found], record: str | os.PathLike[str] | None) -> dict[str, Run]:
    """Run one after the other; rows are kept in memory up to KEPT_BYTES in all."""
    runs, kept = {}, 0
    for label, each in found.items():
        result = job.simulate(*each) if record is None else job.run(*each, Path(record))
        kept += result.rows.nbytes
        runs[label] = Run(result) if kept <= KEPT_BYTES or record is not None else Run.without_rows(result)
    warn_of_faults((run._result for run in runs.values()), LEVEL + 1)
    return runs


def _words(value: Any) -> str:
    """Return a value as text for the label of its run."""
    number = _plain(value)
    return f"{number:.6g}" if isinstance(number, float) else str(number)


def _unused(label: str, taken: Mapping[str, Any]) -> str:
    """Number the label if it is taken: values that print alike must not hide each other."""
    return next(each for n in itertools.count(1) if (each := label if n == 1 else f"{label} ({n})") not in taken)


def load(recording: str | os.PathLike[str]) -> Run:
    path = Path(recording)
    with rows_of_a_stranger(path):
        result = job.reopened(stored(path))
    warn_of_faults([result], LEVEL)
    return Run(result)
