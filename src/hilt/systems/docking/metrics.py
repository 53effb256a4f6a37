"""Metrics of a run of `docking`: each collision compared with the same collision in space.

CoV_n is the speed after collision n relative to ideal, CoF_n the true peak force of collision n relative to ideal. In one
degree of freedom the ideal has a closed form, including damping; in six it is the same contact on a perfect robot with a much
finer tick.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.counter import Column, Counter, References
from hilt.core.missing import Missing
from hilt.core.verdict import DIVERGED_SPEED
from hilt.systems.docking import collisions, counting, lead
from hilt.systems.docking.analysis.bound import cof_just_after_tick, effective_mass

SWING = 0.02  # rad of a contact's oscillation per tick of the reference: its energy is then accurate to (0.02)²/4
COARSE = 0.2  # rad: above this there is no reference
MOST_TICKS = 400_000  # of the reference: about 1 s of computation
CHUNK = 4096
LOST = "the recording has no row of this collision"
UNRESOLVED = "the contact is too short for a reference with {} ticks"

METRIC_WORDS = {
    "cov": "CoV: speed after each collision / ideal",
    "cof": "CoF: peak force of each collision / ideal",
    "mean_cof": "mean CoF",
    "kinetic_energy_ratio": "kinetic energy at the end / ideal",
    "contacts_missed": "contacts that the controller did not see",
    "momentum_drift": "momentum, relative error",
    "stiffness_error": "stiffness, relative error",
    "damping_error_of_critical": "damping, error relative to critical",
    "force_lead_s": "lead of the compensated force over the measured one",
    "robot_delay_s": "delay of the robot, measured in flight",
    "command_speed_ratio": "largest commanded speed / ideal",
    "command_acceleration_ratio": "largest commanded acceleration / ideal",
    "max_speed_ratio": "largest simulated speed / speed at the start",
    "time_slip_s": "lag of simulated time behind real time (twin)",
    "bound_cof_after_tick": "lowest CoF of a first touch just after a tick, any method in real time",
    "bound_cof": "the same, as named in recordings of older versions",
    "diverged": "diverged",
    "diverged_at_s": "diverged at",
}


@dataclass(frozen=True)
class Ideal:
    """The collisions as they would be in space."""

    speeds: list[float]
    peaks: list[float]
    energy: float


def damped_contact(k: float, c: float, mass: float) -> tuple[float, float]:
    """Closed form of restitution and peak force per speed for a mass hitting a spring-damper that only pushes."""
    omega = math.sqrt(k / mass)
    zeta = c / (2.0 * math.sqrt(k * mass))
    if zeta == 0.0:
        return 1.0, math.sqrt(k * mass)
    root = math.sqrt(1.0 - zeta * zeta)
    omega_d = omega * root
    # F/v0 = √(km) e^{-ζωt} (A sin ω_d t + B cos ω_d t), x'/v0 = e^{-ζωt} (cos ω_d t - ζ/√(1-ζ²) sin ω_d t)
    A, B = (1.0 - 2.0 * zeta * zeta) / root, 2.0 * zeta
    top = math.atan2(A * omega_d - zeta * omega * B, zeta * omega * A + omega_d * B) / omega_d
    peak = math.exp(-zeta * omega * top) * (A * math.sin(omega_d * top) + B * math.cos(omega_d * top)) if top > 0 else B
    leave = (math.pi - math.atan2(B, A)) / omega_d
    phase = omega_d * leave
    speed = math.exp(-zeta * omega * leave) * abs(math.cos(phase) - zeta / root * math.sin(phase))
    return speed, math.sqrt(k * mass) * peak


def ideal_line(scenario: Any) -> Ideal:
    """One degree of freedom, linear contact: closed form."""
    mass, contact = scenario.reduced_mass, scenario.contact
    speed = math.hypot(*scenario.approach.velocity)
    forward = scenario.approach.velocity[0] > 0
    speeds, peaks = [], []
    for n in range(scenario.collisions):
        front = (n % 2 == 0) == forward
        k = contact.stiffness * (1.0 if front else contact.rear_stiffness_ratio)
        restitution, peak = damped_contact(k, contact.damping, mass)
        peaks.append(speed * peak)
        speed *= restitution
        speeds.append(speed)
    total = scenario.servicer.mass + scenario.target.mass
    common = scenario.servicer.mass * math.hypot(*scenario.approach.velocity) / total
    return Ideal(speeds, peaks, 0.5 * total * common**2 + 0.5 * mass * speed**2)


def contact_rate(scenario: Any) -> float:
    """Fastest rate in a contact [rad/s]: its oscillation, or the decay due to damping."""
    mass, k = effective_mass(scenario), scenario.contact.stiffness * max(1.0, scenario.contact.rear_stiffness_ratio)
    return max(math.sqrt(k / mass), scenario.contact.damping / mass)


def fineness(scenario: Any) -> int:
    """Ticks of the reference per tick of the loop: at least eight, more for a fast contact, limited by computing time."""
    period = scenario.loop.period
    least = max(8, math.ceil(period / 2.5e-4))
    most = int(MOST_TICKS * period / scenario.loop.duration)
    return max(least, min(most, math.ceil(contact_rate(scenario) * period / SWING)))


def ideal_fine(scenario: Any) -> Ideal:
    """Any other contact: the same bodies in space, computed at an eighth of the tick or finer."""
    from hilt.systems.docking.docking import DOCKING

    finer = fineness(scenario)
    perfect = scenario.in_space(finer)
    if contact_rate(scenario) * perfect.loop.period > COARSE:
        none = Missing(UNRESOLVED.format(round(perfect.loop.duration / perfect.loop.period)))
        return Ideal([none] * scenario.collisions, [none] * scenario.collisions, none)
    bench, meter = DOCKING.set_up(perfect), COUNTER(perfect)
    log = np.zeros(CHUNK, DOCKING.row)
    for first in range(0, bench.ticks, CHUNK):
        count = bench.code.go_on(bench.row, bench.x, bench.w, bench.p, log[: bench.ticks - first], first)
        meter.take(log[:count])
        if log["done"][count - 1] or log["fault"][count - 1]:
            break
    m, each = meter.counted()
    each = collisions.finished(m["collisions"], each)[0, : scenario.collisions + 1]
    return Ideal(_speeds(each), _peaks(each), float(m["energy"][0]))


def closed_form(scenario: Any) -> bool:
    """Whether the ideal has a closed form; all others are simulated."""
    contact = scenario.contact
    softest = contact.stiffness * min(1.0, contact.rear_stiffness_ratio)
    rings = contact.damping < 1.8 * math.sqrt(softest * scenario.reduced_mass)  # below 0.9 of critical
    return scenario.dof == 1 and contact.kind == "linear" and rings


def ideal_of(scenario: Any) -> Ideal:
    return ideal_line(scenario) if closed_form(scenario) else ideal_fine(scenario)


def _speeds(each: np.ndarray) -> list[float]:
    return _in_order(each, "over", "speed")


def _peaks(each: np.ndarray) -> list[float]:
    return _in_order(each, "felt", "peak")


def _in_order(each: np.ndarray, known: str, value: str) -> list[float]:
    """Values of all collisions up to the last known one."""
    numbers = np.flatnonzero(each[known][1:]) + 1
    last = int(numbers[-1]) if len(numbers) else 0
    return [float(each[value][n]) if each[known][n] else Missing(LOST) for n in range(1, last + 1)]


def speeds_after(rows: np.ndarray, scenario: Any) -> list[float]:
    """Speed of the simulated tip along the frames' normal in the flight after each completed collision."""
    return _speeds(counting.counted(rows, scenario)[1][0, : scenario.collisions + 1])


