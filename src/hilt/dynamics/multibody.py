"""MuJoCo inside compiled code: the state lives in the stage's record, mjData is only scratch.

    set_state(p, x.state); set_ctrl(p, i, u); push_body(p, body, f, tau); step(p); get_state(p, x.state)

Before a step the record's numbers (time, qpos, qvel, activations, warm start) are copied into mjData and all inputs are
cleared; after it they are copied back. So copies of a bench, replays, warm-up ticks and any number of states on one mjData
give the same bytes as if each had its own. One mjData serves one thread.

The C functions are external symbols and the addresses are numbers in the parameters, so no embedded pointer prevents
caching; without the compiler the same calls go through ctypes.
"""

import functools
import threading
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba import types

from hilt.compiled import external, jit
from hilt.core.faults import InputError, shortened
from hilt.core.signals import record

TIME, QPOS, QVEL, ACT, HISTORY, WARMSTART, PLUGIN, PLASTIC = (1 << bit for bit in (0, 1, 2, 3, 4, 5, 13, 14))  # mjtState
BITS = TIME | QPOS | QVEL | ACT | HISTORY | WARMSTART | PLUGIN | PLASTIC
BODY, XBODY, SITE = 1, 2, 6  # mjtObj
NUMBER = 8  # bytes of an mjtNum
# Working memory of an mjData. Chains without contacts use about 1 kB of it; MuJoCo would reserve 15 MB, and models are never
# freed, so a few dozen of them would fill a process whose memory is limited.
SIZE = '<size memory="1M"/>'


def _library() -> Path:
    """Path of the C library, found without importing MuJoCo's Python module, which is slow to load."""
    spec = find_spec("mujoco")
    if spec is None or spec.origin is None:
        raise ImportError("MuJoCo is not installed; install mujoco-core")
    return next(path for path in Path(spec.origin).parent.iterdir() if path.name.startswith(("libmujoco", "mujoco.dll")))


_function = functools.partial(external, library=_library())
_PAIR = (types.intp, types.intp)  # mjModel*, mjData*
mj_step = _function("mj_step", types.void, *_PAIR)
mj_kinematics = _function("mj_kinematics", types.void, *_PAIR)
mj_comPos = _function("mj_comPos", types.void, *_PAIR)
mj_comVel = _function("mj_comVel", types.void, *_PAIR)
mj_setState = _function("mj_setState", types.void, *_PAIR, types.intp, types.int32)
mj_getState = _function("mj_getState", types.void, *_PAIR, types.intp, types.int32)
mj_jacSite = _function("mj_jacSite", types.void, *_PAIR, types.intp, types.intp, types.int32)
mj_objectVelocity = _function("mj_objectVelocity", types.void, *_PAIR, types.int32, types.int32, types.intp, types.int32)
mju_fill = _function("mju_fill", types.void, types.intp, types.float64, types.int32)
mju_sum = _function("mju_sum", types.float64, types.intp, types.int32)

ARRAYS = (
    "qpos",
    "qvel",
    "ctrl",
    "qfrc_applied",
    "xfrc_applied",
    "xpos",
    "xquat",
    "xipos",
    "site_xpos",
    "site_xmat",
)
KEPT = 256  # models; a run uses one or two
MULTIBODY = record(**dict.fromkeys(("model", "scratch", "nq", "nv", "nu", "nbody", *ARRAYS), "i8"))


@dataclass(frozen=True)
class Multibody:
    """A model that stays in memory for the life of the process, and the indices of its parts."""

    nq: int
    nv: int
    nu: int
    state_size: int
    bodies: dict[str, int]
    sites: dict[str, int]
    joints: dict[str, int]
    actuators: dict[str, int]
    addresses: dict[str, int]
    start: tuple[float, ...]  # state of the model in its initial posture
    model: Any = field(repr=False)
    data: Any = field(repr=False)

    def pack(self, p: Any) -> None:
        """Fill a MULTIBODY record."""
        for name, value in self.addresses.items():
            p[name] = value
        p.nq, p.nv, p.nu, p.nbody = self.nq, self.nv, self.nu, self.model.nbody


def load(xml: str) -> Multibody:
    """Compile MJCF. Within a thread the same text gives the same model; compiled code holds the address of its memory.

    A model in use must not be freed, and a sweep over masses must not fill the memory: each thread keeps its last ones.
    """
    return _loaded(xml, threading.get_ident())


