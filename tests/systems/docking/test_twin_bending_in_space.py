"""The twin in six degrees of freedom on a robot that bends along the contact's normal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.runtime import rtsys

from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.paper import twin_bending, twin_six_runs
from hilt.systems.docking.paper.twin_bending import bending
from hilt.systems.docking.twin import body, clock
from hilt.systems.docking.twin.bending import learn
from tests.systems.docking import beliefs, benches
from tests.systems.docking.benches import K

SPEED, MASS = 0.02, 279.0697674
A, V = 5 * SPEED * (K / MASS) ** 0.5, 1.5 * SPEED
ROBOT = bending(20, 0.7, 0.5, 12)
CENTRAL = (
    *("frames.normal=[1, 0, 0]", "approach.direction=[1, 0, 0]", "rod.tip=[0.3, 0, 0]", "sensor.position=[0.4, 0, 0]"),
    *("servicer.assembly_position=[0.5, 0, 0]", "target.assembly_position=[-1.2, 0, 0]"),
)
TOLD_WRONG = (
    *("prior.compliance_error=0.1", "prior.mode_frequency_error=-0.05", "prior.mode_damping_error=0.4"),
    *("prior.stiffness_error=0.2", "prior.surface_error=0.5 mm", "prior.delay_error=0.05"),
)


def bench(*changes):
    return benches.bench("oblique", "compensate.method=twin", "compensate.mode=realtime", *changes)[1]


@pytest.mark.parametrize("damping", ["0 N*s/m", "300 N*s/m"])
def test_a_central_collision_is_that_of_one_degree_of_freedom(damping):
    """Nothing turns, and m_eff is the reduced mass: the same forces, commands and bending, five collisions long.

    In real time: guarded clocks differ, since in space known frames also have one. The two bodies of six degrees of freedom and
    the body on a line round differently (1e-16 of 0.3 m a tick); in 5000 ticks that grew to 1e-11.
    """
    robot = (*ROBOT, *TOLD_WRONG, *CENTRAL, f"contact.damping={damping}")
    line, space = (benches.run(bench(f"dof={dof}", *robot)) for dof in (1, 6))
    assert line["collision"][-1] == 5
    assert len(line) == len(space)
    names = "F_n u_twin x_late x_sim v_sim bend_k_hat bend_w_hat bend_z_hat frame_k loss m_eff"
    for name in names.split():
        assert np.abs(line[name] - space[name]).max() <= 1e-9 * np.abs(line[name]).max(), name
    assert np.abs(space["X_WB_cmd"]["q"] - (1.0, 0.0, 0.0, 0.0)).max() <= 1e-12, "the robot does not turn"


@pytest.mark.parametrize(("robot", "geometry"), [(0, 0), (6, 1), (12, 2), (18, 3)])
def test_contact_as_in_space_off_the_centres_of_mass(robot, geometry):
    """0.5 N of noise, all beliefs wrong: within 7 % from the third contact on, when both frames have been touched."""
    runs = twin_six_runs.run(
        robots=[twin_bending.IN_SPACE[robot]],
        geometries=[twin_six_runs.GEOMETRIES[geometry]],
        seeds=(1, 2),
        errors=twin_bending.prior_errors,
    )
    assert runs.faults == 0
    assert np.abs(runs.cof[:, 2:] - 1).max() <= 0.07
    assert runs.energy_error <= 0.015, "as required of stiff robots"
    assert runs.kept.energy <= 1 + 1e-9
    assert runs.kept.drift <= 1e-10
    assert runs.kept.command_speed <= 1.5 * (1 + 1e-9)
    assert runs.kept.command_acceleration <= 5 * (1 + 1e-6)


def test_nothing_is_allocated_in_a_tick():
    counts = []
    for ticks in (10, 10, 3000):  # the last ones: two contacts have been learnt from
        made, log = bench(*ROBOT), np.zeros(ticks, DOCKING.row)
        before = rtsys.get_allocation_stats().alloc
        made.code.batch(made.row, made.x, made.w, made.p, log)
        counts.append(rtsys.get_allocation_stats().alloc - before)
    assert (log["learnt"] != 0).sum() >= 2
    assert counts[1] == counts[2]


def test_a_tip_taken_for_a_massless_spring_costs_a_lot():
    """The purpose of the observer, the plan and the learning; along a normal that is itself learnt there is nothing else."""
    geometry = twin_six_runs.GEOMETRIES[1]
    massless = "belief.robot.mode_frequency=0 Hz"
    runs = twin_six_runs.run(massless, robots=[ROBOT], geometries=[geometry], seeds=(1,), errors=twin_bending.prior_errors)
    assert np.abs(runs.cof[:, 2:] - 1).max() > 0.1


@settings(max_examples=12, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            **beliefs.ANYTHING,
            "prior.normal_error": st.floats(0.0, 0.2),
            "contact.friction": st.sampled_from([0.0, 0.3]),
            "servicer.angular_velocity": st.sampled_from(["[0, 0, 0]", "[0.01, -0.02, 0.005]"]),
        }
    )
)
def test_no_energy_is_added_whatever_is_believed(values):
    """Of both bodies, kinetic: a ratio of 1 + 1e-9 is 5e-10 of the speed. Rounding grows to 1e-14 in 8000 ticks."""
    changes = (*beliefs.settings_of(values), "robot.delay=20 ms", "sensor.noise=0.5 N", "loop.duration=8 s")
    rows = benches.run(bench(*changes))
    energy = DOCKING.stored_energy(rows)
    assert energy.max() <= energy[0] * (1 + 1e-9)


def test_the_clock_of_a_frame_that_a_bending_robot_cannot_follow():
    """The motors go |1 + k/K_f - (x/ω_f)²| times as fast as the tip; for a stiff robot the clock is unchanged."""
    w, omega, T1, T2 = 75.4, 30.0, 0.01, 5e-5
    stiff = clock.followed_clock(omega, SPEED, T1, T2, A, V, clock.STIFF)
    assert clock.followed_clock(omega, SPEED, T1, T2, A, V, (1e-9, 1e-12)) == stiff
    found = [clock.followed_clock(omega, SPEED, T1, T2, A, V, (K / K_f, w**-2)) for K_f in (3e5, 5e5, 1e6, 1e7)]
    assert found == sorted(found)
    assert found[0] < stiff
    for b, K_f in zip(found, (3e5, 5e5, 1e6, 1e7), strict=True):
        x = b * omega
        servo = abs(1 - T2 * x * x + 1j * T1 * x)
        motors = servo * (1 + K / K_f - (x / w) ** 2) * b * SPEED
        assert motors <= clock.OF_SPEED * V * (1 + 1e-12)
        assert motors * x <= clock.OF_ACCELERATION * A * (1 + 1e-12)
    soft = clock.followed_clock(omega, SPEED, T1, T2, A, V, (K / 3e5, omega**-2))
    assert soft * omega <= clock.OF_MODE * omega * (1 + 1e-12), "slower than a mode that is as fast as the contact"


@given(st.floats(0.01, 0.3), st.floats(20.0, 500.0))
def test_a_lighter_body_loses_more_in_the_same_frame(zeta, felt):
    """c is the frame's; ζ = c/(2 √(k m)) belongs to the effective mass."""
    x = np.zeros(1, learn.TWIN_LEARN.state).view(np.recarray)[0]
    p = np.zeros(1, learn.TWIN_LEARN.params).view(np.recarray)[0]
    x.known.value[learn.STIFF], x.known.value[learn.DAMPED], p.mass, x.mass = np.log(K), zeta, MASS, felt
    p.approach = SPEED
    c = 2 * zeta * (K * MASS) ** 0.5
    assert learn.loss_in(x, p, 0) == pytest.approx(learn.loss_of(min(c / (2 * (K * felt) ** 0.5), learn.MOST_DAMPED)))


