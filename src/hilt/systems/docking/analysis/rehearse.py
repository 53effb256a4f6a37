"""The rehearsal at set-up: the first contact as the controller believes it to be, with the same controller and slower clocks.

The contact may be softer, stiffer or of another kind than believed, and the robot slower. The chosen β is the largest whose
worst |CoF - 1| over these cases is within 0.02 of that of the best β. Nothing is random, and the only true values used are
the masses and speeds, which the simulated bodies have by definition, and the robot's limits.

In space the contact feels m_eff along the believed normal, so ω = √(k/m_eff) may be much larger: slower clocks are tried.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.faults import InputError
from hilt.core.signals import record
from hilt.core.system import ticks_of
from hilt.maths import vec
from hilt.systems.docking.analysis.bound import effective_mass

# Contact, factors of its stiffness and of the robot's delays; of a Hertz contact the secant stiffness at its peak.
CASES = (("hertz", 1.65, 1.1), ("linear", 1.65, 1.1), ("linear", 0.65, 1.0), ("linear", 1.0, 1.0))
UNKNOWN = {"order": 2, "interpolation": 0.0, "motor_stiffness": 0.0}  # of the robot: no controller has a model of it
GOOD_ENOUGH = 0.02
REHEARSED = "rehearsed"  # the guarded mode, with a clock that is given
LOOKS = 32  # ticks from one look at the force to the next
MOST_TICKS = 50_000  # of one case: more would delay the start of a run too much


@dataclass(frozen=True)
class Plan:
    """How a first touch is rehearsed."""

    clocks: tuple[float, ...]  # to try, starting with real time
    flight: float  # s before the contact: the lead is engaged, the clock slows
    past_peak: float  # a contact is over when its force is below this share of the peak
    speed: float  # of the tip along the believed normal


def plan_of(system: Any, scenario: Any) -> Plan:
    if not scenario.rotates:
        slowest = 16 if scenario.prior.bending(scenario) is not None else 11
        return Plan(tuple(1.0 - 0.04 * i for i in range(slowest)), 0.25, 0.9, scenario.approach.speed)
    return Plan(tuple(1.0 - 0.04 * i for i in range(19)), 0.35, 0.7, closing_speed(system, scenario))


def closing_speed(system: Any, scenario: Any) -> float:
    """Of the tip along the believed normal, at the start; both bodies may turn."""
    realtime = scenario.compensate.model_copy(update={"mode": "realtime"})
    still = scenario.model_copy(update={"compensate": realtime, "seed": 1})
    start = system.set_up(still).row[0].V_WB_sim
    speed = abs(float(np.dot(scenario.prior.normal(scenario), start.v + np.cross(start.w, scenario.rod.tip))))
    if not speed > 1e-6 * scenario.approach.speed:
        raise InputError(
            "compensate.mode is 'guarded', but with the normal that the controller assumes the rod never meets the frames; "
            "change prior.normal_error or approach.direction, or set compensate.mode = 'realtime'"
        )
    return speed


def peak_depth(kind: str, scenario: Any, speed: float) -> float:
    """δ where the tip comes to rest in space: ½ m v² = ½ F δ for a linear contact, 0.4 F δ for a Hertz contact, F = k δ."""
    k = scenario.contact.stiffness
    return float(speed * math.sqrt(effective_mass(scenario) / k / (0.8 if kind == "hertz" else 1.0)))


def believed_world(scenario: Any, plan: Plan, kind: str, stiffness: float, slower: float) -> Any:
    """A world in which the beliefs are true except for the factors; the controller has the same beliefs as in the scenario."""
    prior, robot = scenario.prior, scenario.robot
    believed = prior.robot(scenario)
    k = prior.stiffness(scenario) * stiffness
    own = believed.lag * slower
    zeta = 0.5 * believed.T1 / math.sqrt(believed.T2) if believed.T2 > 0 else robot.damping_ratio
    omega = math.sqrt(scenario.contact.stiffness / scenario.reduced_mass)
    n = scenario.limits.command_acceleration_ratio * omega / math.sqrt(k / scenario.reduced_mass)
    delay = own + scenario.sensor.delay
    normal = scenario.prior.normal(scenario) if scenario.rotates else scenario.frames.normal
    gap = min(scenario.frames.gap, scenario.rod.radius + plan.speed * (plan.flight + (delay if scenario.rotates else own)))
    duration = 2.0 * gap / plan.speed + 1.0 if scenario.rotates else 2.0 * (plan.flight + own) + 4.0 / omega
    world = scenario.model_copy(
        update={
            "robot": robot.model_copy(
                update={"delay": delay, "pure_delay": believed.t_d * slower, "damping_ratio": zeta, "jitter": 0.0, **UNKNOWN}
            ),
            "contact": scenario.contact.model_copy(
                update={"kind": kind, "stiffness": k, "damping": 0.0, "rear_stiffness_ratio": 1.0, "friction": 0.0}
            ),
            "frames": scenario.frames.model_copy(update={"gap": gap, "normal": normal}),
            "prior": prior.model_copy(
                update={
                    "stiffness_error": 1.0 / stiffness - 1.0,
                    "delay_error": 1.0 / slower - 1.0,
                    "frequency_error": slower - 1.0,
                    "damping_error": 0.0,
                    "surface_error": 0.0,
                    "normal_error": 0.0,
                }
            ),
            "compensate": scenario.compensate.model_copy(
                update={"mode": REHEARSED, "sensor_delay": scenario.assumed_sensor_delay}
            ),
            "limits": scenario.limits.model_copy(update={"command_acceleration_ratio": n}),
            "collisions": 1,
            "seed": 1,  # nothing is random
            "loop": scenario.loop.model_copy(update={"duration": duration}),
        }
    )
    world = _bending_as_believed(scenario, world)
    secant = k / math.sqrt(peak_depth(kind, world, plan.speed))
    return world.model_copy(update={"contact": world.contact.model_copy(update={"hertz_coefficient": secant})})


def _bending_as_believed(scenario: Any, world: Any) -> Any:
    bending = scenario.prior.bending(scenario)
    if bending is None:
        return world
    prior, told = scenario.prior, scenario.robot
    robot = {
        "stiffness": bending.stiffness,
        "mode_frequency": bending.frequency / (2.0 * math.pi),
        "mode_damping_ratio": bending.damping_ratio,
        "second_mode_frequency": told.second_mode_frequency * (1.0 + prior.mode_frequency_error),
        "second_mode_damping_ratio": None,
    }
    errors = dict.fromkeys(("compliance_error", "mode_frequency_error", "mode_damping_error"), 0.0)
    return world.model_copy(
        update={"robot": world.robot.model_copy(update=robot), "prior": world.prior.model_copy(update=errors)}
    )


def check_length(world: Any) -> None:
    """Refuse a first contact that takes more ticks than can be rehearsed."""
    ticks = world.loop.duration / world.loop.period
    if not ticks <= MOST_TICKS:
        raise InputError(
            f"compensate.mode is 'guarded', whose rehearsal of the first contact would take {ticks:.3g} ticks of loop.period, "
            f"{world.loop.period:g} s; at most {MOST_TICKS} are rehearsed; lengthen it or set compensate.mode = 'realtime'"
        )


COUNTED = record(ticks="i8", peak="f8")
CONSTANTS = record(past_peak="f8")
EVENT = record()
ENDS = record(ticks="i8", fault="i8")


@jit
def _rehearse_step(sig, m, each, q):
    """Largest force; the run is over when it has passed, which is looked at now and then: it may still swing."""
    force = math.sqrt(vec.dot(sig.F_C_true_W, sig.F_C_true_W))
    m.peak = max(m.peak, force)
    m.ticks += 1
    if m.ticks % LOOKS == 0 and force < q.past_peak * m.peak:
        sig.done = 1


class Rehearsal:
    """One case, ready to run with any clock; without noise, but with the uncertainty that it causes."""

    def __init__(self, system: Any, world: Any, kind: str, plan: Plan) -> None:
        check_length(world)
        used, self._p = system.packed(world)
        made, self._run = system.diagram(used), system.many(used, _rehearse_step)
        p = self._p[0]
        p.sensor.noise = p.encoder.position_noise = p.encoder.velocity_noise = 0.0
        self._ideal = world.contact.stiffness * peak_depth(kind, world, plan.speed)
        self._ticks = np.full(1, -(-ticks_of(world) // LOOKS) * LOOKS)
        self._memory = [np.zeros(1, dtype) for dtype in (system.row, made.x, made.w) * 2]
        self._counted, self._each, self._ends = np.zeros(1, COUNTED), np.zeros((1, 0), EVENT), np.zeros(1, ENDS)
        self._q = np.full(1, plan.past_peak).view(CONSTANTS)

    def error(self, clock: float) -> float:
        """|CoF - 1| of the first contact."""
        self._p[0].twin_clock.guarded = clock
        self._counted[:] = 0
        self._run(0, 1, *self._memory, self._p, self._ticks, self._counted, self._each, self._q, self._ends)
        return abs(float(self._counted["peak"][0]) / self._ideal - 1.0)


def _slow(scenario: Any) -> bool:
    """Whether a contact is so long compared with all delays that real time is enough; a rehearsal would take too many ticks."""
    omega = math.sqrt(scenario.prior.stiffness(scenario) / scenario.reduced_mass)
    late = scenario.prior.robot(scenario).lag + scenario.assumed_sensor_delay
    return omega * late < 0.01 and 4.0 / omega > 0.5 * MOST_TICKS * scenario.loop.period


def rehearsed_clock(system: Any, scenario: Any) -> float:
    """β_G; 1 where the clock must not run slower."""
    if scenario.compensate.method != "twin" or scenario.compensate.mode != "guarded":
        return 1.0
    if not scenario.rotates and _slow(scenario):
        return 1.0
    plan = plan_of(system, scenario)
    cases = [Rehearsal(system, believed_world(scenario, plan, *case), case[0], plan) for case in CASES]
    least, worst = math.inf, dict.fromkeys(plan.clocks, 0.0)
    for clock in reversed(plan.clocks):  # slowest first: one bad case rules out a faster one
        for case in cases:
            worst[clock] = max(worst[clock], case.error(clock))
            if worst[clock] > least + GOOD_ENOUGH:
                break
        least = min(least, worst[clock])
    return max(clock for clock in plan.clocks if worst[clock] <= least + GOOD_ENOUGH)
