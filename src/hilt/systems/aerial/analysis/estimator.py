"""A run of `aerial` with and without the estimator of the external force."""

from hilt import job
from hilt.job import Result
from hilt.systems.aerial.aerial import Aerial


def other_estimator(result: Result) -> Result:
    """The same run with the estimator off if it was on, and vice versa."""
    scenario = result.scenario
    assert isinstance(scenario, Aerial)
    estimator = scenario.estimator.model_copy(update={"enabled": not scenario.estimator.enabled})
    return job.simulate(result.system, scenario.model_copy(update={"estimator": estimator}), result.name)
