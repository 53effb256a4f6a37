"""The same job in hilt and in other simulators: the numbers in docs/compared.md, as JSON lines.

    python benchmarks/compared.py              hilt and MuJoCo, which hilt installs; Drake and Basilisk if installed

Two free bodies (300 and 4000 kg) meet at 20 mm/s through a spring of 176.275 N/mm, at 1 kHz: docking's scenario table1.

late     the robot shows the contact 20 ms late, without compensation: 2.1017 in the limit of small steps.
         No simulator has this loop, so delay line and spring are added around each in the same way (`rebound`).
contact  the simulator's own contact with the same stiffness, no delay: speed must stay, and the peak is v √(k m).
"""

import json
import math
from collections import deque
from collections.abc import Callable
from importlib import metadata
from typing import Any

SERVICER, TARGET, STIFFNESS, SPEED, DELAY, PERIOD = 300.0, 4000.0, 176.275e3, 0.02, 0.02, 1e-3
REDUCED = SERVICER * TARGET / (SERVICER + TARGET)
PEAK = SPEED * math.sqrt(STIFFNESS * REDUCED)
GAP, DURATION = 0.001, 0.5  # before the touch; long enough to leave again
RADIUS = 0.1

Step = Callable[[float], tuple[float, float]]  # force on the target -> penetration by the servicer, and closing speed


def rebound(step: Step, period: float = PERIOD) -> dict[str, float]:
    """Run a loop that feels the contact DELAY late; return speed after over speed before, and the largest force."""
    late = deque([-GAP] * (round(DELAY / period) + 1), maxlen=round(DELAY / period) + 1)
    closing, largest = SPEED, 0.0
    for _ in range(round(DURATION / period)):
        force = STIFFNESS * max(0.0, late[0])
        inside, closing = step(force)
        late.append(inside)
        largest = max(largest, force)
    return {"rebound": -closing / SPEED, "peak_N": largest}


def reference() -> dict[str, float]:
    """The same at 1 MHz with symplectic Euler, whose error is of second order here."""
    period = 1e-6
    inside, closing = -GAP, SPEED

    def step(force: float) -> tuple[float, float]:
        nonlocal inside, closing
        closing -= period * force / REDUCED
        inside += period * closing
        return inside, closing

    return rebound(step, period)


def in_hilt() -> dict[str, Any]:
    import hilt

    run = hilt.run("docking", "table1", {"compensate.method": "none", "robot.delay": DELAY, "collisions": 1})
    late = {"rebound": run.metrics["cov"][0], "peak_N": run.metrics["cof"][0] * PEAK}
    ideal = hilt.run("docking", "table1", {"compensate.method": "none", "robot.delay": 0.0, "collisions": 1})
    return {
        "late": late,
        "contact": {"rebound": ideal.metrics["cov"][0], "peak_N": ideal.metrics["cof"][0] * PEAK},
        "version": metadata.version("hilt"),
    }


MUJOCO = """<mujoco><option gravity="0 0 0" timestep="{period}"/>
<default><geom type="sphere" size="{radius}" {contact}/></default><worldbody>
<body name="servicer" pos="{start} 0 0"><joint type="slide" axis="1 0 0"/><geom mass="{servicer}"/></body>
<body name="target" pos="{radius} 0 0"><joint type="slide" axis="1 0 0"/><geom mass="{target}"/></body></worldbody></mujoco>"""


def _mujoco(contact: str) -> tuple[Any, Any, Any]:
    import mujoco

    start = -RADIUS - GAP
    xml = MUJOCO.format(period=PERIOD, radius=RADIUS, contact=contact, start=start, servicer=SERVICER, target=TARGET)
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qvel[0] = SPEED
    return mujoco, model, data


def in_mujoco() -> dict[str, Any]:
    mujoco, model, data = _mujoco('contype="0" conaffinity="0"')

    def step(force: float) -> tuple[float, float]:
        data.qfrc_applied[:] = -force, force
        mujoco.mj_step(model, data)
        return data.qpos[0] - data.qpos[1] - GAP, data.qvel[0] - data.qvel[1]

    return {"late": rebound(step), "contact": _mujoco_contact(), "version": metadata.version("mujoco-core")}


def _mujoco_contact() -> dict[str, float]:
    """MuJoCo's soft contact, as stiff and undamped as this job requires: stiffness over mass, impedance close to 1."""
    elastic = f'solref="{-STIFFNESS / REDUCED} 0" solimp="0.9999 0.9999 0.001" condim="1"'
    mujoco, model, data = _mujoco(elastic)
    largest = 0.0
    for _ in range(round(DURATION / PERIOD)):
        mujoco.mj_step(model, data)
        largest = max(largest, abs(data.qfrc_constraint[1]))
    return {"rebound": (data.qvel[1] - data.qvel[0]) / SPEED, "peak_N": largest}


