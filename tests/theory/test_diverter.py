"""The diverter in a miniature of the whole loop: real cable, servo, sensor, filter, task, admittance, estimator and flight.

The vehicle is one rigid body that carries the tool on a lever arm; the hardware's tool shows the planned flight, the base's
displacement and the arm's compliance, with the lead L1. Links without delay; tick 5 ms.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from hilt.compiled import jit
from hilt.core.scenario import Loop
from hilt.core.signals import record, row_type
from hilt.maths import so3, vec
from hilt.plant.encoder import ENCODER, Encoder, encoder_step
from hilt.plant.robot import robot_step
from hilt.plant.sensor import SENSOR, Sensor, sensor_step
from hilt.systems.aerial.aerial import AERIAL
from hilt.systems.aerial.arm_admittance import ARM_ADMITTANCE, arm_admittance_step
from hilt.systems.aerial.cable import CABLE, Cable, cable_step
from hilt.systems.aerial.estimator import ESTIMATOR, Estimator, estimator_step
from hilt.systems.aerial.flight import FLIGHT, Flight, flight_step
from hilt.systems.aerial.force_filter import FORCE_FILTER, ForceFilter, filter_share, force_filter_step
from hilt.systems.aerial.gains import HOOKED, IMPACT, NORMAL, Gains
from hilt.systems.aerial.planner import Planner, WayPoint
from hilt.systems.aerial.port_guard import lead_times
from hilt.systems.aerial.quadrotor import (
    QUADROTOR_PARAMS,
    QUADROTOR_STATE,
    Vehicle,
    pack_quadrotor,
    quadrotor_move,
    quadrotor_show,
    quadrotor_start,
)
from hilt.systems.aerial.rotors import MOTORS, Rotors, motors_step
from hilt.systems.aerial.servo import SERVO, Servo
from hilt.systems.aerial.tank import Tank
from hilt.systems.aerial.task import BACK, FAILED, INSTALLED, RECOVER, RETREAT, RISE, STATES, TASK, Task, Tool, task_step
from tests.packing import pack

DT = 0.005
STAGES = {
    "servo": SERVO,
    "encoder": ENCODER,
    "cable": CABLE,
    "sensor": SENSOR,
    "force_filter": FORCE_FILTER,
    "task": TASK,
    "arm": ARM_ADMITTANCE,
    "estimator": ESTIMATOR,
    "flight": FLIGHT,
    "motors": MOTORS,
}
ROW = row_type(
    {name for kind in STAGES.values() for name in (*kind.reads, *kind.writes)}
    | {"F_E_N", "X_Nb_meas", "V_Nb_meas", "X_WB_cmd", "V_WB_cmd"}
)
LOOP_STATE = record(vehicle=QUADROTOR_STATE, shown=3, **{name: kind.state for name, kind in STAGES.items()})
LOOP_PARAMS = record(
    vehicle=QUADROTOR_PARAMS,
    lever=3,
    start=3,
    from_=3,
    box="f8",
    share="f8",
    L1="f8",
    **{name: kind.params for name, kind in STAGES.items()},
)


@jit
def plant(sig, x, p):
    robot_step(sig, x.servo, p.servo, DT)
    encoder_step(sig, x.encoder, p.encoder, DT)
    vec.store(sig.F_Bcm_true_W.f, (0.0, 0.0, 0.0))
    vec.store(sig.F_Bcm_true_W.tau, (0.0, 0.0, 0.0))
    cable_step(sig, x.cable, p.cable, DT)
    sensor_step(sig, x.sensor, p.sensor, DT)


@jit
def show(sig, x, p):
    """Set-point of the hardware's tool."""
    for i in range(3):
        shown = min(max(sig.e_p_N[i], -p.box), p.box)
        x.shown[i] += p.share * (shown - x.shown[i])
        way = sig.p_bd_N[i] - p.from_[i] + x.shown[i] + sig.z_arm[i] + p.L1 * sig.v_arm[i]
        sig.V_WB_cmd.v[i] = (p.start[i] + way - sig.X_WB_cmd.p[i]) / DT
        sig.X_WB_cmd.p[i] = p.start[i] + way


