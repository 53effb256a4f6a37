"""What a report of `freefloat` shows beside a run: the metrics of every integrator on its scenario."""

from hilt.dynamics.integrators import CODES
from hilt.job import Beside, Result
from hilt.systems.freefloat.analysis.integrators import with_integrator
from hilt.systems.freefloat.freefloat import FreeFloat


def beside(result: Result) -> Beside:
    scenario = result.scenario
    assert isinstance(scenario, FreeFloat)
    return Beside({}, {"integrators": {kind: with_integrator(scenario, kind).metrics for kind in CODES}})
