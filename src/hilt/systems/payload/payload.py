"""payload: a massive payload moved by teleoperation from the ground (Yang et al. 2018).

operator ──► virtual arm and payload ──► link ──► slave law ──► slave arm ═grip═ table ◄── payload dynamics ◄── sensor
(ground)                             ◄── down ◄── identify      (orbit)                 (HIL facility)
"""

import math
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from hilt.command.lead import LEAD, Lead
from hilt.command.setpoint import SETPOINT
from hilt.core.faults import InputError, Unfit
from hilt.core.guard import GUARD, Guarded, Limits
from hilt.core.ledger import kinetic_energy
from hilt.core.pairing import Joined, OwnClock
from hilt.core.scenario import Scenario
from hilt.core.stage import Block
from hilt.core.system import Live, System
from hilt.dynamics.body import Body, Integrator, SimulatedBody
from hilt.dynamics.rotation import ROTATION
from hilt.dynamics.translation import TRANSLATION
from hilt.maths.quintic import PEAK_SPEED
from hilt.plant.encoder import ENCODER, Encoder
from hilt.plant.joystick import JOYSTICK
from hilt.plant.observed import MOTION_OBSERVED, WRENCH_OBSERVED
from hilt.plant.robot import ROBOT, Robot, RobotResponse, check_fits
from hilt.plant.sensor import SENSOR, MountedSensor, Sensor
from hilt.plant.world_ledger import WORLD_LEDGER
from hilt.sense.filter import LOW_PASS, LowPass
from hilt.sense.tool_load import TOOL_LOAD, Mounting, ToolLoad
from hilt.sense.wrench import WRENCH_AT_COM
from hilt.systems.payload.arm import FORCE_ARM, JOINTED_ARMS, POINT_ARMS, Arm, HoldingArms
from hilt.systems.payload.bilateral import (
    BILATERAL_GROUND,
    BILATERAL_ORBIT,
    WATCHED_GROUND,
    WATCHED_ORBIT,
    Bilateral,
    BilateralEnd,
    check_damping,
)
from hilt.systems.payload.force_arm import ForceArm
from hilt.systems.payload.goal import Goal, judge
from hilt.systems.payload.grip import GRIP, Grip, GrippedPayload
from hilt.systems.payload.grip_ledger import GRIP_LEDGER
from hilt.systems.payload.hexa import HEXA, Hexa, MotionTable, XYStage
from hilt.systems.payload.hindrance import HINDRANCE, HinderedPayload, Hindrance
from hilt.systems.payload.identify import PAYLOAD_IDENTIFY, PAYLOAD_PRIOR, IdentifyPayload, PayloadBelief
from hilt.systems.payload.link import (
    CAPACITY,
    DOWN_NUMBERS,
    DOWNLINK,
    LINK,
    UP_NUMBERS,
    LinkedHands,
    OrbitLink,
    link_blocks,
    playout_delay,
)
from hilt.systems.payload.master import MASTER, Hand, HeldMaster, Master
from hilt.systems.payload.metrics import METRIC_WORDS, meter
from hilt.systems.payload.operator import OPERATOR, TAPS, Operator, OperatorTask
from hilt.systems.payload.resolved_rate import RESOLVED_RATE, RatesOfArms, ResolvedRate
from hilt.systems.payload.robot_arm import HAND_COMMAND, ROBOT_ARM, HandCommand, RobotArm, joined
from hilt.systems.payload.slave import SLAVE, Slave, SlaveTask
from hilt.systems.payload.virtual_arm import VIRTUAL_ARM, GroundModel, Virtual
from hilt.systems.payload.wrist import HAND_OBSERVED, WRIST, ObservedHand, Wrist


class Table(Robot):
    """The motion table that reproduces the payload's grip."""

    lead: bool = True


