"""A system of your own: a simulated mass on a real spring. A robot moves the spring's end like the mass, but too late.

A spring that is felt τ late drives the mass: its oscillation grows as exp(ω² (τ + T/2) t/2), with T/2 for holding the force
over a tick. The table of blocks below is all that hilt needs for runs, comparisons, recordings, the energy ledger and a report:

    HILT_PLUGINS=05_own_system.py hilt run oscillator --set robot.delay="8 ms"
"""

import math
from typing import Literal

from pydantic import Field

import hilt
from hilt.core import ledger
from hilt.core.meter import of_rows
from hilt.core.scenario import Loop
from hilt.core.signals import PORT
from hilt.core.units import Kilogram, Metre, NewtonPerMetre, Second

LONGEST = 64  # ticks of delay


class Body(hilt.Section):
    mass: Kilogram = Field(default=10.0, gt=0)
    start: Metre = Field(default=0.02, description="where it is released")


class Spring(hilt.Section):
    stiffness: NewtonPerMetre = Field(default=394.8, gt=0, description="394.8 N/m and 10 kg oscillate at 1 Hz")


class Robot(hilt.Section):
    delay: Second = Field(default=0.004, ge=0, le=0.06)


class Oscillator(hilt.Scenario):
    """Everything a run depends on. Every value has a default here, so no scenario file is needed."""

    system: Literal["oscillator"] = "oscillator"
    loop: Loop = Loop(period=0.001, duration=5.0)
    body: Body = Body()
    spring: Spring = Spring()
    robot: Robot = Robot()


def pack_mass(p, body, loop):
    p.mass, p.start = body.mass, body.start


def release(sig, x, p):
    x.x = sig.X_WBcm_next.p[0] = p.start


@hilt.stage(
    reads=("F_Bcm_W",),
    writes=("X_WBcm", "V_WBcm", "H", "X_WBcm_next"),
    state={"x": "f8", "v": "f8"},
    params={"mass": "f8", "start": "f8"},
    pack=pack_mass,
    reset=release,
)
def mass(sig, x, p, dt):
    """m v' = f, the force held over the tick."""
    v = x.v + dt * sig.F_Bcm_W.f[0] / p.mass
    sig.X_WBcm.p[0], sig.V_WBcm.v[0], sig.H = x.x, x.v, 0.5 * p.mass * x.v * x.v
    x.x, x.v = x.x + dt * 0.5 * (x.v + v), v
    sig.X_WBcm_next.p[0] = x.x


def pack_world(p, scenario, loop):
    p.stiffness, p.late = scenario.spring.stiffness, round(scenario.robot.delay / loop.period)


@hilt.stage(
    reads=("X_WBcm_next",),
    writes=("X_WB_true", "F_Bcm_W", "W_environment", "W_delay"),
    state={"line": LONGEST, "at": "f8", "mass": "f8", "force": "f8", "spring": PORT, "delay": PORT},
    params={"stiffness": "f8", "late": "i8"},
    pack=pack_world,
)
def world(sig, x, p, dt):
    """The robot is where the mass was τ ago; the spring pulls it back. Books its work, and the energy that the delay makes."""
    x.line[sig.tick % LONGEST] = sig.X_WBcm_next.p[0]
    at, mass = x.line[max(0, sig.tick - p.late) % LONGEST], sig.X_WBcm_next.p[0]
    if sig.tick > 0:
        ledger.book(x.spring, x.force, at - x.at, 1.0)
        ledger.book(x.delay, x.force, (mass - x.mass) - (at - x.at), 1.0)
    x.at, x.mass, x.force = at, mass, -p.stiffness * at
    sig.X_WB_true.p[0], sig.F_Bcm_W.f[0] = at, x.force
    ledger.publish(sig.W_environment, x.spring)
    ledger.publish(sig.W_delay, x.delay)


def metrics(rows, scenario):
    """How fast the oscillation grows [1/s], and the ratio to theory."""
    energy = rows["H"] + 0.5 * scenario.spring.stiffness * rows["X_WBcm"]["p"][:, 0] ** 2
    growth = math.log(energy[-1] / energy[0]) / (2.0 * rows["t"][-1])
    late = scenario.robot.delay + 0.5 * scenario.loop.period
    return {"growth": growth, "growth_ratio": growth / (0.5 * scenario.spring.stiffness / scenario.body.mass * late)}


OSCILLATOR = hilt.System(
    name="oscillator",
    summary="a simulated mass on a real spring, through a late robot",
    scenario=Oscillator,
    tick=(hilt.Block("mass", mass, lambda scenario: scenario.body),),  # runs in the lab, too
    plant=(hilt.Block("world", world, lambda scenario: scenario),),  # replaced by the hardware in the lab
    metrics=of_rows(metrics),
    metric_words={"growth": "growth of the oscillation [1/s]", "growth_ratio": "growth / theory"},
    ratios=("growth_ratio",),
    ledger_ports={"W_environment": "work of the spring", "W_delay": "made by the robot's delay"},
    stored_energy=lambda rows: rows["H"],
)
hilt.register(OSCILLATOR)

if __name__ == "__main__":
    for delay, run in hilt.compare("oscillator", over={"robot.delay": ["0 ms", "4 ms", "8 ms"]}).items():
        print(f"{delay}  growth {run.metrics['growth']:.4f} 1/s, {run.metrics['growth_ratio']:.3f} of theory")
    print("report", run.report("oscillator.html"))
