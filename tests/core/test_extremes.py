"""Values that are allowed but extreme and once broke something: found by tests/fuzz, one test each."""

import math
from dataclasses import replace

import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.plant.robot import Robot
from hilt.plant.sensor import Sensor
from hilt.systems.docking.analysis import bound, rehearse
from hilt.systems.docking.analysis.bound_lp import least_cof_lp


def docking(*settings):
    return job.find("docking", None, list(settings))[1]


def with_loop(values, **changes):
    return values.model_copy(update={"loop": values.loop.model_copy(update=changes)})


def test_the_lag_of_a_sensor_whose_corner_a_tick_does_not_move():
    for bandwidth in (1e-12, 1e-15, 1e-20, 1e-29):
        lag = Sensor(bandwidth=bandwidth).lag(1e-3)
        assert lag == pytest.approx(1.0 / (2.0 * math.pi * bandwidth), rel=0.2)


def test_the_noise_of_a_lead_much_slower_than_the_tick():
    values = with_loop(docking("compensate.lead_filter=1e9 s", "sensor.noise=0.1 N"), period=1e-9)
    assert values.lead_noise == pytest.approx(values.sensor.noise)


def test_the_noise_of_a_lead_is_that_of_its_sum():
    """F_act = F + g (F - F⁻ filtered): the closed form against the sum of the squares of its weights."""
    values = docking("compensate.lead_filter=5 ms", "sensor.noise=0.1 N", "compensate.sensor_delay=3 ms")
    a = values.loop.period / (0.005 + values.loop.period)
    g = 0.003 * a / values.loop.period
    weights = [1.0 + g, *(-g * a * (1.0 - a) ** k for k in range(10_000))]
    assert values.lead_noise == pytest.approx(0.1 * math.sqrt(sum(w * w for w in weights)), rel=1e-9)


def test_a_response_that_is_negligible_beside_the_dead_time_is_ignored():
    robot = Robot(kind="delay+second-order", delay=1.0, pure_delay=1.0 - 1e-16)
    assert robot.natural_frequency(robot.pure(1.0)) == 0.0
    assert robot.natural_frequency(1.5) > 0.0


def test_a_direction_of_no_length_is_one_sentence():
    with pytest.raises(InputError, match=r"approach\.direction is .*; it has no direction; give a non-zero vector"):
        docking("approach.direction=[0, 0, 0]")
    with pytest.raises(InputError, match=r"approach\.direction"):
        docking("approach.direction=[1e-300, 0, 0]")


def test_a_rehearsal_without_end_is_refused():
    endless = with_loop(docking(), duration=1e9)
    with pytest.raises(InputError, match="at most 50000 are rehearsed"):
        rehearse.check_length(endless)
    rehearse.check_length(with_loop(endless, duration=1.0))


def test_a_contact_that_is_slow_beside_all_delays_needs_no_rehearsal():
    slow = docking(
        "compensate.method=twin", "compensate.mode=guarded", "servicer.mass=1e6", "target.mass=1e6", "contact.stiffness=1"
    )
    assert rehearse.rehearsal_of(None, slow) is None


def test_a_bound_that_cannot_be_solved_is_one_sentence():
    touch = bound.touch_of(docking())
    for odd in (
        replace(touch, T1=1e-24, T2=1e-48),
        replace(touch, acceleration=1e-30),
        replace(touch, acceleration=1e30),
        replace(touch, stiffness=1e15, mass=1e-9),
        replace(touch, T1=1e9, T2=1e18),
        replace(touch, speed=1e-12, fastest=1e9),
        replace(touch, T1=1e200, T2=1e300),
    ):
        try:
            assert least_cof_lp(odd) >= 1.0
        except InputError as error:
            assert "cannot be computed" in str(error)


def test_an_inertia_that_no_base_has_is_one_sentence():
    with pytest.raises(InputError, match=r"flying_arm\.base_inertia has principal moments .* correct the tensor"):
        job.find("aerial", None, ["flying_arm.base_inertia=[1, 1, 3]"])


def test_an_arm_that_cannot_be_built_is_one_sentence():
    from hilt.dynamics import multibody

    body = "<inertial mass='1' pos='0 0 0' diaginertia='1 1 3'/>"
    with pytest.raises(InputError, match=r"^the simulated arm cannot be built: [^\n]*; change its masses and inertias$"):
        multibody.load(f"<mujoco><worldbody><body><freejoint/>{body}</body></worldbody></mujoco>")
