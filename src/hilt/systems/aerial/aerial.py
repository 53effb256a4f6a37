"""aerial: a human works together with a simulated flying arm, through a real arm (Cuniato et al. 2022).

hand ══ tool ──► sensor ──► force filter ──► task ──► interface ──► arm admittance ──► inverse kinematics ─┐
 ║                                                    │  ▲                                                 ▼
hardware arm ◄── its joints ◄── admittance ◄── port ◄─┘  └── estimator ── flight ── rotors ──► the flying arm (simulated)
"""

from pathlib import Path
from typing import Literal

from pydantic import model_validator

from hilt.core.guard import GUARD, Guarded, Limits
from hilt.core.scenario import Scenario
from hilt.core.stage import Block
from hilt.core.system import Live, System
from hilt.core.units import Metre3
from hilt.dynamics.body import Body
from hilt.maths import once
from hilt.maths.channel import CAPACITY
from hilt.plant.encoder import ENCODER, Encoder
from hilt.plant.link import Link
from hilt.plant.observed import MOTION_OBSERVED, WRENCH_OBSERVED
from hilt.plant.robot import check_fits
from hilt.plant.sensor import SENSOR, MountedSensor, Sensor
from hilt.sense.tool_load import Mounting
from hilt.systems.aerial.airframe import AIRFRAME, FlyingVehicle, Simulator, ToolPush, Wind
from hilt.systems.aerial.arm_admittance import ARM_ADMITTANCE, CompliantArm
from hilt.systems.aerial.arm_ik import ARM_IK, ArmIk, JointsOfArm
from hilt.systems.aerial.cable import CABLE, Cable, HungCable
from hilt.systems.aerial.estimator import ESTIMATOR, EstimatedVehicle, Estimator
from hilt.systems.aerial.flight import FLIGHT, Flight, FlightControl
from hilt.systems.aerial.flying_arm import HOME, FlyingArm, posture_for
from hilt.systems.aerial.force_filter import FORCE_FILTER, FilteredSensor, ForceFilter
from hilt.systems.aerial.gains import Gains
from hilt.systems.aerial.goal import Goal, judge
from hilt.systems.aerial.hand import HAND, Hand, HandAtTool
from hilt.systems.aerial.hardware_admittance import HARDWARE_ADMITTANCE, Hardware, YieldingArm
from hilt.systems.aerial.hardware_arm import HARDWARE_IK, ArmAtStart, HardwareArm
from hilt.systems.aerial.hardware_ledger import HARDWARE_LEDGER
from hilt.systems.aerial.interface import INTERFACE, Frames, LinkedTools, Pose
from hilt.systems.aerial.metrics import METRIC_WORDS, AerialMeter, compliance_energy
from hilt.systems.aerial.planner import Planner
from hilt.systems.aerial.port_guard import PortPassivity
from hilt.systems.aerial.quadrotor import Vehicle
from hilt.systems.aerial.rotors import MOTORS, LiftingRotors, Rotors
from hilt.systems.aerial.servo import SERVO, Servo
from hilt.systems.aerial.tank import Tank
from hilt.systems.aerial.task import TASK, Task, TaskInPlace, Tool

TOOL = Body(mass=1.0)  # what the sensor carries: its origin is the tool's, and only the wrench there matters


