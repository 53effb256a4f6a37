"""freefloat: a free-floating body rendered by a robot (De Stefano et al. 2017).

sensor ──► filter, load off ──► wrench at the centre of mass ──► integrator with observer and controller
                                                      robot ◄── guard ◄── set-point ◄──┘
"""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from hilt.command.lead import LEAD
from hilt.command.setpoint import SETPOINT
from hilt.core.guard import GUARD, Limits
from hilt.core.ledger import kinetic_energy
from hilt.core.scenario import Scenario
from hilt.core.stage import Block
from hilt.core.system import Live, System
from hilt.core.units import Count
from hilt.dynamics.body import Body, Integrator
from hilt.dynamics.rotation import ROTATION
from hilt.dynamics.translation import TRANSLATION
from hilt.plant.books import BOOKS
from hilt.plant.encoder import ENCODER, Encoder
from hilt.plant.observed import LOADED_WRENCH_OBSERVED, MOTION_OBSERVED
from hilt.plant.robot import ROBOT, Robot, check_fits
from hilt.plant.sensor import SENSOR, Sensor
from hilt.sense.filter import LOW_PASS, LowPass
from hilt.sense.tool_load import TOOL_LOAD, ToolLoad
from hilt.sense.wrench import WRENCH_AT_COM
from hilt.systems.freefloat import push as pushes
from hilt.systems.freefloat.metrics import METRIC_WORDS, FreeFloatMeter
from hilt.systems.freefloat.metrics import drift as drift
from hilt.systems.freefloat.metrics import held_force_position as held_force_position
from hilt.systems.freefloat.push import PUSH, Push
from hilt.systems.freefloat.wall import WALL, Wall


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


FREEFLOAT = System(
    name="freefloat",
    summary="a free-floating body rendered by a robot: integrators, passivity observer and controller",
    scenario=FreeFloat,
    tick=(
        Block("filter", LOW_PASS),
        Block("tool", TOOL_LOAD),
        Block("wrench", WRENCH_AT_COM),
        Block("translation", TRANSLATION),
        Block("rotation", ROTATION),
        Block("setpoint", SETPOINT),
        Block("lead", LEAD),
        Block("guard", GUARD),
    ),
    plant=(
        Block("robot", ROBOT),
        Block("encoder", ENCODER),
        Block("push", PUSH),
        Block("wall", WALL),
        Block("books", BOOKS),
        Block("sensor", SENSOR),
    ),
    observe=(
        Block("motion", MOTION_OBSERVED),
        Block("felt", LOADED_WRENCH_OBSERVED),
        Block("books", BOOKS),
    ),
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
    package="hilt.systems.freefloat",
    tick_time=60e-6,
    live=(
        Live("wall.stiffness", ("wall.stiffness",), ramp=0.1),
        Live("wall.damping", ("wall.damping",), ramp=0.1),
    ),
)
