"""What of a run's scenario is not as it was shipped, and the command that runs it again."""

import shlex
from typing import Any, NamedTuple

from hilt import job
from hilt.core import scenario
from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.report import words
from hilt.report.scenario_text import literal


class Override(NamedTuple):
    """A key with its value in SI, and as people read it."""

    key: str
    value: Any
    shown: str


def overrides(system: System, name: str, values: Scenario) -> list[Override]:
    """Every value that differs from the shipped scenario of that name; nothing for a scenario of one's own."""
    shipped = _shipped(system, name)
    if shipped is None:
        return []
    before, after = (dict(_leaves(each.model_dump(mode="json"))) for each in (shipped, values))
    units = dict(scenario.keys(type(values)))
    return [
        Override(key, value, _shown(value, units.get(key, "")))
        for key, value in after.items()
        if key != "summary" and value is not None and before.get(key) != value
    ]


def command(system: System, name: str, values: Scenario) -> str:
    """What to type to run it again in simulation; nothing if no command says it."""
    if _shipped(system, name) is None:
        return f"hilt run {shlex.quote(name)}.toml" if name else ""
    changed = overrides(system, name, values)
    try:
        _, again, _ = job.find(system.name, name, [(each.key, each.value) for each in changed])
    except InputError:
        return ""
    if again.model_copy(update={"summary": values.summary}) != values:
        return ""
    default = name == system.default_scenario
    settings = [f"--set {shlex.quote(f'{each.key}={_typed(each.value)}')}" for each in changed]
    return " ".join([f"hilt run {system.name}", *([] if default else [f"--scenario {shlex.quote(name)}"]), *settings])


def _shipped(system: System, name: str) -> Scenario | None:
    path = system.scenario_files.get(name)
    if path is None:
        return None
    try:
        found: Scenario = scenario.build(system.scenario, scenario.read_toml(path))
    except InputError:
        return None
    return found


def _leaves(tree: dict[str, Any], path: str = "") -> Any:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield path + key, value


def _typed(value: Any) -> str:
    return value if isinstance(value, str) else literal(value)


def _shown(value: Any, unit: str) -> str:
    if isinstance(value, float) and unit not in ("", "1"):
        return words.si(value, unit, 6)
    return f"{value:g}" if isinstance(value, float) else _typed(value)
