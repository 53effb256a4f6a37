"""An exported loop, stepped by FMPy: the rows of `hilt run`, bit for bit, and nothing of Python in the library."""

import functools
import json
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hilt import job, loop
from hilt.core.clock import FreeClock
from hilt.core.faults import InputError
from hilt.core.rig import SimulatedRig
from hilt.core.signals import leaves
from hilt.core.tuning import RepeatedChanges, Tuning, knobs
from hilt.fmi import export, units
from tests import peers

STEPPING = Path(__file__).with_name("stepping.py")
CASES = {
    "docking": ("table1", []),
    "freefloat": ("capture", []),
    "payload": ("hils-2", ["operator.kind=live", "loop.duration=3 s"]),
}
TICKS = 2000


def fmpy(task, *arguments):
    """What FMPy found, and what the FMU logged, which FMPy prints."""
    python = peers.python_with("fmpy")
    ran = subprocess.run([python, "-P", STEPPING, task, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1]), ran.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """System, scenario and FMU of a case, each exported once."""
    folder = tmp_path_factory.mktemp("fmu")

    @functools.cache
    def export_once(case):
        system, values, name = job.find(case, *CASES[case])
        export.export(system, values, name, folder / f"{case}.fmu")
        return system, values, folder / f"{case}.fmu"

    return export_once


@pytest.fixture(scope="module", params=CASES)
def exported(request, made):
    return made(request.param)


@pytest.fixture(scope="module")
def docking(made):
    return made("docking")


class Kept:
    def __init__(self):
        self.rows = []

    def append(self, row):
        self.rows.append(row.copy())


def looped(system, values, ticks, changes=()):
    """Rows of hilt's own loop, with changes of live values."""
    bench = system.set_up(values)
    bench = job.replace(bench, ticks=ticks)
    tuning = Tuning(knobs(system, values, bench), values.loop.period)
    kept = Kept()
    loop.run(bench, SimulatedRig(system, bench), FreeClock(), kept, None, RepeatedChanges(tuning, changes))
    return np.concatenate(kept.rows)


def stepped(path, folder, ticks, changes=()):
    """The same from the FMU: numbers by the names of its outputs, and its status at the end."""
    said, _ = fmpy("step", path, folder / "rows.npz", ticks, json.dumps(changes))
    rows = np.load(folder / "rows.npz")
    found = {name: rows[kind][:, index] for kind in ("reals", "integers") for index, name in enumerate(said[kind])}
    return found, said


def assert_same_bits(rows, found):
    """Every number of every row, except for the host's own timing."""
    seen = set()
    for dotted, (offset, _number, shape) in leaves(rows.dtype).items():
        if dotted in ("lateness", "tick_time"):
            continue
        flat = rows.view(np.uint8).reshape(len(rows), -1)
        for index in range(int(np.prod(shape, dtype=int))):
            name = f"{dotted}[{index + 1}]" if shape else dotted
            at = offset + 8 * index
            ours = np.ascontiguousarray(flat[:, at : at + 8]).view(np.uint64)[:, 0]
            theirs = np.ascontiguousarray(found[name]).view(np.uint64)
            assert np.array_equal(ours, theirs), name
            seen.add(name)
    assert seen == set(found)


def test_fmpy_steps_the_rows_of_hilt_bit_for_bit(exported, tmp_path):
    system, values, path = exported
    rows = looped(system, values, TICKS)
    found, _ = stepped(path, tmp_path, TICKS)
    assert len(found["tick"]) == len(rows) > 500
    assert_same_bits(rows, found)


def test_fmpys_check_finds_no_problem(exported):
    found, _ = fmpy("check", exported[2])
    assert found["problems"] == []


def test_there_is_nothing_of_python_in_the_library(exported, tmp_path):
    with zipfile.ZipFile(exported[2]) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".so")]
        library = archive.extract(name, tmp_path)
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout.split()
    assert not [each for each in symbols if each.startswith(("Py", "_Py", "numba", "NRT", "hilt"))]
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert not [line for line in needed.splitlines() if "python" in line or "llvm" in line]


