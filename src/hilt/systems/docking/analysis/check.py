"""Can a docking scenario work at all? Closed forms of the first contact against thresholds, delays and limits.

    ω = √(k/m)      contact time π/ω      ideal peak v √(k m)      m: effective mass at the tip

Contact that is not detected, or detected late, costs force or generates energy; each rule below is checked against
simulation in tests/systems/docking/test_check.py.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hilt.analysis.check import Remark, limit, si, workspace
from hilt.core.verdict import percent
from hilt.systems.docking.analysis.bound import Touch, least_cof_of, touch_of
from hilt.systems.docking.docking import Docking

TICKS = {"twin": 5.0}  # least ticks per contact; for the other methods:
OTHER_TICKS = 7.0
GUARDED_LATE = 1.5  # largest ω τ at which the twin works with a slowed clock
UNFELT_MARGIN = 2.0 / 3.0  # of the allowed undetected part of a contact: noise also uses part of the goal
PIDA_COST = 2.0 / 3.0  # CoF - 1 per threshold / ideal peak: k is estimated from the rest, and the lead is filtered
STEPS = 50.0  # of the sensor in an ideal peak
HALVINGS = 40


@dataclass(frozen=True)
class _Contact:
    """The first contact of a scenario, as in space."""

    scenario: Docking
    touch: Touch

    @property
    def omega(self) -> float:
        return self.touch.omega

    @property
    def peak(self) -> float:
        return self.touch.ideal

    @property
    def time(self) -> float:
        return math.pi / self.omega

    @property
    def method(self) -> str:
        return self.scenario.compensate.method

    @property
    def delay(self) -> float:
        """Total of robot, sensor and filter."""
        scenario = self.scenario
        return scenario.robot_lag + scenario.force_delay


def check(scenario: Docking) -> list[Remark]:
    contact = _Contact(scenario, touch_of(scenario))
    return [*_detection(contact), _period(contact), _delay(contact), *_limits(contact), *_range(contact), _duration(contact)]


def _detection(contact: _Contact) -> Iterator[Remark]:
    """Nothing is detected below the threshold: the peak grows to √(peak² + threshold²), and noise affects the rest."""
    scenario, peak, threshold = contact.scenario, contact.peak, contact.scenario.force_threshold
    goal = scenario.goal.cof
    share = goal / PIDA_COST if contact.method != "twin" else UNFELT_MARGIN * math.sqrt((1.0 + goal) ** 2 - 1.0)
    deviations = 6.0 if contact.method == "twin" else 8.0
    noise = scenario.believed.sensor.noise
    by_noise = scenario.detect.threshold is None and threshold == deviations * noise
    key = "sensor.noise" if by_noise else "detect.threshold"
    needed = share * peak / deviations if by_noise else share * peak
    fine = threshold <= share * peak
    of_what = f" ({deviations:.0f} σ of sensor.noise)" if by_noise else ""
    below = "below" if threshold > peak else "too close to"
    if fine:
        sentence = f"Ideal peak {si(peak, 'N')} is well above the detection threshold of {si(threshold, 'N')}{of_what}."
    else:
        name = "noise" if by_noise else "a threshold"
        sentence = (
            f"Ideal peak {si(peak, 'N')} is {below} the detection threshold of {si(threshold, 'N')}{of_what}: "
            f"{name} below {si(needed, 'N')} is needed."
        )
    yield Remark("detection", fine, sentence, key, noise if by_noise else threshold, needed)


def _period(contact: _Contact) -> Remark:
    period, ticks = contact.scenario.loop.period, TICKS.get(contact.method, OTHER_TICKS)
    found, needed = contact.time / period, contact.time / ticks
    start = f"The contact lasts {si(contact.time, 's')}, {found:.3g} ticks of {si(period, 's')}"
    if found < ticks:
        return Remark("period", False, f"{start}: a period below {si(needed, 's')} is needed.", "loop.period", period, needed)
    return Remark("period", True, f"{start}; {ticks:.0f} are enough.", "loop.period", period, needed)


def _delay(contact: _Contact) -> Remark:
    """The effect of the delay depends on the method; for each, the largest delay that it tolerates."""
    scenario, omega, tau = contact.scenario, contact.omega, contact.delay
    goal, key = scenario.goal, "robot.delay"
    start = f"A delay of {si(tau, 's')} in a contact of {si(contact.time, 's')} is ωτ = {omega * tau:.2g}"
    name = f"method {contact.method}"
    if contact.method == "none":
        # Each contact multiplies the speed by e^{πωτ/2}.
        speed = math.expm1(min(0.5 * math.pi * omega * tau * scenario.collisions, 500.0))
        needed = 2.0 * math.log1p(goal.cov) / (math.pi * omega * scenario.collisions)
        cost = f"without compensation speed is {percent(speed)} too high after {scenario.collisions} contacts"
        fine = speed <= goal.cov
    elif contact.method == "dac":
        force = math.expm1(min(0.25 * math.pi * omega * tau, 500.0))  # the peak is half-way through the contact
        needed, fine = 4.0 * math.log1p(goal.cof) / (math.pi * omega), force <= goal.cof
        cost = f"dac keeps the speed but not the force, which is {percent(force)} too high"
    elif contact.method == "twin":
        return _twin_delay(contact, start)
    else:
        force = 0.5 * (omega * tau) ** 2  # compensated to first order in ωτ
        needed, fine = math.sqrt(2.0 * goal.cof) / omega, force <= goal.cof
        cost = f"{name} leaves the force {percent(force)} too high"
    if fine:
        return Remark("delay", True, f"{start}; {cost}, which the goal allows.", key, tau, needed)
    other = " or compensate.method = 'twin'" if omega * tau <= GUARDED_LATE else ""
    return Remark("delay", False, f"{start}: {cost}; a delay below {si(needed, 's')}{other} is needed.", key, tau, needed)


def _twin_delay(contact: _Contact, start: str) -> Remark:
    """In real time no method beats the bound; with a slowed clock the twin works up to a delay of about one contact."""
    scenario, key, within = contact.scenario, "robot.delay", 1.0 + contact.scenario.goal.cof
    if scenario.compensate.mode == "guarded":
        needed = GUARDED_LATE / contact.omega
        if contact.delay <= needed:
            return Remark("delay", True, f"{start}; the twin slows its clock where needed.", key, contact.delay, needed)
        return Remark("delay", False, f"{start}: a delay below {si(needed, 's')} is needed.", key, contact.delay, needed)
    least = least_cof_of(contact.touch)
    if least is None or least <= within:
        return Remark("delay", True, f"{start}; the twin keeps up with it in real time.", key, contact.delay)
    needed = _bisected(contact.touch, within) + contact.touch.T1 + contact.touch.sensor
    cost = f"in real time no method keeps the peak of a first touch just after a tick below {least:.3g} times the ideal"
    return Remark(
        "delay",
        False,
        f"{start}: {cost}; a delay below {si(needed, 's')} or compensate.mode = 'guarded' is needed.",
        key,
        contact.delay,
        needed,
    )


def _bisected(touch: Touch, within: float) -> float:
    """The longest dead time of the robot for which the bound is at most `within`; 0 if there is none."""
    low, high = 0.0, touch.dead_time
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        least = least_cof_of(replace(touch, dead_time=middle))
        low, high = (middle, high) if least is None or least <= within else (low, middle)
    return low


def _limits(contact: _Contact) -> Iterator[Remark]:
    """Check that the limits allow the robot at least the motion of the bodies in space."""
    scenario, limits, touch = contact.scenario, contact.scenario.limits, contact.touch
    speed = scenario.approach.speed
    acceleration = touch.speed * contact.omega * (1.0 + scenario.goal.cof)
    commanded = speed
    if contact.method == "twin":  # it may use its full allowance
        acceleration, commanded = max(acceleration, touch.acceleration), max(speed, touch.fastest)
    yield limit(
        "force", "The contact force reaches", contact.peak * (1.0 + scenario.goal.cof), "limits.force", limits.force, "N"
    )
    yield limit("speed", "Commands reach", commanded, "limits.speed", limits.speed, "m/s")
    yield limit("acceleration", "Commands need", acceleration, "limits.acceleration", limits.acceleration, "m/s²")
    yield limit("energy", "The bodies start with", 0.5 * scenario.servicer.mass * speed**2, "limits.energy", limits.energy, "J")
    if scenario.robot.speed_limit:
        yield limit("speed", "The bodies move at", speed, "robot.speed_limit", scenario.robot.speed_limit, "m/s")
    if scenario.robot.acceleration_limit:
        needed = touch.speed * contact.omega
        yield limit(
            "acceleration", "The contact needs", needed, "robot.acceleration_limit", scenario.robot.acceleration_limit, "m/s²"
        )
    reach = scenario.frames.gap - scenario.rod.radius + touch.speed / contact.omega
    start, n = scenario.approach.position, scenario.frames.n_W
    yield from workspace(
        [p - reach * abs(part) for p, part in zip(start, n, strict=True)],
        [p + reach * abs(part) for p, part in zip(start, n, strict=True)],
        limits,
    )


def _range(contact: _Contact) -> Iterator[Remark]:
    sensor = contact.scenario.sensor
    if sensor.saturation:
        yield limit("sensor range", "The contact force reaches", contact.peak, "sensor.saturation", sensor.saturation, "N")
    if sensor.resolution:
        needed = contact.peak / STEPS
        fine = sensor.resolution <= needed
        steps = contact.peak / sensor.resolution
        start = f"The ideal peak is {steps:.2g} steps of the sensor ({si(sensor.resolution, 'N')})"
        end = "." if fine else f": a step below {si(needed, 'N')} is needed."
        yield Remark("sensor range", fine, start + end, "sensor.resolution", sensor.resolution, needed)


def _duration(contact: _Contact) -> Remark:
    """Check loop.duration: free flights at the approach speed and half an oscillation per contact; damping takes longer."""
    scenario, speed = contact.scenario, contact.touch.speed
    free = scenario.frames.gap - scenario.rod.radius
    needed = (2 * scenario.collisions - 1) * free / speed + scenario.collisions * contact.time
    duration = scenario.loop.duration
    start = f"{scenario.collisions} contacts take at least {si(needed, 's')}"
    if duration < needed:
        sentence = f"{start}, but loop.duration is {si(duration, 's')}: at least {si(needed, 's')} is needed."
        return Remark("duration", False, sentence, "loop.duration", duration, needed)
    return Remark(
        "duration", True, f"{start}; loop.duration of {si(duration, 's')} is enough.", "loop.duration", duration, needed
    )