def _drake(time_step: float, contact: bool) -> tuple[Any, Any, Any]:
    import numpy as np
    from pydrake.all import (
        AddContactMaterial,
        AddMultibodyPlantSceneGraph,
        CoulombFriction,
        DiagramBuilder,
        PrismaticJoint,
        ProximityProperties,
        RigidTransform,
        Simulator,
        SpatialInertia,
        Sphere,
        UnitInertia,
    )

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
    for name, mass in (("servicer", SERVICER), ("target", TARGET)):
        body = plant.AddRigidBody(name, SpatialInertia(mass, np.zeros(3), UnitInertia.SolidSphere(RADIUS)))
        plant.AddJoint(PrismaticJoint(name, plant.world_frame(), body.body_frame(), [1, 0, 0]))
        if contact:
            surface = ProximityProperties()
            # Two equal springs in series are as stiff as one.
            AddContactMaterial(0.0, 2.0 * STIFFNESS, CoulombFriction(0, 0), surface)
            plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(RADIUS), name, surface)
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    start = 0.0 if not contact else -2.0 * RADIUS - GAP
    plant.SetPositions(context, [start, 0.0])
    plant.SetVelocities(context, [SPEED, 0.0])
    return simulator, plant, context


def in_drake() -> dict[str, Any]:
    simulator, plant, context = _drake(PERIOD, contact=False)
    port, now = plant.get_applied_generalized_force_input_port(), 0.0

    def step(force: float) -> tuple[float, float]:
        nonlocal now
        port.FixValue(context, [-force, force])
        now += PERIOD
        simulator.AdvanceTo(now)
        (a, b), (v, w) = plant.GetPositions(context), plant.GetVelocities(context)
        return a - b - GAP, v - w

    own = {f"contact, {name}": _drake_contact(step) for name, step in (("discrete, 1 ms", PERIOD), ("continuous", 0.0))}
    return {"late": rebound(step), **own, "version": metadata.version("drake")}


def _drake_contact(time_step: float) -> dict[str, float]:
    simulator, plant, context = _drake(time_step, contact=True)
    largest, before = 0.0, SPEED
    for tick in range(1, round(DURATION / PERIOD) + 1):
        simulator.AdvanceTo(tick * PERIOD)
        v = plant.GetVelocities(context)[0]
        largest, before = max(largest, SERVICER * abs(v - before) / PERIOD), v  # mean over a tick
    v, w = plant.GetVelocities(context)
    return {"rebound": (w - v) / SPEED, "peak_N": largest}


def in_basilisk() -> dict[str, Any]:
    from Basilisk.simulation import extForceTorque, spacecraft
    from Basilisk.utilities import SimulationBaseClass, macros

    simulation = SimulationBaseClass.SimBaseClass()
    process = simulation.CreateNewProcess("process")
    process.addTask(simulation.CreateNewTask("task", macros.sec2nano(PERIOD)))
    bodies, forces = [], []
    for mass, speed in ((SERVICER, SPEED), (TARGET, 0.0)):
        body, force = spacecraft.Spacecraft(), extForceTorque.ExtForceTorque()
        body.hub.mHub, body.hub.IHubPntBc_B = mass, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        body.hub.v_CN_NInit = [[speed], [0], [0]]
        body.addDynamicEffector(force)
        simulation.AddModelToTask("task", force)
        simulation.AddModelToTask("task", body)
        bodies.append(body)
        forces.append(force)
    simulation.InitializeSimulation()
    simulation.ConfigureStopTime(0)
    simulation.ExecuteSimulation()
    tick = 0

    def step(force: float) -> tuple[float, float]:
        nonlocal tick
        tick += 1
        forces[0].extForce_N, forces[1].extForce_N = [[-force], [0], [0]], [[force], [0], [0]]
        simulation.ConfigureStopTime(macros.sec2nano(tick * PERIOD))
        simulation.ExecuteSimulation()
        a, b = (body.scStateOutMsg.read() for body in bodies)
        return a.r_BN_N[0] - b.r_BN_N[0] - GAP, a.v_BN_N[0] - b.v_BN_N[0]

    return {"late": rebound(step), "version": metadata.version("bsk")}


def main() -> None:
    print(json.dumps({"tool": "reference, 1 MHz", "late": reference(), "contact": {"rebound": 1.0, "peak_N": PEAK}}))
    for name, run in (("hilt", in_hilt), ("MuJoCo", in_mujoco), ("Drake", in_drake), ("Basilisk", in_basilisk)):
        try:
            print(json.dumps({"tool": name, **run()}))
        except ImportError as missing:
            print(json.dumps({"tool": name, "skipped": str(missing)}))


if __name__ == "__main__":
    main()
