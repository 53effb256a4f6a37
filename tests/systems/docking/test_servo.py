"""A robot's controller beyond dead time and second order: interpolation filter, higher order, motors under load."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hilt import job
from hilt.plant.robot import ROBOT
from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.servo import SERVO
from tests.systems.docking.benches import DT, parts

OMEGA, ZETA = 120.0, 0.7
SERVOED = ("robot.kind=second-order", f"robot.delay={2 * ZETA / OMEGA} s", f"robot.damping_ratio={ZETA}")
ORDER, WINDOW, MOTORS = "robot.order=4", "robot.interpolation=12 ms", "robot.motor_stiffness=5 N/um"


def bench(*changes):
    sig, _, w, p = parts("table1", *SERVOED, "robot.start_at_rest=true", *changes)
    return sig, w.robot, p.robot


def follow(path, force, times, *changes):
    """(position, velocity) of the robot; as in the loop, a set-point is reached one tick after it was sent."""
    sig, x, p = bench(*changes)
    found = []
    for t in times:
        sig.F_C_true_W[0] = force(t)
        SERVO.step(sig, x, p, DT)
        found.append((sig.X_WB_true.p[0], sig.V_WB_true.v[0]))
        sig.X_WB_cmd.p[0] = path(t + DT)
    return np.array(found).T


def sweep(t):
    return 1e-3 * (1.0 - math.cos(30.0 * t * (1.0 + t)))


@pytest.mark.parametrize("order", [2, 3, 6])
def test_the_response_is_that_of_its_order(order):
    """Against DOP853: ω²/(s² + 2ζω s + ω²) and a lag 1/ω for each order above two; set-points are linear from tick to tick."""
    times = np.arange(0.0, 0.4, DT)
    grid, sent = np.append(times, times[-1] + DT), [sweep(t) for t in np.append(times, times[-1] + DT)]

    def law(t, y):
        first, rate, *rest = y
        found = [rate, OMEGA**2 * (np.interp(t, grid, sent) - first) - 2 * ZETA * OMEGA * rate]
        for before, here in zip([first, *rest], rest, strict=False):
            found.append(OMEGA * (before - here))
        return found

    truth = solve_ivp(law, (0, times[-1]), [0.0] * order, "DOP853", times, rtol=1e-9, atol=1e-13, max_step=2 * DT).y
    found, _ = follow(sweep, lambda t: 0.0, times, f"robot.order={order}", MOTORS)
    place = truth[0] if order == 2 else truth[-1]
    # A lag assumes its input is linear between two ticks: T²/8 of its acceleration each. DOP853 steps over corners: 1e-9.
    bent = DT**2 / 8 * np.abs(np.diff(sent, 2)).max() / DT**2
    assert np.abs(found - place).max() < 1e-9 + (order - 2) * bent


@pytest.mark.parametrize("changes", [(ORDER,), (WINDOW,), (ORDER, WINDOW)], ids=str)
def test_a_steady_motion_lags_by_the_closed_form(changes):
    """1/ω for each order above two, and half of the window."""
    times, speed = np.arange(0.0, 2.0, DT), 0.02
    found, v = follow(lambda t: speed * t, lambda t: 0.0, times, *changes)
    lag = 2 * ZETA / OMEGA + (2 / OMEGA if ORDER in changes else 0.0) + (6e-3 if WINDOW in changes else 0.0)
    assert times[-1] - found[-1] / speed == pytest.approx(lag, abs=1e-9)
    assert v[-1] == pytest.approx(speed, rel=1e-9)


def test_a_filter_forgets_after_its_window():
    """On a robot that is otherwise ideal to within a tick: a step becomes a ramp of 12 ms."""
    sig, x, p = bench("robot.kind=delay", "robot.delay=0 ms", WINDOW)
    found = []
    for _ in range(16):
        sig.X_WB_cmd.p[0] = 1e-3
        SERVO.step(sig, x, p, DT)
        found.append(sig.X_WB_true.p[0])
    ramp = 1e-3 * np.clip((np.arange(16) + 0.5) / 12, 0.0, 1.0)  # half a tick after each: the line between two set-points
    assert np.array(found) == pytest.approx(ramp, abs=1e-12)


def test_motors_yield_to_a_load_as_they_follow_a_set_point():
    """F/K_m through the same second-order response; a constant load gives F/K_m."""
    times = np.arange(0.0, 0.4, DT)
    sagged, v = follow(lambda t: 0.0, lambda t: -500.0 if t > 0.0 else 0.0, times, MOTORS)
    assert sagged[-1] == pytest.approx(500.0 / 5e6, rel=1e-6)
    assert v[-1] == pytest.approx(0.0, abs=1e-8)
    overshoot = math.exp(-math.pi * ZETA / math.sqrt(1 - ZETA**2))
    assert sagged.max() / sagged[-1] - 1 == pytest.approx(overshoot, rel=0.05)  # its peak falls between two ticks


def test_a_body_turns_as_it_moves():
    """About one axis the attitude has the same response as the position along another."""
    sig, x, p = bench("dof=6", ORDER, WINDOW)
    for k in range(300):
        SERVO.step(sig, x, p, DT)
        angle = 100.0 * sweep((k + 1) * DT)
        sig.X_WB_cmd.p[1] = angle
        sig.X_WB_cmd.q[0], sig.X_WB_cmd.q[3] = math.cos(angle / 2), math.sin(angle / 2)
        sig.V_WB_cmd.w[2] = sig.V_WB_cmd.v[1] = 0.0
        assert 2.0 * math.atan2(sig.X_WB_true.q[3], sig.X_WB_true.q[0]) == pytest.approx(sig.X_WB_true.p[1], abs=1e-9)


def test_a_robot_without_them_has_the_same_plant_as_before():
    assert DOCKING.kinds(job.find("docking", "table1", [])[1])["robot"] is ROBOT
    for change in (ORDER, WINDOW, MOTORS):
        assert DOCKING.kinds(job.find("docking", "table1", [*SERVOED, change])[1])["robot"] is SERVO
