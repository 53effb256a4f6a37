"""Tasks of the flying arm: hover, take a tool from a human, or snap a bird diverter onto a cable.

    hover       fly the planner's path
    handover    a light lasting contact raises the gains; a tool's weight alone, for long enough, means that the human let go
    diverter    fly under the cable, stiffen, rise until the hook snaps, back until the cable is unloaded, tug, soften, recover

The diverter does not see the cable. It detects the snap by the force falling below a fraction of its peak, and verifies the
hold by a tug: a cable pulls up only a closed hook. A rise that meets nothing, too much force or too much travel counts as
failed. The vehicle rises, not the arm: its path has bounded acceleration, so speed and acceleration are fed forward exactly.
The tool keeps its pose in b.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Metre3, MetrePerSecond, MetrePerSecond2, Newton, Number, Quaternion, Second
from hilt.maths import so3, vec
from hilt.maths.quintic import PEAK_ACCELERATION, PEAK_SPEED
from hilt.systems.aerial.gains import HOOKED, IMPACT, NORMAL
from hilt.systems.aerial.planner import PLANNER, Planner, minimum_jerk, planner_step

HOVER, HANDOVER, DIVERTER = range(3)
KINDS = {"hover": HOVER, "handover": HANDOVER, "diverter": DIVERTER}
HOVERING = 0
BIASING, AWAITING, TOUCHED, RAISED, MOUNTED, RELEASED = range(10, 16)
WAITING, APPROACH, UNDER, RISE, BACK, TUG, RECOVER, INSTALLED, RETREAT, FAILED = range(20, 30)
STATES = {
    HOVERING: "hovering",
    BIASING: "taking the sensor's bias",
    AWAITING: "waiting for a contact",
    TOUCHED: "contact found",
    RAISED: "gains raised",
    MOUNTED: "tool mounted",
    RELEASED: "released",
    WAITING: "waiting",
    APPROACH: "approach",
    UNDER: "under the cable",
    RISE: "rise",
    BACK: "back",
    TUG: "tug",
    RECOVER: "recover",
    INSTALLED: "hooked",
    RETREAT: "retreat",
    FAILED: "failed",
}


class Tool(Section):
    """Where the flying arm holds its tool."""

    position: Metre3 = Field(description="in the frame of the flying base")
    attitude: Quaternion = Field(default=(1.0, 0.0, 0.0, 0.0), description="in that frame, w x y z")


class Handover(Section):
    """Forces that identify a human and a tool; the defaults are those of the paper's public code."""

    contact: tuple[Newton, Newton] = Field(
        default=(0.5, 3.0), description="range of the force's magnitude when a hand has taken hold"
    )
    contact_time: Second = Field(default=1.0, gt=0)
    weight: tuple[Newton, Newton] = Field(default=(-2.0, -1.0), description="range of the vertical force of the tool alone")
    weight_time: Second = Field(default=4.0, gt=0)


class Diverter(Section):
    """How the hook is brought over the cable, and the thresholds for its decisions."""

    gap: Metre = Field(default=0.03, gt=0, description="from the hook's mouth up to the cable before the rise")
    approach_speed: MetrePerSecond = Field(
        default=0.06, gt=0, description="at higher speeds the base still swings when it rises"
    )
    rise_speed: MetrePerSecond = Field(default=0.05, gt=0)
    back_speed: MetrePerSecond = Field(default=0.04, gt=0)
    acceleration: MetrePerSecond2 = Field(default=0.2, gt=0, description="largest planned acceleration")
    settle: Second = Field(default=2.5, gt=0, description="least time under the cable, while the gains ramp")
    touch: Newton = Field(default=3.0, gt=0, description="load that indicates contact with the cable")
    reach: Metre = Field(default=0.12, gt=0, description="distance of the rise within which the cable must be met")
    rise: Metre = Field(default=0.30, gt=0, description="largest distance of the rise")
    snap_least: Newton = Field(default=10.0, gt=0, description="least load whose drop may be a snap")
    snap_share: Number = Field(default=0.6, gt=0, lt=1, description="fraction of the peak below which the hook has snapped")
    ringing: Second = Field(default=0.3, ge=0, description="time after the snap before the load is trusted again")
    eased: Newton = Field(default=1.5, gt=0, description="vertical force below which the gains may soften")
    tug: Newton = Field(default=1.2, gt=0, description="upward force that shows that the hook holds")
    tug_way: Metre = Field(default=0.03, gt=0, description="distance down within which this force must appear")
    abort: Newton = Field(default=55.0, gt=0, description="force that ends the rise")
    give_way: Metre = Field(default=0.06, gt=0, description="yielding of the tool that ends the rise")
    recovered: Metre = Field(default=0.02, gt=0, description="displacement of the base that counts as recovered")
    recovered_time: Second = Field(default=1.0, ge=0)