class Payload(Scenario):
    """Everything a run of `payload` depends on."""

    WORLD = ("arm", "pair", "wrist", "hand", "master", "force_arm", "grip", "hindrance", "table", "encoder", "sensor")

    system: Literal["payload"] = "payload"
    operator: Operator
    virtual: Virtual = Virtual()
    link: OrbitLink = OrbitLink()
    identify: IdentifyPayload = IdentifyPayload()
    slave: Slave = Slave()
    arm: Arm = Arm()
    pair: OwnClock = Field(default=OwnClock(), description="the arm's own clock, beside the table's, for arm.model = robot")
    wrist: Wrist = Wrist()
    wrist_tool: ToolLoad | None = Field(
        default=None, description="load subtracted from the wrist sensor's readings on devices; none if not given"
    )
    resolved_rate: ResolvedRate = ResolvedRate()
    hand: Hand = Hand()
    master: Master = Master()
    bilateral: Bilateral = Bilateral()
    force_arm: ForceArm = ForceArm()
    grip: Grip = Grip()
    hindrance: Hindrance = Hindrance()
    payload: Body
    integrator: Integrator = Integrator(kind="euler")
    table: Table = Table()
    hexa: Hexa | None = Hexa()
    xy_stage: XYStage = XYStage()
    encoder: Encoder = Encoder()
    sensor: Sensor = Sensor()
    force_filter: LowPass = LowPass()
    tool: ToolLoad | None = Field(default=None, description="load subtracted from the measured wrench; none if not given")
    limits: Limits = Limits()
    goal: Goal = Goal()

    @property
    def body(self) -> Body:
        """The payload is the body that the table's dynamics move."""
        return self.payload

    @property
    def robot(self) -> Robot:
        """The motion table is the robot that reproduces it."""
        return self.table

    @property
    def robot_lag(self) -> float:
        return self.table.delay

    @property
    def rotates(self) -> bool:
        return self.payload.dof == 6

    @property
    def mounting(self) -> Mounting:
        sensor = self.sensor
        return Mounting(sensor.position, sensor.attitude, self.payload.centre_of_mass, self.tool)

    @property
    def simulated_body(self) -> SimulatedBody:
        return SimulatedBody(self.payload, self.integrator)

    @property
    def lead(self) -> Lead:
        return Lead(self.table.delay if self.table.lead else 0.0, self.payload.mass)

    @property
    def response(self) -> RobotResponse:
        return RobotResponse(self.table, self.robot_lag, self.rotates)

    @property
    def mounted_sensor(self) -> MountedSensor:
        return MountedSensor(self.sensor, self.rotates, self.payload.centre_of_mass)

    @property
    def joystick(self) -> str | None:
        """Name of a live joystick's shared memory; None for other operators."""
        return self.operator.joystick if self.operator.kind == "live" else None

    @property
    def transport_start(self) -> float:
        """When the operator starts [s]: after the identification push and its report, if there is one."""
        pushes = self.virtual.identify and self.identify.push
        first = self.identify.push_end + playout_delay(self) + 0.5 if pushes else 0.0
        return self.operator.start + first

    @property
    def start_of_grip(self) -> tuple[float, ...]:
        """Initial position of the grip in W [m]; the payload starts unrotated."""
        at = zip(self.payload.position, self.payload.centre_of_mass, self.grip.position, strict=True)
        return tuple(p - c + g for p, c, g in at)

    @property
    def start_of_hand(self) -> tuple[float, ...]:
        """Initial position of the hand in W [m]: at the grip, or away from it if the hand starts open."""
        return tuple(grip + away for grip, away in zip(self.start_of_grip, self.arm.start, strict=True))

    @property
    def grips(self) -> tuple[tuple[float, ...], ...]:
        """Positions of the grips, in the payload's frame: one, or one on each side."""
        x, y, z = self.grip.position
        sides = (0.0,) if self.arm.count == 1 else (-0.5 * self.grip.spacing, 0.5 * self.grip.spacing)
        return tuple((x, y + side, z) for side in sides)

    @property
    def bilateral_mode(self) -> bool:
        """Whether the operator has a hand on a master device instead of a joystick."""
        return self.operator.kind == "hand"

    @property
    def pairing(self) -> Joined:
        """Table and arm as two robots of a facility."""
        return joined(self.pair.cycle, self.loop.period, self.pair.slack)

    @property
    def on_robots(self) -> Joined:
        """The same for devices; refuses a scenario with parts that no device of the facility provides."""
        wrong = (
            (
                "arm.model",
                self.arm.model,
                self.arm.model != "robot",
                "a separate robot carries the hand; use a rig with table and arm (see rigs/dry-lab-payload.toml)",
            ),
            ("operator.kind", self.operator.kind, self.bilateral_mode, "there is no master device; choose another operator"),
            ("operator.close_at", self.operator.close_at, self.operator.begins_open, "the hand stays closed; leave it out"),
            (
                "operator.release_at",
                self.operator.release_at,
                self.operator.release_at is not None,
                "the hand stays closed; leave it out",
            ),
        )
        for key, value, refused, why in wrong:
            if refused:
                raise InputError(f"{key} is {value}, but on devices {why}", key)
        self._check_jolts()
        return self.pairing

    def _check_jolts(self) -> None:
        """Refuse jumps that no robot can follow: a joystick may jump from end to end on all axes, a step starts from rest."""
        operator, most = self.operator, self.limits.acceleration
        jump = {"live": 2.0 * math.sqrt(3.0), "step": 1.0}.get(operator.kind, 0.0) * operator.speed
        least = PEAK_SPEED * jump / most
        if operator.shaper < least:
            raise InputError(
                f"operator.shaper is {operator.shaper:g} s, but on devices a {operator.kind} operator "
                f"of {operator.speed:g} m/s needs {least:.3g} s to stay within limits.acceleration of {most:g} m/s²; "
                f"set operator.shaper = '{math.ceil(1e2 * least) / 1e2:g} s', or lower operator.speed",
                "operator.shaper",
                "operator.speed",
            )

    @property
    def gripped(self) -> bool:
        """Whether the slave hand holds the payload; in bilateral contact it is free to meet a wall."""
        return not self.bilateral_mode or self.bilateral.gains == "payload"

    @model_validator(mode="after")
    def _consistent(self) -> "Payload":
        self.table.check(self.robot_lag, self.loop.period)
        check_fits(self.sensor.lateness, self.loop.period, "sensor.delay")
        self.force_filter.check(self.loop.period)
        check_fits(self.arm.delay, self.loop.period, "arm.delay")
        self._check_robot_arm()
        self.link.check(self.loop.period, CAPACITY - 8192)
        if self.bilateral_mode:
            check_damping(self)
        if self.operator.shaper > TAPS * self.loop.period:
            raise Unfit(
                f"operator.shaper is {self.operator.shaper:g} s; at loop.period = {self.loop.period:g} s it may be at most "
                f"{TAPS * self.loop.period:g} s; shorten it or lengthen loop.period",
                "operator.shaper",
                "loop.period",
            )
        self._check_hand()
        if any(self.payload.attitude[1:]):
            raise Unfit(
                "payload.attitude must be 1, 0, 0, 0: the hand grips an unrotated payload; leave it out", "payload.attitude"
            )
        return self

    def _check_robot_arm(self) -> None:
        if self.arm.model != "robot":
            return
        robot, pairing = self.arm.robot, self.pairing
        robot.check(robot.delay, self.loop.period, "arm.robot")
        self.pair.check(self.loop.period)
        check_fits(pairing.least + 2.0 * (pairing.cycle + self.loop.period), self.loop.period, "pair.cycle")
        if self.arm.count != 1:
            raise Unfit(
                f"arm.count is {self.arm.count}, but arm.model is robot, which carries one hand; set arm.count = 1",
                "arm.count",
                "arm.model",
            )

    def _check_hand(self) -> None:
        if self.operator.begins_open:
            if self.virtual.identify:
                raise Unfit(
                    "virtual.identify is true but the hand starts open, and a payload that is not held cannot be identified; "
                    "leave out operator.close_at and operator.hand_open, or set virtual.identify = false",
                    "virtual.identify",
                    "operator.close_at",
                    "operator.hand_open",
                )
        elif any(self.arm.start):
            raise Unfit(
                f"arm.start puts the hand {1e3 * math.hypot(*self.arm.start):g} mm from its grip, but it is closed from the "
                "start; give operator.close_at, or leave out arm.start",
                "arm.start",
                "operator.close_at",
            )


