"""How a run's scenario differs from the shipped one, and the command that runs it again."""

import shlex
from typing import Any, NamedTuple

from hilt import job
from hilt.core import scenario
from hilt.core.faults import InputError
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.report import differences
from hilt.report.differences import NOT_COMPARED, leaves, shown, unit_of
from hilt.report.scenario_text import literal


class Override(NamedTuple):
    """A key with its value in SI, and in readable form."""

    key: str
    value: Any
    shown: str


def overrides(system: System, name: str, values: Scenario) -> list[Override]:
    """Return every value that differs from the shipped scenario of that name; nothing for a user's scenario."""
    shipped = differences.shipped(system, name)
    if shipped is None:
        return []
    before, after = dict(leaves(shipped)), dict(leaves(values.model_dump(mode="json")))
    units = dict(scenario.keys(type(values)))
    return [
        Override(key, value, shown(value, unit_of(key, units)))
        for key, value in after.items()
        if key not in NOT_COMPARED and value is not None and before.get(key) != value
    ]


def command(system: System, name: str, values: Scenario) -> str:
    """Return the command that runs it again in simulation; empty if no command can."""
    if name not in system.scenario_files:
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


def _typed(value: Any) -> str:
    return value if isinstance(value, str) else literal(value)
