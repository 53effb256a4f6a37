"""Bilateral mode: master device and slave arm are coupled through the link, and an energy ledger guards both.

    f_m = K (x_m - x_s') + R_m (v_m - v_s') + B_m v_m       against the hand;   ' by the newest packet
    f_s = K (x_m' - x_s) + R_s (v_m' - v_s) - B_s v_s       on the slave arm

The damping grows with the delay T and the jitter, which makes the loop stable by design; positions are sent, so nothing
drifts. The ledger certifies it: each side sums force times displacement of its motor, using the *measured* force (a motor with
a lag does not do what is commanded), separately for energy into the link and out of it, and sends its input with every packet.
No side may put out more than the other is known to have taken in, plus its share of a start energy E_0:

    E_out ≤ E_in' + E_0/2      so      in - out at both ends together never falls below -E_0

Near the limit the pull K (..) + R (..) is scaled so that the output over a horizon h fits the available energy; with nothing
available only damping remains, and the pull returns within 0.2 s. h is a tick and a few lags of the motor, and the energy that
the motor's present force will still deliver while it decays counts as delivered. One ledger for all three axes, force ·
displacement: passivity is a law of the sum, and a packet needs one number. When packets stop arriving the law fades to damping
in half a second, and returns within two.

With a joystick there is no law and nothing to guard, but the link still has its two ports: work of the virtual arm on the
virtual payload enters on the ground, work of the slave arm on the real one leaves on orbit.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Joule, NewtonPerMetre, NewtonSecondPerMetre, Positive
from hilt.maths import so3, vec
from hilt.systems.payload.link import Link

PATIENCE = 0.3  # s of silence beyond delay and jitter before the law fades
FADE_OUT = 0.5  # s
FADE_IN = 2.0  # s
FADE_BACK = 0.2  # s after the guard has released: an immediate return would chatter
LEAST_DAMPING = 5.0  # N·s/m
LAGS = 5.0  # of the motor, as the guard's horizon: a motor keeps delivering for a while after it is commanded to stop
SAFE = 0.6  # of the damping at which a device starts to oscillate
KEPT = 0.05  # fraction of the start energy held in reserve, for what a lagging motor still delivers
NONE = 0
MEASURED = 1
COMMANDED = 2
BOOKS = {"none": NONE, "measured": MEASURED, "commanded": COMMANDED}


class Bilateral(Section):
    """The laws at both ends, when operator.kind is "hand"."""

    gains: Literal["contact", "payload"] = Field(
        default="contact", description="whether the slave arm meets a wall (contact) or holds a payload"
    )
    stiffness: Positive[NewtonPerMetre] | None = Field(
        default=None, description="K; if not given, 100 for contact, 112 for a payload"
    )
    master_damping: NewtonSecondPerMetre | None = Field(default=None, ge=0, description="B_m; if not given, K (delay + jitter)")
    slave_damping: NewtonSecondPerMetre | None = Field(
        default=None, ge=0, description="B_s; if not given, B_m, or 0 for a payload"
    )
    energy: Joule = Field(
        default=0.4, ge=0, description="E_0, energy that the link may put out before it has taken any in; half at each end"
    )
    books: Literal["measured", "commanded", "none"] = Field(
        default="measured", description="force that the guard uses; commanded is wrong for a motor with a lag"
    )


@dataclass(frozen=True)
class Gains:
    K: float
    R_m: float
    R_s: float
    B_m: float
    B_s: float


def gains(bilateral: Bilateral, link) -> Gains:
    """Stiffness and damping for a link."""
    late = link.delay + link.jitter
    if bilateral.gains == "contact":
        K, R_m, R_s = bilateral.stiffness or 100.0, 0.0, 0.0
        B_m = B_s = max(LEAST_DAMPING, K * late)
    else:
        K, R_m, R_s = bilateral.stiffness or 112.0, 300.0, 1400.0
        B_m, B_s = K * late, 0.0
    B_m = B_m if bilateral.master_damping is None else bilateral.master_damping
    B_s = B_s if bilateral.slave_damping is None else bilateral.slave_damping
    return Gains(K, R_m, R_s, B_m, B_s)


def most_damping(mass: float, motor_lag: float, speed_lag: float, period: float) -> float:
    """Largest damping that a device of this mass can produce: m s (τ s + 1)(σ s + 1) + B is stable for B < m (1/τ + 1/σ).

    σ is the lag of the measured speed plus half a tick. SAFE times the limit, since a real device has more lags than these two.
    """
    return SAFE * mass * (1.0 / max(motor_lag, period) + 1.0 / (speed_lag + 0.5 * period))


def check_damping(scenario: Any) -> None:
    """Refuse laws that master device or slave arm cannot perform: they would oscillate on their own, whatever the link."""
    found, period = gains(scenario.bilateral, scenario.link), scenario.loop.period
    sides = (
        ("master", found.R_m + found.B_m, scenario.master, scenario.master.speed_filter),
        ("force_arm", found.R_s + found.B_s, scenario.force_arm, 0.0),
    )
    for name, damping, device, speed_lag in sides:
        most = most_damping(device.mass, device.motor_lag, speed_lag, period)
        if damping > most:
            raise Unfit(
                f"bilateral mode needs {damping:.3g} N·s/m of damping for this delay and jitter; {name} of {device.mass:g} kg "
                f"with a motor_lag of {device.motor_lag:g} s can produce at most {most:.3g} N·s/m; shorten {name}.motor_lag or "
                "link.delay, or lower bilateral.stiffness",
                f"{name}.motor_lag",
                "link.delay",
                "bilateral.stiffness",
            )


@jit
def largest_share(power, available, horizon):
    """Fraction of a law with this power that is allowed over the horizon."""
    given, most = power * horizon, max(available, 0.0)
    return 1.0 if given <= most else most / given


@jit
def _force(x, p, place, v, other_place, other_v, f_measured, taken_there, age, dt):
    """Force of the link on the device of one side: ledger of the last tick, law and fade, guard for the next."""
    booked = f_measured if p.books == MEASURED else vec.load(x.f)
    if x.started:
        ledger.book(x.port, -vec.dot(booked, vec.sub(place, vec.load(x.place))), 1.0, 1.0)
    x.started = 1
    vec.store(x.place, place)
    x.fade = max(x.fade - dt / FADE_OUT, 0.0) if age > p.patience else min(x.fade + dt / FADE_IN, 1.0)
    x.trust = min(x.trust + dt / FADE_BACK, 1.0)
    pull = vec.add(vec.scale(p.K, vec.sub(other_place, place)), vec.scale(p.R, vec.sub(other_v, v)))
    cut = 0
    if p.books != NONE:
        dying = max(0.0, vec.dot(booked, v)) * p.dies
        available = taken_there + p.energy - x.port.out - dying
        most = largest_share(vec.dot(pull, v) - p.B * vec.dot(v, v), available, p.horizon)
        if x.fade * x.trust > most:
            x.trust, cut = most / x.fade, 1
    share = x.fade * x.trust
    f = vec.sub(vec.scale(share, pull), vec.scale(share * p.B + (1.0 - share) * p.B_silent, v))
    vec.store(x.f, f)
    return f, cut


@jit
def _book_virtual_arm(sig, x, dt):
    """Add the virtual arm's work over V dt, the motion of the step: a re-synchronisation does no work."""
    moved, turned = vec.scale(dt, vec.load(sig.v_vir)), vec.scale(dt, vec.load(sig.w_vir))
    ledger.book_wrench(x.port, vec.load(sig.f_vir), vec.load(sig.tau_vir), moved, turned)


