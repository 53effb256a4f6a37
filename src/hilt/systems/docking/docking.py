"""docking: a servicer hits a target through a robot with a delay (He & Shen 2022).

sensor ──► filter ──► force, tip, contact ──► identify k, c ──► compensate, energy controller ──► two bodies ──► guard ──► robot
                                          └──► twin, with the two bodies in it ─────────────────────────────────┘
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled.interpreted import interpreted
from hilt.core.faults import Unfit
from hilt.core.guard import GUARD, Guarded
from hilt.core.ledger import kinetic_energy
from hilt.core.methods import Method
from hilt.core.pairing import Shared
from hilt.core.scenario import Scenario, Section
from hilt.core.stage import Block
from hilt.core.system import Live, Methods, System
from hilt.core.units import Count, Direction, Metre3, MetrePerSecond, Newton, Positive, Second
from hilt.maths import so3
from hilt.plant.encoder import ENCODER, Encoder
from hilt.plant.observed import MOTION_OBSERVED
from hilt.plant.robot import ROBOT, Robot, RobotResponse, check_fits
from hilt.plant.sensor import TARGET_SENSOR, MountedSensor, Sensor
from hilt.sense.filter import LOW_PASS, LowPass
from hilt.systems.docking.analysis.rehearse import Rehearsal, rehearsal_of
from hilt.systems.docking.arm import ARM_CONTACT, ArmMeeting
from hilt.systems.docking.as_simulated import AS_SIMULATED
from hilt.systems.docking.bending import MOST_STEPS
from hilt.systems.docking.contact import CONTACT, Contact, Frames, Meeting, Rod
from hilt.systems.docking.contact_ledger import CONTACT_LEDGER, Tip
from hilt.systems.docking.contact_observed import CONTACT_OBSERVED, ObservedMeeting
from hilt.systems.docking.contact_sense import CONTACT_SENSE, ContactSensing
from hilt.systems.docking.delay_compensation import CODES, COMPENSATE, Compensation
from hilt.systems.docking.giving_robot import GivingRobot
from hilt.systems.docking.goal import Goal, judge
from hilt.systems.docking.identify import IDENTIFY, Identification, Identify
from hilt.systems.docking.metrics import COUNTER, METRIC_WORDS
from hilt.systems.docking.servo import SERVO
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.believe import beliefs_of
from hilt.systems.docking.twin.bias import TWIN_BIAS
from hilt.systems.docking.twin.prior import UNLIMITED_COMMANDS, CommandLimits, Prior
from hilt.systems.docking.twin.tick import twin_blocks, uses_twin
from hilt.systems.docking.two_bodies import TWO_BODIES, FreeBody, TwoBodies
from hilt.systems.docking.two_robots import TWO_ROBOTS, Pair, TwoRobots


class Approach(Section):
    """Approach of the servicer; the target is at rest."""

    speed: MetrePerSecond = Field(gt=0, description="of the servicer towards the target")
    direction: Direction = Field(default=(1.0, 0.0, 0.0), description="in W")
    position: Metre3 = Field(
        default=(0.0, 0.0, 0.0), description="position of the servicer's assembly frame in the target's, at the start"
    )

    @property
    def velocity(self) -> tuple[float, ...]:
        size = math.hypot(*self.direction)
        return tuple(self.speed * part / size for part in self.direction)


class Detect(Section):
    """Detection of a contact by its force."""

    threshold: Positive[Newton] | None = Field(
        default=None,
        description="8 σ of the sensor's noise if not given (twin: 6 σ), at least 1 mN and above a filter's undershoot",
    )


class Compensate(Section):
    method: Annotated[str, Method("docking", *CODES)] = "pida"
    mode: Literal["realtime", "guarded"] = Field(
        default="guarded", description="twin only; guarded slows the clock before unknown frames"
    )
    sensor_delay: Second | None = Field(
        default=None, ge=0, description="assumed total delay of sensor and force_filter; the believed one if not given"
    )
    lead_filter: Second | None = Field(
        default=None, ge=0, description="time constant for the force's derivative; if not given, 2 ms for a noisy sensor"
    )


@lru_cache(maxsize=1000)  # a sweep has few different bodies
def _lever_arms(tip: Any, *bodies: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    arms = []
    for position, attitude, inertia in bodies:
        R = np.column_stack([interpreted(so3.rotate)(attitude, axis) for axis in np.eye(3)])
        arms.append((R.T @ np.array(position), R.T @ np.linalg.inv(np.array(inertia)) @ R))
    (to_A, inverse_A), (to_T, inverse_T) = arms
    return np.array(tip) + to_A, inverse_A, -to_T, inverse_T


class Docking(Scenario):
    """Everything a run of `docking` depends on."""

    ROBOT_DELAY_IS_WHOLE: ClassVar[bool] = True  # `robot.delay` includes the sensor's delay

    WORLD = ("frames", "rod", "contact", "robot", "target_robot", "pair", "encoder", "sensor")

    system: Literal["docking"] = "docking"
    dof: Literal[1, 6] = 1
    servicer: FreeBody
    target: FreeBody
    approach: Approach
    frames: Frames
    rod: Rod = Rod()
    contact: Contact
    robot: GivingRobot
    target_robot: Robot | None = Field(default=None, description="robot that carries the target; the servicer's is robot")
    pair: Pair = Pair()
    encoder: Encoder = Encoder()
    sensor: Sensor = Sensor()
    force_filter: LowPass = LowPass()
    detect: Detect = Detect()
    identify: Identify = Identify()
    compensate: Compensate = Compensate()
    collisions: Count = Field(default=5, ge=1, le=10_000, description="number of contacts after which the run ends")
    prior: Prior = Prior()
    limits: CommandLimits = CommandLimits()
    goal: Goal = Goal()

    @property
    def rotates(self) -> bool:
        return self.dof == 6

    @property
    def robot_lag(self) -> float:
        """The robot's part of the total delay `robot.delay`; the rest is the sensor's."""
        return 0.0 if self.robot.kind == "ideal" else self.robot.delay - self.sensor.delay

    @property
    def pairing(self) -> Shared | None:
        """How two robots share the relative motion; None with one robot."""
        robot, pair = self.target_robot, self.pair
        if robot is None:
            return None
        share = self.servicer.mass / (self.servicer.mass + self.target.mass) if pair.share == "masses" else pair.share
        lag = 0.0 if robot.kind == "ideal" else robot.delay - self.sensor.delay
        lags = {"servicer": self.robot_lag, "target": lag}
        sensor = self.sensor.position, self.sensor.attitude
        clocks = pair.clock, pair.cycle, self.loop.period, pair.slack
        return Shared("servicer", "target", *clocks, share, lags, sensor)

    @property
    def two_robots(self) -> TwoRobots | None:
        pairing, robot = self.pairing, self.target_robot
        if pairing is None or robot is None:
            return None
        moving = robot.model_copy(update={"start_at_rest": self.robot.start_at_rest})
        return TwoRobots(self.robot, moving, pairing, self.pair.phase, self.pair.drift, self.rotates)

    @property
    def with_one_robot(self) -> "Docking":
        """The same scenario with one robot that responds like both together: the slower one, with their common delay."""
        pairing = self.pairing
        if pairing is None or self.target_robot is None:
            return self
        slower = max(pairing.lags, key=lambda name: (pairing.lags[name], name == "servicer"))
        robot = self.robot if slower == "servicer" else self.target_robot
        own = pairing.lags[slower]
        answer = {
            "kind": "delay+second-order" if robot.natural_frequency(own) > 0.0 else "delay",
            "delay": pairing.delay + self.sensor.delay,
            "pure_delay": robot.pure(own) + pairing.later(slower),
            "damping_ratio": robot.damping_ratio,
            "jitter": robot.jitter,
            "speed_limit": robot.speed_limit,
            "acceleration_limit": robot.acceleration_limit,
        }
        return self.model_copy(update={"robot": self.robot.model_copy(update=answer), "target_robot": None})

    @property
    def reduced_mass(self) -> float:
        """m_s m_t/(m_s + m_t)  [He2022, eq. 31]"""
        return self.servicer.mass * self.target.mass / (self.servicer.mass + self.target.mass)

    @property
    def start_of_tip(self) -> tuple[float, ...]:
        return tuple(a + b for a, b in zip(self.approach.position, self.rod.tip, strict=True))

    @property
    def force_threshold(self) -> float:
        """Detection threshold of the controller [N], from the noise it believes its sensor to have."""
        # The undershoot of a filter after a contact must not be mistaken for the next contact.
        swing = 2.0 * self.force_filter.swing * self.identify.stiffness * self.approach.speed
        deviations = 6.0 if self.compensate.method == "twin" else 8.0
        return self.detect.threshold or max(deviations * self.believed.sensor.noise, 1e-3, swing)

    @property
    def force_delay(self) -> float:
        """Delay [s] of the force used in the tick."""
        return self.sensor.delay + self.force_filter.delay

    @property
    def assumed_sensor_delay(self) -> float:
        """Delay [s] of sensor and filter assumed by the controller."""
        assumed = self.compensate.sensor_delay
        return self.believed.force_delay if assumed is None else assumed

    @property
    def lead_filter(self) -> float:
        given = self.compensate.lead_filter
        return (0.002 if self.believed.sensor.noise > 0 else 0.0) if given is None else given

    @property
    def lead_noise(self) -> float:
        """rms noise of F_act [N]: the believed sensor noise, amplified by the lead."""
        a = self.loop.period / (self.lead_filter + self.loop.period)
        g = self.assumed_sensor_delay * a / self.loop.period
        return self.believed.sensor.noise * math.sqrt((1 + g) ** 2 + g * g * a / (2 - a))  # a²/(1 - (1 - a)²) = a/(2 - a)

    @property
    def contact_sensing(self) -> ContactSensing:
        assumed = self.force_threshold, self.assumed_sensor_delay, self.lead_filter
        return ContactSensing(self.rod.tip, self.sensor.attitude, self.rotates, *assumed)

    @property
    def identification(self) -> Identification:
        assumed = self.force_threshold, self.assumed_sensor_delay, self.reduced_mass
        return Identification(self.identify, *assumed, self.encoder, self.lead_noise)

    @property
    def compensation(self) -> Compensation:
        return Compensation(self.compensate.method, self.reduced_mass, self.rotates, self.lever_arms())

    @property
    def two_bodies(self) -> TwoBodies:
        approach = self.approach
        return TwoBodies(self.servicer, self.target, approach.velocity, approach.position, self.rod.tip, self.rotates)

    @property
    def meeting(self) -> Meeting:
        where = self.contact, self.frames, self.rod, self.start_of_tip
        bending = self.robot.bending if self.robot.bends else None
        return Meeting(*where, self.robot.stiffness, bending, self.rotates, self.collisions)

    @property
    def arm_meeting(self) -> ArmMeeting:
        return ArmMeeting(self.meeting, self.robot.arm)

    def lever_arms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Vector from the servicer's centre of mass to the tip and inverse inertia, in B; the same for the target, in W."""
        bodies = ((body.assembly_position, body.assembly_attitude, body.inertia) for body in (self.servicer, self.target))
        return _lever_arms(self.rod.tip, *bodies)

    def in_space(self, finer: int) -> "Docking":
        """The same bodies and contact without the facility: perfect robot and sensor, no guard, a finer tick."""
        return self.model_copy(
            update={
                "belief": {},
                "seed": 1,  # nothing is random
                "robot": GivingRobot(kind="ideal"),
                "target_robot": None,
                "frames": self.frames.model_copy(update={"shift": 0.0}),
                "encoder": Encoder(),
                "sensor": Sensor(position=self.sensor.position, attitude=self.sensor.attitude),
                "force_filter": LowPass(),
                "compensate": Compensate(method="none"),
                "limits": UNLIMITED_COMMANDS,
                "loop": self.loop.model_copy(update={"period": self.loop.period / finer}),
            }
        )

    def _check_pair(self) -> None:
        pairing, robot = self.pairing, self.target_robot
        if pairing is None or robot is None:
            return
        if self.robot.is_servo:
            raise Unfit(
                "target_robot is given, but robot has an order, an interpolation or a motor_stiffness, which are simulated for "
                "a single robot only; leave out these keys or target_robot",
                "target_robot",
            )
        if pairing.lags["target"] < 0:
            raise Unfit(
                f"target_robot.delay is {robot.delay:g} s in total, of which sensor.delay is {self.sensor.delay:g} s; "
                "the total must be at least that; raise target_robot.delay",
                "target_robot.delay",
                "sensor.delay",
            )
        robot.check(pairing.lags["target"], self.loop.period, "target_robot")
        self.pair.check(self.loop.period)
        check_fits(pairing.delay + 2.0 * (pairing.cycle + self.loop.period), self.loop.period, "target_robot.delay")

    def _check_bending(self) -> None:
        if not self.robot.bends:
            return
        if self.frames.cone > 0:
            raise Unfit(
                f"frames.cone is {self.frames.cone:g} rad, but a robot with a mode bends only along frames.normal; "
                "set frames.cone = 0, or robot.mode_frequency = 0 for a massless spring",
                "frames.cone",
                "robot.mode_frequency",
            )
        if self.robot.arm.steps(self.contact.stiffest, self.loop.period) > MOST_STEPS:
            key = "second_mode_frequency" if self.robot.second_mode_frequency > 0.0 else "mode_frequency"
            raise Unfit(
                f"robot.{key} is {getattr(self.robot, key):g} Hz, and the tip of a robot with robot.stiffness = "
                f"{self.robot.stiffness:g} N/m would swing faster in contact, too fast to "
                f"simulate with loop.period = {self.loop.period:g} s; shorten loop.period, or set robot.{key} = 0",
                f"robot.{key}",
                "robot.stiffness",
                "contact.stiffness",
                "loop.period",
            )

    @model_validator(mode="after")
    def _consistent(self) -> "Docking":
        if self.frames.gap <= self.rod.radius:
            raise Unfit(
                f"frames.gap is {self.frames.gap:g} m but the rod has a radius of {self.rod.radius:g} m; "
                "the gap must be larger, otherwise the rod touches both frames at once; widen frames.gap",
                "frames.gap",
                "rod.radius",
            )
        if self.robot_lag < 0:
            raise Unfit(
                f"robot.delay is {self.robot.delay:g} s in total, of which sensor.delay is {self.sensor.delay:g} s; "
                "the total must be at least that; raise robot.delay",
                "robot.delay",
                "sensor.delay",
            )
        for name, body in (("servicer", self.servicer), ("target", self.target)):
            if self.dof == 6 and "inertia" not in body.model_fields_set:
                raise Unfit(f"{name}.inertia is missing; it is needed if dof is 6; add it, in kg·m²", f"{name}.inertia")
        if self.dof == 1 and (any(self.frames.n_W[1:]) or any(self.approach.velocity[1:])):
            raise Unfit(
                "frames.normal and approach.direction must be along x when dof is 1; set dof = 6 for other directions",
                "frames.normal",
                "approach.direction",
                "dof",
            )
        if self.dof == 1 and self.frames.cone > 0:
            raise Unfit(
                f"frames.cone is {self.frames.cone:g} rad but dof is 1, where the tip stays on the cone's axis; "
                "set dof = 6 or frames.cone = 0",
                "frames.cone",
                "dof",
            )
        if self.frames.cone > 0 and self.compensate.method == "twin":
            raise Unfit(
                f"compensate.method is twin but frames.cone is {self.frames.cone:g} rad; the twin treats each frame as a plane "
                "and may press far too hard on a cone; choose another method, such as pida, or set frames.cone = 0",
                "compensate.method",
                "frames.cone",
            )
        if abs(np.dot(self.frames.n_W, self.approach.velocity)) < 1e-3 * self.approach.speed:
            raise Unfit(
                "approach.direction is parallel to the frames and never reaches them; turn it towards frames.normal",
                "approach.direction",
                "frames.normal",
            )
        self.robot.check(self.robot_lag, self.loop.period)
        self._check_pair()
        self._check_bending()
        check_fits(self.sensor.lateness, self.loop.period, "sensor.delay")
        if self.compensate.method == "twin":  # it predicts over this time in every tick
            given = self.compensate.sensor_delay is not None
            key, name = (
                ("compensate.sensor_delay", "") if given else ("force_filter.cutoff", "the delay of sensor and force_filter")
            )
            check_fits(self.assumed_sensor_delay, self.loop.period, key, name)
        self.force_filter.check(self.loop.period)
        if self.sensor.load is not None:
            raise Unfit(
                "sensor.load is given, but the sensor of docking is fixed under the target and carries no moving load; "
                "leave it out, and give a constant weight as sensor.bias",
                "sensor.load",
                "sensor.bias",
            )
        return self