class Task(Section):
    """The task to do."""

    kind: Literal["hover", "handover", "diverter"]
    handover: Handover = Handover()
    diverter: Diverter = Diverter()

    @model_validator(mode="after")
    def _bands(self) -> "Task":
        for name in ("contact", "weight"):
            low, high = getattr(self.handover, name)
            if low >= high:
                raise Unfit(
                    f"task.handover.{name} is {low:g} to {high:g} N; the first must be lower; swap them",
                    f"task.handover.{name}",
                )
        return self


@jit
def _enter(sig, x, state):
    x.state, x.since, x.held = state, sig.t, 0.0


@jit
def _lasts(x, condition, dt):
    """How long the condition has held without interruption."""
    x.held = x.held + dt if condition else 0.0
    return x.held


@jit
def _handover(sig, x, p, f, dt):
    size = math.sqrt(vec.dot(f, f))
    touched = p.contact[0] <= size <= p.contact[1]
    # A hand that still moves the tool sideways has not let go, whatever the weight says.
    weighs = p.weight[0] <= f[2] <= p.weight[1] and math.sqrt(f[0] * f[0] + f[1] * f[1]) < p.contact[0]
    if x.state == BIASING:
        if sig.bias_ready:
            _enter(sig, x, AWAITING)
    elif x.state == AWAITING:
        if touched:
            _enter(sig, x, TOUCHED)
    elif x.state == TOUCHED:
        if not touched:
            _enter(sig, x, AWAITING)
        elif _lasts(x, True, dt) >= p.contact_time:
            _enter(sig, x, RAISED)
    elif x.state == RAISED:
        if weighs:
            _enter(sig, x, MOUNTED)
    elif x.state == MOUNTED:
        if not weighs:
            _enter(sig, x, RAISED)
        elif _lasts(x, True, dt) >= p.weight_time:
            _enter(sig, x, RELEASED)
    if x.state >= RAISED:
        sig.gain_set = HOOKED


@jit
def _check_rise(sig, x, p, f):
    """Whether the hook has snapped, or the rise should end."""
    load = -f[2]
    x.peak = max(x.peak, load)
    missed = (x.peak < p.touch and x.z > p.reach) or x.z > p.rise
    if vec.dot(f, f) > p.abort * p.abort or abs(sig.z_arm[2]) > p.give_way or missed:
        _enter(sig, x, RETREAT)
    elif x.peak > p.snap_least and load < p.snap_share * x.peak:
        _enter(sig, x, BACK)


@jit
def _next_state(sig, x, p, f, dt):
    """Enter the diverter's next state."""
    after = sig.t - x.since
    height = x.z + sig.e_p_N[2] + sig.z_arm[2]  # of the tool, above the start of the rise
    eased = abs(f[2]) < p.eased
    if x.state == WAITING:
        if sig.bias_ready and sig.t >= p.path.arrival[p.path.count - 1]:
            _enter(sig, x, APPROACH)
            vec.store(x.start, vec.load(sig.p_bd_N))
            path = vec.sub(vec.load(p.under), vec.load(x.start))
            length = math.sqrt(vec.dot(path, path))
            slow = PEAK_SPEED * length / p.approach_speed
            x.duration = max(slow, math.sqrt(PEAK_ACCELERATION * length / p.acceleration))
    elif x.state == APPROACH:
        if after >= x.duration:
            _enter(sig, x, UNDER)
    elif x.state == UNDER:
        if after >= p.settle and sig.bias_ready:
            _enter(sig, x, RISE)
    elif x.state == RISE:
        _check_rise(sig, x, p, f)
    elif x.state == BACK:
        if after >= p.ringing and eased:
            _enter(sig, x, TUG)
            x.mark = height
    elif x.state == TUG:
        if f[2] > p.tug:
            x.hooked = 1
            _enter(sig, x, RECOVER)
        elif height < x.mark - p.tug_way:
            _enter(sig, x, RETREAT)
    elif x.state == RECOVER:
        x.soft = 1 if eased else x.soft
        e = vec.load(sig.e_p_N)
        near = x.soft and x.v == 0.0 and vec.dot(e, e) < p.recovered * p.recovered
        if _lasts(x, near, dt) > p.recovered_time:
            _enter(sig, x, INSTALLED)
    elif x.state == RETREAT:
        x.soft = 1 if eased else x.soft
        if x.peak > p.touch and f[2] > p.tug:  # it holds after all: the snap was too quick to detect
            x.hooked = 1
            _enter(sig, x, RECOVER)
        elif x.soft and x.v == 0.0 and x.z < 1e-3:
            _enter(sig, x, FAILED)


