"""The edges of `docking`: the delay above which an untreated contact makes energy, and what no method can achieve.

Untreated, without damping. A spring whose force arrives τ late is m x'' + k x(t - τ) = 0, whose root s = jω exp(-sτ/2) has
the real part ω²τ/2 to first order. A contact lasts π/ω, so each one makes the bodies faster by

    exp(πωτ/2)                    relative error 0.23 (ωτ)², measured: 5e-4 at the edge of `diverged`, 0.06 at ωτ = 0.5

and n contacts exceed a limit L of CoV - 1 when n π ω τ/2 > ln(1 + L). With damping the same holds for CoV, whose ideal
includes the damping.

Untreated, with damping. m x'' + c x'(t - h) + k x(t - h) = 0 is at its edge when its force is in phase with x'':

    ω² = (c² + √(c⁴ + 4 m² k²))/(2 m²),   h = atan(c ω/k)/ω

This is for an endless oscillation, but a contact has a beginning: the robot touches when the body is already v h further, so
the work of the spring over that distance, ½ k (v h)², is missing on the way in but not on the way out. Each contact thus gains
(ωh)²/2 of speed, as much as from a further delay of ωh²/π: the edge of a contact is at h (1 - ωh/π), 0.9 % lower for the bench
of He & Shen.

Effect of the tick. τ and h are those of the whole loop: sensor, filter, robot, and the force held over a tick. The bodies move
by Euler's symplectic step: the force of t_k changes the speed that leads from t_k to t_k + T, so it acts half a tick late and
for half a tick in advance, and holding it adds nothing (metrics/delays.py: integrator 0; the passive integrator of freefloat
adds T/2). Two second-order terms remain: the phase of the tick at which a contact begins changes its speed by at most
(ωT)²/8, and the jump c v of a damper by c T/(2 m); both change sign from contact to contact.
"""

import math
import re
from typing import Any

from hilt.metrics import delays
from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Form, Vital, around
from hilt.systems.docking.analysis.bound import cof_just_after_tick, touch_of
from hilt.systems.docking.analysis.methods import all_methods
from hilt.systems.docking.docking import DOCKING, Docking

GAIN = 1e-4  # relative gain of speed above which a damped contact makes energy; without noise
NOISY_GAIN = 0.02
MOST_NOISE = 0.5  # of the ideal peak force


def limits(scenario: Docking) -> tuple[Limit, ...]:
    """Limits that mark a loop as unstable. In a stable loop a damped contact never leaves faster than it came, whatever the
    number of contacts. Without damping every delay makes energy, and the edge is 25 % excess speed within the run."""
    if scenario.contact.damping == 0.0 or scenario.dof == 6:
        return (Limit("diverged"),)
    chance = scenario.sensor.noise + scenario.encoder.position_noise + scenario.robot.jitter
    exact = chance == 0.0 and scenario.compensate.method == "none"
    speed = "max_speed_ratio" if scenario.compensate.method == "twin" else "command_speed_ratio"
    return (Limit(speed, 1.0 + (GAIN if exact else NOISY_GAIN), words="the loop makes energy"),)


def goals(scenario: Docking) -> tuple[Limit, ...]:
    """The goals of the scenario itself."""
    return Limit("cov", scenario.goal.cov), Limit("cof", scenario.goal.cof)


def whole_delay(scenario: Docking) -> float:
    """τ of the loop [s]: sensor, filter, hold and robot, at low frequency."""
    return delays.table(DOCKING, scenario)["whole"]


def oscillation(k: float, c: float, mass: float) -> tuple[float, float]:
    """ω and h at the edge of m x'' + c x'(t - h) + k x(t - h) = 0."""
    omega = math.sqrt((c * c + math.sqrt(c**4 + 4.0 * mass**2 * k**2)) / (2.0 * mass**2))
    return omega, math.atan2(c * omega, k) / omega


def critical_delay(scenario: Docking, gain: float = 1.0) -> float:
    """Delay of the whole loop [s] at which the speed after all damped contacts of the run is `gain` times the initial one."""
    omega, h = oscillation(scenario.contact.stiffness, scenario.contact.damping, scenario.reduced_mass)
    return h * (1.0 - omega * h / math.pi) + 2.0 * math.log(gain) / (scenario.collisions * math.pi * omega)