# What each stage gets from a scenario.


def _believed_mass(s: Payload) -> float:
    return s.virtual.mass_ratio * s.payload.mass


def _operator(s: Payload) -> OperatorTask:
    return OperatorTask(s.operator, s.transport_start, _believed_mass(s) * s.slave.compliance, s.start_of_hand)


def _virtual(s: Payload) -> GroundModel:
    hand = s.start_of_hand, s.arm.start, s.operator.begins_open
    return GroundModel(s.virtual, s.slave, s.payload, s.grip, *hand, s.identify.push, playout_delay(s))


def _ground(s: Payload) -> BilateralEnd:
    return BilateralEnd(s.bilateral, s.link, s.master.motor_lag)


def _orbit(s: Payload) -> BilateralEnd:
    return BilateralEnd(s.bilateral, s.link, s.force_arm.motor_lag)


def _linked(s: Payload) -> LinkedHands:
    return LinkedHands(s.link, s.start_of_hand, s.operator.begins_open)


def _identify(s: Payload) -> PayloadBelief:
    return PayloadBelief(s.identify, s.virtual.identify, _believed_mass(s), s.operator.direction)


def _slave(s: Payload) -> SlaveTask:
    task = s.identify, s.virtual.identify, s.link.outage_policy, _believed_mass(s), s.operator.direction
    return SlaveTask(s.slave, *task, s.start_of_hand, s.limits.force)