@functools.lru_cache(maxsize=KEPT)
def _loaded(xml: str, thread: int) -> Multibody:
    import mujoco
    import numpy as np

    try:
        model = mujoco.MjModel.from_xml_string(xml.replace("<mujoco>", f"<mujoco>{SIZE}", 1))
    except ValueError as error:
        why = shortened(str(error).partition("\n")[0].removeprefix("Error: "))
        raise InputError(f"the simulated arm cannot be built: {why}; change its masses and inertias") from None
    # A non-finite state must reach the guard: no silent reset, and no warning written to a file from the loop.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    data = mujoco.MjData(model)
    for warning in data.warning:
        warning.number = 1
    start = np.zeros(mujoco.mj_stateSize(model, BITS))
    mujoco.mj_getState(model, data, start, BITS)
    kinds = {"bodies": (model.nbody, model.body), "sites": (model.nsite, model.site), "joints": (model.njnt, model.joint)}
    kinds["actuators"] = (model.nu, model.actuator)
    names: dict[str, Any] = {kind: {of(i).name: i for i in range(count)} for kind, (count, of) in kinds.items()}
    addresses = {name: getattr(data, name).ctypes.data for name in ARRAYS}
    return Multibody(
        nq=model.nq,
        nv=model.nv,
        nu=model.nu,
        state_size=start.size,
        **names,
        start=tuple(start.tolist()),
        model=model,
        data=data,
        addresses={**addresses, "model": model._address, "scratch": data._address},
    )


@jit
def set_state(p, state):
    """Copy the record's state into the scratch and clear all inputs."""
    mj_setState(p.model, p.scratch, state.ctypes.data, BITS)
    mju_fill(p.ctrl, 0.0, p.nu)
    mju_fill(p.qfrc_applied, 0.0, p.nv)
    mju_fill(p.xfrc_applied, 0.0, 6 * p.nbody)


@jit
def get_state(p, state):
    mj_getState(p.model, p.scratch, state.ctypes.data, BITS)


@jit
def step(p):
    """One step of the model's time step, with the inputs given since `set_state`."""
    mj_step(p.model, p.scratch)


@jit
def place(p):
    """Compute poses and velocities of all bodies for the state in the scratch: call this before reading from it."""
    mj_kinematics(p.model, p.scratch)
    mj_comPos(p.model, p.scratch)
    mj_comVel(p.model, p.scratch)


@jit
def set_ctrl(p, actuator, value):
    mju_fill(p.ctrl + NUMBER * actuator, value, 1)


@jit
def _read(address):
    """Read one number, as a sum over a single element."""
    return mju_sum(address, 1)


@jit
def _read_vector(address):
    return (_read(address), _read(address + NUMBER), _read(address + 2 * NUMBER))


@jit
def push_body(p, body, f, tau):
    """Apply force and torque in W to a body, at its centre of mass, until the next `set_state`."""
    at = p.xfrc_applied + 6 * NUMBER * body
    for i in range(3):
        mju_fill(at + NUMBER * i, f[i], 1)
        mju_fill(at + NUMBER * (3 + i), tau[i], 1)


@jit
def push_joint(p, index, torque):
    """Apply a torque (or force) to a degree of freedom, in addition to its actuator's, until the next `set_state`."""
    mju_fill(p.qfrc_applied + NUMBER * index, torque, 1)


@jit
def joint_position(p, index):
    return _read(p.qpos + NUMBER * index)


@jit
def joint_velocity(p, index):
    return _read(p.qvel + NUMBER * index)


@jit
def body_position(p, body):
    return _read_vector(p.xpos + 3 * NUMBER * body)


@jit
def body_centre(p, body):
    """Centre of mass."""
    return _read_vector(p.xipos + 3 * NUMBER * body)


@jit
def body_attitude(p, body):
    at = p.xquat + 4 * NUMBER * body
    return (_read(at), _read(at + NUMBER), _read(at + 2 * NUMBER), _read(at + 3 * NUMBER))


@jit
def site_position(p, site):
    return _read_vector(p.site_xpos + 3 * NUMBER * site)


@jit
def site_rotate(p, site, a):
    """R_WS a."""
    at = p.site_xmat + 9 * NUMBER * site
    x, y, z = _read_vector(at), _read_vector(at + 3 * NUMBER), _read_vector(at + 6 * NUMBER)
    return (
        x[0] * a[0] + x[1] * a[1] + x[2] * a[2],
        y[0] * a[0] + y[1] * a[1] + y[2] * a[2],
        z[0] * a[0] + z[1] * a[1] + z[2] * a[2],
    )


@jit
def velocity(p, kind, index, six):
    """v and w in W of a BODY's centre, an XBODY's origin or a SITE; `six` is room for six numbers."""
    mj_objectVelocity(p.model, p.scratch, kind, index, six.ctypes.data, 0)
    return (six[3], six[4], six[5]), (six[0], six[1], six[2])


@jit
def site_jacobian(p, site, jacobian):
    """Write the 6 × nv Jacobian, velocity above angular velocity, row by row into `jacobian`."""
    at = jacobian.ctypes.data
    mj_jacSite(p.model, p.scratch, at, at + 3 * NUMBER * p.nv, site)
