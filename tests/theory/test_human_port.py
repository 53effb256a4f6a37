"""A human holds the hardware's tool: how stiff a hand the loop tolerates, and how the guard at the port handles others."""

import math
from typing import Literal

import numpy as np
import pytest

from hilt.compiled import jit
from hilt.core.scenario import Scenario
from hilt.core.signals import record, row_type
from hilt.dynamics.body import Body
from hilt.maths import so3, spatial, vec
from hilt.plant.encoder import ENCODER, Encoder, encoder_step
from hilt.plant.robot import robot_step
from hilt.plant.sensor import SENSOR, Sensor, sensor_step
from hilt.systems.aerial.admittance import midpoint
from hilt.systems.aerial.aerial import AERIAL
from hilt.systems.aerial.analysis.hand_limit import LAG_ONLY, PortLoop, largest_mass, loop_of, stiffest_hand, warning
from hilt.systems.aerial.force_filter import FORCE_FILTER, ForceFilter, filter_share, force_filter_step
from hilt.systems.aerial.gains import Gains, GainSet
from hilt.systems.aerial.hand import HAND, Hand, hand_step
from hilt.systems.aerial.hardware_admittance import HARDWARE_ADMITTANCE, Hardware, hardware_admittance_step
from hilt.systems.aerial.port_guard import PortPassivity, lead_times
from hilt.systems.aerial.servo import SERVO, Servo
from tests.packing import pack

NORMAL, HOOKED, FRONT, IMPACT = (getattr(Gains(), name) for name in ("normal", "hooked", "front", "impact"))


# One axis in sub-steps of the tick: the force is averaged over the tick, the set-point held.
SUB = 20
AXIS = record(x="f8", v="f8", y="f8", z="f8", zv="f8", u="f8", line=("f8", (2048,)), newest="i8")
LAW = record(
    k="f8",
    d="f8",
    m_h="f8",
    M="f8",
    D="f8",
    K="f8",
    share="f8",
    L1="f8",
    L2="f8",
    phi=("f8", (2, 2)),
    gamma=("f8", (2, 2)),
    late="i8",
    dt="f8",
)


@jit
def one_axis(s, p, sizes):
    """Hand, sensor, filter, midpoint admittance, lead, hold, delay, servo; sizes: largest |x| of each tick."""
    h = p.dt / SUB
    for n in range(len(sizes)):
        force, largest = 0.0, 0.0
        for _ in range(SUB):
            s.newest = (s.newest + 1) & 2047
            s.line[s.newest] = s.u
            u = s.line[(s.newest - p.late) & 2047]
            x = p.phi[0, 0] * s.x + p.phi[0, 1] * s.v + p.gamma[0, 1] * u
            v = p.phi[1, 0] * s.x + p.phi[1, 1] * s.v + p.gamma[1, 1] * u
            # Means over the sub-step: of v exactly (x - s.x)/h, of the acceleration (v - s.v)/h.
            force -= (0.5 * p.k * (x + s.x) + p.d * (x - s.x) / h + p.m_h * (v - s.v) / h) / SUB
            s.x, s.v = x, v
            largest = max(largest, abs(x))
        sizes[n] = largest
        if largest > 1e6:
            sizes[n:] = math.inf
            return
        s.y += p.share * (force - s.y)
        v_mid = midpoint(s.z, s.zv, s.y, p.M, p.D, p.K, p.dt)
        s.z += p.dt * v_mid
        s.zv = 2.0 * v_mid - s.zv
        s.u = s.z + p.L1 * s.zv + p.L2 * (s.y - p.D * s.zv - p.K * s.z) / p.M


def grows(loop, k, damping, mass_beyond=0.0, duration=30.0):
    """A hand at rest is pushed: does the tool's oscillation grow?"""
    state, law = np.zeros(1, AXIS), np.zeros(1, LAW)
    s, p = state[0], law[0]
    p.k, p.d, p.m_h = k, damping(k) if callable(damping) else damping, mass_beyond
    p.M, p.D, p.K = loop.gains.numbers
    p.L1, p.L2 = loop.lead
    p.dt, p.share = loop.period, filter_share(loop.bandwidth, loop.period)
    p.phi, p.gamma = loop.servo.matrices(loop.period / SUB)
    p.late = round(loop.servo.delay / loop.period * SUB)
    s.zv = 0.1
    sizes = np.zeros(round(duration / loop.period))
    one_axis(s, p, sizes)
    third = len(sizes) // 3
    late, early = sizes[-third:].max(), sizes[third : 2 * third].max()
    return late == math.inf or late > early


