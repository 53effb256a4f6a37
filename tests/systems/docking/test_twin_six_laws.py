"""Twin in six degrees of freedom: impulses, normals, prediction, limits; and that no energy is ever added."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hilt import job
from hilt.maths import so3
from hilt.systems.docking.analysis import bound
from hilt.systems.docking.contact_sense import contact_sense_step
from hilt.systems.docking.delay_compensation import effective_mass
from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.twin import body, clock, model, predict
from hilt.systems.docking.twin.contact import ENDS
from hilt.systems.docking.twin.space import govern, lead, mobility, planes, point
from hilt.systems.docking.two_bodies import relative_motion, two_bodies_step
from tests.systems.docking import beliefs, benches, spoiled
from tests.systems.docking.benches import DT, K

SPEED = 0.02
TUMBLING = ("servicer.angular_velocity=[0.01, -0.02, 0.005]", "target.angular_velocity=[0, 0.004, 0.002]")
vector = st.tuples(*[st.floats(-1, 1)] * 3)
direction = vector.filter(lambda a: math.hypot(*a) > 0.1).map(lambda a: tuple(np.array(a) / math.hypot(*a)))


def bench(*changes, mode="realtime"):
    return benches.bench("oblique", "compensate.method=twin", f"compensate.mode={mode}", *changes)


def tip_of(made):
    """Simulated tip and its velocity, in the row."""
    sig, x, p = made.row[0], made.x[0], made.p[0]
    relative_motion(sig, x.bodies, p.bodies)
    contact_sense_step(sig, x.sense, p.sense, DT)
    return sig.p_C_des_W.copy(), sig.v_C_des_W.copy()


def kinetic_energy(made):
    x, p = made.x[0].bodies, made.p[0].bodies
    return sum(0.5 * float(b.P @ b.P * f.inverse_mass + b.L @ b.w) for b, f in ((x.servicer, p.servicer), (x.target, p.target)))


def totals(made):
    x = made.x[0].bodies
    return np.array(
        [
            *(x.servicer.P + x.target.P),
            *(x.servicer.L + x.target.L + np.cross(x.servicer.p, x.servicer.P) + np.cross(x.target.p, x.target.P)),
        ]
    )


@pytest.mark.uncompiled
@given(direction, vector, vector)
def test_an_impulse_moves_tip_and_attitude_as_computed(n, turn, offset):
    """G_q and G_w by applying an impulse to both bodies; 1/m_eff = n·G_q as in the energy controller of the other methods."""
    _, made = bench(*TUMBLING)
    others = benches.parts("oblique", *TUMBLING)[3].compensate
    sig, x, p = made.row[0], made.x[0].bodies, made.p[0].bodies
    x.servicer.q[:] = so3.multiply(so3.exp(turn), so3.load(x.servicer.q))
    x.servicer.p[:] += 0.3 * np.array(offset)
    sig.F_hat_W[:] = 0
    two_bodies_step(sig, x, p, 1e-12)
    tip, v = tip_of(made)
    w = sig.V_WB_sim.w.copy()
    G_q, G_w = mobility.answers(made.p[0].twin_body.levers, so3.load(sig.X_WB_sim.q), tuple(tip), n)
    assert np.dot(n, G_q) == pytest.approx(1.0 / effective_mass(sig, others, n), rel=1e-12)
    sig.F_hat_W[:] = 1e9 * np.array(n)
    two_bodies_step(sig, x, p, 1e-9)
    _, v_after = tip_of(made)
    assert v - v_after == pytest.approx(np.array(G_q), rel=1e-6, abs=1e-9)
    assert w - sig.V_WB_sim.w == pytest.approx(np.array(G_w), rel=1e-6, abs=1e-9)


def test_the_effective_mass_in_closed_form():
    """A lever arm r across the normal at one body: 1/m_eff = 1/m + r²/I."""
    values, made = bench(
        "frames.normal=[1, 0, 0]",
        "approach.direction=[1, 0, 0]",
        "rod.tip=[0, 0, 0]",
        "servicer.assembly_position=[0.4, 0.6, 0]",
        "target.assembly_position=[-1, 0, 0]",
    )
    tip, _ = tip_of(made)
    G_q, _ = mobility.answers(made.p[0].twin_body.levers, (1.0, 0.0, 0.0, 0.0), tuple(tip), (1.0, 0.0, 0.0))
    assert 1.0 / G_q[0] == pytest.approx(1.0 / (1.0 / values.reduced_mass + 0.6**2 / 98.0), rel=1e-12)
    assert bound.effective_mass(values) == pytest.approx(1.0 / G_q[0], rel=1e-12)


@pytest.mark.parametrize("changes", [(), TUMBLING])
@pytest.mark.parametrize("start", [-0.3e-3, 0.0])
def test_the_prediction_is_the_motion_of_both_bodies(changes, start):
    """0.3 mm before a known surface and at it, 40 ms ahead, against the two bodies at a hundredth of the tick.

    Within 0.001 of the distance, 1 µm and 1 µrad: m_eff, G_q and G_w are held, and free flight is taken as straight. The scalar
    is integrated finely here; the error of its six steps is tested in one degree of freedom.
    """
    _, made = bench(*changes)
    sig, x, p = made.row[0], made.x[0].bodies, made.p[0]
    tip, v = tip_of(made)
    n, q, w = np.array(p.twin_sense.n_W), so3.load(sig.X_WB_sim.q), sig.V_WB_sim.w.copy()
    surface = float(n @ tip) - start
    frame = model.Frame(1.0, model.KNOWN, model.LINEAR, K, 0.0, 33000.0, surface)
    G_q, G_w = (np.array(G) for G in mobility.answers(p.twin_body.levers, q, tuple(tip), tuple(n)))
    mass, at, v_n, ahead = 1.0 / float(n @ G_q), float(n @ tip), float(n @ v), 0.04
    there = predict.foresee(frame, mass, predict.Ahead(0.0, 1.0, 0.0, at, v_n, 0.0), 1.0, ahead, 60)
    y = lead.bend(frame, mass, there, at, v_n)
    tip_ahead = np.array(lead.motion_ahead(tuple(tip), tuple(v), tuple(mass * G_q), y, there).r)
    turn_ahead = np.array(lead.motion_ahead((0.0, 0.0, 0.0), tuple(w), tuple(mass * G_w), y, there).r)
    for _ in range(4000):
        here, _ = tip_of(made)
        sig.F_hat_W[:] = K * max(0.0, float(n @ here) - surface) * n
        two_bodies_step(sig, x, p.bodies, 1e-5)
    there, _ = tip_of(made)
    assert np.linalg.norm(tip_ahead - there) <= 1e-3 * np.linalg.norm(there - tip) + 1e-6
    turned = np.array(so3.between(q, so3.load(sig.X_WB_sim.q)))
    assert np.linalg.norm(turn_ahead - turned) <= 1e-3 * np.linalg.norm(turned) + 1e-6


moments = st.tuples(
    st.tuples(*[st.floats(-1e5, 1e5)] * 3),
    direction,
    st.floats(-0.3, 0.5),
    st.floats(-0.1, 0.1),
    st.sampled_from([-1, 0, 0, 1]),
    st.sampled_from([0, 1, 2, 3, 4]),
    st.floats(0, 1),
    st.floats(0.2, 1.0),
)


@given(*[beliefs.frames(-0.3, 0.5)] * 2, st.lists(moments, min_size=1, max_size=10), st.booleans())
def test_nothing_adds_energy_or_momentum(front, rear, told, rubs):
    """Any force, normal, position, contact and event in any order, any parameters of the frames, any clock: the kinetic energy
    is never above its value at the entry of the contact, and constant in flight."""
    _, made = bench(*TUMBLING)
    sig, x, p = made.row[0], made.x[0], made.p[0]
    beliefs.tell(sig, front, rear)
    p.twin_body.rubs = rubs
    before = totals(made)
    entry, was = kinetic_energy(made), (0, 0.0)
    for force, n, late, rate, touch, event, loss, beta in told:
        tip, v = tip_of(made)
        sig.n_hat_W[:], sig.F_mea_W[:] = n, force
        sig.F_n, sig.x_sim, sig.v_sim = np.dot(n, force), np.dot(n, tip), np.dot(n, v)
        sig.x_late, sig.v_late, sig.touch, sig.touch_event, sig.loss, sig.clock_rate = late, rate, touch, event, loss, beta
        here = kinetic_energy(made)
        body.body_in_space_step(sig, x.twin_body, p.twin_body, DT)
        two_bodies_step(sig, x.bodies, p.bodies, beta * DT)
        if not was[0] or was[1] != x.twin_body.e:  # it was free, or this is another contact
            entry = here
        was = (int(x.twin_body.on), float(x.twin_body.e))
        assert kinetic_energy(made) <= entry * (1 + 1e-9)
    scale = np.abs(before).max() + DT * max(np.abs(force).max() for force, *_ in told)
    assert np.abs(totals(made) - before).max() <= 1e-12 * scale


def test_the_exit_closes_the_total_kinetic_energy():
    """After a lossless contact the bodies have the same energy as before, although the speed along the normal differs."""
    _, made = bench()
    sig, x, p = made.row[0], made.x[0], made.p[0]
    start = kinetic_energy(made)

    def moment(force, touch, event):
        tip, v = tip_of(made)
        sig.n_hat_W[:] = p.twin_sense.n_W
        sig.x_sim, sig.v_sim = sig.n_hat_W @ tip, sig.n_hat_W @ v
        sig.x_late, sig.F_n, sig.touch, sig.touch_event, sig.loss = -1.0, force, touch, event, 0.0
        body.body_in_space_step(sig, x.twin_body, p.twin_body, DT)
        two_bodies_step(sig, x.bodies, p.bodies, DT)

    moment(100.0, 1, 0)
    while sig.v_sim > -0.97 * sig.v_entry:
        moment(100.0, 1, 0)
    assert kinetic_energy(made) < 0.999 * start
    moment(0.0, 0, ENDS)
    assert kinetic_energy(made) == pytest.approx(start, rel=1e-12)


def plane_at(n, variance, at=(0.3, 0.1, 0.05)):
    plane = np.zeros(1, planes.PLANE)[0]
    plane.n[:], plane.a[:], plane.h, plane.variance = n, at, 0.123, variance
    return plane


@given(direction, vector, vector)
def test_an_anchor_moves_nothing(n, q, other):
    plane = plane_at(n, 1e-3)
    before = planes.along(plane, other)
    planes.anchor(plane, q)
    assert planes.along(plane, other) == pytest.approx(before, abs=1e-12)


@given(direction, st.floats(0.001, 0.1), st.floats(0, 2 * math.pi), st.sampled_from([-1.0, 1.0]))
def test_a_normal_is_found_in_the_force(true, angle, azimuth, e):
    """50 samples of a contact without noise: what remains is the prior's share, (σ/F)²/σ_n² ≤ 1e-4 of the error."""
    first, second = (np.array(a) for a in govern.across(true))
    believed = math.cos(angle) * np.array(true) + math.sin(angle) * (math.cos(azimuth) * first + math.sin(azimuth) * second)
    plane = plane_at(believed, 0.044**2)
    for _ in range(50):
        planes.turn_to_force(plane, tuple(e * 100.0 * np.array(true)), 0.5, 3.0)
    assert np.linalg.norm(plane.n) == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.norm(np.cross(plane.n, true)) <= 3e-3 * angle
    assert plane.variance < 0.001**2
    exact = plane_at(believed, 0.0)
    planes.turn_to_force(exact, tuple(e * 100.0 * np.array(true)), 0.5, 3.0)
    assert np.array_equal(exact.n, believed), "a normal believed exact stays"


