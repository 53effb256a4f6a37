"""The rehearsal at set-up: simulate the first contact as the controller believes it to be, with slower and slower clocks.

The contact may be softer, stiffer or of another kind than believed, and the robot slower. The chosen β is the largest whose
worst |CoF - 1| over these cases is within 0.02 of that of the best β. Nothing is random, and the only true values used are
the masses and speeds, which the simulated bodies have by definition, and the robot's limits.

In six degrees of freedom the contact has the effective mass m_eff along the believed normal, so ω = √(k/m_eff) may be much
larger: slower clocks are tried.

The cases are packed and run when their clock is first needed; in a sweep the workers do that.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.compiled.records import raw
from hilt.core.faults import InputError
from hilt.core.signals import record
from hilt.core.stage import Cycle
from hilt.core.system import Diagram, Sections, Used, fill, sections_of, ticks_of
from hilt.maths import vec
from hilt.systems.docking.analysis.bound import effective_mass
from hilt.systems.docking.twin.prior import RobotParameters

# Kind of contact, factors of its stiffness (for Hertz the secant at the peak) and of the robot's delays.
CASES = (("hertz", 1.65, 1.1), ("linear", 1.65, 1.1), ("linear", 0.65, 1.0), ("linear", 1.0, 1.0))
UNKNOWN = {"order": 2, "interpolation": 0.0, "motor_stiffness": 0.0}  # of the robot: not modelled by any controller
GOOD_ENOUGH = 0.02
REHEARSED = "rehearsed"  # the guarded mode with a given clock
LOOKS = 32  # ticks between two checks of the force
MOST_TICKS = 50_000  # per case: more would delay the start of a run too much


@dataclass(frozen=True)
class Plan:
    """Settings of a rehearsal."""

    clocks: tuple[float, ...]  # to try, real time first
    flight: float  # s before the contact: the lead becomes active, the clock slows down
    past_peak: float  # a contact is over when its force is below this share of the peak
    speed: float  # of the tip along the believed normal


def plan_of(system: Any, scenario: Any) -> Plan:
    if not scenario.rotates:
        slowest = 16 if scenario.prior.bending(scenario) is not None else 11
        return Plan(tuple(1.0 - 0.04 * i for i in range(slowest)), 0.25, 0.9, scenario.approach.speed)
    return Plan(tuple(1.0 - 0.04 * i for i in range(19)), 0.35, 0.7, closing_speed(system, scenario))


def closing_speed(system: Any, scenario: Any) -> float:
    """Initial speed of the tip along the believed normal [m/s]; both bodies may turn."""
    realtime = scenario.compensate.model_copy(update={"mode": "realtime"})
    still = scenario.model_copy(update={"compensate": realtime, "seed": 1})
    start = system.set_up(still).row[0].V_WB_sim
    speed = abs(float(np.dot(scenario.prior.normal(scenario), start.v + np.cross(start.w, scenario.rod.tip))))
    if not speed > 1e-6 * scenario.approach.speed:
        raise InputError(
            "compensate.mode is 'guarded', but with the normal assumed by the controller the rod never reaches the frames; "
            "change prior.normal_error or approach.direction, or set compensate.mode = 'realtime'"
        )
    return speed


@dataclass(frozen=True)
class Believed:
    """What the controller believes before the first contact; the same in all cases."""

    robot: RobotParameters
    stiffness: float
    normal: tuple[float, ...]
    first_mass: float  # effective, along that normal
    bending: dict[str, float | None]  # believed bending of a robot whose tip swings


def believed_of(scenario: Any) -> Believed:
    prior = scenario.prior
    normal = prior.normal(scenario) if scenario.rotates else scenario.frames.normal
    along = scenario.model_copy(update={"frames": scenario.frames.model_copy(update={"normal": normal})})
    return Believed(
        prior.robot(scenario), prior.stiffness(scenario), normal, effective_mass(along), _bending_as_believed(scenario)
    )


def _bending_as_believed(scenario: Any) -> dict[str, float | None]:
    bending = scenario.prior.bending(scenario)
    if bending is None:
        return {}
    return {
        "stiffness": bending.stiffness,
        "mode_frequency": bending.frequency / (2.0 * math.pi),
        "mode_damping_ratio": bending.damping_ratio,
        "second_mode_frequency": scenario.robot.second_mode_frequency * (1.0 + scenario.prior.mode_frequency_error),
        "second_mode_damping_ratio": None,
    }


def peak_depth(kind: str, k: float, mass: float, speed: float) -> float:
    """Depth [m] at which the tip comes to rest in space: ½ m v² = ½ F δ for a linear contact, 0.4 F δ for Hertz, F = k δ."""
    return float(speed * math.sqrt(mass / k / (0.8 if kind == "hertz" else 1.0)))


def gap_of(scenario: Any, plan: Plan, own: float) -> float:
    """Gap [m] wide enough for the flight before the contact with a robot delay of `own`, but not wider than the scenario's."""
    late = own + scenario.sensor.delay if scenario.rotates else own
    return float(min(scenario.frames.gap, scenario.rod.radius + plan.speed * (plan.flight + late)))


