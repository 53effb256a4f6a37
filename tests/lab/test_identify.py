"""The robot's response identified from its motion: exact where the model is, in the simulation's own convention of delays."""

import math
import tomllib

import numpy as np
import pytest
from scipy.signal import bilinear, lfilter

from hilt import job
from hilt.core import signals
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.core.stage import Cycle
from hilt.device import rigfile
from hilt.device.rsi.response import Response
from hilt.lab import identify as identify_robot
from hilt.lab.beyond import MOST
from hilt.lab.dry.facility import running_facility
from hilt.lab.gentle import Track
from hilt.lab.identify import excitation, identify
from hilt.plant.robot import ROBOT, Robot, RobotResponse
from hilt.systems.docking.docking import DOCKING
from hilt.systems.docking.servo import SERVO
from tests.lab.rigs import RIGS, shipped

T = 0.004
REACH, SPEED, ACCELERATION = 0.01, 0.05, 5.0


def track_of(places, measured, **changes):
    n = len(places)
    sent, where = np.zeros(n, POSE), np.zeros(n, POSE)
    sent["p"][:, 0], where["p"][:, 0] = places, measured
    whole = Track(np.arange(n), np.zeros(n, bool), sent, where, np.full((n, 6), np.nan), np.arange(1.0, n + 1.0))
    return Track(**{**vars(whole), **changes})


def simulated(robot, places, period=T):
    """The loop's order: the plant moves to what the last tick sent, then the tick sends the next."""
    row = np.zeros(1, signals.row_type([*ROBOT.reads, *ROBOT.writes]))
    x, p = np.zeros(1, ROBOT.state), np.zeros(1, ROBOT.params)
    ROBOT.pack(p[0], RobotResponse(robot, robot.delay, rotates=False), Cycle(period))
    row[0].X_WB_cmd.q[0] = 1.0
    ROBOT.reset(row[0], x[0], p[0])
    measured = []
    for place in places:
        ROBOT.step(row[0], x[0], p[0], period)
        measured.append(float(row[0].X_WB_true.p[0]))
        row[0].X_WB_cmd.p[0] = place
    return track_of(places, measured)


def emulated(dead_time, omega, zeta, places, period=T, deaf=(), silent=()):
    """The emulated controller's own response, with its clock and without its socket: relative corrections.

    In a cycle of `deaf` it does not receive the answer; in one of `silent` its packet is lost, so there is no answer.
    """
    X = np.zeros(1, POSE)[0]
    X["q"][0] = 1.0
    response = Response(X, 0.0, dead_time, omega, zeta)
    cycles, unheard, measured, before = [], [], [], 0.0
    k = 0
    for place in places:
        while True:
            response.settle(k * period)
            if k not in silent:
                break
            k += 1
        cycles.append(k)
        measured.append(float(response.at(k * period)[0][0]))
        unheard.append(k in deaf)
        if k not in deaf:
            X["p"][0] += place - before
            response.command(X, (k + 1) * period, (k + 2) * period)
        before = place
        k += 1
    return track_of(places, measured, cycle=np.array(cycles), unheard=np.array(unheard))


def test_the_excitation_keeps_half_of_the_bounds_of_a_driver_that_has_some():
    """The driver of a Franka limits what goes beyond them; the rig's own limits are wider."""
    file = rigfile.load(rigfile.find("dry-lab-franka"))
    robot = file.robot_section
    assert robot.acceleration < 0.5 * file.limits.acceleration
    places = np.concatenate([[0.0, 0.0, 0.0], identify_robot.within(file, REACH, 4.0), [0.0, 0.0, 0.0]])
    assert np.abs(np.diff(places, 2)).max() / robot.cycle**2 <= 0.5 * robot.acceleration
    assert np.abs(np.diff(places, 3)).max() / robot.cycle**3 <= 0.5 * robot.jerk


