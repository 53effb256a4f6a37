"""What a run of `docking` is measured by: each collision against the same collision in space.

CoV_n is the speed after collision n over the ideal one, CoF_n the largest true force of collision n over the ideal one. In one
degree of freedom the ideal is a closed form, damping included; in six it is the same contact on a perfect robot at a much
finer tick.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from scipy.spatial.transform import Rotation

from hilt.compensate.ledger import kinetic_energy
from hilt.compensate.twin.bound import bound_cof, effective_mass
from hilt.missing import Missing, ratio

DIVERGED = 1.25  # speed over ideal speed
SWING = 0.02  # rad of a contact's swing in a tick of the reference: its energy is then right to (0.02)²/4
COARSE = 0.2  # rad, from which on the reference is none
MOST_TICKS = 400_000  # of the reference: a second of computing
CHUNK = 4096
SLIM = ["v_C_des_W", "F_C_true_W", "collision", "contact", "H", "H_rot"]  # what is kept of the reference
UNRESOLVED = "the contact is too short for a reference with {} ticks"

METRIC_WORDS = {
    "cov": "CoV: speed after each collision / ideal",
    "cof": "CoF: largest force of each collision / ideal",
    "mean_cof": "mean CoF",
    "kinetic_energy_ratio": "kinetic energy at the end / ideal",
    "momentum_drift": "momentum, relative error",
    "stiffness_error": "stiffness, relative error",
    "damping_error_of_critical": "damping, error in parts of critical",
    "force_lead_s": "compensated force ahead of the measured one by",
    "robot_delay_s": "delay of the robot, seen in flight",
    "command_speed_ratio": "largest commanded speed / ideal",
    "command_acceleration_ratio": "largest commanded acceleration / ideal",
    "max_speed_ratio": "largest simulated speed / speed at the start",
    "time_slip_s": "simulated time behind real time by (twin)",
    "bound_cof": "least CoF of the first touch in real time, by any method",
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
    """Restitution and peak force per speed of a mass that meets a spring-damper which only pushes, in closed form."""
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
    """The fastest that a contact changes [rad/s]: its swing, or the decay of its damping."""
    mass, k = effective_mass(scenario), scenario.contact.stiffness * max(1.0, scenario.contact.rear_stiffness_ratio)
    return max(math.sqrt(k / mass), scenario.contact.damping / mass)


def fineness(scenario: Any) -> int:
    """Ticks of the reference for one of the loop: at least eight, more for a fast contact, as many as can be computed."""
    period = scenario.loop.period
    least = max(8, math.ceil(period / 2.5e-4))
    most = int(MOST_TICKS * period / scenario.loop.duration)
    return max(least, min(most, math.ceil(contact_rate(scenario) * period / SWING)))


def ideal_fine(scenario: Any) -> Ideal:
    """Any other contact: the same bodies in space, computed at an eighth of the tick or finer."""
    finer = fineness(scenario)
    perfect = scenario.in_space(finer)
    if contact_rate(scenario) * perfect.loop.period > COARSE:
        none = Missing(UNRESOLVED.format(round(perfect.loop.duration / perfect.loop.period)))
        return Ideal([none] * scenario.collisions, [none] * scenario.collisions, none)
    rows = _slim_rows(perfect)
    return Ideal(speeds_after(rows, perfect), peak_forces(rows), float(kinetic_energy(rows)[-1]))


def _slim_rows(scenario: Any) -> np.ndarray:
    """What a reference is judged by, of each tick; whole rows would take gigabytes."""
    from hilt.systems.docking import DOCKING

    bench, kept = DOCKING.set_up(scenario), []
    log = np.zeros(CHUNK, DOCKING.row)
    for first in range(0, bench.ticks, CHUNK):
        count = DOCKING.batch(bench.row, bench.x, bench.w, bench.p, log[: bench.ticks - first])
        kept.append(repack_fields(log[:count][SLIM]))
        if log["done"][count - 1] or log["fault"][count - 1]:
            break
    return np.concatenate(kept)


def ideal_of(scenario: Any) -> Ideal:
    contact = scenario.contact
    softest = contact.stiffness * min(1.0, contact.rear_stiffness_ratio)
    rings = contact.damping < 1.8 * math.sqrt(softest * scenario.reduced_mass)  # below 0.9 of critical
    return ideal_line(scenario) if scenario.dof == 1 and contact.kind == "linear" and rings else ideal_fine(scenario)


def speeds_after(rows: np.ndarray, scenario: Any) -> list[float]:
    """Speed of the simulated tip along the frames' normal in the flight after each completed collision."""
    normal = np.array(scenario.frames.n_W)
    v = rows["v_C_des_W"] @ normal
    number, touching = rows["collision"], rows["contact"] != 0
    speeds = []
    for n in range(1, int(number.max()) + 1):
        inside = np.flatnonzero((number == n) & touching)
        flight = np.flatnonzero(number == n)
        flight = flight[flight > inside[-1]] if len(inside) else flight[:0]
        if len(flight):
            speeds.append(float(abs(v[flight[-1 - len(flight) // 4]])))
        elif n < number.max():  # the other frame came at once
            speeds.append(float(abs(v[np.flatnonzero(number == n)[-1]])))
    return speeds[: scenario.collisions]


def peak_forces(rows: np.ndarray) -> list[float]:
    force = np.linalg.norm(rows["F_C_true_W"], axis=1)
    return [float(force[rows["collision"] == n].max()) for n in range(1, int(rows["collision"].max()) + 1)]


def _lag(t: np.ndarray, late: np.ndarray, early: np.ndarray) -> float:
    """By how much `late` comes after `early`: the shift with the least squares, to a fraction of a sample."""
    if not late.any() or not early.any():
        return Missing("no force was felt")
    if len(t) < 8:
        return Missing("the run has fewer than 8 ticks")
    period = float(t[1] - t[0])
    spectrum = np.fft.rfft(late, 2 * len(t)) * np.conj(np.fft.rfft(early, 2 * len(t)))
    correlation = np.fft.irfft(spectrum)
    best = int(np.argmax(correlation))
    left, middle, right = (correlation[(best + i) % len(correlation)] for i in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = best + (0.5 * (left - right) / bend if bend else 0.0)
    return float((shift if shift < len(t) else shift - 2 * len(t)) * period)


def _robot_delay(rows: np.ndarray) -> float:
    """How far the robot is behind the simulated tip in flight, divided by the speed."""
    flight = (rows["contact"] == 0) & (rows["collision"] > 0)
    v = rows["v_C_des_W"][flight]
    power = float(np.einsum("ij,ij->", v, v))
    behind = (rows["p_C_des_W"] - rows["p_C_true_W"])[flight]
    return ratio(float(np.einsum("ij,ij->", behind, v)), power, "there was no flight after a contact")


def metrics(rows: np.ndarray, scenario: Any) -> dict[str, Any]:
    """The figures of a run."""
    ideal = ideal_of(scenario)
    speeds, peaks = speeds_after(rows, scenario), peak_forces(rows)[: scenario.collisions]
    cov = [ratio(found, wanted, "in space nothing moves after it") for found, wanted in zip(speeds, ideal.speeds, strict=False)]
    cof = [ratio(found, wanted, "in space there is no force") for found, wanted in zip(peaks, ideal.peaks, strict=False)]
    start = math.hypot(*scenario.approach.velocity)
    omega = math.sqrt(scenario.contact.stiffness / scenario.reduced_mass)
    v = rows["v_C_des_W"]
    speed, acceleration = _command(rows, scenario)
    fast = np.flatnonzero(np.linalg.norm(v, axis=1) > DIVERGED * start)
    faulted = int(rows["fault"][-1]) != 0
    diverged = faulted or any(each > DIVERGED for each in cov)
    figures: dict[str, Any] = {
        "cov": cov,
        "cof": cof,
        "mean_cof": _mean(cof),
        "kinetic_energy_ratio": ratio(float(kinetic_energy(rows)[-1]), ideal.energy, "in space nothing moves at the end"),
        "momentum_drift": _momentum_drift(rows),
        **_identification(rows, scenario),
        "force_lead_s": _lag(rows["t"], np.linalg.norm(rows["F_mea_W"], axis=1), np.linalg.norm(rows["F_hat_W"], axis=1)),
        "robot_delay_s": _robot_delay(rows),
        "command_speed_ratio": speed / start,
        "command_acceleration_ratio": acceleration / (start * omega),
        "diverged": diverged,
    }
    if scenario.compensate.method == "twin":
        energy = rows["H"] + rows["H_rot"]  # a turning body's tip may well be faster than it came, its bodies may not
        fastest = math.sqrt(energy.max() / energy[0]) if scenario.rotates else float(np.linalg.norm(v, axis=1).max()) / start
        figures["max_speed_ratio"] = fastest
        figures["time_slip_s"] = float(rows["time_slip"][-1])
    if (least := bound_cof(scenario)) is not None:
        figures["bound_cof"] = least
    if diverged:
        figures["diverged_at_s"] = float(rows["t"][fast[0] if len(fast) else -1])
    return figures


def _mean(cof: list[float]) -> float:
    if not cof:
        return Missing("there was no contact")
    return next((each for each in cof if isinstance(each, Missing)), float(np.mean(cof)))


def _command(rows: np.ndarray, scenario: Any) -> tuple[float, float]:
    """Largest speed and acceleration asked of the robot: the simulated tip's, or of the twin's command its own differences."""
    v = rows["v_C_des_W"]
    if scenario.compensate.method == "twin":
        turns = Rotation.from_quat(rows["X_WB_des"]["q"], scalar_first=True)
        tip = rows["X_WB_des"]["p"] + turns.apply(scenario.rod.tip)  # the limits are the tip's
        v = np.diff(tip, axis=0) / scenario.loop.period
    speeds = np.linalg.norm(v, axis=1)
    accelerations = np.linalg.norm(np.diff(v, axis=0), axis=1) / scenario.loop.period
    return float(speeds.max(initial=0.0)), float(accelerations.max(initial=0.0))


def _momentum_drift(rows: np.ndarray) -> float:
    scale = float(np.linalg.norm(rows["P_N"][0]))
    linear = np.abs(rows["P_N"] - rows["P_N"][0]).max()
    angular = np.abs(rows["L_N"] - rows["L_N"][0]).max()
    return float(max(linear / scale, angular / max(scale, float(np.linalg.norm(rows["L_N"][0])))))


def _identification(rows: np.ndarray, scenario: Any) -> dict[str, float]:
    """Errors of the last valid estimate at each frame; the worse one counts."""
    contact = scenario.contact
    stiffness, damping = [], []
    for side, k in ((1, contact.stiffness), (-1, contact.stiffness * contact.rear_stiffness_ratio)):
        found = np.flatnonzero((rows["contact"] == side) & (rows["identified"] == 1))
        if len(found):
            stiffness.append(abs(float(rows["k_hat"][found[-1]]) / k - 1.0))
            damping.append(
                abs(float(rows["c_hat"][found[-1]]) - contact.damping) / (2.0 * math.sqrt(k * scenario.reduced_mass))
            )
    none = Missing("no contact was identified")
    return {"stiffness_error": max(stiffness, default=none), "damping_error_of_critical": max(damping, default=none)}
