"""Delay lines of one or two numbers, read at fractions of a sample."""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths.delay import CAPACITY

PAIR_LINE = record(buffer=("f8", (CAPACITY, 2)), newest="i8")


@jit
def push(line, a, b):
    line.newest = (line.newest + 1) & (CAPACITY - 1)
    line.buffer[line.newest, 0] = a
    line.buffer[line.newest, 1] = b


@jit
def read(line, samples, which):
    """Number `which` of the pair, `samples` ago, and its increase to the next newer sample."""
    whole = int(samples)
    newer = line.buffer[(line.newest - whole) & (CAPACITY - 1), which]
    older = line.buffer[(line.newest - whole - 1) & (CAPACITY - 1), which]
    return newer + (samples - whole) * (older - newer), newer - older


@jit
def fill(line, x, v, dt):
    """Fill the line with uniform motion that ends at x."""
    for age in range(CAPACITY - 1, -1, -1):
        push(line, x - age * dt * v, v)
