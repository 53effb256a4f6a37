"""A delay line in seconds: fractions of a sample are interpolated, so a delay never flips between two whole numbers.

The buffer is a field of the state record; `CAPACITY` bounds the delay, and the scenario refuses longer ones.
"""

from hilt.compiled import jit
from hilt.compiled.records import record
from hilt.maths import so3, vec

CAPACITY = 512  # a power of two: indices wrap by a mask

# One sample of a wrench is force and torque; one of a motion is position, velocity, attitude and angular velocity.
WRENCH_LINE = record(buffer=("f8", (CAPACITY, 6)), newest="i8")
MOTION_LINE = record(buffer=("f8", (CAPACITY, 13)), newest="i8")


# Functions return indices into a buffer, not views of it, which a GPU cannot pass. A line may be shorter than CAPACITY.
@jit
def _advance(line):
    line.newest = (line.newest + 1) & (len(line.buffer) - 1)
    return line.newest


@jit
def _put(line, at, first, a):
    line.buffer[at, first] = a[0]
    line.buffer[at, first + 1] = a[1]
    line.buffer[at, first + 2] = a[2]


@jit
def push_wrench(line, f, tau):
    at = _advance(line)
    _put(line, at, 0, f)
    _put(line, at, 3, tau)


@jit
def push_motion(line, p, v, q, w):
    at = _advance(line)
    _put(line, at, 0, p)
    _put(line, at, 3, v)
    line.buffer[at, 6] = q[0]
    _put(line, at, 7, (q[1], q[2], q[3]))
    _put(line, at, 10, w)


@jit
def _neighbours(line, samples):
    """The two samples around `samples` ago, and the fraction between them, from the newer to the older one."""
    whole, mask = int(samples), len(line.buffer) - 1
    return (line.newest - whole) & mask, (line.newest - whole - 1) & mask, samples - whole


@jit
def _between(line, newer, older, share, place):
    a, b = line.buffer[newer, place], line.buffer[older, place]
    return a + share * (b - a)


@jit
def read(line, samples, first):
    """Three numbers of the sample `samples` ago, starting at index `first`."""
    newer, older, share = _neighbours(line, samples)
    return (
        _between(line, newer, older, share, first),
        _between(line, newer, older, share, first + 1),
        _between(line, newer, older, share, first + 2),
    )


@jit
def _attitude(line, at):
    return (line.buffer[at, 6], line.buffer[at, 7], line.buffer[at, 8], line.buffer[at, 9])


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
    at, older, share = _neighbours(line, samples)
    newer = _attitude(line, at)
    return so3.interpolate(newer, _attitude(line, older), share) if share > 0.0 else newer


@jit
def read_angular_velocity(line, samples):
    return read(line, samples, 10)


@jit
def fill_motion(line, p, v, q, w, dt):
    """Fill the line with uniform motion that ends at the pose (p, q): a robot that was already moving."""
    for age in range(len(line.buffer) - 1, -1, -1):
        back = -age * dt
        push_motion(line, vec.add(p, vec.scale(back, v)), v, so3.multiply(so3.exp(vec.scale(back, w)), q), w)
