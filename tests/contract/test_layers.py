"""Imports point one way: maths <- stages <- systems <- loop, device, record <- command line."""

import ast
from pathlib import Path

import hilt

ROOT = Path(hilt.__file__).parent
LEVELS = {
    0: ("child", "compiled", "interrupts", "meter", "missing", "private", "reach", "records", "runtime", "signals", "units"),
    1: ("maths", "faults", "stage", "clock", "shared", "toml", "claims"),
    2: ("scenario",),
    3: ("sense", "compensate", "dynamics", "command", "plant", "guard", "teleop", "aerial"),
    4: ("systems", "delays"),
    5: (
        "session",
        "device",
        "loop",
        "registry",
        "record",
        "survey",
        "tally",
        "job",
        "seeds",
        "ring",
        "mailbox",
        "letters",
        "deeds",
        "realtime",
        "cores",
        "tuning",
        "overseer",
        "preflight",
        "station",
        "scribe",
        "repeated",
    ),
    6: ("report", "reproduce", "doctor", "calibrate", "identify_robot", "cockpit"),
    7: ("cli", "cli_lab", "cli_station", "cli_cockpit", "cli_bound"),
}
LEVEL = {name: level for level, names in LEVELS.items() for name in names}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "hilt":
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]


def test_every_module_has_a_level():
    names = {path.stem for path in ROOT.glob("*.py")} | {
        path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()
    }
    assert names - {"__init__"} == set(LEVEL)


def test_no_import_points_upwards():
    for path in ROOT.rglob("*.py"):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for used in imports_of(path):
            if own != "__init__" and used in LEVEL:
                assert LEVEL[used] <= LEVEL[own], f"{path.relative_to(ROOT)} imports {used}"


def test_the_time_is_read_in_the_clock_only():
    for path in ROOT.rglob("*.py"):
        names = {
            alias.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import) for alias in node.names
        }
        assert path.name == "clock.py" or "time" not in names, path


def test_no_file_has_grown_out_of_its_idea():
    for path in ROOT.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 300, path
