"""The desk: lists systems and scenarios, checks values key by key, and starts stations."""

import math
import threading
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hilt import job
from hilt.cockpit.wire import without_paths
from hilt.core import registry, scenario
from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.device import rigfile
from hilt.live import mailbox

RIGS = Path("rigs")
MOST_STATIONS = 8
MOST_KEY, MOST_LETTERS, MOST_DEPTH = 100, 2000, 5  # of a setting in a form
MOST_ERRORS = 20  # reported for one order: each costs a check of the whole
Error = dict[str, str]


class Order(BaseModel):
    """A scenario with some values changed, and the rig to run it on."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    system: str = Field(max_length=100)
    scenario: str = Field(max_length=100)
    settings: dict[str, Any] = Field(default_factory=dict, max_length=400)
    rig: str | None = Field(default=None, max_length=200)


def too_large(order: Order) -> list[Error]:
    """Return errors for settings that are too long or too deeply nested to be checked; nobody types such values."""
    return [
        {"key": key[:MOST_KEY], "sentence": f"{key[:MOST_KEY]} is too long or too deeply nested; give a shorter value"}
        for key, value in order.settings.items()
        if len(key) > MOST_KEY or _size(value, MOST_DEPTH) > MOST_LETTERS
    ]


def _size(value: Any, depth: int) -> float:
    """Return the approximate number of characters; infinite if it is nested too deeply."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        return value.bit_length() / 3
    if isinstance(value, list | dict):
        inside = [*value, *value.values()] if isinstance(value, dict) else value
        return math.inf if depth == 0 else sum(1 + _size(each, depth - 1) for each in inside)
    return 1


class Wrong(Exception):
    """An order that cannot be carried out: errors, each with its key."""

    def __init__(self, errors: list[Error]) -> None:
        super().__init__(errors)
        self.errors = errors


def systems() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "summary": system.summary,
            "default": system.default_scenario,
            "scenarios": [
                {"name": each, "summary": scenario.read_toml(path).get("summary", "")}
                for each, path in system.scenario_files.items()
            ],
        }
        for name, system in registry.systems().items()
    ]


def rigs() -> list[dict[str, str]]:
    """List the rig files of the folder `rigs`, and the dry labs of hilt unless that folder has one of the same name."""
    found = []
    for path in sorted(RIGS.glob("*.toml")):
        try:
            found.append({"path": str(path), "summary": rigfile.load(path, drivers=False).summary})
        except InputError as error:
            found.append({"path": str(path), "summary": f"cannot be used: {without_paths(str(error))}"})
    own = {Path(each["path"]).stem for each in found}
    ours = {name: rigfile.load(path, drivers=False) for name, path in rigfile.shipped().items() if name not in own}
    return [*found, *({"path": name, "summary": file.summary} for name, file in ours.items() if file.facility is not None)]


def shipped_system(name: str, scenario_name: str) -> System:
    """Return the system of a shipped scenario; a path to a file is refused."""
    system = registry.system(name)
    if scenario_name not in system.scenario_files:
        raise InputError(f"{scenario_name!r} is not a scenario of {name}; choose one of {', '.join(system.scenario_files)}")
    return system


def sheet(name: str, scenario_name: str) -> dict[str, Any]:
    """Return a scenario as a form needs it: schema, values in SI units, and the text of its file."""
    system = shipped_system(name, scenario_name)
    _, values, _ = job.find(name, scenario_name, [])
    return {
        "schema": system.scenario.model_json_schema(),  # type: ignore[attr-defined]
        "values": values.model_dump(mode="json"),
        "text": system.scenario_files[scenario_name].read_text(encoding="utf-8"),
        "metrics": dict(system.metric_words),
    }


def check(order: Order) -> list[Error]:
    """Return what is wrong with an order: each wrong value is set aside in turn, so that all are reported at once."""
    shipped_system(order.system, order.scenario)
    _, shipped, _ = job.find(order.system, order.scenario, [])
    settings, errors = dict(order.settings), []
    for key in [key for key, value in settings.items() if value is None]:
        del settings[key]
        if _value_at(shipped.model_dump(), key) is not None:
            errors.append({"key": key, "sentence": f"{key} is empty; give a value"})
    try:  # the rig's settings come first, as on the command line
        rig = [] if order.rig is None else rigfile.load(_rig(order.rig), drivers=False).settings(order.system)
    except InputError as error:
        return [*errors, {"key": "rig", "sentence": without_paths(str(error))}]
    while True:
        try:
            job.find(order.system, order.scenario, [*rig, *given(settings)])
        except InputError as error:
            key = _field(error, settings)
            errors.append({"key": key, "sentence": without_paths(_sentence(error, key))})
            if key not in settings or len(errors) >= MOST_ERRORS:
                return errors
            del settings[key]
        else:
            return errors


def given(settings: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the settings of a form; typed text is read as `--set` reads it."""
    return [(key, scenario.value(each.strip()) if isinstance(each, str) else _filled(each)) for key, each in settings.items()]


def _filled(value: Any) -> Any:
    """Return a value without its empty fields."""
    if isinstance(value, dict):
        return {key: _filled(each) for key, each in value.items() if each is not None}
    return [_filled(each) for each in value] if isinstance(value, list) else value


def _value_at(tree: Any, key: str) -> Any:
    for part in key.split("."):
        try:
            tree = tree[int(part)] if isinstance(tree, list | tuple) else tree[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return tree


def _sentence(error: InputError, key: str) -> str:
    """Return the sentence about a key, if the error lists several."""
    _, *several = str(error).split("\n")
    sentences = [each.strip() for each in several] or [str(error)]
    return next((each for each in sentences if each.startswith(f"{key} ")), sentences[0])


def _field(error: InputError, settings: dict[str, Any]) -> str:
    """Return the field to show an error beside: the first given one that it is about, else its own key."""
    about = [
        given for key in error.keys for given in settings if f"{key}.".startswith(f"{given}.") or given.startswith(f"{key}.")
    ]
    return about[0] if about else error.key


def _rig(path: str) -> Path:
    if path not in [each["path"] for each in rigs()]:
        raise InputError(f"{path!r} is not a rig file here; choose one from the folder {RIGS}")
    return rigfile.find(path)


class Desk:
    """Starts stations, one at a time; they live on when the server ends."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._lock = threading.Lock()

    def launch(self, order: Order) -> str:
        """Start a station for a checked order and return its session."""
        if len(mailbox.sessions()) >= MOST_STATIONS:
            raise Wrong([{"key": "", "sentence": f"{MOST_STATIONS} stations are running already; quit one first"}])
        from hilt.live import station

        settings = {key: value for key, value in order.settings.items() if value is not None}
        config = {
            "system": order.system,
            "scenario": order.scenario,
            "settings": given(settings),
            "rig": None if order.rig is None else str(_rig(order.rig)),
            "out": str(self._out),
            "go": False,
        }
        with self._lock:
            try:
                return station.launch(config)
            except InputError as error:
                raise Wrong([{"key": _field(error, settings), "sentence": without_paths(str(error))}]) from None
