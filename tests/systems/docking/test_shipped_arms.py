"""An arm with public parameters: its keys follow from the published values."""

import numpy as np
import pytest

from hilt import job
from hilt.systems.docking.arm import ARM_CONTACT
from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.paper.twin_bending import THREE_MASS

# Wernholt & Gunnarsson 2006, on the motor's side: moment of inertia, shares of motor and gears in it; stiffness and damping
# of gears and arm.
INERTIA, MOTOR, GEARS = 0.03291699877416, 0.17910964111956, 0.61206166914114
GEAR_STIFFNESS, GEAR_DAMPING, ARM_STIFFNESS, ARM_DAMPING = (
    20.59269827430799,
    0.06241814047290,
    20.23072060978318,
    0.00987527995798,
)


def chained(gear, arm):
    return np.array([[gear + arm, -arm], [-arm, arm]])


def test_the_arm_of_three_masses_has_the_published_modes():
    """With the motor held. Gear ratio and lever arm scale inertias, stiffnesses and dampings alike, so change none of these."""
    M = np.diag([INERTIA * GEARS, INERTIA * (1 - MOTOR - GEARS)])
    squares, shapes = np.linalg.eig(np.linalg.solve(M, chained(GEAR_STIFFNESS, ARM_STIFFNESS)))
    order = np.argsort(squares)
    omega, shapes = np.sqrt(squares[order]), shapes[:, order] / shapes[1, order]
    masses = np.diag(shapes.T @ M @ shapes)
    compliance = 1.0 / (masses * omega**2)
    damping = np.diag(shapes.T @ chained(GEAR_DAMPING, ARM_DAMPING) @ shapes) / (2.0 * masses * omega)

    robot = job.find("docking", "bending", list(THREE_MASS))[1].robot
    digits = 1e-4  # of the file
    assert [robot.mode_frequency, robot.second_mode_frequency] == pytest.approx(omega / (2 * np.pi), rel=digits)
    assert robot.second_mode_share == pytest.approx(compliance[1] / compliance.sum(), rel=digits)
    assert [robot.mode_damping_ratio, robot.second_mode_damping_ratio] == pytest.approx(damping, rel=3 * digits)
    # And the simulated chain is that one: its stiffnesses and masses have the published ratios.
    chain = robot.arm.chain
    assert chain.gear_stiffness / chain.link_stiffness == pytest.approx(GEAR_STIFFNESS / ARM_STIFFNESS, rel=0.01)
    assert chain.link_mass / chain.tip_mass == pytest.approx(M[0, 0] / M[1, 1], rel=0.01)
    assert chain.gear_damping / chain.link_damping == pytest.approx(GEAR_DAMPING / ARM_DAMPING, rel=0.01)


def test_the_second_mode_is_simulated_and_not_believed():
    scenario = job.find("docking", "bending", list(THREE_MASS))[1]
    assert DOCKING.kinds(scenario)["contact"] is ARM_CONTACT
    assert scenario.believed.robot.second_mode_frequency == 0.0