@pytest.mark.parametrize("period", [0.001, 0.004, 0.012])
def test_the_excitation_is_gentle_and_stays_in_its_box(period):
    places = np.concatenate([[0.0, 0.0], excitation(period, REACH, SPEED, ACCELERATION, 4.0), [0.0, 0.0]])
    assert np.abs(places).max() <= REACH * (1 + 1e-12)
    assert np.abs(np.diff(places)).max() / period <= SPEED * (1 + 1e-9)
    assert np.abs(np.diff(places, 2)).max() / period**2 <= ACCELERATION * (1 + 1e-9)
    assert places[2] == places[-3] == 0.0


@pytest.mark.parametrize("pure", [0.0, 0.0035, 0.012, 0.0305])
@pytest.mark.parametrize(("omega", "zeta"), [(60.0, 0.7), (150.0, 0.9), (80.0, 1.3)])
def test_the_simulated_robot_is_given_back_in_its_own_convention(pure, omega, zeta):
    """Broken cycles too. Without noise the model is exact: 0.1 ms is asked for, a microsecond is what is allowed here."""
    robot = Robot(kind="delay+second-order", delay=pure + 2 * zeta / omega, pure_delay=pure, damping_ratio=zeta)
    found = identify(simulated(robot, excitation(T, REACH, SPEED, ACCELERATION, 2.0)), T)
    assert found.kind == robot.kind
    assert found.pure_delay == pytest.approx(pure, abs=1e-6)
    assert found.natural_frequency == pytest.approx(omega, rel=1e-3)
    assert found.damping_ratio == pytest.approx(zeta, rel=1e-3)
    assert found.delay == pytest.approx(robot.delay, abs=1e-6)
    assert found.loop_delay == pytest.approx(robot.delay + T, abs=1e-6)
    assert found.correlation_delay == pytest.approx(robot.delay, abs=T + 0.25 * robot.delay)  # it depends on the spectrum


def test_a_pure_delay_is_called_one():
    found = identify(simulated(Robot(kind="delay", delay=0.0137), excitation(T, REACH, SPEED, ACCELERATION, 2.0)), T)
    assert (found.kind, found.natural_frequency, found.bandwidth) == ("delay", 0.0, 0.0)
    assert found.pure_delay == pytest.approx(0.0137, abs=1e-6)
    assert found.settings() == {"robot.kind": "delay", "robot.delay": "13.7000 ms"}


@pytest.mark.parametrize("period", [0.004, 0.012])
@pytest.mark.parametrize(("dead_time", "omega", "zeta"), [(0.008, 150.0, 0.9), (0.0061, 60.0, 0.9), (0.0101, 150.0, 0.7)])
def test_the_emulated_robot_takes_one_cycle_and_its_dead_time(period, dead_time, omega, zeta):
    """Its response is exact between the cycles, and so is the fit, in both of RSI's cycles."""
    found = identify(emulated(dead_time, omega, zeta, excitation(period, REACH, SPEED, ACCELERATION, 4.0), period), period)
    assert found.pure_delay - period == pytest.approx(dead_time, abs=1e-6)
    assert found.natural_frequency == pytest.approx(omega, rel=1e-3)
    assert found.damping_ratio == pytest.approx(zeta, rel=1e-3)


def test_what_is_written_lets_the_simulation_answer_like_the_robot():
    """At a dead time of broken cycles, with keys as they stand in the rig file: to 3 µm at most, of a motion of 10 mm."""
    places = excitation(T, REACH, SPEED, ACCELERATION, 4.0)
    lab = emulated(0.0061, 150.0, 0.9, places)
    settings = identify(lab, T).settings()
    robot = Robot.model_validate({key.removeprefix("robot."): value for key, value in settings.items()})
    predicted = simulated(robot, places)
    assert np.abs(predicted.measured["p"] - lab.measured["p"]).max() < 3e-6


