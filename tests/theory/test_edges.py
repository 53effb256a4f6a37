"""Edges found by simulation against their closed forms: each within 1 %, and within what the form neglects."""

import math

import numpy as np
import pytest

from hilt import job
from hilt.sweeps import critical, edges, maps
from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import Limit
from hilt.sweeps.edges import Vital
from hilt.sweeps.engines.threads import Threads
from hilt.sweeps.maps import Side
from hilt.systems.docking.analysis.edges import critical_delay, oscillation, whole_delay

UNTREATED = ("compensate.method=none", "robot.kind=delay")


def batch_of(system, name, *settings):
    found, values, name = job.find(system, name, list(settings))
    return Batch(found, name, values, Threads())


def delays_by_form(batch, x, y, form, heights):
    """The delay at which a closed form is crossed, for each value of the other key."""
    found = []
    for height in heights:
        low, high = x.low / 4, 4 * x.high
        for _ in range(40):
            middle = math.sqrt(low * high)
            over = form.height(batch.scenario((x.key, y.key), (middle, height))) > 0
            low, high = (low, middle) if over else (middle, high)
        found.append(low)
    return np.array(found)


def off(batch, x, y, limits=None):
    """Relative distance of the boundary from its closed form, along x."""
    limits = limits or edges.limits(batch.system, batch.base)
    found = maps.draw(batch, x, y, limits, halvings=9)
    (curve,) = found.curves
    assert len(found.lines) == 1
    return found.points[:, 0] / delays_by_form(batch, x, y, curve.form, found.points[:, 1]) - 1.0


def test_untreated_contact():
    """exp(πωτ/2) per contact: at the edge ωτ is 0.03, so its error of 0.23 (ωτ)² is 2e-4; a contact that begins anywhere in a
    tick adds at most (ωT)²/8 = 4e-4 of speed, of the 4.5 % allowed for each. The tick itself adds nothing."""
    batch = batch_of("docking", "table1", *UNTREATED, "robot.delay=1 ms")
    x = Side("robot.delay", "s", 0.5e-3, 4e-3, 5, log=True)
    y = Side("contact.stiffness", "N/m", 2e4, 7e5, 4, log=True)
    assert np.abs(off(batch, x, y)).max() < 0.01


def test_untreated_contact_on_unequal_frames_and_a_late_sensor():
    """τ is that of the whole loop, and each frame has its own ω."""
    settings = ("robot.delay=1.5 ms", "sensor.delay=0.4 ms", "contact.rear_stiffness_ratio=0.4", "collisions=3")
    batch = batch_of("docking", "table1", *UNTREATED, *settings)
    x = Side("robot.delay", "s", 0.5e-3, 8e-3, 5, log=True)
    y = Side("contact.stiffness", "N/m", 4e4, 4e5, 3, log=True)
    assert np.abs(off(batch, x, y)).max() < 0.01


@pytest.mark.parametrize("period", [1e-3, 0.5e-3])
def test_damped_contact(period):
    """h (1 - ωh/π); the rest is the damper's jump of force, which a tick sees up to T late: c T/(2m) of speed."""
    batch = batch_of("docking", "bench-2.64", *UNTREATED, "sensor.delay=0", "robot.delay=1 ms", f"loop.period={period}")
    x = Side("robot.delay", "s", 0.8e-3, 4e-3, 4, log=True)
    y = Side("contact.stiffness", "N/m", 5e4, 1.2e5, 3, log=True)
    assert np.abs(off(batch, x, y)).max() < 0.01


