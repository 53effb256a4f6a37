"""freefloat: a free-floating body rendered by a robot (De Stefano et al. 2017).

sensor ──► filter, load off ──► wrench at the centre of mass ──► integrator with observer and controller
                                                      robot ◄── guard ◄── set-point ◄──┘
"""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from hilt.command.lead import LEAD, Lead
from hilt.command.setpoint import SETPOINT
from hilt.core.guard import GUARD, Guarded, Limits
from hilt.core.ledger import kinetic_energy
from hilt.core.scenario import Scenario
from hilt.core.stage import Block
from hilt.core.system import Live, System
from hilt.core.units import Count
from hilt.dynamics.body import Body, Integrator, SimulatedBody
from hilt.dynamics.rotation import ROTATION
from hilt.dynamics.translation import TRANSLATION
from hilt.fmi.body import FMU_BODY, ImportedBody
from hilt.fmi.contact import FMU_CONTACT, ImportedContact
from hilt.fmi.section import BodyFmu, ContactFmu
from hilt.plant.encoder import ENCODER, Encoder
from hilt.plant.observed import MOTION_OBSERVED, WRENCH_OBSERVED
from hilt.plant.robot import ROBOT, Robot, RobotResponse, check_fits
from hilt.plant.sensor import SENSOR, MountedSensor, Sensor
from hilt.plant.world_ledger import WORLD_LEDGER
from hilt.sense.filter import LOW_PASS, LowPass
from hilt.sense.tool_load import TOOL_LOAD, Mounting, ToolLoad
from hilt.sense.wrench import WRENCH_AT_COM
from hilt.systems.freefloat import push as pushes
from hilt.systems.freefloat.goal import Goal, judge
from hilt.systems.freefloat.metrics import COUNTER, METRIC_WORDS
from hilt.systems.freefloat.metrics import drift as drift
from hilt.systems.freefloat.metrics import held_force_position as held_force_position
from hilt.systems.freefloat.push import PUSH, Push, Pushes
from hilt.systems.freefloat.wall import WALL, Wall, Walls


class FreeFloat(Scenario):
    """Everything a run of `freefloat` depends on."""

    WORLD = ("robot", "encoder", "sensor", "push", "wall", "contact_fmu")

    system: Literal["freefloat"] = "freefloat"
    body: Body
    integrator: Integrator = Integrator()
    body_fmu: BodyFmu | None = Field(default=None, description="imported model that moves the body instead of `integrator`")
    robot: Robot = Robot()
    encoder: Encoder = Encoder()
    sensor: Sensor = Sensor()
    force_filter: LowPass = LowPass()
    tool: ToolLoad | None = Field(default=None, description="load subtracted from the measured wrench; none if not given")
    push: tuple[Push, ...] = Field(default=(), max_length=pushes.CAPACITY)
    wall: Wall | None = None
    contact_fmu: ContactFmu | None = Field(default=None, description="imported model that the mock-up touches")
    collisions: Count = Field(
        default=5, ge=1, le=10_000, description="number of contacts with the walls after which the run ends"
    )
    limits: Limits = Limits()
    goal: Goal = Goal()

    @property
    def robot_lag(self) -> float:
        """The robot's own lag [s]."""
        return self.robot.delay

    @property
    def rule(self) -> str:
        """The integrator whose delay the body has; an imported one is expected to be exact under the held wrench."""
        return self.integrator.kind if self.body_fmu is None else "momentum"

    @property
    def rotates(self) -> bool:
        return self.body.dof == 6

    @property
    def mounting(self) -> Mounting:
        sensor = self.sensor
        return Mounting(sensor.position, sensor.attitude, self.body.centre_of_mass, self.tool)

    @property
    def simulated_body(self) -> SimulatedBody:
        return SimulatedBody(self.body, self.integrator)

    @property
    def imported_body(self) -> ImportedBody:
        return ImportedBody(self.body, self.body_fmu)

    @property
    def imported_contact(self) -> ImportedContact:
        return ImportedContact(self.contact_fmu, self.body)

    @property
    def lead(self) -> Lead:
        return Lead(self.robot.delay if self.robot.lead else 0.0, self.body.mass)

    @property
    def response(self) -> RobotResponse:
        return RobotResponse(self.robot, self.robot_lag, self.rotates)

    @property
    def mounted_sensor(self) -> MountedSensor:
        return MountedSensor(self.sensor, self.rotates, self.body.centre_of_mass)

    @model_validator(mode="after")
    def _delays_fit(self) -> "FreeFloat":
        self.robot.check(self.robot_lag, self.loop.period)
        check_fits(self.sensor.lateness, self.loop.period, "sensor.delay")
        self.force_filter.check(self.loop.period)
        self.imported_body.check(self.loop.period)
        self.imported_contact.check(self.loop.period)
        return self


FREEFLOAT = System(
    name="freefloat",
    summary="a free-floating body rendered by a robot: integrators, passivity observer and controller",
    scenario=FreeFloat,
    tick=(
        Block("filter", LOW_PASS, lambda s: s.force_filter),
        Block("tool", TOOL_LOAD, lambda s: s.mounting),
        Block("wrench", WRENCH_AT_COM, lambda s: s.mounting),
        Block("translation", TRANSLATION, lambda s: s.simulated_body, when=lambda s: s.body_fmu is None),
        Block("rotation", ROTATION, lambda s: s.simulated_body, when=lambda s: s.body_fmu is None),
        Block("body_fmu", FMU_BODY, lambda s: s.imported_body, when=lambda s: s.body_fmu is not None),
        Block("setpoint", SETPOINT, lambda s: s.body),
        Block("lead", LEAD, lambda s: s.lead),
        Block("guard", GUARD, lambda s: Guarded(s.limits, s.robot.start_at_rest)),
    ),
    plant=(
        Block("robot", ROBOT, lambda s: s.response),
        Block("encoder", ENCODER, lambda s: s.encoder),
        Block("push", PUSH, lambda s: Pushes(s.push, s.body.centre_of_mass)),
        Block("wall", WALL, lambda s: Walls(s.wall, s.body, s.collisions)),
        Block("contact_fmu", FMU_CONTACT, lambda s: s.imported_contact, when=lambda s: s.contact_fmu is not None),
        Block("ledger", WORLD_LEDGER, lambda s: s.body),
        Block("sensor", SENSOR, lambda s: s.mounted_sensor),
    ),
    observe=(
        Block("motion", MOTION_OBSERVED),
        Block("felt", WRENCH_OBSERVED, lambda s: s.mounting),
        Block("ledger", WORLD_LEDGER, lambda s: s.body),
    ),
    metrics=COUNTER,
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
    judge=judge,
    tick_time=60e-6,
    live=(
        Live("wall.stiffness", ("wall.stiffness",), ramp=0.1),
        Live("wall.damping", ("wall.damping",), ramp=0.1),
    ),
)
