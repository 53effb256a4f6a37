"""Measured tosses of a body onto a table: when the first impact is, what it changes, and the error of a simulation.

A toss is a table of poses at a constant rate. All errors are computed from the poses, in the same manner for the measured and
the simulated toss: velocities are differences of positions over the samples between the first and the second impact.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]
VELOCITY_JUMP = 0.15  # m/s from sample to sample: an impact, not noise
SPIN_JUMP = 2.0  # rad/s
NEAR_TABLE = 0.010  # m: a jump higher up is the hand, or a marker that was lost
MOST_FLIGHT = 12  # samples before the impact, from which the state at the start is computed
MOST_AFTER = 4  # periods over which velocities after the impact are computed


@dataclass(frozen=True)
class Toss:
    """A measured toss and its first impact."""

    number: int
    position: Array  # m, n × 3
    attitude: Array  # q_WB, w x y z, n × 4
    rate: float  # Hz
    impact: int  # the last sample before which the flight is free
    after: tuple[int, int]  # first and last sample of the flight after the impact
    start: int  # sample that a simulation starts from
    state: Array  # there: position, q_WB, velocity in W, angular velocity in the body


def rotations(attitude: Array) -> Rotation:
    return Rotation.from_quat(attitude, scalar_first=True)


def spin(attitude: Array, first: int, last: int, rate: float) -> Array:
    """Mean angular velocity between two samples, in the body."""
    turned = rotations(attitude[first]).inv() * rotations(attitude[last])
    return np.asarray(turned.as_rotvec() * rate / (last - first))


def lowest(position: Array, attitude: Array, points: Array) -> Array:
    """Height of the body's lowest point at every sample."""
    up = rotations(attitude).as_matrix()[:, 2, :]
    return np.asarray(position[:, 2] + (up @ points.T).min(axis=1))


def impacts(position: Array, attitude: Array, rate: float, points: Array, gravity: float) -> NDArray[np.int64]:
    """Samples after which the motion is no longer that of a free flight."""
    fall = np.array([0.0, 0.0, gravity / rate])
    jump = np.diff(position, 2, axis=0) * rate + fall
    turn = rotations(attitude)
    rates = (turn[:-1].inv() * turn[1:]).as_rotvec() * rate
    hit = (np.linalg.norm(jump, axis=1) > VELOCITY_JUMP) | (np.linalg.norm(np.diff(rates, axis=0), axis=1) > SPIN_JUMP)
    low = lowest(position, attitude, points)
    return np.flatnonzero(hit & (np.minimum(low[1:-1], low[2:]) < NEAR_TABLE)) + 1


def before(position: Array, attitude: Array, rate: float, gravity: float, first: int, last: int, at: int) -> Array:
    """State of a free flight at a sample: a parabola and a constant spin through the samples from `first` to `last`.

    The spin is constant for a body whose principal moments are equal.
    """
    time = (np.arange(first, last + 1) - at) / rate
    straight = position[first : last + 1] + 0.5 * gravity * np.outer(time**2, [0.0, 0.0, 1.0])
    line = np.column_stack([np.ones_like(time), time])
    place, velocity = np.linalg.lstsq(line, straight, rcond=None)[0]
    here = rotations(attitude[at])
    small = (here.inv() * rotations(attitude[first : last + 1])).as_rotvec()
    off, rates = np.linalg.lstsq(line, small, rcond=None)[0]
    q = (here * Rotation.from_rotvec(off)).as_quat(scalar_first=True)
    return np.concatenate([place, q, velocity, rates])


def find(number: int, position: Array, attitude: Array, rate: float, points: Array, gravity: float = 9.81) -> Toss | None:
    """A toss with its first impact; None if the flight before it is shorter than four samples."""
    hits = impacts(position, attitude, rate, points, gravity)
    if not len(hits) or hits[0] < 4:
        return None
    hit = int(hits[0])
    first, last = max(0, hit - MOST_FLIGHT), hit - 1
    later = hits[hits > hit + 2]  # an impact is spread over neighbouring samples
    second = int(later[0]) if len(later) else len(position) - 1
    begin = hit + 2
    end = max(begin + 2, min(begin + MOST_AFTER, second))
    if end >= len(position):
        return None
    state = before(position, attitude, rate, gravity, first, last, last)
    return Toss(number, position, attitude, rate, hit, (begin, end), last, state)


@dataclass(frozen=True)
class Errors:
    """Errors of a simulated toss against the measured one."""

    velocity: float  # m/s, after the first impact
    spin: float  # rad/s, after the first impact
    position: float  # m, at the end
    angle: float  # rad, at the end


def errors(toss: Toss, position: Array, attitude: Array) -> Errors:
    """Errors of a simulation that begins at the toss's start sample, one row per sample."""
    first, last = toss.after
    i, j = first - toss.start, last - toss.start
    moved = (toss.position[last] - toss.position[first]) - (position[j] - position[i])
    turned = spin(toss.attitude, first, last, toss.rate) - spin(attitude, i, j, toss.rate)
    apart = rotations(toss.attitude[-1]).inv() * rotations(attitude[-1])
    return Errors(
        float(np.linalg.norm(moved) * toss.rate / (last - first)),
        float(np.linalg.norm(turned)),
        float(np.linalg.norm(toss.position[-1] - position[-1])),
        float(apart.magnitude()),
    )