class Aerial(Scenario):
    """Everything a run of `aerial` depends on."""

    WORLD = ("servo", "encoder", "sensor", "hand", "cable")

    system: Literal["aerial"] = "aerial"
    task: Task
    tool: Tool = Tool(position=HOME)
    planner: Planner
    vehicle: Vehicle
    rotors: Rotors = Rotors()
    flight: Flight = Flight()
    estimator: Estimator = Estimator()
    simulator: Simulator = Simulator()
    flying_arm: FlyingArm = FlyingArm()
    arm_ik: ArmIk = ArmIk()
    gains: Gains = Gains()
    tank: Tank = Tank()
    push: ToolPush = ToolPush()
    wind: Wind = Wind()
    link: Link = Link()
    frames: Frames = Frames()
    hardware: Hardware = Hardware()
    hardware_arm: HardwareArm = HardwareArm()
    port_passivity: PortPassivity
    force_filter: ForceFilter
    servo: Servo
    encoder: Encoder = Encoder()
    sensor: Sensor = Sensor()
    hand: Hand
    cable: Cable = Cable()
    limits: Limits = Limits()
    goal: Goal = Goal()

    @property
    def body(self) -> Body:
        return TOOL

    @property
    def robot_lag(self) -> float:
        return self.servo.whole_lag

    @property
    def rotates(self) -> bool:
        return True

    @property
    def start_of_base(self) -> tuple[Metre3, float]:
        """Initial position and yaw of the base in N."""
        first = self.planner.waypoints[0]
        return first.position, first.yaw

    @property
    def start_of_simulated_tool(self) -> Pose:
        """Initial pose of the simulated tool in N."""
        place, yaw = self.start_of_base
        turn = once.so3.exp((0.0, 0.0, yaw))
        place = once.vec.add(place, once.so3.rotate(turn, self.tool.position))
        return place, once.so3.multiply(turn, self.tool.attitude)

    @property
    def start_of_tool(self) -> Pose:
        """Initial pose of the hardware's tool in H."""
        place = self.frames.start_in_hardware(self.hardware_arm.start, self.start_of_simulated_tool[0])
        return place, self.hardware_arm.attitude

    @model_validator(mode="after")
    def _consistent(self) -> "Aerial":
        period = self.loop.period
        self.force_filter.check(period)
        self.servo.check(period)
        self.link.check(period, CAPACITY // 2)
        check_fits(self.sensor.lateness, period, "sensor.delay")
        self.hardware_arm.check(*self.start_of_tool)
        posture_for(self.tool.position, self.tool.attitude)  # refuses a pose that the flying arm cannot reach
        return self


# What each stage gets from a scenario.


def _task(s: Aerial) -> TaskInPlace:
    return TaskInPlace(s.task, s.planner, s.tool, s.frames.attitude, s.cable.position, s.cable.mouth_height)


def _interface(s: Aerial) -> LinkedTools:
    return LinkedTools(s.link, s.frames, s.start_of_tool, s.start_of_simulated_tool, *s.start_of_base)


def _hardware(s: Aerial) -> YieldingArm:
    around = s.port_passivity, s.force_filter.bandwidth, s.servo.whole_lag
    return YieldingArm(s.hardware, *around, *s.start_of_tool)


def _airframe(s: Aerial) -> FlyingVehicle:
    first, tool = s.planner.waypoints[0], s.tool
    return FlyingVehicle(s.simulator, s.flying_arm, first, tool.position, tool.attitude, s.push, s.wind)


def _hand(s: Aerial) -> HandAtTool:
    return HandAtTool(s.hand, s.force_filter.load_mass, s.force_filter.load_centre)


AERIAL = System(
    name="aerial",
    summary="a human works with a simulated flying arm through a real one: admittance, energy tank, wrench estimator",
    scenario=Aerial,
    tick=(
        Block("airframe", AIRFRAME, _airframe),  # advances from the last tick
        Block("force_filter", FORCE_FILTER, lambda s: FilteredSensor(s.force_filter, s.sensor.position, s.sensor.attitude)),
        Block("task", TASK, _task),
        Block("interface", INTERFACE, _interface),
        Block("arm_admittance", ARM_ADMITTANCE, lambda s: CompliantArm(s.gains, s.tank)),
        Block("arm_ik", ARM_IK, lambda s: JointsOfArm(s.arm_ik, s.flying_arm, s.tool.position, s.tool.attitude)),
        Block("estimator", ESTIMATOR, lambda s: EstimatedVehicle(s.estimator, s.vehicle)),
        Block("flight", FLIGHT, lambda s: FlightControl(s.flight, s.vehicle, s.rotors)),
        Block("motors", MOTORS, lambda s: LiftingRotors(s.rotors, s.vehicle.mass)),
        Block("hardware", HARDWARE_ADMITTANCE, _hardware),
        Block("hardware_ik", HARDWARE_IK, lambda s: ArmAtStart(s.hardware_arm, *s.start_of_tool)),
        Block("guard", GUARD, lambda s: Guarded(s.limits)),
    ),
    plant=(
        Block("servo", SERVO, lambda s: s.servo),
        Block("encoder", ENCODER, lambda s: s.encoder),
        Block("hand", HAND, _hand),
        Block("cable", CABLE, lambda s: HungCable(s.cable, s.start_of_tool[0])),
        Block("ledger", HARDWARE_LEDGER, lambda s: s.body),
        Block("sensor", SENSOR, lambda s: MountedSensor(s.sensor, s.rotates, s.body.centre_of_mass)),
    ),
    observe=(
        Block("motion", MOTION_OBSERVED),
        Block("felt", WRENCH_OBSERVED, lambda s: Mounting(s.sensor.position, s.sensor.attitude, s.body.centre_of_mass)),
        Block("ledger", HARDWARE_LEDGER, lambda s: s.body),
    ),
    metrics=AerialMeter,
    metric_words=METRIC_WORDS,
    ratios=(),
    ledger_ports={
        "W_environment": "work of human, tool and cable on the hardware's tool",
        "W_sampling": "made by holding the wrench over a tick",
        "W_delay": "made by the servo's lag",
        "W_sensor": "made by sensor, bias and force filter",
        "W_limits": "made by box, joints and inverse kinematics",
        "W_lead_and_base": "made by the base's motion and the lead",
        "W_gains": "put in by changing gains",
        "W_damping": "taken by the apparent damping",
    },
    stored_energy=compliance_energy,
    scenario_folder=Path(__file__).parent / "scenarios",
    default_scenario="handover",
    package="hilt.systems.aerial",
    judge=judge,
    live=(
        *(Live(f"wind.mean.{axis}", (f"airframe.wind.{axis}",), ramp=0.2) for axis in range(3)),
        Live("wind.gust", ("airframe.gust",), ramp=0.2),
    ),
)