def growth(scenario: Docking) -> float:
    """ln CoV after the last contact, untreated: Σ π ω τ/2."""
    forward = scenario.approach.velocity[0] > 0
    front, rear = (math.sqrt(k / scenario.reduced_mass) for k in _stiffnesses(scenario))
    first, second = (front, rear) if forward else (rear, front)
    n = scenario.collisions
    return 0.5 * math.pi * whole_delay(scenario) * ((n + 1) // 2 * first + n // 2 * second)


def _stiffnesses(scenario: Docking) -> tuple[float, float]:
    k = scenario.contact.stiffness
    return k, k * scenario.contact.rear_stiffness_ratio


def _plain(scenario: Docking) -> bool:
    """Whether the scenario has one axis, a spring with or without a damper, a rigid robot and no compensation."""
    rigid = scenario.robot.stiffness == 0.0 and scenario.contact.kind == "linear"
    return scenario.dof == 1 and rigid and scenario.compensate.method == "none"


def forms(scenario: Docking, limit: Limit) -> list[Form]:
    if limit.below:
        return []
    found = []
    if _plain(scenario) and limit.metric in ("diverged", "cov", "cov_error"):
        found.append(_untreated(0.25 if limit.metric == "diverged" else limit.value))
    damped = scenario.contact.damping > 0.0 and scenario.contact.rear_stiffness_ratio == 1.0
    if _plain(scenario) and damped and limit.metric == "command_speed_ratio" and limit.value >= 1.0:
        found.append(_damped(limit.value))
    if limit.metric in ("cof", "cof_error", "cof_1"):
        found.append(_bound(limit.value - 1.0 if limit.metric == "cof_1" else limit.value))
    return found


def _untreated(beyond: float) -> Form:
    return Form(
        "untreated contact",
        "n π ω τ/2 = ln(1 + limit)",
        "terms of (ωτ)², the phase of the tick at which a contact begins, and the guard's limits",
        lambda scenario: growth(scenario) - math.log1p(beyond),
    )


def _damped(gain: float) -> Form:
    return Form(
        "damped contact, untreated",
        "h (1 - ωh/π), h = atan(cω/k)/ω",
        "terms of (ωh)², the phase of the tick at which a contact begins, and the guard's limits",
        lambda scenario: whole_delay(scenario) - critical_delay(scenario, gain),
    )


def _bound(beyond: float) -> Form:
    def height(scenario: Docking) -> float:
        least = cof_just_after_tick(scenario)
        return math.nan if least is None else least - 1.0 - beyond

    return Form(
        "bound of a first touch just after a tick, any method in real time",
        "CoF ≥ ω t_b + 1/(2n)",
        "a slowed clock, a gain of up to a tick from the phase of the touch, and everything after the first touch",
        height,
        bound=True,
    )


def vital(scenario: Docking) -> list[Vital]:
    peak = touch_of(scenario).ideal
    critical_damping = 2.0 * math.sqrt(scenario.contact.stiffness * scenario.reduced_mass)
    found = [
        around("robot.delay", scenario.robot.delay, most=0.1),
        around("sensor.delay", scenario.sensor.delay, most=scenario.robot.delay),
        around("contact.stiffness", scenario.contact.stiffness, span=50.0),
        around("contact.damping", scenario.contact.damping, most=0.5 * critical_damping),
        around("servicer.mass", scenario.servicer.mass),
        around("loop.period", scenario.loop.period, chosen=True),
    ]
    if scenario.compensate.method != "none":  # without compensation nothing is decided by the force, so noise has little effect
        found.append(around("sensor.noise", scenario.sensor.noise, most=MOST_NOISE * peak))
    return found


def metrics(scenario: Docking) -> list[str]:
    return ["cov_error", "cof_error"]


def advice(scenario: Docking) -> str:
    """The simplest method that meets the goal, found by running all of them, with the bound set by physics."""
    from hilt.systems.docking.views.advice import needed, why
    from hilt.systems.docking.views.bound import bound_of

    found: Any = all_methods(scenario)
    return re.sub(r"<[^>]+>", "", why(found, needed(found), bound_of(scenario)))
