"""Metrics of a run of `docking`: each collision compared with the same collision in space.

CoV_n is the speed after collision n relative to the ideal, CoF_n the peak true force of collision n relative to the ideal. In
one degree of freedom the ideal is a closed form, including damping; in six it is the same contact on a perfect robot with a
much finer tick.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from scipy.spatial.transform import Rotation

from hilt.core.ledger import kinetic_energy
from hilt.core.meter import NO_ROWS, Correlation, highest
from hilt.core.missing import Missing, ratio
from hilt.core.verdict import DIVERGED_SPEED
from hilt.systems.docking.analysis.bound import bound_cof, effective_mass
from hilt.systems.docking.collisions import Collisions
from hilt.systems.docking.collisions import peak_forces as peak_forces
from hilt.systems.docking.collisions import speeds_after as speeds_after

SWING = 0.02  # rad of a contact's oscillation per tick of the reference: its energy is then accurate to (0.02)²/4
COARSE = 0.2  # rad, above which there is no reference
MOST_TICKS = 400_000  # of the reference: about a second of computation
CHUNK = 4096
SLIM = ["v_C_des_W", "F_C_true_W", "collision", "contact", "H", "H_rot"]  # what is kept of the reference
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
    "bound_cof": "lowest possible CoF of the first touch in real time, any method",
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
    """Restitution and peak force per speed of a mass hitting a spring-damper that only pushes, in closed form."""
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
    """The fastest rate in a contact [rad/s]: its oscillation, or the decay by its damping."""
    mass, k = effective_mass(scenario), scenario.contact.stiffness * max(1.0, scenario.contact.rear_stiffness_ratio)
    return max(math.sqrt(k / mass), scenario.contact.damping / mass)


def fineness(scenario: Any) -> int:
    """Ticks of the reference per tick of the loop: at least eight, more for a fast contact, up to what can be computed."""
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
    """The signals of a reference that the metrics need; whole rows would take gigabytes."""
    from hilt.systems.docking.docking import DOCKING

    bench, kept = DOCKING.set_up(scenario), []
    log = np.zeros(CHUNK, DOCKING.row)
    for first in range(0, bench.ticks, CHUNK):
        count = bench.code.batch(bench.row, bench.x, bench.w, bench.p, log[: bench.ticks - first])
        kept.append(repack_fields(log[:count][SLIM]))
        if log["done"][count - 1] or log["fault"][count - 1]:
            break
    return np.concatenate(kept)


def closed_form(scenario: Any) -> bool:
    """Whether the ideal has a closed form; all others are simulated."""
    contact = scenario.contact
    softest = contact.stiffness * min(1.0, contact.rear_stiffness_ratio)
    rings = contact.damping < 1.8 * math.sqrt(softest * scenario.reduced_mass)  # below 0.9 of critical
    return scenario.dof == 1 and contact.kind == "linear" and rings


def ideal_of(scenario: Any) -> Ideal:
    return ideal_line(scenario) if closed_form(scenario) else ideal_fine(scenario)


class DockingMeter:
    """The metrics of a run."""

    def __init__(self, scenario: Any) -> None:
        self.scenario = scenario
        self._collisions = Collisions(scenario.frames.n_W, scenario.collisions)
        self._momentum, self._command, self._lead = _Momentum(), _Command(scenario), Correlation()
        self._identified: dict[int, np.ndarray] = {}
        self._behind = self._power = 0.0
        self._first = self._last = NO_ROWS
        self._times: list[float] = []  # of the first two rows
        self._count = 0
        self._touched: set[int] = set()  # numbers of the contacts that took place, and of those that the controller saw
        self._seen: set[int] = set()
        self._fast: float | None = None
        self._fastest = self._most_energy = 0.0
        self._start = math.hypot(*scenario.approach.velocity)

    def take(self, rows: np.ndarray) -> None:
        if not self._count:
            self._first, self._times = rows[:1].copy(), rows["t"][:2].tolist()
        self._last = rows[-1:].copy()
        self._count += len(rows)
        self._collisions.take(rows)
        self._momentum.take(rows)
        self._command.take(rows)
        self._lead.take(np.linalg.norm(rows["F_mea_W"], axis=1), np.linalg.norm(rows["F_hat_W"], axis=1))
        self._touched.update(np.unique(rows["collision"][rows["contact"] != 0]).tolist())
        self._seen.update(np.unique(rows["collision"][rows["in_contact"] == 1]).tolist())
        for side in (1, -1):
            found = np.flatnonzero((rows["contact"] == side) & (rows["identified"] == 1))
            if len(found):
                self._identified[side] = rows[found[-1]].copy()
        speed = np.linalg.norm(rows["v_C_des_W"], axis=1)
        # The tip of a turning body may leave faster than it arrived, but the bodies may not.
        growth = np.sqrt(kinetic_energy(rows) / kinetic_energy(self._first)) if self.scenario.rotates else speed / self._start
        fast = np.flatnonzero(growth > DIVERGED_SPEED)
        if self._fast is None and len(fast):
            self._fast = float(rows["t"][fast[0]])
        self._fastest = highest(self._fastest, speed)
        self._most_energy = highest(self._most_energy, kinetic_energy(rows))
        flight = (rows["contact"] == 0) & (rows["collision"] > 0)
        v, behind = rows["v_C_des_W"][flight], (rows["p_C_des_W"] - rows["p_C_true_W"])[flight]
        self._power += float(np.einsum("ij,ij->", v, v))
        self._behind += float(np.einsum("ij,ij->", behind, v))

    def result(self) -> dict[str, Any]:
        scenario, start = self.scenario, self._start
        ideal = ideal_of(scenario)
        cov = [
            ratio(found, wanted, "in space nothing moves after it")
            for found, wanted in zip(self._collisions.speeds(), ideal.speeds, strict=False)
        ]
        cof = [
            ratio(found, wanted, "in space there is no force")
            for found, wanted in zip(self._collisions.peaks(), ideal.peaks, strict=False)
        ]
        omega = math.sqrt(scenario.contact.stiffness / scenario.reduced_mass)
        diverged = self._fast is not None or any(each > DIVERGED_SPEED for each in cov)
        figures: dict[str, Any] = {
            "cov": cov,
            "cof": cof,
            "mean_cof": _mean(cof),
            "kinetic_energy_ratio": ratio(
                float(kinetic_energy(self._last)[0]), ideal.energy, "in space nothing moves at the end"
            ),
            "contacts_missed": len(self._touched - self._seen),
            "momentum_drift": self._momentum.drift(),
            **self._identification(),
            "force_lead_s": self._force_lead(),
            # Distance of the robot behind the simulated tip in flight, divided by the speed.
            "robot_delay_s": ratio(self._behind, self._power, "there was no flight after a contact"),
            "command_speed_ratio": self._command.speed / start,
            "command_acceleration_ratio": self._command.acceleration / (start * omega),
            "diverged": diverged,
        }
        if scenario.compensate.method == "twin":
            turning = math.sqrt(self._most_energy / float(kinetic_energy(self._first)[0])) if scenario.rotates else 0.0
            figures["max_speed_ratio"] = turning if scenario.rotates else self._fastest / start
            figures["time_slip_s"] = float(self._last["time_slip"][0])
        if (least := bound_cof(scenario)) is not None:
            figures["bound_cof"] = least
        if diverged:
            figures["diverged_at_s"] = float(self._last["t"][0]) if self._fast is None else self._fast
        return figures

    def _force_lead(self) -> float:
        """Lag of the measured force behind the compensated one."""
        if not all(self._lead.seen):
            return Missing("no force was measured")
        if self._count < 8:
            return Missing("the run has fewer than 8 ticks")
        return self._lead.shift() * (self._times[1] - self._times[0])

    def _identification(self) -> dict[str, float]:
        """Errors of the last valid estimate at each frame; the worse one counts."""
        contact = self.scenario.contact
        stiffness, damping = [], []
        for side, k in ((1, contact.stiffness), (-1, contact.stiffness * contact.rear_stiffness_ratio)):
            row = self._identified.get(side)
            if row is not None:
                critical = 2.0 * math.sqrt(k * self.scenario.reduced_mass)
                stiffness.append(abs(float(row["k_hat"]) / k - 1.0))
                damping.append(abs(float(row["c_hat"]) - contact.damping) / critical)
        none = Missing("no contact was identified")
        return {"stiffness_error": max(stiffness, default=none), "damping_error_of_critical": max(damping, default=none)}


def _mean(cof: list[float]) -> float:
    if not cof:
        return Missing("there was no contact")
    return next((each for each in cof if isinstance(each, Missing)), float(np.mean(cof)))


def _turned(q: np.ndarray, tip: Any) -> np.ndarray:
    """The tip, to which the limits apply, in the attitude of each row; NaN where a recording has no attitude."""
    found = np.full((len(q), 3), np.nan)
    whole = np.isfinite(q).all(axis=1) & q.any(axis=1)
    if whole.any():
        found[whole] = Rotation.from_quat(q[whole], scalar_first=True).apply(tip)
    return found


class _Command:
    """Largest commanded speed and acceleration: the simulated tip's, or for the twin the differences of its command."""

    def __init__(self, scenario: Any) -> None:
        self._twin, self._tip, self._period = scenario.compensate.method == "twin", scenario.rod.tip, scenario.loop.period
        self._before = np.zeros((0, 3))  # the last row or, for positions, the last two
        self.speed = self.acceleration = 0.0

    def take(self, rows: np.ndarray) -> None:
        if self._twin:
            places = np.concatenate([self._before, rows["X_WB_cmd"]["p"] + _turned(rows["X_WB_cmd"]["q"], self._tip)])
            self._before = places[-2:].copy()
            v = np.diff(places, axis=0) / self._period
        else:
            v = np.concatenate([self._before, rows["v_C_des_W"]])
            self._before = v[-1:].copy()
        self.speed = highest(self.speed, np.linalg.norm(v, axis=1))
        self.acceleration = highest(self.acceleration, np.linalg.norm(np.diff(v, axis=0), axis=1) / self._period)


class _Momentum:
    """Largest change of the momentum from the first row."""

    def __init__(self) -> None:
        self._first: np.ndarray | None = None
        self._linear = self._angular = 0.0

    def take(self, rows: np.ndarray) -> None:
        if self._first is None:
            self._first = rows[:1].copy()
        self._linear = highest(self._linear, np.abs(rows["P_N"] - self._first["P_N"]))
        self._angular = highest(self._angular, np.abs(rows["L_N"] - self._first["L_N"]))

    def drift(self) -> float:
        assert self._first is not None
        scale = float(np.linalg.norm(self._first["P_N"][0]))
        own = max(scale, float(np.linalg.norm(self._first["L_N"][0])))
        still = "nothing moves in the common frame"
        return max(ratio(self._linear, scale, still), ratio(self._angular, own, still))