@jit
def _book_slave_arm(sig, x):
    """Add the slave arm's work, mean wrench of the tick times measured motion. The link delivers what the payload receives."""
    f, tau, place, q = vec.load(sig.f_s), vec.load(sig.tau_s), vec.load(sig.x_s), so3.load(sig.q_s)
    if x.started:
        f_mean, tau_mean = vec.scale(-0.5, vec.add(f, vec.load(x.f))), vec.scale(-0.5, vec.add(tau, vec.load(x.tau)))
        ledger.book_wrench(x.port, f_mean, tau_mean, vec.sub(place, vec.load(x.place)), so3.between(so3.load(x.q), q))
    x.started = 1
    vec.store(x.f, f)
    vec.store(x.tau, tau)
    vec.store(x.place, place)
    so3.store(x.q, q)


@jit
def watched_ground_step(sig, x, p, dt):
    """Without a master device: the port on the ground is that of the virtual arm."""
    _book_virtual_arm(sig, x, dt)
    ledger.publish(sig.W_master, x.port)


@jit
def watched_orbit_step(sig, x, p, dt):
    """Without a master device: the port on orbit is that of the slave arm."""
    _book_slave_arm(sig, x)
    ledger.publish(sig.W_slave, x.port)


@jit
def bilateral_ground_step(sig, x, p, dt):
    f, cut = _force(
        x,
        p,
        vec.load(sig.x_m),
        vec.load(sig.v_m),
        vec.load(sig.x_s_newest),
        vec.load(sig.v_s_newest),
        vec.scale(-1.0, vec.load(sig.f_m)),
        sig.E_s_newest,
        sig.down_age,
        dt,
    )
    vec.store(sig.f_mc, vec.scale(-1.0, f))
    ledger.publish(sig.W_master, x.port)
    sig.master_guard, sig.master_fade = cut, x.fade


