"""Every integrator on one scenario of `freefloat`."""

from hilt import job
from hilt.job import Result
from hilt.systems.freefloat.freefloat import FREEFLOAT, FreeFloat


def with_integrator(scenario: FreeFloat, kind: str) -> Result:
    """The same scenario with another integrator; it takes milliseconds."""
    integrator = scenario.integrator.model_copy(update={"kind": kind})
    return job.simulate(FREEFLOAT, scenario.model_copy(update={"integrator": integrator}))
