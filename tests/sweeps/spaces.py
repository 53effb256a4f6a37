"""Spaces for tests: one of every system, with axes in the same blocks and in different ones."""

from typing import Any

from hilt import job
from hilt.core import registry, scenario
from hilt.sweeps.space import Axis, Space

SHORT = {
    "docking": [],
    "freefloat": ["loop.duration=0.3 s"],
    "payload": ["loop.duration=0.3 s"],
    "aerial": ["loop.duration=0.3 s"],
}
AXES: dict[str, dict[str, list[Any]]] = {
    "docking": {
        "robot.delay": [0.01, 0.02, 0.03],
        "compensate.method": ["none", "pida", "twin"],
        "contact.stiffness": [50e3, 176e3],
        "sensor.noise": [0.0, 0.5],
        "loop.period": [0.004, 0.002],
        "collisions": [1, 3],
        "servicer.mass": [50.0, 73.8],
        "belief.robot.delay": [0.01, 0.018],
        "seed": [1, 7],
    },
    "freefloat": {
        "robot.delay": [0.0, 0.01],
        "sensor.noise": [0.0, 0.5],
        "body.mass": [10.0, 60.0],
        "loop.period": [0.004, 0.002],
        "seed": [3, 4],
    },
    "payload": {"sensor.noise": [0.0, 0.5], "loop.period": [0.001, 0.002], "seed": [3, 4]},
    "aerial": {"sensor.noise": [0.0, 0.2], "seed": [3, 4]},
}


def space(
    system_name: str, scenario_name: str | None = None, axes: dict[str, list[Any]] | None = None, *settings: str
) -> Space:
    system = registry.system(system_name)
    wanted = scenario_name or system.default_scenario
    tree = scenario.read_toml(system.scenario_files[wanted])
    changes = [*SHORT[system_name], *settings]
    scenario.apply_settings(tree, changes)
    values = job.find(system_name, wanted, changes)[1]
    chosen = AXES[system_name] if axes is None else axes
    made = tuple(Axis((key,), tuple((value,) for value in entries)) for key, entries in chosen.items())
    return Space(system, wanted, tree, values, made)
