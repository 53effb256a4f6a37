"""What only RSI has: corrections relative to the last cycle or to the start, time stamps, a count of late answers.

What holds for every robot is in test_robots.py.
"""

import numpy as np
import pytest

from hilt.core import clock, faults
from hilt.core.faults import InputError
from hilt.device.rsi.driver import RsiRobot
from tests.device import cells
from tests.device.cells import cell, robot

pytestmark = pytest.mark.virtual
BOTH = ("rsi", "rsi-absolute")


@pytest.mark.parametrize("name", BOTH)
def test_a_step_beyond_the_limit_takes_as_many_cycles_as_it_needs(name):
    with cell(name) as it:
        it.follow()
        before, step = it.sent(), it.section.step_limit
        codes = [it.tick((2.4 * step, 0.0, 0.0))[1], it.tick()[1], it.tick()[1], it.tick()[1]]
        assert codes == [faults.ROBOT_LIMITED, faults.ROBOT_LIMITED, faults.NONE, faults.NONE]
        assert it.sent()["p"][0] == pytest.approx(before["p"][0] + 2.4 * step, abs=1e-9)
        assert it.count("limited") == 2


def test_a_correction_that_has_too_many_digits_is_not_sent():
    with cell("rsi", step_limit=1e12) as it:
        before = it.sent()
        assert it.tick((0.0, 1e9, 0.0)) == (0, faults.ROBOT_NOT_SENDABLE)
        assert it.apart(it.sent(), before) == (0.0, 0.0)


@pytest.mark.parametrize("name", BOTH)
def test_an_answer_that_came_too_late_is_made_up_for(name):
    """Every tenth answer is too late for its cycle: a relative correction is lost and added to the next one, an absolute one is
    repeated by it. The controller says so in its next packet."""
    with cell(name) as it:
        begin = it.sent()
        for k in range(60):
            assert it.driver.wait(it.X, it.V).code == 0
            s = min((k + 1) / 50, 1.0)
            it.goal["p"][0] = begin["p"][0] + 0.01 * s * s * (3.0 - 2.0 * s)
            if k % 10 == 5:
                clock.pause(1.5 * it.cycle)
            assert it.driver.send(it.goal) == 0
        assert (it.arm.late, it.driver.delay) == (6, 6)
        it.hold()
        assert it.sent()["p"][0] == pytest.approx(begin["p"][0] + 0.01, abs=1e-8)
        assert max(it.apart(it.there(), it.sent())) < 1e-8
        corrections = np.sum([entry.correction[:3] for entry in it.arm.diary], axis=0)
        if name == "rsi":
            assert np.linalg.norm(corrections) == pytest.approx(0.01, abs=1e-8), "each is one cycle's motion"


@pytest.mark.parametrize("rebooted", [False, True], ids=["program", "controller"])
def test_a_program_that_is_started_again_begins_where_the_robot_stands(rebooted):
    """The robot was moved while hilt stayed connected: nothing sent before the restart is used."""
    with cell("rsi") as it:
        it.follow()
        it.move((0.02, 0.0, 0.0), cycles=150)
        elsewhere = it.carried()
        if rebooted:
            it.arm._ipoc = 1000
        it.arm.restart()
        it.soon(lambda: it.wait().code == faults.ROBOT_RESTARTED)
        assert max(it.apart(it.X, elsewhere)) < 1e-6
        assert np.abs(np.concatenate([it.V["v"], it.V["w"]])).max() == 0.0
        assert max(it.apart(it.sent(), elsewhere)) < 1e-6
        it.driver.hold()
        it.move((0.02, 0.0, 0.0), cycles=150)
        it.settle()
        assert it.X["p"] - elsewhere["p"] == pytest.approx((0.02, 0.0, 0.0), abs=1e-6)
        assert max(it.apart(it.there(), it.sent())) < 1e-8
        assert (it.count("restarts"), it.arm.violations) == (1, [])


def test_absolute_corrections_are_not_made_to_a_program_that_was_started_again():
    """They would start from the wrong place, in one step: no packet is answered, and the robot stops by itself."""
    with cell("rsi-absolute") as it:
        it.follow()
        it.move((0.02, 0.0, 0.0), cycles=50)
        elsewhere = it.carried()
        it.arm.restart()
        it.soon(lambda: it.wait().code == faults.ROBOT_RESTARTED)
        answers = it.answers()
        for _ in range(20):
            assert it.wait().code == faults.ROBOT_RESTARTED
            assert it.driver.send(it.goal) == it.driver.hold() == faults.ROBOT_LINE
        it.driver.stop()
        clock.pause(2 * it.cycle)
        assert it.answers() == answers
        assert it.apart(it.there(), elsewhere) == (0.0, 0.0)
        it.driver.close()
        it.driver = it.section.connect()
        assert max(it.apart(it.sent(), elsewhere)) < 1e-6
        assert it.arm.violations == []


@pytest.mark.parametrize("name", ["rsi", "rsi-joints"])
def test_time_stamps_that_do_not_fit_the_cycle_are_rejected(name):
    with cell(name) as it:
        it.follow()
        it.arm.wrong_ipoc = True
        rejected = it.count("rejected")
        it.soon(lambda: it.hold() == faults.ROBOT_SILENT)
        assert it.count("rejected") - rejected >= 3
        it.arm.wrong_ipoc = False
        assert it.hold() == 0


def test_a_cycle_that_differs_is_one_sentence_and_nothing_moved():
    with robot("rsi") as it:
        other = it.section.model_copy(update={"cycle": 0.012})
        with pytest.raises(InputError, match=r"robot.cycle is 12 ms but .* sends every 4 ms; set robot.cycle = '4 ms'"):
            other.connect()
        assert it.arm.violations == []
    with pytest.raises(InputError, match=r"robot.cycle is 5 ms but RSI sends every 4 ms or 12 ms"):
        RsiRobot(cells.section("rsi")).open("127.0.0.1", 0, 0.005, 1.0)


def test_an_address_that_is_not_of_this_machine_is_one_sentence():
    with pytest.raises(InputError, match=r"cannot listen .*; end the other program or change robot.port"):
        cells.section("rsi", address="no.such.host.invalid").connect()