@jit
def bilateral_orbit_step(sig, x, p, dt):
    f, cut = _force(
        x,
        p,
        vec.load(sig.x_s),
        vec.load(sig.v_s),
        vec.load(sig.x_m_newest),
        vec.load(sig.v_m_newest),
        vec.load(sig.f_sm),
        sig.E_m_newest,
        sig.link_age,
        dt,
    )
    vec.store(sig.f_sc, f)
    ledger.publish(sig.W_slave, x.port)
    sig.slave_guard, sig.slave_fade = cut, x.fade


@dataclass(frozen=True)
class BilateralEnd:
    """The laws of both ends, and the device at this end."""

    bilateral: Bilateral
    link: Link
    motor_lag: float  # s, of the device


def _pack(p: np.record, config: BilateralEnd, loop: Cycle) -> Gains:
    found = gains(config.bilateral, config.link)
    p.K = found.K
    p.energy = 0.5 * (1.0 - KEPT) * config.bilateral.energy
    p.books = BOOKS[config.bilateral.books]
    p.patience = config.link.delay + config.link.jitter + PATIENCE
    p.dies, p.horizon = 2.0 * config.motor_lag, loop.period + LAGS * config.motor_lag
    return found


def _pack_ground(p: np.record, config: BilateralEnd, loop: Cycle) -> None:
    found = _pack(p, config, loop)
    p.R, p.B, p.B_silent = found.R_m, found.B_m, max(found.B_m, found.R_m)


def _pack_orbit(p: np.record, config: BilateralEnd, loop: Cycle) -> None:
    found = _pack(p, config, loop)
    p.R, p.B, p.B_silent = found.R_s, found.B_s, max(found.B_s, found.R_s)


@jit
def _reset(sig, x, p):
    x.fade = x.trust = 1.0


_STATE = record(started="i8", place=3, q=4, f=3, tau=3, port=PORT, fade="f8", trust="f8")
_PARAMS = record(
    K="f8",
    R="f8",
    B="f8",
    B_silent="f8",
    energy="f8",
    books="i8",
    patience="f8",
    dies="f8",
    horizon="f8",
)

BILATERAL_GROUND = StageKind(
    "bilateral-ground",
    bilateral_ground_step,
    reads=("x_m", "v_m", "f_m", "x_s_newest", "v_s_newest", "E_s_newest", "down_age"),
    writes=("f_mc", "W_master", "master_guard", "master_fade"),
    state=_STATE,
    params=_PARAMS,
    pack=_pack_ground,
    reset=_reset,
)

BILATERAL_ORBIT = StageKind(
    "bilateral-orbit",
    bilateral_orbit_step,
    reads=("x_s", "v_s", "f_sm", "x_m_newest", "v_m_newest", "E_m_newest", "link_age", "q_s", "f_s", "tau_s"),
    writes=("f_sc", "W_slave", "slave_guard", "slave_fade"),
    state=_STATE,
    params=_PARAMS,
    pack=_pack_orbit,
    reset=_reset,
)
WATCHED_GROUND = replace(
    BILATERAL_GROUND,
    name="watched-ground",
    step=watched_ground_step,
    reads=("v_vir", "w_vir", "f_vir", "tau_vir"),
    writes=("W_master",),
)
WATCHED_ORBIT = replace(
    BILATERAL_ORBIT,
    name="watched-orbit",
    step=watched_orbit_step,
    reads=("f_s", "tau_s", "x_s", "q_s"),
    writes=("W_slave",),
)