def peak_forces(rows: np.ndarray, scenario: Any) -> list[float]:
    """Peak true force of each collision."""
    return _peaks(counting.counted(rows, scenario, int(rows["collision"].max(initial=0)))[1][0])


def _ratios(found: np.ndarray, known: np.ndarray, ideals: References, of: str, nothing: str) -> Column:
    """found/ideal for each collision that has both."""
    most = found.shape[1]

    def line(ideal: Ideal) -> list[float]:
        values = getattr(ideal, of)[:most]
        return [*values, *[math.nan] * (most - len(values))]

    wanted = ideals.column(line)
    reasons = ideals.column(
        lambda ideal: next((each.reason for each in getattr(ideal, of) if isinstance(each, Missing)), ""), object
    )
    last = (most - np.argmax(known[:, ::-1], axis=1)) * known.any(axis=1)
    counts = np.minimum(last, ideals.column(lambda ideal: len(getattr(ideal, of)), np.int64))
    unknown = np.isnan(wanted) & (reasons != "")[:, None]
    still = wanted == 0.0
    lost = ~known & ~unknown & ~still
    values = np.where(known & ~still, found, np.nan) / np.where(still, 1.0, wanted)
    return Column(values, ((unknown, reasons), (still, nothing), (lost, LOST)), counts)


def _ratio(found: np.ndarray, wanted: np.ndarray, reason: str) -> Column:
    """found/wanted, missing where `wanted` is zero."""
    still = wanted == 0.0
    return Column(np.where(still, np.nan, found / np.where(still, 1.0, wanted)), ((still, reason),))