def simulated_limit(loop, damping, mass_beyond=0.0, around=300.0):
    low, high = 0.02 * around, 50.0 * around
    assert not grows(loop, low, damping, mass_beyond)
    assert grows(loop, high, damping, mass_beyond)
    while high > 1.002 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if grows(loop, middle, damping, mass_beyond) else (middle, high)
    return math.sqrt(low * high)


def lag(milliseconds, delay=0.0):
    return Servo(kind="lag", lag=1e-3 * milliseconds, delay=1e-3 * delay, hold="zero")


def second_order(wn, zeta, delay):
    return Servo(kind="second-order", natural_frequency=wn, damping_ratio=zeta, delay=1e-3 * delay, hold="zero")


CASES = {
    "slow filter": (PortLoop(period=0.005, bandwidth=15.0, gains=NORMAL, servo=lag(15)), 5.0, 0.0),
    "middle filter": (PortLoop(period=0.005, bandwidth=100.0, gains=NORMAL, servo=lag(15)), 5.0, 0.0),
    "fast filter, fast tick": (PortLoop(period=0.001, bandwidth=500.0, gains=NORMAL, servo=lag(15)), 5.0, 0.0),
    "slow tick, more lag": (PortLoop(period=0.010, bandwidth=100.0, gains=NORMAL, servo=lag(30, 5)), 5.0, 0.0),
    "hooked": (PortLoop(period=0.002, bandwidth=15.0, gains=HOOKED, servo=lag(15)), 8.0, 0.0),
    "front": (PortLoop(period=0.004, bandwidth=100.0, gains=FRONT, servo=second_order(60, 0.7, 10)), 5.0, 0.0),
    "second order, a tool": (PortLoop(period=0.005, bandwidth=15.0, gains=NORMAL, servo=second_order(60, 1, 10)), 5.0, 0.143),
    "impact": (PortLoop(period=0.005, bandwidth=100.0, gains=IMPACT, servo=second_order(60, 0.7, 10)), 5.0, 0.0),
    "lead": (
        PortLoop(period=0.005, bandwidth=15.0, gains=NORMAL, servo=lag(15), lead=lead_times(0.7, 15.0, 0.015, 0.005)),
        5.0,
        0.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_limit_is_where_the_simulation_turns_over(name):
    """Filter, lag, gains and tick varied. The formula sees no aliases and the bisection stops at 0.2 %: 1 % covers both."""
    loop, damping, mass = CASES[name]
    limit = stiffest_hand(loop, damping, mass)
    assert simulated_limit(loop, damping, mass, around=limit) == pytest.approx(limit, rel=0.01)


def test_published_limits_of_the_normal_gains():
    """255, 667 and 974 N/m for filters of 15, 100 and 500 rad/s and 15 ms of lag.

    Tick and hand were not published with them. A 4 ms tick, one tick of transport, 0.15 kg beyond the sensor and a hand
    damped by 0.3 of critical on that mass give all three within 0.4 %; these were fitted, and other sets would also do.
    """
    servo = Servo(kind="lag", lag=0.015, delay=0.004, hold="zero")
    for bandwidth, published in ((15.0, 255.0), (100.0, 667.0), (500.0, 974.0)):
        loop = PortLoop(period=0.004, bandwidth=bandwidth, gains=NORMAL, servo=servo)
        limit = stiffest_hand(loop, lambda k: 0.6 * np.sqrt(0.15 * k), mass_beyond=0.15)
        assert limit == pytest.approx(published, rel=0.005)


def test_more_virtual_mass_a_slower_filter_or_more_lag_lower_the_limit():
    def limit(mass=1.0, bandwidth=100.0, milliseconds=15.0):
        gains = GainSet(mass=mass, damping=10.0, stiffness=5.0)
        return stiffest_hand(PortLoop(period=0.005, bandwidth=bandwidth, gains=gains, servo=lag(milliseconds)))

    assert limit(mass=4.0) < limit(mass=2.0) < limit()
    assert limit(bandwidth=15.0) < limit(bandwidth=30.0) < limit()
    assert limit(milliseconds=40.0) < limit(milliseconds=25.0) < limit()


def test_beyond_the_largest_mass_no_hand_is_stable():
    loop, damping, _ = CASES["front"]
    most = largest_mass(loop)
    assert grows(loop, 1e-6, 0.0, 1.02 * most)
    assert not grows(loop, 1e-6, 0.0, 0.98 * most)
    assert stiffest_hand(loop, damping, 1.02 * most) == 0.0
    assert stiffest_hand(loop, damping, 0.9 * most) > 0.0


def test_a_lag_alone_is_warned_about():
    """Two servos equally late, 33 ms: the lag promises a hand a third stiffer than the second-order one with delay allows."""
    real, believed = second_order(60.0, 0.7, 10), lag(1e3 * second_order(60.0, 0.7, 10).whole_lag)
    limits = [stiffest_hand(PortLoop(period=0.005, bandwidth=500.0, gains=NORMAL, servo=s)) for s in (real, believed)]
    assert limits[1] / limits[0] == pytest.approx(1.31, abs=0.02)
    assert warning(believed) == LAG_ONLY
    assert warning(real) == ""


# The same with the stages that run in the lab: a hand leads the tool, the plant is servo, encoder, hand and sensor.
class Held(Scenario):
    """Only the human's half of the system."""

    system: Literal["held"] = "held"
    body: Body = Body(mass=1.0, dof=6)
    hardware: Hardware = Hardware(follow_gains=False)
    force_filter: ForceFilter
    port_passivity: PortPassivity
    servo: Servo
    hand: Hand
    encoder: Encoder = Encoder()
    sensor: Sensor = Sensor()
    rotates: bool = True
    start_of_tool: tuple[tuple[float, float, float], tuple[float, float, float, float]] = (
        (0.5, 0.0, 0.4),
        (1.0, 0.0, 0.0, 0.0),
    )


TICK = {"filter": FORCE_FILTER, "hardware": HARDWARE_ADMITTANCE}
PLANT = {"servo": SERVO, "encoder": ENCODER, "hand": HAND, "sensor": SENSOR}
KINDS = {**PLANT, **TICK}
ROW = row_type({name for kind in KINDS.values() for name in (*kind.reads, *kind.writes)})
STATE = record(**{key: kind.state for key, kind in KINDS.items()})
PARAMS = record(**{key: kind.params for key, kind in KINDS.items()})


@jit
def reach(sig, dt):
    """An arm without limits, in place of inverse kinematics: the command is the requested pose."""
    asked, before = spatial.load(sig.X_WB_asked), spatial.load(sig.X_WB_cmd)
    vec.store(sig.V_WB_cmd.v, vec.scale(1.0 / dt, vec.sub(asked[0], before[0])))
    vec.store(sig.V_WB_cmd.w, vec.scale(1.0 / dt, so3.between(before[1], asked[1])))
    spatial.store(sig.X_WB_cmd, asked)


@jit
def run_stages(row, state, params, dt, log):
    sig, x, p = row[0], state[0], params[0]
    for k in range(len(log)):
        sig.tick = k
        sig.t = k * dt
        robot_step(sig, x.servo, p.servo, dt)
        encoder_step(sig, x.encoder, p.encoder, dt)
        hand_step(sig, x.hand, p.hand, dt)
        sensor_step(sig, x.sensor, p.sensor, dt)
        force_filter_step(sig, x.filter, p.filter, dt)
        hardware_admittance_step(sig, x.hardware, p.hardware, dt)
        reach(sig, dt)
        log[k] = sig
        if abs(sig.F_Bcm_true_W.f[0]) > 1e9:  # diverged: the rest of the log shows it too
            log[k:] = row[0]
            return


def scenario_of(
    stiffness, guard, *, bandwidth=15.0, servo=None, period=0.005, duration=30.0, amplitude=0.02, noise=0.0, **hand
):
    """A hand that moves the tool about."""
    return Held(
        system="held",
        loop={"period": period, "duration": duration},
        force_filter={"bandwidth": bandwidth, "bias_samples": 0},
        port_passivity={"enabled": guard, "force_noise": noise},
        servo=servo or Servo(kind="lag", lag=0.015),
        hand={"stiffness": stiffness, "amplitude": amplitude, **hand},
        sensor={"noise": noise},
    )


def held(stiffness, guard, **more):
    """Rows of its run."""
    values = scenario_of(stiffness, guard, **more)
    row, state, params = np.zeros(1, ROW), np.zeros(1, STATE), np.zeros(1, PARAMS)
    for pose in (row[0].X_HB_rest, row[0].X_WB_cmd):
        pose.p, pose.q = values.start_of_tool
    for key, kind in KINDS.items():
        pack(AERIAL, kind, params[0][key], values)
    for key, kind in {**TICK, **PLANT}.items():
        kind.reset(row[0], state[0][key], params[0][key])
    log = np.zeros(round(values.loop.duration / values.loop.period), ROW)
    run_stages(row, state, params, values.loop.period, log)
    return log


def force(log):
    return np.linalg.norm(log["F_Bcm_true_W"]["f"], axis=1)


def late_force(log):
    return force(log)[-len(log) // 6 :].max()


def port_energy(log):
    return log["W_human"]["into"] - log["W_human"]["out"]


def stages_grow(stiffness, servo, period, bandwidth):
    """Does a disturbance of a tenth of a millimetre grow?"""
    log = held(stiffness, False, amplitude=1e-4, servo=servo, period=period, bandwidth=bandwidth, duration=60.0)
    third = len(log) // 3
    early, late = force(log)[third : 2 * third].max(), force(log)[2 * third :].max()
    return late > 2.0 * early or late > 1e6


@pytest.mark.parametrize(
    ("servo", "period", "bandwidth"),
    [
        (Servo(kind="lag", lag=0.015), 0.005, 15.0),
        (Servo(kind="lag", lag=0.015, hold="zero"), 0.010, 100.0),
        (Servo(kind="second-order", natural_frequency=60.0, damping_ratio=0.7, delay=0.010), 0.005, 100.0),
    ],
)
def test_the_limit_holds_for_the_stages_of_the_lab(servo, period, bandwidth):
    """Here the sensor samples, and the servo joins set-points by lines or holds them. Slow growth is unseen in 60 s: 5 %."""
    limit = stiffest_hand(loop_of(scenario_of(1.0, False, servo=servo, period=period, bandwidth=bandwidth)), damping=5.0)
    assert not stages_grow(0.95 * limit, servo, period, bandwidth)
    assert stages_grow(1.05 * limit, servo, period, bandwidth)


STIFF = (600.0, 1000.0, 2000.0, 5000.0)


@pytest.mark.parametrize("period", [0.001, 0.005, 0.010])
@pytest.mark.parametrize("stiffness", STIFF)
def test_a_stiff_hand_diverges_without_the_guard_and_not_with_it(stiffness, period):
    """15 rad/s filter, 15 ms of lag, limit 273 N/m. The port may give 0.2 J at most."""
    assert not late_force(held(stiffness, False, period=period)) < 1e6
    log = held(stiffness, True, period=period)
    assert late_force(log) <= 2.5
    assert port_energy(log).min() >= -0.2


def effort(log):
    """Rms of the hand's force once it moves steadily."""
    return math.sqrt((force(log)[len(log) // 6 :] ** 2).mean())


@pytest.mark.parametrize("period", [0.001, 0.005, 0.010])
def test_a_soft_hand_feels_nothing_of_the_guard(period):
    """150 N/m: force ratio at most 1.05, added damping at most 2 N·s/m; measured 0.98 and 1.01, and none."""
    guarded = held(150.0, True, period=period)
    without = held(150.0, False, period=period)
    ideal = held(150.0, False, period=0.001, bandwidth=1000.0, servo=Servo(kind="lag", lag=1e-4))
    for reference in (without, ideal):
        assert 0.95 <= effort(guarded) / effort(reference) <= 1.05
    assert guarded["D_port"].max() <= 2.0
    assert port_energy(guarded).min() >= -0.2


def test_a_second_order_servo_is_held_too_but_bursts():
    """60 rad/s after 10 ms: limit 186 N/m. A hand of 5000 N/m needs 60 N·s/m more; whenever there is less it rings up again.

    Forces scale with the amplitude, here 20 mm: up to 7.5 N at 2000 N/m and 24 N at 5000 N/m (one minute), never unbounded.
    """
    servo = Servo(kind="second-order", natural_frequency=60.0, damping_ratio=0.7, delay=0.010)
    for stiffness, most in ((600.0, 1.0), (1000.0, 2.5), (2000.0, 10.0), (5000.0, 30.0)):
        log = held(stiffness, True, servo=servo, duration=60.0)
        assert force(log).max() <= most
        assert port_energy(log).min() >= -0.2


@pytest.mark.parametrize(
    ("servo", "without", "bounded"),
    [
        (Servo(kind="lag", lag=0.015), 300.0, 30_000.0),
        (Servo(kind="second-order", natural_frequency=60.0, damping_ratio=1.0, delay=0.010), 200.0, 13_000.0),
    ],
)
def test_the_largest_bounded_hands(servo, without, bounded):
    """Hands far beyond those of people stay bounded, though they ring."""
    assert not late_force(held(without, False, servo=servo, duration=120.0)) < 100.0
    assert late_force(held(bounded, True, servo=servo)) < 100.0


def test_noise_does_not_wake_the_guard():
    """0.1 N of sensor noise, allowed for: a soft hand still feels at most 2 N·s/m, a stiff one is still held."""
    assert held(150.0, True, noise=0.1)["D_port"].max() <= 2.0
    assert late_force(held(2000.0, True, noise=0.1)) <= 2.5


def test_the_damping_goes_when_the_stiff_hand_goes():
    log = held(5000.0, True, release=10.0, duration=60.0)
    assert log["D_port"].max() > 2.0
    assert log["D_port"][-1].max() < 0.01 * log["D_port"].max() + 0.05