def test_lost_and_late_packets_cost_data_and_not_truth():
    """An unheard relative correction leaves the robot behind for good; a lost packet holds it for a cycle."""
    places = excitation(T, REACH, SPEED, ACCELERATION, 4.0)
    silent = {*range(150, 1600, 50)}
    clean, deaf = emulated(0.0061, 150.0, 0.9, places), {k for k in range(125, 1700, 150) if k not in silent}
    disturbed = emulated(0.0061, 150.0, 0.9, places, deaf=deaf, silent=silent)
    found = identify(disturbed, T)
    assert abs(disturbed.measured["p"][-1, 0] - clean.measured["p"][-1, 0]) > 50 * found.residual  # it did go astray
    assert (found.lost, found.unheard) == (len(silent), len(deaf))
    assert found.used < found.cycles
    assert found.pure_delay - T == pytest.approx(0.0061, abs=1e-5)
    assert found.natural_frequency == pytest.approx(150.0, rel=1e-3)


def test_a_stretch_that_does_not_fit_is_left_out():
    """The robot is pushed, and nothing reports it."""
    track = emulated(0.008, 150.0, 0.9, excitation(T, REACH, SPEED, ACCELERATION, 4.0))
    track.measured["p"][700:740, 0] += 1e-3 * np.sin(np.arange(40) / 40 * math.pi)
    found = identify(track, T)
    assert found.used < found.cycles - 40
    assert found.pure_delay - T == pytest.approx(0.008, abs=1e-5)
    assert found.natural_frequency == pytest.approx(150.0, rel=1e-3)


def test_noise_of_the_encoders_is_what_the_deviations_say():
    """10 µm rms and the usual chirp, 6 draws: the errors in their deviations, squared, have a mean near 1.

    The three parameters of a draw are correlated, so this is χ² of 6 or more: 99 % of it lies between 0.1 and 3.1.
    """
    rng, places, squares = np.random.default_rng(3), excitation(T, REACH, SPEED, ACCELERATION, 8.0), []
    for _ in range(6):
        track = emulated(0.008, 150.0, 0.9, places)
        track.measured["p"][:, 0] += 10e-6 * rng.normal(size=len(places))
        found = identify(track, T)
        errors = (found.pure_delay - T - 0.008, found.natural_frequency - 150.0, found.damping_ratio - 0.9)
        squares += [(error / deviation) ** 2 for error, deviation in zip(errors, found.deviations.values(), strict=True)]
        assert found.residual == pytest.approx(10e-6, rel=0.1)
        assert abs(errors[0]) < 1e-3
        assert abs(errors[1]) < 0.05 * 150.0
    assert 0.1 < np.mean(squares) < 3.1


def test_what_cannot_be_identified_is_refused():
    places = excitation(T, REACH, SPEED, ACCELERATION, 2.0)
    with pytest.raises(InputError, match="did not move"):
        identify(track_of(places, np.zeros(len(places))), T)
    with pytest.raises(InputError, match="undisturbed"):
        identify(emulated(0.008, 150.0, 0.9, places, deaf=set(range(10, 2000, 20))), T)


@pytest.mark.virtual
@pytest.mark.parametrize("name", RIGS)
def test_the_response_of_an_emulated_robot_is_found(name, tmp_path):
    """To a microsecond; RSI also loses one packet of a hundred, and answers to it."""
    file = shipped(name)
    truth, cycle = file.facility, file.robot_section.cycle
    with running_facility(file, live=True) as lab:
        lab.control.set("robot.drop", 0.01 if name == "dry-lab" else 0.0)
        found = identify_robot.run(lab.rig, axis="y", chirp=1.5)
        robot = lab.control.status()["robot"]
    assert robot["violations"] == []
    assert (found.lost > 0) == (name == "dry-lab")
    assert found.pure_delay - cycle == pytest.approx(truth.dead_time, abs=1e-6)
    assert found.natural_frequency == pytest.approx(truth.natural_frequency, rel=1e-4)
    assert found.damping_ratio == pytest.approx(truth.damping_ratio, rel=1e-4)
    assert found.sensor_age == pytest.approx(0.0005, rel=0.01)  # half of 1 ms
    assert found.as_json().keys() >= {"pure_delay", "delay", "loop_delay", "residual", "deviations"}

    source, target, picture = tmp_path / "rig.toml", tmp_path / "identified.toml", tmp_path / "fit.svg"
    source.write_text('[scenario]\n"loop.period" = "4 ms" # as the robot\n')
    identify_robot.write(found, source, target)
    keys = tomllib.loads(target.read_text())["scenario"]
    assert keys == {"loop.period": "4 ms", **found.settings()}
    source.write_text('[scenario]\n"loop.period" = "4 ms"\n[scenario.docking]\n"sensor.delay" = "2 ms"\n')
    identify_robot.write(found, source, target)
    own = tomllib.loads(target.read_text())["scenario"]["docking"]["robot.delay"]
    whole, alone = (float(text.removesuffix(" ms")) for text in (own, found.settings()["robot.delay"]))
    assert whole == pytest.approx(alone + 2.0, abs=1e-3), "in docking it is that of both"
    identify_robot.plot(found, picture)
    assert picture.read_text().startswith("<?xml")


