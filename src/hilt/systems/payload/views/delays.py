"""Where the loop of payload loses time."""

from hilt.metrics import delays
from hilt.systems.payload.payload import Payload


def table(scenario: Payload) -> dict[str, float]:
    felt = delays.until_the_body(scenario)
    held = delays.held(scenario.integrator.kind, scenario)
    return {**felt, **delays.tool(scenario, felt), **held, **delays.robot(scenario), **delays.lead(scenario)}
