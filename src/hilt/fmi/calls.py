"""One step of an FMU inside compiled code: inputs, doStep, outputs, through the addresses of its C functions.

The state of the model is hidden, so each bench has its own instance and steps it from the first tick to the last. A tick that
is repeated on a copy of the block's state gets the result of the step already made; any other step out of order is a fault.
"""

from typing import Any

from numba import types

from hilt.compiled import jit, memcpy
from hilt.compiled.pointers import by_address
from hilt.core import faults
from hilt.core.signals import record

MOST = 13  # numbers of a pose and a twist
LINK = record(
    **dict.fromkeys(("version", "instance", "do_step", "set", "get", "memory", "sends", "takes", "n_sent", "n_taken"), "i8"),
    n_sends="i8",
    n_takes="i8",
    sent=("i8", (MOST,)),
    taken=("i8", (MOST,)),
)
# `inputs` and `outputs` are the block's; u and y those with a variable in the FMU; `answer`: further results of FMI 3's doStep.
STATE = record(inputs=MOST, outputs=MOST, u=MOST, y=MOST, steps=("i8", (1,)), memory=("i8", (2,)), answer=("i8", (4,)))
WARNING = 1  # fmi2Status, fmi3Status: the worst status of a step that was made
ENDED, ELSEWHERE = 100, 101  # in addition to the statuses of FMI
# The memory kept for an instance: steps made, status of the last one, its inputs, its outputs.
NUMBER = 8  # bytes
KEPT_U = 2 * NUMBER
KEPT_Y = KEPT_U + MOST * NUMBER
MEMORY = (KEPT_Y + MOST * NUMBER) // NUMBER

_POINTER = types.intp
do_step_2 = by_address("fmi2DoStep", types.int32, _POINTER, types.float64, types.float64, types.int32)
do_step_3 = by_address("fmi3DoStep", types.int32, _POINTER, types.float64, types.float64, types.uint8, *[_POINTER] * 4)
reals_2 = by_address("fmi2GetReal", types.int32, _POINTER, _POINTER, _POINTER, _POINTER)
reals_3 = by_address("fmi3GetFloat64", types.int32, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER)


@jit
def _transfer(p, function, references, count, values, size):
    if count == 0:
        return 0
    if p.version == 2:
        return reals_2(function, p.instance, references, count, values)
    return reals_3(function, p.instance, references, count, values, size)


@jit
def _do_step(x, p, t, dt):
    if p.version == 2:
        return do_step_2(p.do_step, p.instance, t, dt, 1)
    # eventHandlingNeeded, terminateSimulation, earlyReturn: a byte each; lastSuccessfulTime: a double
    at = x.answer.ctypes.data
    return do_step_3(p.do_step, p.instance, t, dt, 1, at, at + 8, at + 16, at + 24)


@jit
def _made(x, p, dt):
    """Make a step and return its status; inputs, outputs and status are kept in the instance's memory."""
    status = _transfer(p, p.set, p.sends, p.n_sends, x.u.ctypes.data, p.n_sent)
    if status <= WARNING:
        status = _do_step(x, p, x.steps[0] * dt, dt)
    if status <= WARNING and x.answer[1] & 1:
        status = ENDED
    if status <= WARNING:
        status = _transfer(p, p.get, p.takes, p.n_takes, x.y.ctypes.data, p.n_taken)
    x.memory[0] = x.steps[0] + 1
    x.memory[1] = status
    memcpy(p.memory, x.memory.ctypes.data, 2 * NUMBER)
    memcpy(p.memory + KEPT_U, x.u.ctypes.data, MOST * NUMBER)
    memcpy(p.memory + KEPT_Y, x.y.ctypes.data, MOST * NUMBER)
    return status


@jit
def _made_already(x, p):
    """Return the status of the last step if it was this one, made on a copy of our state."""
    if x.memory[0] != x.steps[0] + 1:
        return ELSEWHERE
    memcpy(x.y.ctypes.data, p.memory + KEPT_U, MOST * NUMBER)
    for k in range(p.n_sent):
        if x.y[k] != x.u[k]:
            return ELSEWHERE
    memcpy(x.y.ctypes.data, p.memory + KEPT_Y, MOST * NUMBER)
    return x.memory[1]


@jit
def advance(sig, x, p, dt):
    """Step from `x.inputs` to `x.outputs` over one tick; False, with a fault, if the model did not make the step."""
    for k in range(p.n_sent):
        x.u[k] = x.inputs[p.sent[k]]
    memcpy(x.memory.ctypes.data, p.memory, 2 * NUMBER)
    status = _made(x, p, dt) if x.memory[0] == x.steps[0] else _made_already(x, p)
    x.steps[0] += 1
    if status == ELSEWHERE:
        faults.trip(sig, faults.FMU_ELSEWHERE, -1, 0.0, 0.0)
    elif status == ENDED:
        faults.trip(sig, faults.FMU_ENDED, -1, 0.0, 0.0)
    elif status > WARNING or status < 0:
        faults.trip(sig, faults.FMU_STEP, status, 0.0, 0.0)
    else:
        for k in range(p.n_taken):
            x.outputs[p.taken[k]] = x.y[k]
        return True
    return False


@jit
def begin(x, outputs):
    """Begin with an instance that has not been stepped: its outputs are those after initialization."""
    for k in range(MOST):
        x.outputs[k] = outputs[k]


def pack(p: Any, instance: Any) -> None:
    """Fill a LINK record from an Instance."""
    for name, value in instance.addresses.items():
        p[name] = value
    sends, takes = instance.sends, instance.takes
    p.version = instance.version
    p.n_sends, p.n_takes = len(sends.references), len(takes.references)
    p.n_sent, p.n_taken = len(sends.places), len(takes.places)
    p.sent[: len(sends.places)] = sends.places
    p.taken[: len(takes.places)] = takes.places
