"""Variations of a run of `payload`: another outage policy, more time, force feedback, another delay."""

import math

import numpy as np

from hilt import job
from hilt.job import Result
from hilt.systems.payload.bilateral import check_damping
from hilt.systems.payload.link import playout_delay
from hilt.systems.payload.outage import POLICIES, SILENT
from hilt.systems.payload.payload import PAYLOAD, Payload
from hilt.systems.payload.virtual_arm import RESYNC_REST

DELAYS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5)  # s, one way


def scenario_of(result: Result) -> Payload:
    assert isinstance(result.scenario, Payload)
    return result.scenario


def with_policies(result: Result) -> dict[str, Result]:
    """The same scenario with every outage policy; each takes milliseconds."""
    scenario = scenario_of(result)
    runs: dict[str, Result] = {}
    for policy in POLICIES:
        if policy == scenario.link.outage_policy:
            runs[policy] = result
            continue
        link = scenario.link.model_copy(update={"outage_policy": policy})
        runs[policy] = job.simulate(PAYLOAD, scenario.model_copy(update={"link": link}), result.name)
    return runs


def end_of_silence(result: Result) -> int | None:
    """The last row in which the link is silent."""
    silent = np.flatnonzero(result.rows["link_state"] == SILENT)
    return int(silent[-1]) if len(silent) else None


def resynchronised(result: Result) -> tuple[Result, float | None]:
    """The same scenario, continued until the virtual arm has been re-synchronised to the slave arm, and the time of that."""
    scenario = scenario_of(result)
    settle = 10.0 * scenario.payload.mass * scenario.virtual.mass_ratio * scenario.slave.compliance
    end = scenario.transport_start + scenario.operator.duration + scenario.operator.shaper + settle
    longer = max(scenario.loop.duration, end + RESYNC_REST + 4.0 * playout_delay(scenario))
    loop = scenario.loop.model_copy(update={"duration": longer})
    run = job.simulate(PAYLOAD, scenario.model_copy(update={"loop": loop}), result.name)
    shifted = np.linalg.norm(run.rows["x_vir"] - run.rows["x_vir_up"], axis=1) > 1e-6
    return run, float(run.rows["t"][np.argmax(shifted)]) if shifted.any() else None


def with_feedback(result: Result, on: bool) -> Result:
    """The same scenario with or without force feedback; it takes milliseconds."""
    scenario = scenario_of(result)
    if scenario.slave.force_feedback == on:
        return result
    slave = scenario.slave.model_copy(update={"force_feedback": on})
    return job.simulate(result.system, scenario.model_copy(update={"slave": slave}), result.name)


def at_delay(scenario: Payload, delay: float) -> Result | None:
    """The same scenario with another delay, long enough to settle; None where the devices cannot produce the damping."""
    link = scenario.link.model_copy(update={"delay": delay})
    patience = 60.0 if scenario.gripped else 10.0
    hand_stands = scenario.operator.start + scenario.hand.time
    loop = scenario.loop.model_copy(update={"duration": hand_stands + patience + 20.0 * (delay + link.jitter)})
    values = scenario.model_copy(update={"link": link, "loop": loop})
    try:
        check_damping(values)
    except ValueError:
        return None
    return job.simulate(PAYLOAD, values)


def settling_times(scenario: Payload) -> dict[float, float]:
    """Settling time by delay: infinite if it does not settle, missing if it cannot be run. Each run takes milliseconds."""
    found = {}
    for delay in sorted({*DELAYS, float(scenario.link.delay)}):
        run = at_delay(scenario, delay)
        if run is not None:
            time = run.metrics["settling_time_s"]
            found[delay] = time if run.fault is None and math.isfinite(time) else math.inf
    return found