def test_a_live_value_follows_its_ramp_as_in_hilt(docking, tmp_path):
    system, values, path = docking
    changes = [(300, "contact.stiffness", 9e5), (340, "contact.stiffness", 5e5), (1200, "contact.damping", 60.0)]
    ours = looped(system, values, TICKS, [{"tick": tick, "key": key, "value": to, "ramp": 0.0} for tick, key, to in changes])
    found, _ = stepped(path, tmp_path, TICKS, [(tick, {key: to}) for tick, key, to in changes])
    assert_same_bits(ours, found)
    unchanged = looped(system, values, TICKS)
    assert not np.array_equal(ours["F_C_true_W"][: len(unchanged)], unchanged["F_C_true_W"][: len(ours)])


def test_the_joystick_is_an_input(made, tmp_path):
    found, _ = stepped(made("payload")[2], tmp_path, 300, [(100, {"steer.speed[1]": 0.5, "steer.turn[3]": -1.0})])
    assert not found["joystick[1]"][:100].any()
    assert (found["joystick[1]"][100:] == 0.5).all()
    assert (found["joystick[6]"][100:] == -1.0).all()


def test_the_end_of_the_run_is_reported(docking, tmp_path):
    system, values, path = docking
    rows = job.simulate(system, values).rows
    assert rows["done"][-1]
    found, said = stepped(path, tmp_path, len(rows) + 100)
    assert len(found["t"]) == len(rows)
    assert said["over"]
    assert said["until"] == rows["t"][-1]


def test_a_fault_is_reported_as_text(docking, tmp_path):
    said, shown = fmpy("step", docking[2], tmp_path / "rows.npz", TICKS, json.dumps([(1, {"limits.force": 10.0})]))
    assert said["over"]
    assert "measured force; raise limits.force" in shown


def test_states_are_saved_and_restored(docking):
    found, _ = fmpy("again", docking[2])
    assert found == {"elsewhere": True, "reset": True}


def test_only_the_loops_period_is_stepped(docking):
    found, said = fmpy("refuse", docking[2])
    assert found == {"long": 3, "short": 3, "gap": 3, "constant": 3, "range": 2, "right": 0}
    assert "this loop runs at loop.period = 0.001 s only" in said
    assert "servicer.mass cannot be set" in said


def test_signals_have_units_and_the_scenario_is_constant(docking):
    _, values, path = docking
    with zipfile.ZipFile(path) as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
        kept = json.loads(archive.read("resources/scenario.json"))
    variables = {each.get("name"): each for each in root.iter("ScalarVariable")}
    assert variables["F_So_S.f[3]"].find("Real").get("unit") == "N"
    assert variables["V_WB_true.w[1]"].find("Real").get("unit") == "rad/s"
    assert variables["contact.stiffness"].get("causality") == "input"
    assert variables["servicer.mass"].get("variability") == "constant"
    assert float(variables["servicer.mass"].find("Real").get("start")) == values.servicer.mass
    assert root.find("DefaultExperiment").get("stepSize") == "0.001"
    assert kept == json.loads(values.model_dump_json())


@pytest.mark.parametrize(("system", "scenario", "block"), [("aerial", None, "airframe"), ("payload", "two-arms", "arm")])
def test_a_block_with_a_c_library_is_named(system, scenario, block, tmp_path):
    with pytest.raises(InputError, match=f"{system} cannot be exported: its block {block} calls a C library"):
        export.export(*job.find(system, scenario, []), tmp_path / "never.fmu")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("N·m/rad", {"kg": 1, "m": 2, "s": -2, "rad": -1}),
        ("m/(s·N)", {"kg": -1, "s": 1}),
        ("kg·m²/s", {"kg": 1, "m": 2, "s": -1}),
        ("1", {}),
        ("1/s", {"s": -1}),
        ("N^(2/3)/m", None),
    ],
)
def test_units_are_powers_of_base_units(unit, found):
    assert units.exponents(unit) == found
