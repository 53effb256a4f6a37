"""A delay line in seconds: fractions of a sample are interpolated, so a delay never flips between two whole numbers.

The buffer is a field of the state record; `CAPACITY` bounds the delay, and the scenario refuses longer ones.
"""

from hilt.compiled import jit
from hilt.compiled.records import record
from hilt.maths import so3, vec

CAPACITY = 512  # a power of two: places are counted with a mask

# One sample of a wrench is force and torque; one of a motion is position, velocity, attitude and angular velocity.
WRENCH_LINE = record(buffer=("f8", (CAPACITY, 6)), newest="i8")
MOTION_LINE = record(buffer=("f8", (CAPACITY, 13)), newest="i8")


@jit
def _advance(line):
    line.newest = (line.newest + 1) & (CAPACITY - 1)
    return line.buffer[line.newest]


@jit
def _put(slot, first, a):
    slot[first] = a[0]
    slot[first + 1] = a[1]
    slot[first + 2] = a[2]


@jit
def push_wrench(line, f, tau):
    slot = _advance(line)
    _put(slot, 0, f)
    _put(slot, 3, tau)


@jit
def push_motion(line, p, v, q, w):
    slot = _advance(line)
    _put(slot, 0, p)
    _put(slot, 3, v)
    slot[6] = q[0]
    _put(slot, 7, (q[1], q[2], q[3]))
    _put(slot, 10, w)


@jit
def _neighbours(line, samples):
    """The samples on both sides of `samples` ago, and the position of that time between them, towards the older one."""
    whole = int(samples)
    newer = (line.newest - whole) & (CAPACITY - 1)
    older = (line.newest - whole - 1) & (CAPACITY - 1)
    return line.buffer[newer], line.buffer[older], samples - whole


@jit
def read(line, samples, first):
    """Three numbers of the sample `samples` ago, from place `first` on."""
    a, b, share = _neighbours(line, samples)
    return (
        a[first] + share * (b[first] - a[first]),
        a[first + 1] + share * (b[first + 1] - a[first + 1]),
        a[first + 2] + share * (b[first + 2] - a[first + 2]),
    )


@jit
def read_force(line, samples):
    return read(line, samples, 0)


@jit
def read_torque(line, samples):
    return read(line, samples, 3)


@jit
def read_position(line, samples):
    return read(line, samples, 0)


@jit
def read_velocity(line, samples):
    return read(line, samples, 3)


@jit
def read_attitude(line, samples):
    a, b, share = _neighbours(line, samples)
    newer = (a[6], a[7], a[8], a[9])
    return so3.interpolate(newer, (b[6], b[7], b[8], b[9]), share) if share > 0.0 else newer


@jit
def read_angular_velocity(line, samples):
    return read(line, samples, 10)


@jit
def fill_motion(line, p, v, q, w, dt):
    """Fill the line with uniform motion that ends at the pose (p, q): a robot that was already moving."""
    for age in range(CAPACITY - 1, -1, -1):
        back = -age * dt
        push_motion(line, vec.add(p, vec.scale(back, v)), v, so3.multiply(so3.exp(vec.scale(back, w)), q), w)
