"""Fixtures of the lab's tests."""

from contextlib import ExitStack, closing

import pytest

from hilt.device import rigfile
from hilt.lab.dry.facility import Facility, running_facility
from tests.e2e.lab import GAP, SEEN, Run, changed
from tests.e2e.wheel import Installed


@pytest.fixture
def dry(tmp_path, machine):
    """`dry("dry-lab-ur", robot={"patience": 3})`: an emulated facility on the virtual machine. Tables of its rig file may be
    changed; `emulated` has settings of its world."""
    with ExitStack() as stack:

        def start(rig="dry-lab", emulated=(GAP,), **tables):
            tables["lab"] = {"ready": SEEN, **tables.get("lab", {})}
            file = changed(rigfile.load(rigfile.find(rig)) if isinstance(rig, str) else rig, **tables)
            return stack.enter_context(running_facility(file, list(emulated), diary=tmp_path / "log.csv"))

        yield start


@pytest.fixture
def own_ports(machine):
    """`own_ports(path)`: the emulated facility of a rig file on the ports that are in it, as `hilt emulate` starts it."""
    with ExitStack() as stack:

        def start(path):
            made = Facility(rigfile.load(path), [], live=True)
            stack.callback(made.stop)
            return made

        yield start


@pytest.fixture
def lab(dry, tmp_path):
    """`lab("dry-lab-ur", "collisions=1", robot={"patience": 3})`: a session on such a facility."""
    with ExitStack() as stack:

        def start(rig="dry-lab", *settings, system="docking", scenario="table1", emulated=(GAP,), **tables):
            facility = dry(rig, emulated, **tables)
            return stack.enter_context(closing(Run(facility, tmp_path / "runs", system, scenario, (*emulated, *settings))))

        yield start


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """hilt, built and installed as a user without a checkout has it."""
    return Installed(tmp_path_factory.mktemp("wheel"))
