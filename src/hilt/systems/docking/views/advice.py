"""Which method a scenario of `docking` needs, based on simulating all of them, and what no method can achieve."""

import html
import math
from collections.abc import Iterator, Mapping

from hilt.job import Result
from hilt.report import words
from hilt.report.table import table
from hilt.report.words import off_one, si
from hilt.systems.docking.analysis.bound import touch_of
from hilt.systems.docking.analysis.methods import Prediction, name_of
from hilt.systems.docking.docking import Docking
from hilt.systems.docking.metrics import Ideal
from hilt.systems.docking.twin.balance import least_detectable, weight_of
from hilt.systems.docking.views.bound import bound_of
from hilt.systems.docking.views.contacts import scenario_of

TURNED_BACK, TOO_LATE = 2.0, 2.2  # ω τ: for pida, for twin
ROUGH = 0.1  # coefficient of friction
NOISY = 0.01  # noise / largest force, for a damped contact


def needed(found: Mapping[str, Prediction]) -> str | None:
    """Return the simplest method that meets the goal; if none does, the one that comes closest."""
    for choice, prediction in found.items():
        if prediction.meets:
            return choice
    cost = {choice: prediction.cost for choice, prediction in found.items() if prediction.came_through}
    return min(cost, key=lambda choice: round(cost[choice], 3), default=None)


def why(found: Mapping[str, Prediction], best: str | None, bound: float | None) -> str:
    """One sentence that explains the choice."""
    goal = next(iter(found.values())).goal
    target = f"the speed within {100 * goal.cov:g} % and the force within {100 * goal.cof:g} %, the first touch included"
    if best is None:
        return "Every method diverges or is stopped on this scenario."
    forced = ""
    if bound is not None and bound > 1.0 + goal.cof:
        forced = f"; in real time no method can get below {bound:.3g} times the ideal force at a first touch just after a tick"
    if not found[best].meets:
        cost = f"CoV off by {_percent(found[best].cov)}, CoF by {100 * found[best].force_error:.2g} %"
        return f"No method keeps {target}; <b>{best}</b> comes closest ({cost}){forced}."
    simpler = list(found)[: list(found).index(best)]
    if not simpler:
        return f"This scenario needs no compensation: even <b>{best}</b> keeps {target}."
    close_ones = [choice for choice in simpler if found[choice].came_through]
    if not close_ones:
        return f"This scenario needs <b>{best}</b>, the simplest method that keeps {target}: the simpler ones diverge{forced}."
    next_best = min(close_ones, key=lambda choice: found[choice].cost)
    prediction = found[next_best]
    if abs(prediction.cov - 1.0) / goal.cov > prediction.force_error / goal.cof:
        fails = f"misses the speed by {_percent(prediction.cov)}"
    else:
        fails = (
            f"hits up to {1.0 + prediction.force_error:.3g} times as hard"
            if _hard(prediction)
            else (f"misses the force by {100 * prediction.force_error:.2g} %")
        )
    return f"This scenario needs <b>{best}</b>, the simplest method that keeps {target}; {next_best} {fails}{forced}."


def _hard(prediction: Prediction) -> bool:
    return max(prediction.first_cof, prediction.later_cof) - 1.0 >= prediction.force_error - 1e-12


def _percent(ratio: float) -> str:
    error = abs(ratio - 1.0)
    if not math.isfinite(ratio):
        return "-"
    return words.percent(error) if error < 9 else f"{ratio:.3g} times as fast"


def _force(ratio: float) -> str:
    return off_one(ratio) if math.isfinite(ratio) else "-"


def section(result: Result, found: Mapping[str, Prediction]) -> str:
    """Section "Which method": a sentence and a table."""
    scenario = scenario_of(result)
    best, bound = needed(found), bound_of(scenario)
    runs = len(next(iter(found.values())).runs)
    made = f"{'Predicted' if result.timing else 'Found'} by running every method on this scenario"
    if result.timing:
        made += " in simulation, with the robot that the scenario describes"
    if runs > 1:
        made += f", {runs} seeds each"
    if best is not None and best.startswith("twin") and not any(scenario.prior.model_dump().values()):
        made += "; here twin knows contact and robot exactly: set prior.* to see the effect of errors"
    rows = []
    for choice, prediction in found.items():
        cells = (
            html.escape(choice) + (" (this run)" if choice == name_of(scenario) else ""),
            _percent(prediction.cov),
            _force(prediction.first_cof),
            _force(prediction.later_cof),
            "yes" if prediction.meets else "no" if prediction.came_through else "diverges or is stopped",
        )
        rows.append([f"<b>{cell}</b>" for cell in cells] if choice == best else cells)
    if bound is not None:
        rows.append(
            (
                "<i>lowest possible in real time, touch just after a tick</i>",
                "",
                f"<i>{off_one(max(bound, 1.0))}</i>",
                "",
                "",
            )
        )
    head = ("method", "|CoV - 1|, worst", "CoF - 1, first touch", "CoF - 1, worst later", "meets the goal")
    return f"<p>{why(found, best, bound)}<br>{made}.</p>{table(head, rows)}"