@jit
def _desired_speed(x, p):
    if x.state == RISE:
        return p.rise_speed
    if x.state == BACK or x.state == TUG:
        return -p.back_speed
    if x.state == RETREAT and x.z >= 1e-3:
        # Half the allowed acceleration, so that the tick's delay in braking does not overshoot the end.
        return -min(p.back_speed, math.sqrt(p.acceleration * x.z))
    return 0.0


@jit
def _fly(sig, x, p, dt):
    """The planned motion of the base, from its state."""
    share, speed, acceleration = minimum_jerk(sig.t, x.since, x.since + x.duration)
    if x.state != APPROACH:
        share, speed, acceleration = 1.0, 0.0, 0.0
    for i in range(3):
        path = p.under[i] - x.start[i]
        sig.p_bd_N[i] = x.start[i] + share * path
        sig.v_bd_N[i] = speed * path
        sig.a_bd_N[i] = acceleration * path
    most = p.acceleration * dt
    change = min(max(_desired_speed(x, p) - x.v, -most), most)
    sig.p_bd_N[2] += x.z
    sig.v_bd_N[2] += x.v
    sig.a_bd_N[2] += change / dt
    x.z += dt * (x.v + 0.5 * change)
    x.v += change
    sig.yaw_bd, sig.yaw_rate_bd, sig.yaw_acc_bd = p.path.place[p.path.count - 1, 3], 0.0, 0.0


@jit
def _diverter(sig, x, p, f, dt):
    _next_state(sig, x, p, f, dt)
    if x.state != WAITING:
        _fly(sig, x, p, dt)
    sig.bias_request = 1 if x.state == UNDER else 0
    hard = UNDER <= x.state <= TUG or ((x.state == RECOVER or x.state == RETREAT) and not x.soft)
    sig.gain_set = IMPACT if hard else HOOKED if x.hooked else NORMAL


@jit
def task_step(sig, x, p, dt):
    if x.state <= WAITING:
        planner_step(sig, x.path, p.path, dt)
    sig.gain_set, sig.bias_request = NORMAL, 0
    f = so3.rotate(so3.load(p.q_NH), vec.load(sig.F_h_H.f))
    if p.kind == HANDOVER:
        _handover(sig, x, p, f, dt)
    elif p.kind == DIVERTER:
        _diverter(sig, x, p, f, dt)
    _publish(sig, x, p)


@jit
def _publish(sig, x, p):
    vec.store(sig.X_bE_des.p, vec.load(p.tool_p))
    so3.store(sig.X_bE_des.q, so3.load(p.tool_q))
    sig.task_state, sig.hooked = x.state, x.hooked


@dataclass(frozen=True)
class TaskInPlace:
    """The task, its path, and its location."""

    task: Task
    planner: Planner
    tool: Tool
    attitude: Quaternion  # of the hardware's base in N
    cable: Metre3  # from the rest position of the hardware's tool to the believed position of the cable, in H
    mouth_height: float  # m, of the hook


def _pack(p: np.record, config: TaskInPlace, loop: Cycle) -> None:
    task = config.task
    PLANNER.pack(p.path, config.planner, loop)
    p.kind = KINDS[task.kind]
    p.q_NH = config.attitude
    p.tool_p, p.tool_q = config.tool.position, config.tool.attitude
    for section in (task.handover, task.diverter):
        for name in type(section).model_fields:
            p[name] = getattr(section, name)
    to_cable = so3.rotate(tuple(p.q_NH), config.cable)
    below = (0.0, 0.0, task.diverter.gap + config.mouth_height)
    p.under = vec.sub(vec.add(config.planner.waypoints[0].position, to_cable), below)


@jit
def _reset(sig, x, p):
    x.state = HOVERING if p.kind == HOVER else BIASING if p.kind == HANDOVER else WAITING
    sig.gain_set = NORMAL
    _publish(sig, x, p)


TASK = StageKind(
    "task",
    task_step,
    reads=("t", "F_h_H", "bias_ready", "z_arm", "e_p_N"),
    writes=(*PLANNER.writes, "gain_set", "X_bE_des", "bias_request", "task_state", "hooked"),
    state=record(
        path=PLANNER.state,
        state="i8",
        since="f8",
        held="f8",
        hooked="i8",
        soft="i8",
        start=3,
        duration="f8",
        z="f8",
        v="f8",
        peak="f8",
        mark="f8",
    ),
    params=record(
        path=PLANNER.params,
        kind="i8",
        q_NH=4,
        tool_p=3,
        tool_q=4,
        under=3,
        **{name: 2 if name in ("contact", "weight") else "f8" for name in (*Handover.model_fields, *Diverter.model_fields)},
    ),
    pack=_pack,
    reset=_reset,
)
