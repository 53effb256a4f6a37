"""freefloat: a free-floating body rendered by a robot (De Stefano et al. 2017).

sensor ──► filter, load off ──► wrench at the centre of mass ──► integrator with observer and controller
                                                      robot ◄── guard ◄── set-point ◄──┘
"""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from hilt.command.lead import LEAD, lead_step
from hilt.command.setpoint import SETPOINT, setpoint_step
from hilt.compiled import jit
from hilt.core.guard import GUARD, Limits, guard_step
from hilt.core.ledger import kinetic_energy
from hilt.core.scenario import Scenario
from hilt.core.stage import Live, System
from hilt.core.units import Count
from hilt.dynamics.body import Body, Integrator
from hilt.dynamics.rotation import ROTATION, rotation_step
from hilt.dynamics.translation import TRANSLATION, translation_step
from hilt.plant.books import BOOKS, books_step
from hilt.plant.encoder import ENCODER, Encoder, encoder_step
from hilt.plant.observed import motion_observed, wrench_observed
from hilt.plant.robot import ROBOT, Robot, check_fits, robot_step
from hilt.plant.sensor import SENSOR, Sensor, load_observed, sensor_step
from hilt.sense.filter import LOW_PASS, LowPass, low_pass_step
from hilt.sense.tool_load import TOOL_LOAD, ToolLoad, tool_load_step
from hilt.sense.wrench import WRENCH_AT_COM, wrench_at_com_step
from hilt.systems.freefloat import push as pushes
from hilt.systems.freefloat.metrics import METRIC_WORDS, FreeFloatMeter
from hilt.systems.freefloat.metrics import drift as drift
from hilt.systems.freefloat.metrics import held_force_position as held_force_position
from hilt.systems.freefloat.push import PUSH, Push, push_step
from hilt.systems.freefloat.wall import WALL, Wall, wall_step


class FreeFloat(Scenario):
    """Everything a run of `freefloat` depends on."""

    system: Literal["freefloat"] = "freefloat"
    body: Body
    integrator: Integrator = Integrator()
    robot: Robot = Robot()
    encoder: Encoder = Encoder()
    sensor: Sensor = Sensor()
    force_filter: LowPass = LowPass()
    tool: ToolLoad | None = Field(default=None, description="what is taken off the measured wrench; nothing if not given")
    push: tuple[Push, ...] = Field(default=(), max_length=pushes.CAPACITY)
    wall: Wall | None = None
    collisions: Count = Field(default=5, ge=1, le=10_000, description="the run ends after so many contacts with the walls")
    limits: Limits

    @property
    def robot_lag(self) -> float:
        """The robot's own lag [s]."""
        return self.robot.delay

    @property
    def rotates(self) -> bool:
        return self.body.dof == 6

    @model_validator(mode="after")
    def _delays_fit(self) -> "FreeFloat":
        self.robot.check(self.robot_lag, self.loop.period)
        check_fits(self.sensor.lateness, self.loop.period, "sensor.delay")
        self.force_filter.check(self.loop.period)
        return self


@jit
def tick(row, x, p):
    """From the measured wrench to the set-point; runs in simulation and in the lab."""
    sig, x, p = row[0], x[0], p[0]
    low_pass_step(sig, x.filter, p.filter, p.dt)
    tool_load_step(sig, x.tool, p.tool, p.dt)
    wrench_at_com_step(sig, x.wrench, p.wrench, p.dt)
    translation_step(sig, x.translation, p.translation, p.dt)
    rotation_step(sig, x.rotation, p.rotation, p.dt)
    setpoint_step(sig, x.setpoint, p.setpoint, p.dt)
    lead_step(sig, x.lead, p.lead, p.dt)
    guard_step(sig, x.guard, p.guard, p.dt)


@jit
def plant(row, w, p):
    """From the set-point to the measured wrench; the lab has the real thing instead."""
    sig, w, p = row[0], w[0], p[0]
    robot_step(sig, w.robot, p.robot, p.dt)
    encoder_step(sig, w.encoder, p.encoder, p.dt)
    push_step(sig, w.push, p.push, p.dt)
    wall_step(sig, w.wall, p.wall, p.dt)
    books_step(sig, w.books, p.books, p.dt)
    sensor_step(sig, w.sensor, p.sensor, p.dt)


@jit
def observe(row, w, p):
    """What is left of the plant in the lab: energy is booked by what is measured."""
    sig, w, p = row[0], w[0], p[0]
    motion_observed(sig)
    wrench_observed(sig, p.sensor)
    load_observed(sig, w.sensor, p.sensor, p.tool, p.dt)
    books_step(sig, w.books, p.books, p.dt)


@jit
def batch(row, x, w, p, log):
    """The same tick and plant in a compiled loop; returns the number of rows."""
    for k in range(len(log)):
        row[0].tick = k
        row[0].t = k * p[0].dt
        plant(row, w, p)
        tick(row, x, p)
        log[k] = row[0]
        if row[0].fault or row[0].done:
            return k + 1
    return len(log)


FREEFLOAT = System(
    name="freefloat",
    summary="a free-floating body rendered by a robot: integrators, passivity observer and controller",
    scenario=FreeFloat,
    tick_stages={
        "filter": LOW_PASS,
        "tool": TOOL_LOAD,
        "wrench": WRENCH_AT_COM,
        "translation": TRANSLATION,
        "rotation": ROTATION,
        "setpoint": SETPOINT,
        "lead": LEAD,
        "guard": GUARD,
    },
    plant_stages={"robot": ROBOT, "encoder": ENCODER, "push": PUSH, "wall": WALL, "books": BOOKS, "sensor": SENSOR},
    tick=tick,
    plant=plant,
    observe=observe,
    batch=batch,
    metrics=FreeFloatMeter,
    metric_words=METRIC_WORDS,
    ratios=("rebound_gain",),
    ledger_ports={
        "W_environment": "work of the world on the robot",
        "W_sampling": "made by holding the force over a tick",
        "W_delay": "made by the robot's delay",
        "W_sensor": "made by the sensor",
        "W_controller": "made by the passivity controller",
        "W_integrator": "made by the integrator, translation",
        "W_rotation": "made by the integrator, rotation",
    },
    stored_energy=kinetic_energy,
    scenario_folder=Path(__file__).parent / "scenarios",
    default_scenario="paper",
    report="hilt.systems.freefloat.views.report",
    live=(
        Live("wall.stiffness", ("wall.stiffness",), ramp=0.1),
        Live("wall.damping", ("wall.damping",), ramp=0.1),
    ),
)