def _rates(s: Payload) -> RatesOfArms:
    jointed = s.arm.jointed if s.arm.model == "jointed" else None
    return RatesOfArms(s.resolved_rate, jointed, s.grips, s.grip.position, s.start_of_hand)


def _master(s: Payload) -> HeldMaster:
    path = s.operator.direction, s.operator.start, s.start_of_hand
    return HeldMaster(s.hand, s.master, *path, s.bilateral_mode)


def _arms(s: Payload) -> HoldingArms:
    held = s.grip, s.grips, s.start_of_hand, s.operator.direction
    return HoldingArms(s.arm, s.force_arm, *held, s.bilateral_mode, s.gripped)


def _gripped(s: Payload) -> GrippedPayload:
    sensors = s.arm.force_noise, s.arm.force_bias
    return GrippedPayload(s.grip, s.grips, s.payload.centre_of_mass, *sensors, s.gripped, s.operator.begins_open)


def _robot_arm(s: Payload) -> RobotArm:
    return RobotArm(s.arm.robot, s.pairing, s.pair.phase, s.pair.drift, s.start_of_hand)


def _observed_hand(s: Payload) -> ObservedHand:
    return ObservedHand(s.wrist, s.wrist_tool)


def _bilateral(s: Payload) -> bool:
    return s.bilateral_mode


def _unilateral(s: Payload) -> bool:
    return not s.bilateral_mode


def _jointed(s: Payload) -> bool:
    return s.arm.model == "jointed" and not s.bilateral_mode


def _carried(s: Payload) -> bool:
    return s.arm.model == "robot" and not s.bilateral_mode