def late_closing(loss, energy, v):
    """(speed after the closing in flight, what it returned, 1/m_eff); the contact took `energy` so far."""
    made = bench(*ROBOT)
    sig, x, p = made.row[0], made.x[0].twin_body, made.p[0].twin_body
    sig.clock_rate, sig.learnt, sig.loss, sig.v_entry = 1.0, 1, loss, SPEED
    sig.v_sim, sig.x_sim, sig.x_late, x.energy, x.on = v, p.middle, p.middle, energy, 0
    sig.v_C_des_W[:] = v * np.array(sig.n_hat_W)
    sig.E_exit = 0.0
    body.body_learnt_in_space_step(sig, x, p, 1e-3)
    return v - float(np.dot(sig.n_hat_W, sig.F_hat_W)) * 1e-3 / sig.m_eff, float(sig.E_exit), 1.0 / float(sig.m_eff)


@given(st.floats(0.0, 0.5), st.floats(0.0, 0.03), st.floats(-SPEED, -0.5 * SPEED))
def test_a_late_closing_returns_what_the_loss_leaves(loss, taken, v):
    """In flight: the bodies then have λK less than at the entry, unless that takes more than a tenth of K."""
    after, returned, inverse = late_closing(loss, taken * SPEED, v)
    assert after <= 1e-15, "away from the frame, or at rest"
    kept, energy = loss * 0.5 / inverse * SPEED**2, taken * SPEED
    assert returned == pytest.approx(0.5 / inverse * (after**2 - v**2), abs=1e-12)
    most = energy + 0.5 / inverse * v * v  # along the normal there is no more to take
    assert energy - returned >= min(kept, most) - 1e-12, "never more than is left after the loss"
    closed = v * v + 2 * (energy - kept) * inverse
    if 0 <= closed <= v * v + body.CLOSED_BY_AT_MOST * SPEED**2:
        assert energy - returned == pytest.approx(kept, abs=1e-12)
