"""Results shown beside a run in a report of `docking`: the contact in space, and every method on the same scenario."""

from dataclasses import asdict, replace

from hilt.analysis.beside import slim
from hilt.job import Beside, Result
from hilt.systems.docking.analysis.methods import Prediction, all_methods
from hilt.systems.docking.analysis.space import ideal_run
from hilt.systems.docking.docking import Docking
from hilt.systems.docking.metrics import Ideal, closed_form, ideal_of

DRAWN = ("p_C_des_W", "v_C_des_W", "F_C_true_W", "contact", "collision")


def beside(result: Result) -> Beside:
    scenario = result.scenario
    assert isinstance(scenario, Docking)
    space = replace(slim(ideal_run(scenario), DRAWN), scenario=scenario)  # drawn in the coordinate frames of the run
    methods = {name: list(prediction.runs) for name, prediction in all_methods(scenario).items()}
    return Beside({"space": space}, {"methods": methods, "ideal": asdict(ideal_of(scenario))})


def space_of(result: Result) -> Result | None:
    """The contact as it would be in space, if it was computed."""
    return result.beside.runs.get("space") if result.beside else None


def methods_of(result: Result) -> dict[str, Prediction]:
    """Every method on this scenario; empty if they were not run."""
    found = result.beside.numbers["methods"] if result.beside else {}
    return {name: Prediction(tuple(runs), result.scenario) for name, runs in found.items()}  # type: ignore[arg-type]


def ideal_beside(result: Result) -> Ideal:
    """Speeds and forces in space; empty if they have no closed form and were not computed."""
    if closed_form(result.scenario):
        return ideal_of(result.scenario)
    return Ideal(**result.beside.numbers["ideal"]) if result.beside else Ideal([], [], float("nan"))
