"""Fixtures of the lab's tests."""

import pytest

from hilt.lab.dry.facility import running_facility
from tests.e2e.lab import SHORT, Loop, Run, patient_rig
from tests.e2e.wheel import Installed


@pytest.fixture(scope="module")
def facility():
    """Robot and sensor as processes, on free ports."""
    with running_facility(patient_rig(), list(SHORT)) as found:
        yield found


@pytest.fixture(scope="module")
def loop(facility):
    """A loop in its own process, on the module's facility."""
    made = Loop(facility)
    yield made
    made.end()


@pytest.fixture
def run(facility, tmp_path):
    made = []

    def start(do=None, settings=(), lab=None, after=0.3, sensor=None):
        made.append(Run(facility, tmp_path, settings, lab, sensor))
        return made[-1].go(do, after)

    yield start
    for each in made:
        each.session.close()
    facility.control.clear()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """hilt, built and installed as a user without a checkout has it."""
    return Installed(tmp_path_factory.mktemp("wheel"))
