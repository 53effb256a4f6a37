"""One step of an FMU inside compiled code: inputs, doStep, outputs, through the addresses of its C functions.

The model keeps its state to itself, so a bench has an instance of its own and steps it from the first tick to the last. A tick
on a copy of the block's state finds what the same step gave; any other step out of order is a fault and not a wrong number.
"""

from typing import Any

from numba import types

from hilt.compiled import jit, memcpy
from hilt.compiled.pointers import by_address
from hilt.core import faults
from hilt.core.signals import record

MOST = 13  # numbers of a pose and a twist
LINK = record(
    **dict.fromkeys(("version", "instance", "do_step", "set", "get", "books", "sends", "takes", "n_sent", "n_taken"), "i8"),
    n_sends="i8",
    n_takes="i8",
    sent=("i8", (MOST,)),
    taken=("i8", (MOST,)),
)
# `inputs` and `outputs` are the block's; u and y what the FMU has variables for; `answer` what doStep of FMI 3 returns beside.
STATE = record(inputs=MOST, outputs=MOST, u=MOST, y=MOST, steps=("i8", (1,)), books=("i8", (2,)), answer=("i8", (4,)))
WARNING = 1  # fmi2Status, fmi3Status: the worst that still is a step
ENDED, ELSEWHERE = 100, 101  # beside the statuses of FMI
# The books of an instance: steps made, status of the last one, its inputs, its outputs.
NUMBER = 8  # bytes
KEPT_U = 2 * NUMBER
KEPT_Y = KEPT_U + MOST * NUMBER
BOOKS = (KEPT_Y + MOST * NUMBER) // NUMBER

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
    """Make a step; returns its status, and keeps inputs, outputs and status in the instance's books."""
    status = _transfer(p, p.set, p.sends, p.n_sends, x.u.ctypes.data, p.n_sent)
    if status <= WARNING:
        status = _do_step(x, p, x.steps[0] * dt, dt)
    if status <= WARNING and x.answer[1] & 1:
        status = ENDED
    if status <= WARNING:
        status = _transfer(p, p.get, p.takes, p.n_takes, x.y.ctypes.data, p.n_taken)
    x.books[0] = x.steps[0] + 1
    x.books[1] = status
    memcpy(p.books, x.books.ctypes.data, 2 * NUMBER)
    memcpy(p.books + KEPT_U, x.u.ctypes.data, MOST * NUMBER)
    memcpy(p.books + KEPT_Y, x.y.ctypes.data, MOST * NUMBER)
    return status


@jit
def _made_already(x, p):
    """The status of the step that was made last, if it was this one, on a copy of our state."""
    if x.books[0] != x.steps[0] + 1:
        return ELSEWHERE
    memcpy(x.y.ctypes.data, p.books + KEPT_U, MOST * NUMBER)
    for k in range(p.n_sent):
        if x.y[k] != x.u[k]:
            return ELSEWHERE
    memcpy(x.y.ctypes.data, p.books + KEPT_Y, MOST * NUMBER)
    return x.books[1]


@jit
def advance(sig, x, p, dt):
    """From `x.inputs` to `x.outputs` over one tick; False, with a fault, if the model did not make it."""
    for k in range(p.n_sent):
        x.u[k] = x.inputs[p.sent[k]]
    memcpy(x.books.ctypes.data, p.books, 2 * NUMBER)
    status = _made(x, p, dt) if x.books[0] == x.steps[0] else _made_already(x, p)
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
    """Of an instance that has not been stepped: the outputs are those of its initialization."""
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
