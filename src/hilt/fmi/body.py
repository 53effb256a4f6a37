"""The simulated body as an FMU, in place of hilt's own integrator.

The wrench measured at t_k is held over the tick while the FMU steps from t_k to t_{k+1}; its outputs are the motion at t_{k+1}.
Energies are those of the mass and inertia that the scenario gives. The energy that the FMU adds to the work of the wrench,

    ½m(v⁺² - v²) - F·(x⁺ - x)        ½(ω⁺·L⁺ - ω·L) - τ·θ        θ: the turn of the tick

is booked to the integrator.
"""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import interpreted, jit
from hilt.core import ledger
from hilt.core.faults import InputError
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.dynamics.body import Body
from hilt.fmi import calls, instance, wiring
from hilt.fmi.description import Description
from hilt.fmi.section import BodyFmu
from hilt.fmi.wiring import Wires
from hilt.maths import so3, vec

POSITION, ATTITUDE, VELOCITY, RATE = 0, 3, 7, 10  # places in the outputs
SAME_START = 1e-6  # m, m/s, rad/s, 1: below what any robot resolves, above rounding in another tool


@jit
def _momentum(p, q, w_W):
    return so3.rotate(q, vec.matvec(p.inertia, so3.rotate_back(q, w_W)))


@jit
def _part(outputs, first):
    return (outputs[first], outputs[first + 1], outputs[first + 2])


@jit
def _attitude(outputs):
    at = ATTITUDE
    return so3.normalise((outputs[at], outputs[at + 1], outputs[at + 2], outputs[at + 3]))


@jit
def fmu_body_step(sig, x, p, dt):
    now = x.link.outputs
    r, q, v, w = _part(now, POSITION), _attitude(now), _part(now, VELOCITY), _part(now, RATE)
    L = _momentum(p, q, w)
    H, H_rot = 0.5 * p.mass * vec.dot(v, v), 0.5 * vec.dot(L, w)
    vec.store(sig.X_WBcm.p, r)
    so3.store(sig.X_WBcm.q, q)
    vec.store(sig.V_WBcm.v, v)
    vec.store(sig.V_WBcm.w, w)
    vec.store(sig.L_W, L)
    sig.H, sig.H_rot = H, H_rot
    ledger.publish(sig.W_integrator, x.translation)
    ledger.publish(sig.W_rotation, x.rotation)

    f, tau = vec.load(sig.F_Bcm_W.f), vec.load(sig.F_Bcm_W.tau)
    for i in range(3):
        x.link.inputs[i] = f[i]
        x.link.inputs[3 + i] = tau[i]
    if calls.advance(sig, x.link, p.link, dt):
        r_next, q_next, v_next, w_next = _part(now, POSITION), _attitude(now), _part(now, VELOCITY), _part(now, RATE)
        moved = vec.sub(r_next, r)
        ledger.book(x.translation, 0.5 * p.mass * vec.dot(v_next, v_next) - H - vec.dot(f, moved), 1.0, 1.0)
        gained = 0.5 * vec.dot(_momentum(p, q_next, w_next), w_next) - H_rot
        ledger.book(x.rotation, gained - vec.dot(tau, so3.between(q, q_next)), 1.0, 1.0)
        vec.store(sig.v_c, vec.scale(1.0 / dt, moved))
        _publish_next(sig, r_next, q_next, v_next, w_next)


@jit
def _publish_next(sig, r, q, v, w):
    vec.store(sig.X_WBcm_next.p, r)
    so3.store(sig.X_WBcm_next.q, q)
    vec.store(sig.V_WBcm_next.v, v)
    vec.store(sig.V_WBcm_next.w, w)


@dataclass(frozen=True)
class ImportedBody:
    """A body, and the FMU that moves it."""

    body: Body
    fmu: BodyFmu | None

    def check(self, period: float) -> None:
        """Refuse names and periods that do not fit; a missing FMU is refused when a run begins."""
        if self.fmu is not None and self.fmu.here:
            _connected(self.fmu, self.body, period)


def _connected(fmu: BodyFmu, body: Body, period: float) -> tuple[Description, Wires, Wires]:
    axes = 1 if body.dof == 1 else 3
    inputs = [("force", 0, axes)]
    outputs = [("position", POSITION, axes), ("velocity", VELOCITY, axes)]
    if body.dof == 6:
        inputs += [("torque", 3, 3)]
        outputs += [("attitude", ATTITUDE, 4), ("angular_velocity", RATE, 3)]
    for name, _, size in (*inputs, *outputs):
        if not getattr(fmu, name):
            key = f"{fmu.KEY}.{name}"
            raise InputError(f"{key} is empty; a body needs it; name {size} variables of the FMU", key=key)
    about = instance.described(fmu, period)
    return about, wiring.connect(fmu, about, "input", inputs), wiring.connect(fmu, about, "output", outputs)


def _pack(p: np.record, config: ImportedBody, loop: Cycle) -> None:
    body, fmu = config.body, config.fmu
    assert fmu is not None  # without an FMU there is no such block
    made = instance.open_for(p, fmu, *_connected(fmu, body, loop.period), np.zeros(calls.MOST))
    p.start = _start(made.start, made.takes, body)
    p.mass, p.inertia = body.mass, np.array(body.inertia)
    calls.pack(p.link, made)


def _start(found: np.ndarray, takes: Wires, body: Body) -> np.ndarray:
    """Return the motion at the start; values given by the FMU must agree with the scenario."""
    given = np.array((*body.position, *body.attitude, *body.velocity, *_rate_in_world(body)))
    start = given.copy()
    start[list(takes.places)] = found[list(takes.places)]
    keys = {"position": ("m", POSITION, 3), "attitude": ("", ATTITUDE, 4), "velocity": ("m/s", VELOCITY, 3)}
    for key, (unit, first, size) in {**keys, "angular_velocity": ("rad/s", RATE, 3)}.items():
        actual, wanted = start[first : first + size], given[first : first + size]
        off = min(np.abs(actual - wanted).max(), np.abs(actual + wanted).max() if key == "attitude" else np.inf)
        if not off <= SAME_START:
            raise InputError(
                f"the FMU starts with {key} {_vector(actual)} {unit}".rstrip()
                + f", but body.{key} is {_vector(wanted)} {unit}".rstrip()
                + f"; change body.{key}, or set the FMU's start in body_fmu.parameters",
                key=f"body.{key}",
            )
    return start


def _rate_in_world(body: Body) -> np.ndarray:
    return np.array(interpreted(so3.rotate)(body.attitude, body.angular_velocity))


def _vector(numbers: np.ndarray) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


@jit
def _reset(sig, x, p):
    calls.begin(x.link, p.start)
    now = x.link.outputs
    _publish_next(sig, _part(now, POSITION), _attitude(now), _part(now, VELOCITY), _part(now, RATE))


FMU_BODY = StageKind(
    "fmu-body",
    fmu_body_step,
    reads=("F_Bcm_W", "fault", "fault_axis", "fault_value", "fault_limit"),
    writes=(
        *("X_WBcm", "V_WBcm", "X_WBcm_next", "V_WBcm_next", "L_W", "H", "H_rot", "v_c", "W_integrator", "W_rotation"),
        *("fault", "fault_axis", "fault_value", "fault_limit"),
    ),
    state=record(link=calls.STATE, translation=PORT, rotation=PORT),
    params=record(link=calls.LINK, start=calls.MOST, mass="f8", inertia=("f8", (3, 3))),
    pack=_pack,
    reset=_reset,
    one_bench=True,
)