def servoed(places, *changes):
    """A robot of docking in its own simulation."""
    made = DOCKING.set_up(job.find("docking", "table1", ["loop.period=4 ms", "robot.start_at_rest=true", *changes])[1])
    sig, x, p = made.row[0], made.w[0].robot, made.p[0].robot
    measured = []
    for place in places:
        SERVO.step(sig, x, p, T)
        measured.append(float(sig.X_WB_true.p[0]))
        sig.X_WB_cmd.p[0] = place
    return track_of(places, measured)


SECOND = ("robot.kind=delay+second-order", "robot.delay=40 ms", "robot.pure_delay=12 ms", "robot.damping_ratio=0.7")


def test_a_higher_order_is_found():
    """Each order above two is a lag of 1/ω: exact in cycles, so that nothing is left."""
    found = identify(servoed(excitation(T, REACH, SPEED, ACCELERATION, 4.0), *SECOND, "robot.order=4"), T)
    assert found.beyond.order == 4
    assert found.beyond.misfit > found.beyond.left
    assert found.beyond.left < 1e-3
    assert "a response of order 4 leaves" in " ".join(found.words())


def test_a_mode_that_the_encoders_see_is_found():
    """A mode of 9 Hz that moves the encoders by 50 %: its frequency, and that the model without it does not fit."""
    places = excitation(T, REACH, SPEED, ACCELERATION, 4.0)
    plain = emulated(0.008, 150.0, 0.9, places).measured["p"][:, 0]
    omega = 2 * math.pi * 9.0
    b, a = bilinear([1.0, 0.0, 0.0], [1.0, 0.06 * omega, omega**2], 1 / T)
    track = track_of(places, plain + 0.5 * lfilter(b, a, plain))
    track.measured["p"][:, 0] += 2e-6 * np.random.default_rng(1).normal(size=len(places))
    found = identify(track, T)
    assert not found.beyond.fits
    assert found.beyond.mode_frequency == pytest.approx(9.0, rel=0.02)
    assert found.beyond.mode_damping_ratio == pytest.approx(0.03, rel=0.2)
    assert "DOES NOT FIT" in " ".join(found.words())
    assert found.as_json()["fits"] is False


def test_what_no_order_explains_is_said_with_its_size():
    """Play of 1 mm in what the encoders see: about 1 mm/√12 or less is left, and it is called what it is."""
    places = excitation(T, REACH, SPEED, ACCELERATION, 4.0)
    track, behind = emulated(0.008, 150.0, 0.9, places), 0.0
    for k, place in enumerate(track.measured["p"][:, 0].copy()):
        behind = min(max(behind, place - 0.5e-3), place + 0.5e-3)
        track.measured["p"][k, 0] = behind
    found = identify(track, T)
    assert not found.beyond.fits
    assert found.beyond.misfit * np.std(track.measured["p"][:, 0]) < 0.5e-3
    assert "DOES NOT FIT" in " ".join(found.words())


def test_noise_is_no_misfit():
    """10 µm of noise is more than the allowed misfit, but the errors of neighbouring cycles are uncorrelated."""
    track = emulated(0.008, 150.0, 0.9, excitation(T, REACH, SPEED, ACCELERATION, 2.0))
    track.measured["p"][:, 0] += 50e-6 * np.random.default_rng(3).normal(size=len(track.cycle))
    found = identify(track, T)
    assert found.residual_share > MOST
    assert found.beyond.fits