def test_two_places_of_one_plane_turn_its_normal():
    true, believed = np.array([1.0, 0.0, 0.0]), np.array([math.cos(0.01), math.sin(0.01), 0.0])
    plane = plane_at(believed, 0.044**2, at=(0.0, 0.0, 0.0))
    for place in ((0.0, 0.0, 0.0), (0.0, 0.02, 0.0)):
        planes.anchor(plane, place)
        planes.turn_to_places(plane, planes.along(plane, place))
    assert plane.n == pytest.approx(true, abs=2e-4)


@given(vector, vector, direction)
def test_the_point_of_contact_from_force_and_torque(arm, offset, f):
    x = np.zeros(1, point.POINT)[0]
    f = 80.0 * np.array(f)
    found = point.learn(x, tuple(f), tuple(np.cross(np.add(arm, offset), f)), arm, (1.0, 0.0, 0.0, 0.0))
    across = np.array(offset) - f * (f @ offset) / (f @ f)
    assert np.array(found) == pytest.approx(across, abs=1e-12)


def test_the_clock_of_known_frames():
    """A pure delay follows anything within the limits; for a robot with inertia the clock is slower for stiffer contacts."""
    A, V = 2.5, 0.03
    assert clock.followed_clock(25.0, SPEED, 0.0, 0.0, A, V, clock.STIFF) == 1.0
    found = [clock.followed_clock(omega, SPEED, 0.038, 0.038**2, A, V, clock.STIFF) for omega in (15.0, 25.0, 40.0, 55.0)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.7
    for omega, b in zip((15.0, 25.0, 40.0, 55.0), found, strict=True):
        assert clock.follows(b, omega, SPEED, 0.038, 0.038**2, A, V, clock.STIFF)


def limits_kept(tips, values):
    """As vectors, with the rounding of differences of positions of a metre. A tip that starts faster brakes."""
    v = np.diff(tips, axis=0) / DT
    speeds, a = np.linalg.norm(v, axis=1), np.diff(v, axis=0) / DT
    A = 5 * SPEED * math.sqrt(values.contact.stiffness / values.reduced_mass)
    braking = speeds[0] + A * DT * (0.5 - np.arange(len(v)))
    assert (speeds <= np.maximum(1.5 * SPEED, braking) + 1e-12).all()
    assert np.linalg.norm(a, axis=1).max() <= A + 1e-8


@pytest.mark.parametrize("fault", spoiled.FAULTS)
def test_a_broken_sensor_adds_no_energy(fault):
    values, made = bench("robot.delay=40 ms", "sensor.noise=0.5 N", "prior.normal_doubt=0.04", mode="guarded")

    def look(_, x):
        return kinetic_energy(made), x.twin_command.tip.copy()

    found = spoiled.run(made, 3000, spoiled.sensor(fault, 600, 3), look)
    energy, tips = np.array([each[0] for each in found]), np.array([each[1] for each in found])
    assert np.isfinite(energy).all(), "non-finite values are not taken over"
    assert energy.max() <= energy[0] * (1 + 1e-9)
    limits_kept(tips, values)


def run(made, clock):
    """Its rows and their kinetic energy, which is never above that at the start."""
    made.p[0].twin_clock.realtime, made.p[0].twin_clock.guarded = 0, clock
    rows = benches.run(made)
    energy = DOCKING.stored_energy(rows)
    assert energy.max() <= energy[0] * (1 + 1e-9)
    return rows, energy


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(beliefs.STIFF),
    st.floats(60, 1500),
    st.tuples(*[st.floats(0.3, 1.0)] * 3),
    st.floats(0, 0.3),
    st.floats(0, 0.5),
    st.floats(-0.3, 0.3),
    st.sampled_from([0.0, 0.05]),
    vector,
    vector,
)
def test_the_kinetic_energy_never_exceeds_its_start(drawn, mass, shape, zeta, friction, angle, doubt, lever, normal):
    """Bodies of any shape, contact with friction, wrong priors up to a factor of three, normals wrong by up to 17°."""
    spin = (1.0, 1.0, 1.0) if min(shape) < 0.55 else shape  # a physically possible body
    values, made = bench(
        f"servicer.mass={mass}",
        f"servicer.inertia={[98 * a for a in spin]}",
        f"servicer.assembly_position={list(lever)}",
        f"frames.normal={[1.0, 0.5 * normal[0], 0.5 * normal[1]]}",
        *TUMBLING,
        f"contact.damping={2 * zeta * math.sqrt(drawn['contact.stiffness'] * min(mass, 100))}",
        f"contact.friction={friction}",
        f"prior.normal_error={angle}",
        f"prior.normal_azimuth={drawn['seed']}",
        f"prior.normal_doubt={doubt}",
        *beliefs.settings_of(drawn),
        "loop.duration=5 s",
    )
    rows, energy = run(made, 0.6)
    attitude = Rotation.from_quat(np.roll(rows["X_WB_cmd"]["q"], -1, axis=1))
    limits_kept(rows["X_WB_cmd"]["p"] + attitude.apply(values.rod.tip), values)
    result = job.finish(DOCKING, values, "", rows)
    assert result.metrics["momentum_drift"] <= 1e-10
    rounding = np.spacing(energy[0])  # all that is left where nothing touches
    assert abs(result.ledger["residual_J"]) <= max(1e-9 * max(result.ledger["exchanged_J"], 1e-9), rounding)


