"""Step 3 in space: each frame as a plane whose believed normal may be wrong.

    x(q) = h + n·(q - a)                                   tip along the plane's normal; a: last point of contact
    in contact:   n <- unit(n + g (F/F_n)_t),              g = σ_n²/(σ_n² + (σ/F_n)²),   σ_n² <- (1 - g) σ_n²
    at the exit:  n is turned so that the plane contains the points where it was touched

Turning n about the last point of contact keeps what was learnt there. A normal known exactly, σ_n = 0, is not changed.
"""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import vec

FELT = 4.0  # thresholds: below this the direction of the force carries little information
PLACE = 10e-6  # m: accuracy of a surface's position from one contact
LEAST = 1e-10  # rad²: smallest variance of a normal

PLANE = record(n=3, a=3, h="f8", variance="f8", met="i8", point=3)


@jit
def along(plane, q):
    """Coordinate of tip q along the plane's normal."""
    return plane.h + vec.dot(vec.load(plane.n), vec.sub(q, vec.load(plane.a)))


@jit
def anchor(plane, q):
    """Make q the pivot of the plane; x(q) is unchanged."""
    plane.h = along(plane, q)
    vec.store(plane.a, q)


@jit
def _turn(plane, by):
    n = vec.add(vec.load(plane.n), by)
    vec.store(plane.n, vec.scale(1.0 / vec.dot(n, n) ** 0.5, n))


@jit
def turn_to_force(plane, force, deviation, threshold):
    """Turn the plane by one force sample; without friction the force is along the normal."""
    n = vec.load(plane.n)
    size = vec.dot(n, force)
    if not abs(size) > FELT * threshold or plane.variance <= LEAST:
        return
    off = vec.sub(vec.scale(1.0 / size, force), n)
    share = plane.variance / (plane.variance + (deviation / size) ** 2)
    plane.variance *= 1.0 - share
    _turn(plane, vec.scale(share, off))


@jit
def turn_to_places(plane, surface):
    """Turn the plane at the end of a contact; `surface` is its position along the normal."""
    n = vec.load(plane.n)
    point = vec.add(vec.load(plane.a), vec.scale(surface - plane.h, n))
    if plane.met and plane.variance > LEAST:
        apart = vec.sub(point, vec.load(plane.point))
        out = vec.dot(n, apart)
        along = vec.sub(apart, vec.scale(out, n))
        square = vec.dot(along, along)
        if square > 0.0:
            share = plane.variance / (plane.variance + 2.0 * PLACE * PLACE / square)
            plane.variance *= 1.0 - 0.5 * share  # one of two directions has been observed
            _turn(plane, vec.scale(-share * out / square, along))
    vec.store(plane.point, point)
    plane.met = 1