def result(m: np.ndarray, each: np.ndarray, q: np.ndarray, ideals: References, bounds: References) -> dict[str, Column]:
    """The metrics of many runs."""
    all_each = collisions.finished(m["collisions"], each)
    each = all_each[:, 1:]
    most = int(q["collisions"].max())
    beyond = np.arange(1, most + 1)[None, :] > q["collisions"][:, None]
    over, felt = ((each[name][:, :most] != 0) & ~beyond for name in ("over", "felt"))
    cov = _ratios(each["speed"][:, :most], over, ideals, "speeds", "in space nothing moves after it")
    cof = _ratios(each["peak"][:, :most], felt, ideals, "peaks", "in space there is no force")
    listed = np.arange(most)[None, :] < cov.entries[:, None]  # type: ignore[index]
    diverged = (m["fast"] != 0) | ((cov.values > DIVERGED_SPEED) & listed).any(axis=1)
    omega = np.sqrt(q["k"] / q["mass"])
    energy = ideals.column(lambda ideal: ideal.energy)
    unknown = ideals.column(lambda ideal: getattr(ideal.energy, "reason", ""), object)
    twin, rotates = q["twin"] != 0, q["rotates"] != 0
    turning = np.sqrt(m["most_energy"] / m["H"])
    least = bounds.column(lambda bound: math.nan if bound is None else bound)
    return {
        "cov": cov,
        "cof": cof,
        "mean_cof": _mean(cof),
        "kinetic_energy_ratio": Column(
            np.where(energy == 0.0, np.nan, m["energy"] / np.where(energy == 0.0, 1.0, energy)),
            ((unknown != "", unknown), (energy == 0.0, "in space nothing moves at the end")),
        ),
        "contacts_missed": Column(((all_each["touched"] != 0) & (all_each["seen"] == 0)).sum(axis=1)),
        "momentum_drift": _drift(m),
        **_identification(m, q),
        "force_lead_s": _force_lead(m),
        # Distance of the robot behind the simulated tip in flight, divided by the speed.
        "robot_delay_s": _ratio(m["behind"], m["power"], "there was no flight after a contact"),
        "command_speed_ratio": Column(np.sqrt(m["command_speed2"]) / q["start"]),
        "command_acceleration_ratio": Column(np.sqrt(m["command_change2"]) / (q["period"] * q["start"] * omega)),
        "max_speed_ratio": Column(np.where(rotates, turning, np.sqrt(m["fastest2"]) / q["start"]), present=twin),
        "time_slip_s": Column(m["time_slip"], present=twin),
        "bound_cof_after_tick": Column(least, present=~np.isnan(least)),
        "diverged": Column(diverged),
        "diverged_at_s": Column(np.where(m["fast"] != 0, m["fast_t"], m["t"]), present=diverged),
    }


def _mean(cof: Column) -> Column:
    """Mean over all collisions of a run; missing if one of them is."""
    assert cof.entries is not None
    listed = np.arange(cof.values.shape[1])[None, :] < cof.entries[:, None]
    total = np.where(listed, cof.values, 0.0).sum(axis=1)
    none = cof.entries == 0
    causes = [((where & listed).any(axis=1), reason) for where, reason in cof.why]
    return Column(
        total / np.where(none, 1, cof.entries) + np.where(none, np.nan, 0.0), ((none, "there was no contact"), *causes)
    )


def _drift(m: np.ndarray) -> Column:
    """Largest relative change of momentum since the first row."""
    scale, own = (np.linalg.norm(m[name], axis=1) for name in ("P_N", "L_N"))
    own = np.maximum(scale, own)
    still = (scale == 0.0) | (own == 0.0)
    linear, angular = m["linear"] / np.where(still, 1.0, scale), m["angular"] / np.where(still, 1.0, own)
    return Column(np.where(still, np.nan, np.maximum(linear, angular)), ((still, "nothing moves in the common frame"),))


def _force_lead(m: np.ndarray) -> Column:
    """Lag of the measured force behind the compensated one."""
    unseen = (m["lead"]["seen"] == 0) | (m["lead"]["used_any"] == 0)
    short = m["count"] < 8
    values = np.where(unseen | short, np.nan, lead.shift(m["lead"]) * m["step"])
    return Column(values, ((unseen, "no force was measured"), (short, "the run has fewer than 8 ticks")))


def _identification(m: np.ndarray, q: np.ndarray) -> dict[str, Column]:
    """Errors of the last valid estimate at each frame; the worse one counts."""
    stiffness, damping = np.full(len(m), -np.inf), np.full(len(m), -np.inf)
    for side, k in (("front", q["k"]), ("rear", q["k_rear"])):
        found = m[side]["found"] != 0
        critical = 2.0 * np.sqrt(k * q["mass"])
        stiffness = np.where(found, np.maximum(stiffness, np.abs(m[side]["k"] / k - 1.0)), stiffness)
        damping = np.where(found, np.maximum(damping, np.abs(m[side]["c"] - q["c"]) / critical), damping)
    none = (m["front"]["found"] == 0) & (m["rear"]["found"] == 0)
    columns = {"stiffness_error": stiffness, "damping_error_of_critical": damping}
    return {
        name: Column(np.where(none, np.nan, each), ((none, "no contact was identified"),)) for name, each in columns.items()
    }


COUNTER = Counter(
    state=counting.STATE,
    event=collisions.EVENT,
    params=counting.PARAMS,
    events=counting.events,
    pack=counting.pack,
    step=counting.count_step,
    feed=counting.feed,
    references=(ideal_of, cof_just_after_tick),
    result=result,
)
