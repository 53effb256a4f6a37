"""A delay line in seconds: fractions of a sample are interpolated, so a delay never flips between two whole numbers.

The buffer is a field of the state record; `CAPACITY` bounds the delay, and the scenario refuses longer ones.
"""

from hilt.compiled import jit
from hilt.maths import so3, vec
from hilt.signals import record

CAPACITY = 512

# One sample: six numbers for a wrench, seven for a pose (position, quaternion).
WRENCH_LINE = record(buffer=("f8", (CAPACITY, 6)), newest="i8")
POSE_LINE = record(buffer=("f8", (CAPACITY, 7)), newest="i8")


@jit
def _advance(line):
    line.newest = (line.newest + 1) % CAPACITY
    return line.buffer[line.newest]


@jit
def push_pose(line, p, q):
    slot = _advance(line)
    for i in range(3):
        slot[i] = p[i]
    for i in range(4):
        slot[3 + i] = q[i]


@jit
def push_wrench(line, f, tau):
    slot = _advance(line)
    for i in range(3):
        slot[i] = f[i]
        slot[3 + i] = tau[i]


@jit
def _neighbours(line, samples):
    """The samples on both sides of `samples` ago, and how far the wanted moment lies towards the older one."""
    whole = int(samples)
    newer = (line.newest - whole) % CAPACITY
    older = (line.newest - whole - 1) % CAPACITY
    return line.buffer[newer], line.buffer[older], samples - whole


@jit
def read_position(line, samples):
    a, b, share = _neighbours(line, samples)
    return (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2]))


@jit
def read_attitude(line, samples):
    a, b, share = _neighbours(line, samples)
    return so3.interpolate((a[3], a[4], a[5], a[6]), (b[3], b[4], b[5], b[6]), share)


@jit
def read_force(line, samples):
    return read_position(line, samples)


@jit
def read_torque(line, samples):
    a, b, share = _neighbours(line, samples)
    return (a[3] + share * (b[3] - a[3]), a[4] + share * (b[4] - a[4]), a[5] + share * (b[5] - a[5]))


@jit
def fill_pose(line, p, q, v, w, dt):
    """A past of uniform motion that ends in the pose (p, q): a robot that was already under way."""
    for age in range(CAPACITY - 1, -1, -1):
        back = -age * dt
        turned = so3.multiply(so3.exp(vec.scale(back, w)), q)
        push_pose(line, vec.add(p, vec.scale(back, v)), turned)
