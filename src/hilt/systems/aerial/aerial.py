"""aerial: a human works hand in hand with a simulated flying arm, through a real arm (Cuniato et al. 2022).

hand ══ tool ──► sensor ──► force filter ──► task ──► interface ──► arm admittance ──► inverse kinematics ─┐
 ║                                                    │  ▲                                                 ▼
hardware arm ◄── its joints ◄── admittance ◄── port ◄─┘  └── estimator ── flight ── rotors ──► the flying arm (simulated)
"""

from pathlib import Path
from typing import Literal

from pydantic import model_validator

from hilt.compiled import jit
from hilt.core.guard import GUARD, Limits, guard_step
from hilt.core.scenario import Scenario
from hilt.core.stage import Live, System
from hilt.dynamics.body import Body
from hilt.maths import so3, vec
from hilt.plant.books import BOOKS, books_step
from hilt.plant.encoder import ENCODER, Encoder, encoder_step
from hilt.plant.observed import motion_observed, wrench_observed
from hilt.plant.robot import check_fits, robot_step
from hilt.plant.sensor import SENSOR, Sensor, sensor_step
from hilt.systems.aerial.airframe import AIRFRAME, Simulator, ToolPush, Wind, airframe_step
from hilt.systems.aerial.arm_admittance import ARM_ADMITTANCE, arm_admittance_step
from hilt.systems.aerial.arm_ik import ARM_IK, ArmIk, arm_ik_step
from hilt.systems.aerial.cable import CABLE, Cable, cable_step
from hilt.systems.aerial.estimator import ESTIMATOR, Estimator, estimator_step
from hilt.systems.aerial.flight import FLIGHT, Flight, flight_step
from hilt.systems.aerial.flying_arm import HOME, FlyingArm, posture_for
from hilt.systems.aerial.force_filter import FORCE_FILTER, ForceFilter, force_filter_step
from hilt.systems.aerial.gains import Gains
from hilt.systems.aerial.hand import HAND, Hand, hand_step
from hilt.systems.aerial.hardware_admittance import HARDWARE_ADMITTANCE, Hardware, hardware_admittance_step
from hilt.systems.aerial.hardware_arm import HARDWARE_IK, HardwareArm, hardware_ik_step
from hilt.systems.aerial.interface import INTERFACE, Frames, Link, Pose, interface_step
from hilt.systems.aerial.metrics import METRIC_WORDS, AerialMeter, compliance_energy
from hilt.systems.aerial.planner import Planner
from hilt.systems.aerial.port_guard import PortPassivity
from hilt.systems.aerial.quadrotor import Vehicle
from hilt.systems.aerial.rotors import MOTORS, Rotors, motors_step
from hilt.systems.aerial.servo import SERVO, Servo
from hilt.systems.aerial.tank import Tank
from hilt.systems.aerial.task import TASK, Task, Tool, task_step

TOOL = Body(mass=1.0)  # what the sensor carries: its origin is the tool's, and the wrench there is all that counts


class Aerial(Scenario):
    """Everything a run of `aerial` depends on."""

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
    limits: Limits

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
    def start_of_base(self) -> tuple[tuple[float, ...], float]:
        """Place and yaw in W."""
        first = self.planner.waypoints[0]
        return first.position, first.yaw

    @property
    def start_of_simulated_tool(self) -> Pose:
        """In W."""
        place, yaw = self.start_of_base
        turn = so3.exp((0.0, 0.0, yaw))
        return vec.add(place, so3.rotate(turn, self.tool.position)), so3.multiply(turn, self.tool.attitude)

    @property
    def start_of_tool(self) -> Pose:
        """Of the hardware's tool, in H."""
        place = self.frames.start_in_hardware(self.hardware_arm.start, self.start_of_simulated_tool[0])
        return place, self.hardware_arm.attitude

    @model_validator(mode="after")
    def _consistent(self) -> "Aerial":
        period = self.loop.period
        self.force_filter.check(period)
        self.servo.check(period)
        self.link.check(period)
        check_fits(self.sensor.lateness, period, "sensor.delay")
        self.hardware_arm.check(*self.start_of_tool)
        posture_for(self.tool.position, self.tool.attitude)  # refuses what the flying arm cannot reach
        return self


@jit
def tick(row, x, p):
    """Sense, decide, fly, and move the hardware; runs in simulation and in the lab."""
    sig, x, p = row[0], x[0], p[0]
    force_filter_step(sig, x.force_filter, p.force_filter, p.dt)
    task_step(sig, x.task, p.task, p.dt)
    interface_step(sig, x.interface, p.interface, p.dt)
    arm_admittance_step(sig, x.arm_admittance, p.arm_admittance, p.dt)
    arm_ik_step(sig, x.arm_ik, p.arm_ik, p.dt)
    estimator_step(sig, x.estimator, p.estimator, p.dt)
    flight_step(sig, x.flight, p.flight, p.dt)
    motors_step(sig, x.motors, p.motors, p.dt)
    hardware_admittance_step(sig, x.hardware, p.hardware, p.dt)
    hardware_ik_step(sig, x.hardware_ik, p.hardware_ik, p.dt)
    guard_step(sig, x.guard, p.guard, p.dt)
    airframe_step(sig, x.airframe, p.airframe, p.dt)


@jit
def plant(row, w, p):
    """The hardware arm, the human, the tool and the cable, and the sensor between them."""
    sig, w, p = row[0], w[0], p[0]
    robot_step(sig, w.servo, p.servo, p.dt)
    encoder_step(sig, w.encoder, p.encoder, p.dt)
    hand_step(sig, w.hand, p.hand, p.dt)
    cable_step(sig, w.cable, p.cable, p.dt)
    books_step(sig, w.books, p.books, p.dt)
    sensor_step(sig, w.sensor, p.sensor, p.dt)


@jit
def observe(row, w, p):
    """What is left of the plant in the lab: the human is real, and is known by what is measured."""
    sig, w, p = row[0], w[0], p[0]
    motion_observed(sig)
    wrench_observed(sig, p.sensor)
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


AERIAL = System(
    name="aerial",
    summary="a human works with a simulated flying arm through a real one: admittance, energy tank, wrench estimator",
    scenario=Aerial,
    tick_stages={
        "force_filter": FORCE_FILTER,
        "task": TASK,
        "interface": INTERFACE,
        "arm_admittance": ARM_ADMITTANCE,
        "arm_ik": ARM_IK,
        "estimator": ESTIMATOR,
        "flight": FLIGHT,
        "motors": MOTORS,
        "hardware": HARDWARE_ADMITTANCE,
        "hardware_ik": HARDWARE_IK,
        "guard": GUARD,
        "airframe": AIRFRAME,
    },
    plant_stages={"servo": SERVO, "encoder": ENCODER, "hand": HAND, "cable": CABLE, "books": BOOKS, "sensor": SENSOR},
    tick=tick,
    plant=plant,
    observe=observe,
    batch=batch,
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
    report="hilt.systems.aerial.views.report",
    live=(
        *(Live(f"wind.mean.{axis}", (f"airframe.wind.{axis}",), ramp=0.2) for axis in range(3)),
        Live("wind.gust", ("airframe.gust",), ramp=0.2),
    ),
)
