"""A tap test on the plant's own robot that bends: what an encoder and a force sensor would have measured."""

import math

import numpy as np
from scipy.signal import cont2discrete, lfilter

from hilt.core import signals
from hilt.core.stage import Cycle
from hilt.lab.compliance import chirp
from hilt.systems.docking.arm import ARM_CONTACT, ArmMeeting
from hilt.systems.docking.bending import Bending
from hilt.systems.docking.contact import CONTACT, Contact, Frames, Meeting, Rod

CYCLE, TICK = 0.004, 0.0005
SURFACE = 0.010
SERVO = (150.0, 0.9)  # rad/s, damping ratio
PRELOAD = 8.0


def motors(amplitude, stiffness):
    """Positions and velocities every TICK: the chirp of the tap test behind a servo, about the position of the preload."""
    omega, zeta = SERVO
    plan = chirp(CYCLE, amplitude, 2.0)
    t = np.arange(int(len(plan) * CYCLE / TICK)) * TICK
    u = np.interp(t, np.arange(1, len(plan) + 1) * CYCLE, plan)
    num, den, _ = cont2discrete(([omega**2], [1.0, 2.0 * zeta * omega, omega**2]), TICK, "foh")
    x = lfilter(num[0], den, u)
    return t, SURFACE + PRELOAD / stiffness + x, np.gradient(x, TICK)


def tapped(stiffness=0.5e6, frequency=12.0, damping_ratio=0.05, amplitude=0.15e-3, noise=0.05, force=None, arm=None, **contact):
    """t, motor, force, when, noise, series: arguments of the fit. `force(t, x, f)` may change what the sensor measures.

    `arm(bending)` gives the robot more than one mode.
    """
    law = Contact(**{"stiffness": 176275.0, **contact})
    series = 1.0 / (1.0 / law.stiffness + 1.0 / stiffness)
    row = np.zeros(1, signals.row_type([*CONTACT.reads, *CONTACT.writes]))
    kind = CONTACT if arm is None else ARM_CONTACT
    x, p = np.zeros(1, kind.state), np.zeros(1, kind.params)
    bending = Bending(stiffness, 2.0 * math.pi * frequency, damping_ratio)
    meeting = Meeting(law, Frames(gap=SURFACE + 0.005), Rod(), (0.0, 0.0, 0.0), stiffness, bending, False, 10**6)
    kind.pack(p[0], meeting if arm is None else ArmMeeting(meeting, arm(bending)), Cycle(TICK))
    row[0].X_WB_true.q[0] = 1.0
    t, x_m, v_m = motors(amplitude, series)
    felt = np.zeros(len(t))
    for i in range(len(t)):
        row[0].X_WB_true.p[0], row[0].V_WB_true.v[0] = x_m[i], v_m[i]
        kind.step(row[0], x[0], p[0], TICK)
        felt[i] = row[0].F_C_true_W[0]
    if force is not None:
        felt = force(t, x_m, felt)
    rng = np.random.default_rng(1)
    each = slice(int(0.4 / TICK), None, round(CYCLE / TICK))  # from rest: the transient of the plant is over
    when = t[each] - 0.001 * rng.random(len(t[each]))  # a sensor with its own clock
    return t[each], x_m[each], np.interp(when, t, felt) + noise * rng.normal(size=len(when)), when, noise, 1.05 * series
