"""Twin, step 7: the robot is identified while it moves."""

import math

import numpy as np
import pytest

from hilt.systems.docking.twin import line, robot
from hilt.systems.docking.twin.robot import TWIN_ROBOT

DT, SPEED = 1e-3, 0.02
TRUE = (0.0104, 0.0276, 0.0276**2)


def state(theta, u=0.0, v=SPEED):
    x = np.zeros(1, TWIN_ROBOT.state)[0]
    line.fill(x.line, u, v, DT)
    x.fit.theta[:] = theta
    x.x, x.w = u - v * (theta[0] + theta[1]), v
    x.s[0] = -v
    x.s[1] = -v if theta[2] > 0 else 0.0
    return x


def command(k):
    """A flight, the ramp that engages the lead, and an oscillation."""
    t = k * DT
    return SPEED * t + 0.8e-3 * min(1.0, t / 0.08) + (0.5e-3 * math.sin(30 * (t - 0.2)) if t > 0.2 else 0.0)


def run(x, ticks, second_order=True):
    for k in range(1, ticks + 1):
        line.push(x.line, command(k), 0.0)
        robot.advance(x, second_order, DT)
    return x.x


@pytest.mark.parametrize(("theta", "which"), [(TRUE, 0), (TRUE, 1), (TRUE, 2), ((0.0203, 0.0, 0.0), 0)])
def test_a_sensitivity_is_the_derivative_of_the_model(theta, which):
    """Central differences of runs with another θ from the first tick on."""
    step, second_order = 1e-4 * theta[which], theta[2] > 0
    moved = []
    for sign in (1, -1):
        other = list(theta)
        other[which] += sign * step
        moved.append(run(state(other), 260, second_order))
    x = state(theta)
    run(x, 260, second_order)
    assert x.s[which] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5 if second_order else 1e-6)


def test_the_state_moves_with_the_parameters():
    """After Δθ it is that of a model with the new θ from the start, to second order: half the step, a quarter of the error."""
    errors = []
    for share in (0.02, 0.01):
        new = [value * (1 + share) for value in TRUE]
        x = state(TRUE)
        run(x, 260)
        moved = x.x + sum(x.s[i] * (new[i] - TRUE[i]) for i in range(3))
        errors.append(abs(moved - run(state(new), 260)))
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.1)


def parameters(believed, second_order=True):
    p = np.zeros(1, TWIN_ROBOT.params)[0]
    p.dt, p.second_order, p.drift, p.variance, p.believed = DT, second_order, 1e-5, (20e-6) ** 2, 1.0
    p.n_W[0] = 1.0
    p.least[:] = (0.0, 0.4 * believed[1], 0.3 * believed[2])
    p.most[:] = (0.1, 2.5 * believed[1] + 1e-9, 3 * believed[2] + 1e-9)
    return p


@pytest.mark.parametrize(("true", "share"), [(TRUE, 0.1), (TRUE, -0.1), ((0.04, 0.0, 0.0), 0.1), ((0.04, 0.0, 0.0), -0.1)])
def test_the_robot_is_found_in_a_flight_with_one_ramp(true, share):
    """Beliefs 10 % wrong; after 0.4 s the lag t_d + T1, which determines the robot's position, is right within 0.1 ms."""
    second_order = true[2] > 0
    believed = [value * (1 + share) for value in true]
    x, p = state(believed), parameters(believed, second_order)
    for i, deviation in enumerate((max(0.1 * believed[0], 0.8e-3), 0.14 * believed[1], 0.2 * believed[2])):
        x.fit.P[i, i] = deviation**2
    world = state(true)
    for k in range(1, 401):
        for each in (world, x):
            line.push(each.line, command(k), 0.0)
            robot.advance(each, second_order, DT)
        robot.correct(x, p, world.x, DT)
    assert x.fit.theta[0] + x.fit.theta[1] == pytest.approx(true[0] + true[1], abs=1e-4)
    assert x.fit.theta[2] == pytest.approx(true[2], rel=0.03)
    assert x.x == pytest.approx(world.x, abs=2e-6)