PAYLOAD = System(
    name="payload",
    summary="a massive payload moved from the ground through a long delay: virtual arm, slave arm, motion table",
    scenario=Payload,
    tick=(
        Block("operator", OPERATOR, _operator),
        Block("virtual", VIRTUAL_ARM, _virtual),
        Block("bilateral_ground", BILATERAL_GROUND, _ground, when=_bilateral),
        Block("bilateral_ground", WATCHED_GROUND, _ground, when=_unilateral),
        *link_blocks("link", LINK, UP_NUMBERS, _linked),
        Block("identify", PAYLOAD_IDENTIFY, _identify, when=lambda s: s.virtual.identify),
        Block("identify", PAYLOAD_PRIOR, _identify, when=lambda s: not s.virtual.identify),
        Block("slave", SLAVE, _slave),
        Block("bilateral_orbit", BILATERAL_ORBIT, _orbit, when=_bilateral),
        Block("bilateral_orbit", WATCHED_ORBIT, _orbit, when=_unilateral),
        Block("resolved_rate", RESOLVED_RATE, _rates, when=_jointed),
        Block("hand_command", HAND_COMMAND, lambda s: HandCommand(s.start_of_hand), when=_carried),
        *link_blocks("downlink", DOWNLINK, DOWN_NUMBERS, _linked),
        Block("filter", LOW_PASS, lambda s: s.force_filter),
        Block("tool", TOOL_LOAD, lambda s: s.mounting),
        Block("wrench", WRENCH_AT_COM, lambda s: s.mounting),
        Block("translation", TRANSLATION, lambda s: s.simulated_body),
        Block("rotation", ROTATION, lambda s: s.simulated_body),
        Block("setpoint", SETPOINT, lambda s: s.body),
        Block("lead", LEAD, lambda s: s.lead),
        Block("hexa", HEXA, lambda s: MotionTable(s.hexa, s.xy_stage), when=lambda s: s.hexa is not None),
        Block("guard", GUARD, lambda s: Guarded(s.limits, s.robot.start_at_rest)),
    ),
    plant=(
        Block("robot", ROBOT, lambda s: s.response),
        Block("encoder", ENCODER, lambda s: s.encoder),
        Block("joystick", JOYSTICK, lambda s: s.joystick),
        Block("master", MASTER, _master),
        Block("arm", POINT_ARMS, _arms, when=lambda s: not (_bilateral(s) or _jointed(s) or _carried(s))),
        Block("arm", JOINTED_ARMS, _arms, when=_jointed),
        Block("arm", FORCE_ARM, _arms, when=_bilateral),
        Block("arm", ROBOT_ARM, _robot_arm, when=_carried),
        Block("grip", GRIP, _gripped),
        Block("grip_ledger", GRIP_LEDGER, _gripped),
        Block("wrist", WRIST, lambda s: s.wrist, when=_carried),
        Block("hindrance", HINDRANCE, lambda s: HinderedPayload(s.hindrance, s.payload, s.operator.direction)),
        Block("ledger", WORLD_LEDGER, lambda s: s.body),
        Block("sensor", SENSOR, lambda s: s.mounted_sensor),
    ),
    observe=(
        Block("motion", MOTION_OBSERVED),
        Block("joystick", JOYSTICK, lambda s: s.joystick),
        Block("observed_hand", HAND_OBSERVED, _observed_hand, when=_carried),
        Block("wrench_observed", WRENCH_OBSERVED, lambda s: s.mounting),
        Block("grip_ledger", GRIP_LEDGER, _gripped),
        Block("ledger", WORLD_LEDGER, lambda s: s.body),
    ),
    metrics=meter,
    metric_words=METRIC_WORDS,
    ratios=(),
    ledger_ports={
        "W_environment": "work of the slave arm on the payload",
        "W_sampling": "made by holding the force over a tick",
        "W_delay": "made by the table's delay and lead",
        "W_sensor": "made by the table's sensor",
        "W_controller": "made by the passivity controller",
        "W_integrator": "made by the integrator, translation",
        "W_rotation": "made by the integrator, rotation",
    },
    stored_energy=kinetic_energy,
    scenario_folder=Path(__file__).parent / "scenarios",
    default_scenario="hils-2",
    package="hilt.systems.payload",
    judge=judge,
    pairing=lambda s: s.on_robots,
    tick_time=200e-6,
    live=(
        Live("operator.speed", ("operator.speed",), ramp=0.5),
        Live("operator.turn_rate", ("operator.turn_rate",), ramp=0.5),
        Live("operator.hand_open", ("operator.hand_open",), on_devices=False),  # the fingers are not a device
        Live("hindrance.drag", ("hindrance.drag",), ramp=0.5),
    ),
    watched_ports={
        "W_master": "the link's port on the ground",
        "W_slave": "the link's port on orbit; out is what the slave arm receives",
        "W_hands": "work of the slave hands on their grips",
        "W_fingers": "made by the fingers, closing or opening",
        "W_grips": "work of the grips on the payload",
        "W_grip_damping": "lost in the grips' dampers",
    },
)
