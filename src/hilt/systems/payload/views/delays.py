"""Delays in the loop of `payload`."""

from typing import Any

from hilt.metrics import delays
from hilt.systems.payload.payload import Payload


def table(scenario: Payload) -> dict[str, float]:
    felt = delays.until_the_body(scenario)
    held = delays.held(scenario.integrator.kind, scenario)
    return {**felt, **delays.tool(scenario, felt), **held, **delays.robot(scenario), **delays.lead(scenario)}


def measured(result: Any) -> list[tuple[str, str]]:
    """Phase of the arm's clock relative to the table's and its drift, for a run with the hand on a robot."""
    scenario = result.scenario
    return delays.phase(result.rows, scenario.pairing) if scenario.arm.model == "robot" else []