def believed_world(scenario: Any, plan: Plan, believed: Believed, kind: str, stiffness: float, slower: float) -> Any:
    """Scenario of a world in which the beliefs are true except for the factors."""
    robot = believed.robot
    k = believed.stiffness * stiffness
    own = robot.lag * slower
    zeta = 0.5 * robot.T1 / math.sqrt(robot.T2) if robot.T2 > 0 else scenario.robot.damping_ratio
    omega = math.sqrt(scenario.contact.stiffness / scenario.reduced_mass)
    gap = gap_of(scenario, plan, own)
    duration = 2.0 * gap / plan.speed + 1.0 if scenario.rotates else 2.0 * (plan.flight + own) + 4.0 / omega
    moving = {
        "delay": own + scenario.sensor.delay,
        "pure_delay": robot.t_d * slower,
        "damping_ratio": zeta,
        "jitter": 0.0,
        **UNKNOWN,
        **believed.bending,
    }
    touching = {
        "kind": kind,
        "stiffness": k,
        "hertz_coefficient": k / math.sqrt(peak_depth(kind, k, believed.first_mass, plan.speed)),  # a secant
        "damping": 0.0,
        "rear_stiffness_ratio": 1.0,
        "friction": 0.0,
    }
    return scenario.model_copy(
        update={
            "robot": scenario.robot.model_copy(update=moving),
            "contact": scenario.contact.model_copy(update=touching),
            "frames": scenario.frames.model_copy(update={"gap": gap, "normal": believed.normal}),
            "collisions": 1,
            "seed": 1,  # nothing is random
            "loop": scenario.loop.model_copy(update={"duration": duration}),
        }
    )


