"""What a report of `aerial` shows besides a run in hover: the same with the estimator off, or on."""

from hilt.analysis.beside import slim
from hilt.job import Beside, Result
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.analysis.estimator import other_estimator

OTHER = "other estimator"


def beside(result: Result) -> Beside:
    scenario = result.scenario
    assert isinstance(scenario, Aerial)
    return Beside({OTHER: slim(other_estimator(result), ("e_p_N",))} if scenario.task.kind == "hover" else {}, {})
