"""Whether a freefloat scenario can work: the motion that its pushes and walls cause, compared with delay, limits and sensor."""

import math
from collections.abc import Iterator

import numpy as np

from hilt.analysis.check import Remark, limit, si, workspace
from hilt.core.verdict import percent
from hilt.systems.freefloat.freefloat import FreeFloat

POINTS = 4000  # of the motion under the pushes
TICKS = 10.0  # of a contact with a wall, at least


def check(scenario: FreeFloat) -> list[Remark]:
    remarks = [*_motion(scenario)]
    if scenario.wall is not None and not scenario.push and any(scenario.body.velocity):
        remarks += _wall(scenario)
    return remarks


def _pushed(scenario: FreeFloat) -> tuple[np.ndarray, ...]:
    """Force, velocity and position of the body under its pushes alone, by the trapezoid of each."""
    t = np.linspace(0.0, scenario.loop.duration, POINTS)
    force = np.zeros((POINTS, 3))
    for push in scenario.push:
        inside = (t > push.start) & (t < push.start + push.duration)
        shape = np.where(inside, np.sin(math.pi * (t - push.start) / push.duration) ** 2, 0.0)
        force += shape[:, None] * np.array(push.force)
    velocity = np.array(scenario.body.velocity) + _summed(force, t) / scenario.body.mass
    return force, velocity, np.array(scenario.body.position) + _summed(velocity, t)


def _summed(rate: np.ndarray, t: np.ndarray) -> np.ndarray:
    steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)[:, None]
    return np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])


def _motion(scenario: FreeFloat) -> Iterator[Remark]:
    limits, mass = scenario.limits, scenario.body.mass
    force, velocity, position = _pushed(scenario)
    most, fastest = (float(np.linalg.norm(each, axis=1).max()) for each in (force, velocity))
    if scenario.push:
        yield limit("force", "The pushes reach", most, "limits.force", limits.force, "N")
        yield limit(
            "acceleration", "They accelerate the body by", most / mass, "limits.acceleration", limits.acceleration, "m/s²"
        )
        if scenario.sensor.saturation:
            along = float(np.abs(force).max())
            yield limit("sensor range", "The pushes reach", along, "sensor.saturation", scenario.sensor.saturation, "N")
    yield limit("speed", "The body moves at up to", fastest, "limits.speed", limits.speed, "m/s")
    spin = 0.5 * float(
        np.array(scenario.body.angular_velocity) @ np.array(scenario.body.inertia) @ scenario.body.angular_velocity
    )
    energy = 0.5 * mass * fastest**2 + (spin if scenario.rotates else 0.0)
    yield limit("energy", "The body reaches", energy, "limits.energy", limits.energy, "J")
    if scenario.wall is None:
        yield from workspace(*_box(scenario, position), limits)


def _box(scenario: FreeFloat, position: np.ndarray) -> tuple[list[float], list[float]]:
    """Lowest and highest position of the body's frame, which is commanded; its rotation about the centre of mass is ignored."""
    frame = position - np.array(scenario.body.centre_of_mass)
    return frame.min(axis=0).tolist(), frame.max(axis=0).tolist()


def _wall(scenario: FreeFloat) -> Iterator[Remark]:
    """Undamped walls hit head-on: each contact multiplies the speed by e^{πωτ/2}, τ including half a tick of the held force."""
    wall, body, period = scenario.wall, scenario.body, scenario.loop.period
    assert wall is not None
    omega, speed = math.sqrt(wall.stiffness / body.mass), abs(body.velocity[0])
    time, peak = math.pi / omega, speed * math.sqrt(wall.stiffness * body.mass)
    found, needed = time / period, time / TICKS
    start = f"A contact lasts {si(time, 's')}, {found:.3g} ticks of {si(period, 's')}"
    end = f"; {TICKS:.0f} are enough." if found >= TICKS else f": a period below {si(needed, 's')} is needed."
    yield Remark("period", found >= TICKS, start + end, "loop.period", period, needed)
    yield limit("force", "The wall's force reaches", peak, "limits.force", scenario.limits.force, "N")
    if scenario.sensor.saturation:
        yield limit("sensor range", "The wall's force reaches", peak, "sensor.saturation", scenario.sensor.saturation, "N")
    square = body.dof != 6 or all(a == b for a, b in zip(wall.point[1:], body.centre_of_mass[1:], strict=True))
    if wall.damping == 0.0 and square:
        yield _delay(scenario, omega)


def _delay(scenario: FreeFloat, omega: float) -> Remark:
    sensor, period, goal = scenario.sensor, scenario.loop.period, scenario.goal.energy
    felt = sensor.lateness + sensor.lag(period) + scenario.force_filter.delay + 0.5 * period
    late = felt if scenario.robot.lead else scenario.robot_lag + felt
    turns = math.pi * omega * scenario.collisions
    made, needed = -math.expm1(-turns * late), -math.log1p(-goal) / turns
    start = f"Force and motion are {si(late, 's')} apart, half a tick included"
    cost = f"{percent(made)} of the body's energy will have come from the loop after {scenario.collisions} contacts"
    if made <= goal:
        return Remark("delay", True, f"{start}: {cost}, which the goal allows.", "robot.delay", late, needed)
    lead = "" if scenario.robot.lead else "; robot.lead = true removes the robot's part"
    advice = f"less than {si(needed, 's')} in total is needed{lead}"
    return Remark("delay", False, f"{start}: {cost}; {advice}.", "robot.delay", late, needed)