def believing(scenario: Any, world: Any) -> Any:
    """Scenario from which the controller is packed: the original, with the frames of the believed world."""
    return scenario.model_copy(
        update={
            "frames": scenario.frames.model_copy(update={"gap": world.frames.gap}),
            "prior": scenario.prior.model_copy(update={"surface_error": 0.0}),
            "compensate": scenario.compensate.model_copy(update={"mode": REHEARSED}),
            "seed": 1,
        }
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
    """Track the largest force; the run ends after the peak, checked only every LOOKS ticks, as the force may still swing."""
    force = math.sqrt(vec.dot(sig.F_C_true_W, sig.F_C_true_W))
    m.peak = max(m.peak, force)
    m.ticks += 1
    if m.ticks % LOOKS == 0 and force < q.past_peak * m.peak:
        sig.done = 1


@dataclass(frozen=True)
class Case:
    """One contact case, ready to be packed."""

    controller: Sections  # from which the controller is packed
    world: Sections  # from which the simulated world is packed
    ticks: int
    ideal: float  # N, peak force in space


def cases_of(scenario: Any, plan: Plan, worlds: list[Any], used: Used, mass: float) -> list[Case]:
    cases: list[Case] = []
    controllers: dict[float, Sections] = {}  # the controller is the same in all worlds with the same frames
    for (kind, _, _), world in zip(CASES, worlds, strict=True):
        gap, k = world.frames.gap, world.contact.stiffness
        if gap not in controllers:
            controllers[gap] = sections_of(used.tick, believing(scenario, world))
        ticks = -(-ticks_of(world) // LOOKS) * LOOKS
        cases.append(Case(controllers[gap], sections_of(used.plant, world), ticks, k * peak_depth(kind, k, mass, plan.speed)))
    return cases


def packed(cases: list[Case], used: Used, kind: np.dtype, period: float) -> list[np.ndarray]:
    """Parameters of each case: no noise, but the uncertainty it causes. Parts equal to those of the previous case are kept."""
    p, loop, found = np.zeros(1, kind), Cycle(period), []
    p["dt"] = period
    controller = world = None
    for case in cases:
        if case.controller is not controller:
            fill(used.tick, p, case.controller, loop, controller)
        fill(used.plant, p, case.world, loop, world)
        controller, world = case.controller, case.world
        own = raw(p).copy().view(kind)
        own["sensor"]["noise"] = own["encoder"]["position_noise"] = own["encoder"]["velocity_noise"] = 0.0
        found.append(own)
    return found


class _Memories(threading.local):
    """Memory for the runs of one thread, for each choice of blocks."""

    def __init__(self) -> None:
        self._known: dict[int, list[np.ndarray]] = {}

    def of(self, row: np.dtype, made: Diagram) -> list[np.ndarray]:
        if id(made) not in self._known:
            self._known[id(made)] = [np.zeros(1, kind) for kind in (row, made.x, made.w) * 2]
        return self._known[id(made)]


MEMORIES = _Memories()


@dataclass
class Rehearsal:
    """The rehearsal of the first contact, ready to run."""

    cases: list[Case]
    best: Callable[[list[Case]], float]
    _lock: Any = field(default_factory=threading.Lock, repr=False)
    _clock: float | None = None

    def clock(self) -> float:
        """β_G. The first call computes it, in any thread, and then drops everything else."""
        with self._lock:
            if self._clock is None:
                self._clock = self.best(self.cases)
                self.cases = []
            return self._clock


class _Trials:
    """Runs the cases with one clock after the other."""

    def __init__(self, system: Any, used: Used, plan: Plan, period: float, cases: list[Case]) -> None:
        made = system.diagram(used)
        self._clocks, self._ideals = plan.clocks, [case.ideal for case in cases]
        self._p = packed(cases, used, made.p, period)
        self._ticks = [np.full(1, case.ticks) for case in cases]
        self._q = np.full(1, plan.past_peak).view(CONSTANTS)
        self._sweep, self._memory = system.many(used, _rehearse_step), MEMORIES.of(system.row, made)
        self._worst: dict[float, tuple[int, float]] = {}  # per clock: number of cases run, and their largest error

    def best(self) -> float:
        return next(clock for clock in self._clocks if self._good(clock))

    def _good(self, clock: float) -> bool:
        """Whether no other clock is better by more than the tolerance; for most of them one case or none decides."""
        known = [worst for run, worst in self._worst.values() if run == len(self._p)]
        least = min(known, default=math.inf)
        own = self._error(clock, lambda worst: worst > least + GOOD_ENOUGH)
        if own > least + GOOD_ENOUGH:
            return False
        others = reversed(self._clocks)  # the slowest are probably the best
        return all(own <= self._error(other, lambda worst: own <= worst + GOOD_ENOUGH) + GOOD_ENOUGH for other in others)

    def _error(self, clock: float, enough: Callable[[float], bool]) -> float:
        """Largest |CoF - 1| over the cases, or over the first ones if `enough` is satisfied."""
        run, worst = self._worst.get(clock, (0, 0.0))
        while run < len(self._p) and not enough(worst):
            worst = max(worst, self._run(run, clock))
            run += 1
        self._worst[clock] = run, worst
        return worst

    def _run(self, case: int, clock: float) -> float:
        p, ticks = self._p[case], self._ticks[case]
        p["twin_clock"]["guarded"] = clock
        counted, each, ends = np.zeros(1, COUNTED), np.zeros((1, 0), EVENT), np.zeros(1, ENDS)
        self._sweep(0, 1, *self._memory, p, ticks, counted, each, self._q, ends)
        return abs(float(counted["peak"][0]) / self._ideals[case] - 1.0)


def _slow(scenario: Any) -> bool:
    """Whether a contact is so long compared with all delays that real time is enough and a rehearsal would take too long."""
    omega = math.sqrt(scenario.prior.stiffness(scenario) / scenario.reduced_mass)
    late = scenario.prior.robot(scenario).lag + scenario.assumed_sensor_delay
    return omega * late < 0.01 and 4.0 / omega > 0.5 * MOST_TICKS * scenario.loop.period


def rehearsal_of(system: Any, scenario: Any) -> Rehearsal | None:
    """Prepare the rehearsal; None if the clock must not run slower or real time is clearly enough."""
    if scenario.compensate.method != "twin" or scenario.compensate.mode != "guarded":
        return None
    if not scenario.rotates and _slow(scenario):
        return None
    plan, believed = plan_of(system, scenario), believed_of(scenario)
    worlds = [believed_world(scenario, plan, believed, *case) for case in CASES]
    for world in worlds:
        check_length(world)
    used = system.used_by(worlds[0])
    period = scenario.loop.period
    cases = cases_of(scenario, plan, worlds, used, believed.first_mass)
    return Rehearsal(cases, lambda cases: _Trials(system, used, plan, period, cases).best())
