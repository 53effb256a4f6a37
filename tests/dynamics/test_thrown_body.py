"""A thrown body: the laws of flight, one contact against an independent solver, and that no energy is ever added."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from hilt.core.faults import InputError, Unfit
from hilt.dynamics.thrown_body import Table, ThrownBody, box_corners, throw

CUBE = ThrownBody(mass=0.37, inertia=8.1e-4 * np.eye(3), points=box_corners(0.0524, 0.0524, 0.0524))
BRICK = ThrownBody(mass=0.5, inertia=np.diag([8e-4, 5e-4, 1e-3]), points=box_corners(0.05, 0.06, 0.04), radius=0.003)
LEVEL = (1.0, 0.0, 0.0, 0.0)
MADE = 1e-11  # of the energy at the start: rounding, and the residual of the iteration over the points


def start(height=0.2, attitude=LEVEL, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)):
    return np.concatenate([[0.0, 0.0, height], attitude, velocity, spin])


def test_a_flight_is_a_parabola_and_keeps_energy_and_momentum():
    begin = start(height=5.0, velocity=(1.0, -0.5, 2.0), spin=(12.0, -7.0, 5.0))
    flight = throw(BRICK, Table(stiffness=1e5), begin, samples=100, period=0.005, steps=4)
    t = 0.005 * np.arange(100)[:, None]
    assert flight.position == pytest.approx(begin[:3] + t * begin[7:10] - 0.5 * 9.81 * t**2 * [0, 0, 1], abs=1e-12)
    momentum = Rotation.from_quat(flight.attitude, scalar_first=True).apply(flight.angular_velocity @ BRICK.inertia)
    assert momentum == pytest.approx(np.tile(momentum[0], (100, 1)), rel=1e-12)
    assert flight.energy == pytest.approx(flight.energy[0], rel=1e-13)


def ball(dissipation, speed, duration, exponent=1.5):
    """A ball that touches the table, without gravity: height and velocity after a time, ours and by DOP853."""
    body = ThrownBody(mass=0.4, inertia=np.eye(3) * 1e-3, points=np.zeros((1, 3)), radius=0.05)
    table = Table(stiffness=2e6, exponent=exponent, dissipation=dissipation, gravity=0.0)
    ours = throw(body, table, start(height=0.05, velocity=(0, 0, -speed)), samples=2, period=duration, steps=10_000)

    def rates(_, y):
        depth = max(0.0, 0.05 - y[0])
        return y[1], max(0.0, table.stiffness * depth**exponent * (1.0 - dissipation * y[1])) / body.mass

    theirs = solve_ivp(rates, (0.0, duration), (0.05, -speed), "DOP853", rtol=1e-12, atol=1e-15, max_step=1e-5)
    return (ours.position[-1, 2], ours.velocity[-1, 2]), theirs.y[:, -1]


@pytest.mark.parametrize("dissipation", [0.0, 0.3, 1.5])
def test_hunt_crossley_is_that_of_dop853(dissipation):
    for duration in (0.001, 0.003, 0.012):  # while entering, while leaving and afterwards
        (height, velocity), theirs = ball(dissipation, speed=0.5, duration=duration)
        assert velocity == pytest.approx(theirs[1], abs=0.5 * 1e-5)
        assert height - 0.05 == pytest.approx(theirs[0] - 0.05, rel=1e-5)


def test_a_slow_contact_keeps_as_much_speed_as_hunt_and_crossley_predict():
    """e = 1 - ⅔ λ v + O((λ v)²)."""
    (_, velocity), _ = ball(dissipation=0.05, speed=0.1, duration=0.03)
    assert 1.0 - velocity / 0.1 == pytest.approx(2 / 3 * 0.05 * 0.1, rel=0.02)


def test_an_eccentric_contact_that_slides_is_that_of_dop853():
    """A corner meets the table beside the centre of mass: the body turns, and friction acts on the sliding point."""
    corner = np.array([0.04, 0.02, -0.05])
    body = ThrownBody(mass=0.4, inertia=np.diag([8e-4, 5e-4, 1e-3]), points=corner[None, :])
    table = Table(stiffness=3e5, exponent=1.5, dissipation=0.4, friction=0.2)
    begin = start(height=0.0501, velocity=(2.0, -1.0, -0.6), spin=(1.0, 2.0, -3.0))
    duration = 0.006
    ours = throw(body, table, begin, samples=2, period=duration, steps=12000)

    def rates(_, y):
        p, q, v, w = y[:3], y[3:7], y[7:10], y[10:13]
        R = Rotation.from_quat(q, scalar_first=True)
        r = R.apply(corner)
        point = v + np.cross(R.apply(w), r)
        depth = max(0.0, -(p + r)[2])
        push = max(0.0, table.stiffness * depth**1.5 * (1.0 - table.dissipation * point[2]))
        slip = np.linalg.norm(point[:2])
        f = np.array([-table.friction * push * point[0] / slip, -table.friction * push * point[1] / slip, push])
        torque = R.inv().apply(np.cross(r, f))
        I = body.inertia
        q_rate = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        spin = np.linalg.solve(I, torque - np.cross(w, I @ w))
        return np.concatenate([v, q_rate, f / body.mass - [0, 0, 9.81], spin])

    theirs = solve_ivp(rates, (0.0, duration), begin, "DOP853", rtol=1e-10, atol=1e-12, max_step=1e-4).y[:, -1]
    found = np.concatenate([ours.velocity[-1], ours.angular_velocity[-1]])
    assert np.abs(found - begin[7:]).max() > 0.5  # the contact did something
    assert np.abs(found - theirs[7:]).max() <= 1e-5 * np.abs(theirs[7:]).max()
    assert ours.position[-1] == pytest.approx(theirs[:3], abs=1e-7)


def test_halving_the_step_quarters_the_error():
    begin = start(height=0.101, attitude=Rotation.from_rotvec([0.5, 0.3, 0]).as_quat(scalar_first=True), velocity=(1, 0, -1))
    table = Table(stiffness=5e4, exponent=1.5, dissipation=0.3, friction=0.0)
    ends = [throw(CUBE, table, begin, samples=2, period=0.02, steps=n).velocity[-1] for n in (200, 400, 800)]
    first, second = np.linalg.norm(ends[0] - ends[1]), np.linalg.norm(ends[1] - ends[2])
    assert 3.0 <= first / second <= 5.5


def test_a_cube_that_slides_stops_where_coulomb_says():
    table = Table(stiffness=1e5, exponent=1.0, dissipation=5.0, friction=0.25)
    sunk = 0.37 * 9.81 / 4 / 1e5
    flight = throw(CUBE, table, start(height=0.0524 - sunk, velocity=(0.6, 0.8, 0.0)), samples=120, period=0.005, steps=10)
    way = 1.0**2 / (2 * 0.25 * 9.81)
    assert flight.position[-1, :2] == pytest.approx(way * np.array([0.6, 0.8]), rel=0.01)
    assert np.abs(flight.position[-1] - flight.position[-20]).max() <= 1e-6  # it sticks


def throws(seed, count):
    draw = np.random.default_rng(seed)
    for _ in range(count):
        table = Table(
            stiffness=10 ** draw.uniform(3, 6.5),
            exponent=draw.uniform(1, 2),
            dissipation=draw.choice([0.0, draw.uniform(0, 8)]),
            friction=draw.choice([0.0, draw.uniform(0, 0.8)]),
        )
        begin = start(0.12, draw.normal(size=4), draw.normal(size=3), 8 * draw.normal(size=3))
        begin[3:7] /= np.linalg.norm(begin[3:7])
        yield [CUBE, BRICK][draw.integers(2)], table, begin, int(draw.integers(2, 24))


def test_no_step_adds_energy_whatever_the_law_and_however_long_the_step():
    for body, table, begin, steps in throws(seed=17, count=60):
        flight = throw(body, table, begin, samples=80, period=1 / 148, steps=steps)
        assert np.isfinite(flight.position).all()
        assert flight.energy_made <= MADE * flight.energy[0], (table, steps)
        assert flight.position[:, 2].min() > -0.05  # nothing falls through the table


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Table(stiffness=0.0), "stiffness is 0; it must be greater than 0"),
        (lambda: Table(stiffness=1e5, exponent=0.5), "exponent is 0.5; it must be from 1 to 3"),
        (lambda: Table(stiffness=1e5, friction=-0.1), "friction is -0.1; it must be at least 0"),
        (lambda: ThrownBody(mass=-1.0, inertia=np.eye(3), points=np.zeros((1, 3))), "mass is -1; it must be greater than 0"),
    ],
)
def test_bad_values_are_refused_with_a_sentence(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_an_inertia_that_no_body_has_is_refused():
    with pytest.raises(Unfit, match="no rigid body"):
        ThrownBody(mass=1.0, inertia=np.diag([1.0, 1.0, 5.0]), points=np.zeros((1, 3)))