def box(mass, edges):
    """Moments of inertia of a box of that mass, about its own axes."""
    a, b, c = (10**edge * 10**edge * mass / 12.0 for edge in edges)
    return [b + c, c + a, a + b]


edges = st.tuples(*[st.floats(-1.3, 0.3)] * 3)  # powers of ten, of a metre


@settings(max_examples=60)
@given(
    st.tuples(*[st.floats(-3, 6)] * 2),
    st.tuples(edges, edges),
    st.floats(0, 9),
    st.floats(-3, 0),
    st.floats(-3.7, -2),
    st.floats(0.5, 40),
    vector,
    vector,
    vector,
    vector,
    st.floats(0.2, 1.0),
    st.integers(1, 1000),
)
def test_no_energy_is_added_at_any_parameters(masses, shapes, k, speed, tick, lag, lever, arm, spin, tip, beta, seed):
    """Masses of 1e-3 to 1e6 kg, stiffness of 1 to 1e9 N/m, boxes of any shape that tumble, ticks of 0.2 to 10 ms."""
    light, heavy = (10**mass for mass in masses)
    speed, tick = 10**speed, 10**tick
    _, made = bench(
        f"servicer.mass={light}",
        f"servicer.inertia={box(light, shapes[0])}",
        f"servicer.assembly_position={list(lever)}",
        f"target.mass={heavy}",
        f"target.inertia={box(heavy, shapes[1])}",
        f"target.assembly_position={list(arm)}",
        f"servicer.angular_velocity={[speed * part for part in spin]}",
        f"rod.tip={[0.3 * part for part in tip]}",
        f"contact.stiffness={10**k}",
        f"approach.speed={speed}",
        f"frames.gap={0.005 + 100 * tick * speed}",
        f"robot.delay={lag * tick}",
        f"loop.period={tick}",
        f"loop.duration={2000 * tick}",
        f"seed={seed}",
        *(f"limits.{name}=1e9" for name in ("force", "acceleration", "speed", "energy", "torque")),
    )
    rows, energy = run(made, beta)
    net = sum(rows[port]["into"] - rows[port]["out"] for port in DOCKING.ledger_ports)
    exchanged = sum(rows[port]["into"][-1] + rows[port]["out"][-1] for port in DOCKING.ledger_ports)
    assert np.abs(net - (energy - energy[0])).max() <= 1e-9 * (exchanged + energy[0])