def test_the_first_touch_is_worth_what_the_form_says():
    """Without the term of the first touch the form would be wrong by ωh/π: with a finer tick that is the error, to a tenth."""
    settings = ("sensor.delay=0", "robot.delay=1 ms", "loop.period=0.25 ms", "loop.duration=8 s")
    batch = batch_of("docking", "bench-2.64", *UNTREATED, *settings)
    ((delay,),) = (
        found.keys
        for found in critical.find(batch, [Vital("robot.delay", 1e-3, 3e-3)], (Limit("command_speed_ratio", 1.0001),))
    )
    values = batch.base
    omega, h = oscillation(values.contact.stiffness, values.contact.damping, values.reduced_mass)
    assert 1.0 - delay.value / h == pytest.approx(omega * h / math.pi, rel=0.1)
    assert delay.value == pytest.approx(critical_delay(values, 1.0001), rel=0.001)


def test_the_margin_of_the_damped_bench_is_its_critical_delay():
    """1.69 ms, to which the tick of Euler's symplectic step adds nothing: within 2 %."""
    batch = batch_of("docking", "bench-2.64", *UNTREATED, "sensor.delay=0", "robot.delay=1 ms")
    vital = [each for each in edges.vital(batch.system, batch.base) if each.key == "robot.delay"]
    ((found),) = critical.find(batch, vital, edges.limits(batch.system, batch.base))
    assert not found.beyond
    assert found.keys[0].value == pytest.approx(1.69e-3, rel=0.02)
    assert found.keys[0].margin == pytest.approx(0.69, abs=0.04)
    assert whole_delay(batch.base) == pytest.approx(1e-3)  # the robot's delay, and nothing from the tick


@pytest.mark.parametrize("kind", ["euler", "passive", "explicit"])
def test_walls(kind):
    """exp(πωτ/2) for each rebound, τ including what the integrator adds: 0, T/2 and T."""
    batch = batch_of("freefloat", "wall", f"integrator.kind={kind}", "robot.delay=2 ms", "loop.period=0.5 ms")
    x = Side("robot.delay", "s", 0.5e-3, 8e-3, 4, log=True)
    y = Side("wall.stiffness", "N/m", 1e3, 8e3, 3, log=True)
    assert np.abs(off(batch, x, y)).max() < 0.01


def test_walls_by_another_limit():
    batch = batch_of("freefloat", "wall", "robot.delay=2 ms", "collisions=2")
    x = Side("robot.delay", "s", 0.5e-3, 8e-3, 4, log=True)
    y = Side("wall.stiffness", "N/m", 4e3, 1.6e4, 3, log=True)
    assert np.abs(off(batch, x, y, (Limit("rebound_gain", 0.1),))).max() < 0.01


def test_no_method_holds_a_force_below_the_bound():
    """pida is always on the far side of the bound of the first touch: where it keeps 15 %, physics permits it."""
    batch = batch_of("docking", "table1", "collisions=1", "loop.duration=3 s")
    x = Side("robot.delay", "s", 10e-3, 80e-3, 5, log=True)
    y = Side("contact.stiffness", "N/m", 1e5, 4e5, 3, log=True)
    found = maps.draw(batch, x, y, (Limit("cof", 0.15),), halvings=6)
    (curve,) = found.curves
    assert curve.form.bound
    assert len(found.points)
    for point in found.points:
        assert curve.form.height(batch.scenario((x.key, y.key), tuple(0.98 * point))) < 0


def test_stiffest_hand():
    """A hand that shakes, without the guard that would add damping: only hands stiffer than the closed form diverge."""
    settings = (
        "port_passivity.enabled=false",
        "force_filter.bandwidth=15 rad/s",
        "hand.amplitude=20 mm",
        "hand.frequency=1 Hz",
    )
    batch = batch_of(
        "aerial", "hover", *settings, "hand.stiffness=100", "hand.damping=5", "hand.start=1 s", "loop.duration=12 s"
    )
    (form,) = edges.forms(batch.system, batch.base, edges.limits(batch.system, batch.base))
    limit = 100.0 - form.height(batch.base)  # the height is stiffness minus limit
    low, high = batch.beyond(("hand.stiffness",), [(0.8 * limit,), (1.25 * limit,)], (Limit("diverged"),))
    assert (low, high) == (False, True)