def _without_twin(scenario: Docking) -> bool:
    return not uses_twin(scenario)


def _plain_robot(scenario: Docking) -> bool:
    return scenario.target_robot is None and not scenario.robot.is_servo


def _servo_robot(scenario: Docking) -> bool:
    return scenario.target_robot is None and scenario.robot.is_servo


def _two_robots(scenario: Docking) -> bool:
    return scenario.target_robot is not None


def twin_beliefs(scenario: Docking) -> TwinBeliefs:
    return beliefs_of(scenario.believed.with_one_robot)


def _rehearsed(scenario: Docking) -> Rehearsal | None:
    """Rehearsal that finds the twin's β near unknown frames by simulating this system; None in real time."""
    return rehearsal_of(DOCKING, scenario.believed.with_one_robot)


def guarded_clock(scenario: Docking) -> float:
    rehearsal = _rehearsed(scenario)
    return rehearsal.clock() if rehearsal else 1.0


DOCKING = System(
    name="docking",
    summary="a servicer hits a target through a slow robot: contact identified and compensated, energy controlled",
    scenario=Docking,
    tick=(
        Block("filter", LOW_PASS, lambda s: s.force_filter),
        Block("twin_bias", TWIN_BIAS, twin_beliefs, when=uses_twin),
        Block("sense", CONTACT_SENSE, lambda s: s.contact_sensing),
        Block("identify", IDENTIFY, lambda s: s.identification, when=_without_twin),
        Block("compensate", COMPENSATE, lambda s: s.compensation, when=_without_twin),
        Block("bodies", TWO_BODIES, lambda s: s.two_bodies, when=_without_twin),
        Block("command", AS_SIMULATED, when=_without_twin),
        *twin_blocks(twin_beliefs, _rehearsed),  # these include the two bodies
        Block("guard", GUARD, lambda s: Guarded(s.limits, s.robot.start_at_rest)),
    ),
    plant=(
        Block("robot", ROBOT, lambda s: RobotResponse(s.robot, s.robot_lag, s.rotates), when=_plain_robot),
        Block("robot", SERVO, lambda s: s.robot.servo(s.robot_lag, s.rotates), when=_servo_robot),
        Block("robot", TWO_ROBOTS, lambda s: s.two_robots, when=_two_robots),
        Block("encoder", ENCODER, lambda s: s.encoder),
        Block("contact", CONTACT, lambda s: s.meeting, when=lambda s: not s.robot.is_arm),
        Block("contact", ARM_CONTACT, lambda s: s.arm_meeting, when=lambda s: s.robot.is_arm),
        Block("ledger", CONTACT_LEDGER, lambda s: Tip(s.rod.tip, s.rotates)),
        Block("sensor", TARGET_SENSOR, lambda s: MountedSensor(s.sensor, s.rotates)),
    ),
    observe=(
        Block("motion", MOTION_OBSERVED),
        Block("touch", CONTACT_OBSERVED, lambda s: ObservedMeeting(s.meeting, s.contact_sensing)),
        Block("ledger", CONTACT_LEDGER, lambda s: Tip(s.rod.tip, s.rotates)),
    ),
    metrics=COUNTER,
    metric_words=METRIC_WORDS,
    ratios=("cov", "cof"),
    ledger_ports={
        "W_environment": "work of the contact on the bodies",
        "W_sampling": "made by holding the force over a tick",
        "W_delay": "made by the robot's delay",
        "W_sensor": "made by the sensor",
        "W_compensation": "made by the compensation of the force",
        "W_controller": "made by the energy controller",
        "W_twin": "made by sending the robot ahead of the body (twin)",
        "W_integrator": "made by the integrator, translation",
        "W_rotation": "made by the integrator, rotation",
    },
    stored_energy=kinetic_energy,
    scenario_folder=Path(__file__).parent / "scenarios",
    default_scenario="table1",
    package="hilt.systems.docking",
    judge=judge,
    pairing=lambda s: s.pairing,
    tick_time=80e-6,
    live=(
        Live("contact.stiffness", ("contact.stiffness",), ramp=0.1),
        Live("contact.damping", ("contact.damping",), ramp=0.1),
        Live("contact.friction", ("contact.friction",), ramp=0.1),
    ),
    methods=Methods("compensate.method", "compensate", writes=("F_comp_W", "F_hat_W")),
)