def least_loss(scenario: Docking) -> float:
    """Smallest relative energy loss of a contact that twin can distinguish from noise and a wrong sensor delay."""
    touch = touch_of(scenario)
    energy = 0.5 * touch.mass * touch.speed**2
    # Over half a period of a contact: Σ Δx² = T ∫ v² dt, Σ ΔF² = T ∫ F'² dt
    steps = scenario.loop.period * touch.speed**2 * math.pi / (2.0 * touch.omega)
    k = touch.mass * touch.omega**2
    variance = (scenario.sensor.noise**2 + (k * scenario.encoder.position_noise) ** 2) * steps
    return float(least_detectable(weight_of(variance / energy**2), scenario.assumed_sensor_delay, touch.omega))


def warnings(scenario: Docking, wanted: Ideal) -> Iterator[str]:
    assumed, true = scenario.assumed_sensor_delay, scenario.force_delay
    if assumed > true:
        yield (
            f"<b>Dangerous setting.</b> compensate.sensor_delay is {1e3 * assumed:.3g} ms, but the delay of sensor and filter "
            f"is {1e3 * true:.3g} ms: the lead over-corrects and the loop loses energy that would be kept in space. Assuming "
            "too short a delay is safe, too long is not; lower compensate.sensor_delay."
        )
    yield from _yields(scenario)
    yield from _too_late(scenario)
    yield from _undetected_loss(scenario, wanted)
    if scenario.contact.friction > ROUGH:
        yield (
            f"<b>Friction.</b> contact.friction is {scenario.contact.friction:g}, above {ROUGH:g}: twin models only forces "
            "along the normal, so sliding losses are missing from its balance; expect speed and force to be off by about 10 %."
        )


def force_error(scenario: Docking, stiffness_error: float) -> float:
    """Relative force error at a known frame for a relative error of the robot's stiffness: -½ (k/K_f) δK_f/K_f."""
    touch = touch_of(scenario)
    return -0.5 * touch.mass * touch.omega**2 / scenario.robot.stiffness * stiffness_error


def _yields(scenario: Docking) -> Iterator[str]:
    if scenario.robot.stiffness > 0.0 and scenario.compensate.method == "twin":
        first = "; at a first touch by about twice that" if scenario.robot.bends else ""
        yield (
            f"<b>Bending.</b> The robot's tip has a stiffness of {si(scenario.robot.stiffness, 'N/m', 3)}. If that is assumed "
            f"wrong by 10 %, the force is wrong by {100 * abs(force_error(scenario, 0.1)):.2g} %{first}; "
            "hilt identify compliance measures it."
        )


def _too_late(scenario: Docking) -> Iterator[str]:
    touch = touch_of(scenario)
    stiffer = max(1.0, scenario.contact.rear_stiffness_ratio) ** (0.4 if touch.hertz else 0.5)
    angle = touch.omega * stiffer * scenario.robot.delay
    if angle > TURNED_BACK:
        twin = f", and above {TOO_LATE:g} twin is not reliable either" if angle > TOO_LATE else ""
        yield (
            f"<b>Robot too slow.</b> ω τ = {angle:.2g} is above {TURNED_BACK:g}: the simulated rod has turned back before "
            f"the robot touches the frame, and even pida hits it with about √(1 + (ω τ)²) = {math.hypot(1.0, angle):.2g} times "
            f"the ideal force{twin}. Make the contact softer, the bodies heavier or the robot faster."
        )


def _undetected_loss(scenario: Docking, wanted: Ideal) -> Iterator[str]:
    """The energy loss is a small difference between two amounts of work; a late or noisy force hides it."""
    least = least_loss(scenario)
    by = f"sensor delay {si(scenario.assumed_sensor_delay, 's', 3)}, noise {si(scenario.sensor.noise, 'N', 3)}"
    if scenario.contact.damping > 0.0:
        speeds = (scenario.approach.speed, *wanted.speeds)
        loss = 1.0 - (speeds[1] / speeds[0]) ** 2 if scenario.dof == 1 and len(speeds) > 1 else math.nan
        noisy = scenario.sensor.noise > NOISY * wanted.peaks[0] if wanted.peaks else False
        if loss < least:
            yield (
                f"<b>Loss not identifiable.</b> This contact loses {100 * loss:.2g} % of the energy, and twin cannot detect "
                f"losses below {100 * least:.2g} % ({by}): the bodies leave too fast. Reduce the sensor's delay or noise."
            )
        elif noisy:
            share = 100 * scenario.sensor.noise / wanted.peaks[0]
            yield (
                f"<b>Loss uncertain.</b> The noise is {share:.2g} % of the largest force and the contact is damped: above "
                f"{100 * NOISY:g} % the speed after it is not reliable to {100 * scenario.goal.cov:g} %."
            )
    elif least > scenario.goal.cof:
        yield (
            f"<b>Loss hardly measurable.</b> With this sensor, energy losses below {100 * least:.2g} % per contact go "
            f"undetected; such contacts are treated as lossless ({by})."
        )
