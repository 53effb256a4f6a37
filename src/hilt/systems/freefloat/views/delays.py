"""Delays in the loop of `freefloat`."""

from hilt.metrics import delays
from hilt.systems.freefloat.freefloat import FreeFloat


def table(scenario: FreeFloat) -> dict[str, float]:
    felt = delays.until_the_body(scenario)
    held = delays.held(scenario.rule, scenario)
    return {**felt, **delays.tool(scenario, felt), **held, **delays.robot(scenario), **delays.lead(scenario)}