@jit
def tick(sig, x, p):
    force_filter_step(sig, x.force_filter, p.force_filter, DT)
    task_step(sig, x.task, p.task, DT)
    q = so3.load(sig.X_Nb_meas.q)
    f_b, tau_b = so3.rotate_back(q, vec.load(sig.F_h_H.f)), so3.rotate_back(q, vec.load(sig.F_h_H.tau))
    vec.store(sig.F_E_b.f, f_b)
    vec.store(sig.F_E_b.tau, tau_b)
    arm_admittance_step(sig, x.arm, p.arm, DT)
    estimator_step(sig, x.estimator, p.estimator, DT)
    flight_step(sig, x.flight, p.flight, DT)
    motors_step(sig, x.motors, p.motors, DT)
    show(sig, x, p)
    torque = vec.add(tau_b, vec.cross(vec.add(vec.load(p.lever), vec.load(sig.z_arm)), f_b))
    quadrotor_move(x.vehicle, p.vehicle, sig.u_T_acting, vec.load(sig.tau_b_acting), sig.F_h_H.f, torque, DT)


@jit
def run(row, state, params, log):
    sig, x, p = row[0], state[0], params[0]
    for n in range(len(log)):
        sig.tick, sig.t = n, n * DT
        quadrotor_show(sig.X_Nb_meas, sig.V_Nb_meas, x.vehicle, p.vehicle)
        plant(sig, x, p)
        tick(sig, x, p)
        log[n] = sig


def fly(duration=40.0, noise=0.0, **cable):
    """The rows of a run."""
    scenario = SimpleNamespace(
        loop=Loop(period=DT, duration=duration),
        task=Task(kind="diverter"),
        tool=Tool(position=(0.0, 0.0, -0.35)),
        frames=SimpleNamespace(attitude=(1.0, 0.0, 0.0, 0.0)),
        planner=Planner(waypoints=(WayPoint(arrival=0.0, position=(0.0, 0.0, 1.5)),)),
        cable=Cable(present=True, position=(0.10, 0.0, 0.15), **cable),
        vehicle=Vehicle(mass=12.685, inertia=(0.777, 0.777, 1.112)),
        rotors=Rotors(),
        flight=Flight(),
        estimator=Estimator(),
        gains=Gains(),
        tank=Tank(),
        force_filter=ForceFilter(bandwidth=100.0),
        servo=Servo(kind="lag", lag=0.015),
        sensor=Sensor(noise=noise),
        encoder=Encoder(),
        start_of_tool=((0.5, 0.0, 0.4), (1.0, 0.0, 0.0, 0.0)),
        body=SimpleNamespace(centre_of_mass=(0.0, 0.0, 0.0)),
        rotates=True,
        noise_key=lambda name: 7,
    )
    row, state, params = np.zeros(1, ROW), np.zeros(1, LOOP_STATE), np.zeros(1, LOOP_PARAMS)
    sig, x, p = row[0], state[0], params[0]
    for name in ROW.names:
        if "q" in (ROW[name].names or ()):
            sig[name].q = (1.0, 0.0, 0.0, 0.0)
    sig.X_WB_cmd.p = scenario.start_of_tool[0]
    sig.X_WB_cmd.q = (1.0, 0.0, 0.0, 0.0)
    pack_quadrotor(p.vehicle, scenario.vehicle, position=scenario.planner.waypoints[0].position)
    p.lever, p.start, p.from_ = scenario.tool.position, scenario.start_of_tool[0], scenario.planner.waypoints[0].position
    p.box, p.share = 0.05, filter_share(20.0, DT)
    p.L1 = lead_times(0.7, 100.0, 0.015, DT)[0]
    quadrotor_start(x.vehicle, p.vehicle)
    for name, kind in STAGES.items():
        pack(AERIAL, kind, p[name], scenario)
        kind.reset(sig, x[name], p[name])
    log = np.zeros(round(duration / DT), ROW)
    run(row, state, params, log)
    return log


CONTACT = (
    "mass",
    "stiffness",
    "damping_ratio",
    "mouth",
    "half_angle",
    "wall_stiffness",
    "wall_damping",
    "friction",
    "gate_force",
    "gate_friction",
    "retention",
)
DEPTHS = ("gate_peak", "gate_latch", "bottom")


def scattered(seed):
    """± 20 % on every contact parameter (the depths of one hook together) and up to 20 mm of offset."""
    rng = np.random.default_rng(seed)
    plain = Cable()
    figures = {name: getattr(plain, name) * rng.uniform(0.8, 1.2) for name in CONTACT}
    size = rng.uniform(0.8, 1.2)
    return {**figures, **{name: getattr(plain, name) * size for name in DEPTHS}, "offset": rng.uniform(-0.02, 0.02)}


