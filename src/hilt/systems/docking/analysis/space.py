"""The contact of a scenario of `docking` as it would be in space, without robot and sensor."""

from hilt import job
from hilt.job import Result
from hilt.systems.docking.docking import DOCKING, Docking


def ideal_run(scenario: Docking) -> Result:
    """The contact as it would be in space."""
    return job.simulate(DOCKING, scenario.in_space(4))
