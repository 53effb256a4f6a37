"""What a report of `payload` shows besides a run: other outage policies, re-synchronised hands, force feedback, delays."""

from hilt.analysis.beside import slim
from hilt.job import Beside, Result
from hilt.systems.payload.analysis import variations
from hilt.systems.payload.analysis.variations import end_of_silence, scenario_of
from hilt.systems.payload.link import playout_delay

DRAWN = ("V_WBcm", "f_s", "x_s", "x_vir", "x_vir_up", "link_state", "grip_open")


def beside(result: Result) -> Beside:
    scenario = scenario_of(result)
    if scenario.bilateral_mode:
        return Beside({}, {"settling": [list(pair) for pair in variations.settling_times(scenario).items()]})
    runs: dict[str, Result] = {}
    numbers: dict[str, float | None] = {}
    if with_outage(result):
        others = {name: run for name, run in variations.with_policies(result).items() if run is not result}
        again, numbers["resynchronised_s"] = variations.resynchronised(result)
        runs |= {f"policy {name}": run for name, run in others.items()} | {"resynchronised": again}
    if with_feedback(result):
        on = not scenario.slave.force_feedback
        runs["other feedback"] = variations.with_feedback(result, on)
    return Beside({name: slim(run, DRAWN) for name, run in runs.items()}, numbers)


def with_outage(result: Result) -> bool:
    """Whether the link failed, so that another policy would have made a difference."""
    return scenario_of(result).link.outage_duration > 0 and end_of_silence(result) is not None


def with_feedback(result: Result) -> bool:
    """Whether the run shows the effect of force feedback: nothing else is late or unknown."""
    scenario = scenario_of(result)
    return playout_delay(scenario) == 0 and not scenario.virtual.identify


def policies(result: Result) -> dict[str, Result]:
    """The run itself and the same with every other policy, in the order of the policies; empty if they were not run."""
    if result.beside is None or not with_outage(result):
        return {}
    own = scenario_of(result).link.outage_policy
    return {name: result if name == own else result.beside.runs[f"policy {name}"] for name in variations.POLICIES}


def settling(result: Result) -> dict[float, float]:
    """Settling time by delay [s]; empty if it was not computed."""
    return {delay: time for delay, time in result.beside.numbers["settling"]} if result.beside else {}  # noqa: C416
