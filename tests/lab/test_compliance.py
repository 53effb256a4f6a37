"""The tap test: its motion, what it finds on every emulated robot, and what it writes."""

import math
import tomllib

import numpy as np
import pytest

from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.lab import compliance
from hilt.lab.compliance import Tapping, chirp
from hilt.lab.dry.facility import running_facility
from hilt.systems.docking.analysis.compliance import Bending
from tests.lab.rigs import RIGS, shipped

TRUTH = ["frames.gap=15 mm", "robot.stiffness=0.5 N/um", "robot.mode_frequency=12 Hz", "robot.mode_damping_ratio=0.05"]


@pytest.mark.parametrize("cycle", [0.001, 0.004, 0.012])
def test_the_chirp_is_gentle_and_begins_and_ends_at_rest(cycle):
    """Never faster than its highest frequency makes it, with a third more where it fades in."""
    places = np.concatenate([[0.0], chirp(cycle, 1e-3, 2.0), [0.0]])
    omega = 2.0 * math.pi * compliance.HIGHEST
    assert np.abs(places).max() <= 1e-3
    assert np.abs(np.diff(places)).max() / cycle <= 1.3 * 1e-3 * omega
    assert np.abs(np.diff(places, 2)).max() / cycle**2 <= 1.3 * 1e-3 * omega**2
    rest = round(compliance.SETTLE / cycle)
    assert not places[: rest + 1].any()
    assert not places[-round(compliance.RING / cycle) :].any()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"axis": "w"}, "--axis is 'w'"),
        ({"amplitude": 0.0}, "--amplitude is 0 m"),
        ({"preload": -1.0}, "--preload is -1 N"),
        ({"reach": math.nan}, "--reach is nan m"),
        ({"preload": 200.0}, "--preload is 200 N, but the force may be at most 300 N"),
    ],
)
def test_a_tap_that_makes_no_sense_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        Tapping(**changes)


@pytest.mark.virtual
@pytest.mark.parametrize("name", RIGS)
def test_a_robot_that_bends_is_found_by_tapping_a_frame(name):
    with running_facility(shipped(name), TRUTH, live=True) as lab:
        found = compliance.run(lab.rig, Tapping(duration=1.0))
        robot = lab.control.status()["robot"]
    assert (robot["violations"], robot["late"], found.refusal) == ([], 0, "")
    assert found.stiffness == pytest.approx(0.5e6, rel=0.01)
    assert found.mode_frequency == pytest.approx(12.0, rel=1e-3)
    assert found.mode_damping_ratio == pytest.approx(0.05, rel=0.01)
    assert found.contact_stiffness == pytest.approx(176.275e3, rel=0.005)
    assert found.surface == pytest.approx(0.010, abs=1e-6)


def test_a_belief_is_written_and_the_truth_of_an_emulated_robot_is_not_touched(tmp_path):
    deviations = dict.fromkeys(("stiffness", "mode_frequency", "mode_damping_ratio", "contact_stiffness", "surface"), 1.0)
    found = Bending(
        *(503456.0, 12.034, 0.0512, "linear", 176000.0, 0.0, 0.01, 0.0, {**deviations, "stiffness": 4000.0}),
        *(0.5, 0.01, 0.05, 31.0, 0.4, 20, 120.0, 700, 690),
    )
    target = tmp_path / "found.toml"
    source = rigfile.find("dry-lab")
    compliance.write(found, source, target)
    before, after = (tomllib.loads(path.read_text())["scenario"] for path in (source, target))
    written = after["docking"]
    assert {key: written.pop(key) for key in tuple(written) if key.startswith("belief.")} == {
        "belief.robot.stiffness": "0.50346 N/um",
        "belief.robot.mode_frequency": "12.034 Hz",
        "belief.robot.mode_damping_ratio": 0.0512,
    }
    assert after == before
    assert "stiffness ± 0.004 N/um" in target.read_text()
    rigfile.load(target)
