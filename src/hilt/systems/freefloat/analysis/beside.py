"""What a report of `freefloat` shows besides a run: the metrics of every integrator on its scenario."""

from hilt.dynamics.integrators import CODES
from hilt.job import Beside, Result
from hilt.systems.freefloat.analysis.integrators import with_integrator
from hilt.systems.freefloat.freefloat import FreeFloat


def beside(result: Result) -> Beside:
    scenario = result.scenario
    assert isinstance(scenario, FreeFloat)
    if scenario.body_fmu is not None:  # there is nothing to choose
        return Beside({}, {})
    return Beside({}, {"integrators": {kind: with_integrator(scenario, kind).metrics for kind in CODES}})