def passed(log):
    """The states in order."""
    states = log["task_state"]
    return [int(states[0]), *(int(s) for s in states[1:][np.diff(states) != 0])]


def base_error(log):
    return np.linalg.norm(log["e_p_N"], axis=1)


def figures(log):
    """Largest displacement of the base from the rise on, and how long after the snap it is below 2 cm for good."""
    risen = log[log["task_state"] >= RISE]
    snap = risen["t"][risen["task_state"] == BACK][0]
    return base_error(risen).max(), risen["t"][base_error(risen) > 0.02][-1] - snap


@pytest.mark.parametrize("seed", range(16))
def test_hooks_with_every_contact_parameter_scattered(seed):
    """Base ≤ 45 mm, and below 2 cm within 5 s of the snap; the tool yields by at most 60 mm until it has snapped."""
    log = fly(**scattered(seed))
    assert log["hooked"][-1] == 1
    assert log["latched_true"][-1] == 1
    assert log["task_state"][-1] == INSTALLED
    largest, time = figures(log)
    assert largest <= 0.045
    assert time <= 5.0
    assert np.abs(log["z_arm"][log["task_state"] == RISE, 2]).max() <= 0.06


def test_no_load_and_no_swing_are_left_when_it_hangs():
    end = fly(offset=0.01)[-1]
    assert abs(end.F_h_H.f[2]) < 0.1
    assert np.linalg.norm(end.e_p_N) < 1e-3
    assert end.gain_set == HOOKED


@pytest.mark.parametrize("offset", [-0.035, -0.032, 0.032, 0.035])
def test_a_miss_is_concluded_as_failed(offset):
    """The cable passes beside a mouth of ± 30 mm: no force, so nothing is hooked."""
    log = fly(offset=offset)
    assert log["latched_true"].max() == 0
    assert log["hooked"].max() == 0
    assert passed(log)[-3:] == [RISE, RETREAT, FAILED]
    assert log["gain_set"][-1] == NORMAL


def test_a_gate_too_stiff_ends_the_rise():
    """60 N: more than the 55 N at which the rise is given up."""
    log = fly(gate_force=60.0)
    assert log["hooked"].max() == 0
    assert passed(log)[-2:] == [RETREAT, FAILED]
    assert np.abs(log["F_h_H"]["f"]).max() < 60.0


def test_a_hook_that_snaps_but_does_not_hold_is_found_out_by_the_tug():
    log = fly(retention=0.02)
    assert log["latched_true"].max() == 1
    assert log["latched_true"][-1] == 0
    assert log["hooked"].max() == 0
    assert STATES[passed(log)[-1]] == "failed"


def test_noise_of_the_sensor_neither_snaps_nor_tugs():
    """0.2 N rms in each axis: 0.1 N after the filter, a tenth of the smallest threshold."""
    assert fly(noise=0.2, offset=0.02)["hooked"][-1] == 1
    assert fly(noise=0.2, offset=0.035)["hooked"].max() == 0


def test_gains_soften_only_after_the_load_has_gone():
    log = fly()
    softened = np.flatnonzero(np.diff(log["gain_set"]) != 0) + 1
    assert [int(log["gain_set"][k]) for k in softened] == [IMPACT, HOOKED]
    assert abs(log["F_h_H"]["f"][softened[1], 2]) < 1.5
    assert log["task_state"][softened[1]] == RECOVER


def test_planned_flight_is_consistent_and_gentle():
    """v and a are the derivatives of the plan (a is held over a tick where the plan is a trapezium), |a| ≤ 0.2 m/s²."""
    log = fly()
    p, v, a = log["p_bd_N"], log["v_bd_N"], log["a_bd_N"]
    assert np.abs(a).max() <= 0.2 + 1e-9
    assert np.abs(v[:, 2]).max() == pytest.approx(0.05, rel=1e-6)
    # The trapezium rule: exact where a is held; minimum jerk leaves T²/12 of its jerk, below 0.3 m/s³.
    assert np.diff(p, axis=0) == pytest.approx(0.5 * DT * (v[1:] + v[:-1]), abs=DT**3 / 12.0 * 0.3)
    assert np.diff(v, axis=0) == pytest.approx(DT * a[:-1], abs=0.5 * DT**2 * 0.3)
