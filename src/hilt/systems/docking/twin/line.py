"""Delay lines of one or two values, read at fractional samples."""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths.delay import CAPACITY

PAIR_LINE = record(buffer=("f8", (CAPACITY, 2)), newest="i8")


@jit
def push(line, a, b):
    line.newest = (line.newest + 1) & (len(line.buffer) - 1)
    line.buffer[line.newest, 0] = a
    line.buffer[line.newest, 1] = b


@jit
def read(line, samples, which):
    """Value `which` of the pair, `samples` ago, and its increase to the next newer sample."""
    whole, mask = int(samples), len(line.buffer) - 1
    newer = line.buffer[(line.newest - whole) & mask, which]
    older = line.buffer[(line.newest - whole - 1) & mask, which]
    return newer + (samples - whole) * (older - newer), newer - older


@jit
def fill(line, x, v, dt):
    """Fill the line with uniform motion that ends at x."""
    for age in range(len(line.buffer) - 1, -1, -1):
        push(line, x - age * dt * v, v)
