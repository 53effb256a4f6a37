"""What holds for every robot driver, by poses and by joint angles: the robot's rows of the table in docs/safety.md.

In virtual time, with the limits and the patience of the shipped rigs, so counts and times are exact. What only one protocol has
is in test_rsi_robot.py, test_rtde_robot.py and test_fci_robot.py.
"""

import dataclasses
import math

import numpy as np
import pytest

from hilt.core import clock, faults, registry
from hilt.core.faults import InputError
from hilt.device import frames
from hilt.device.rigfile import SHIPPED
from hilt.lab.dry.robot import KINDS
from hilt.maths import so3
from tests.device import cells
from tests.device.cells import CELLS, JOINTED, cell

every_driver = pytest.mark.parametrize("name", CELLS)
every_arm = pytest.mark.parametrize("name", JOINTED)
virtual = pytest.mark.virtual
EXACT = 1e-8  # [m] and [rad], set-points: RSI rounds to six digits of a millimetre and a degree
SEEN = 2e-7  # the same for a measured pose: a Franka's state has 32 bits
SAME = 1e-15
SLOW = (0.005, 0.0, -0.002)  # [m/s]


def test_every_registered_driver_is_listed():
    shipped = {name for name in registry.names("robots") if registry.shipped("robots", name)}
    assert {cells.section(name).driver for name in CELLS} == shipped == set(KINDS)


def agree(it, goal=None):
    """At rest, driver and robot have the same set-point, and the robot is there."""
    it.settle()
    assert max(it.apart(it.sent(), it.there())) < EXACT
    assert max(it.apart(it.X, it.sent())) < SEEN
    assert goal is None or max(it.apart(it.sent(), goal)) < EXACT
    assert (it.arm.violations, it.arm.reason) == ([], "")
    if it.arm.joints is not None:
        assert it.arm.joints.target == pytest.approx(it.driver.joints.last, abs=EXACT)


def goes_where_it_is_sent(it):
    it.follow()
    it.move((0.01, -0.005, 0.002), (0.0, 0.05, -0.03), round(0.6 / it.cycle))
    agree(it, it.goal)


@virtual
@pytest.mark.parametrize(("name", "cycle"), [(name, cycle) for name in CELLS for cycle in cells.cycles(name)])
def test_a_robot_goes_where_it_is_sent_and_every_packet_has_its_answer(name, cycle):
    with cell(name, cycle=cycle, step_limit=0.001) as it:
        goes_where_it_is_sent(it)
        stamps = np.diff([entry.stamp for entry in it.arm.diary])
        assert len(set(stamps)) == 1
        assert it.arm.late == it.arm.refused == 0
        usual = {"packets", "packages"}
        assert not [key for key, count in it.driver.counters().items() if count and key not in usual]


@pytest.mark.wall
@pytest.mark.parametrize("name", [name for name in CELLS if name in KINDS])
def test_on_the_sockets_of_this_machine_a_robot_is_met_moved_and_stopped(name):
    with cell(name, arm={"late_limit": 10_000}, **cells.patient(name)) as it:
        it.soon(lambda: it.tick() == (0, 0) and it.arm.state == "running", cells.HUNG)
        goal = it.sent()["p"][0] + 0.001
        it.soon(lambda: (it.tick((1e-5, 0.0, 0.0)), it.sent()["p"][0] > goal)[1], cells.HUNG)
        it.soon(lambda: it.hold() == 0 and max(it.apart(it.X, it.there())) < 1e-5, cells.HUNG)
        it.driver.stop()
        assert it.arm.violations == []


@virtual
@every_driver
def test_a_robot_that_is_held_stands_and_a_set_point_while_not_live_is_reported(name):
    with cell(name) as it:
        it.arm.live = False
        begun = it.there()
        for _ in range(30):
            assert it.hold() == 0
        assert max(it.apart(it.there(), begun)) < SAME
        assert it.arm.violations == []
        it.arm.live = True
        it.follow()
        it.arm.live = False
        it.move((1e-4, 0.0, 0.0), cycles=10)
        it.tick()
        assert "while not live" in it.arm.violations[0]


@virtual
@every_driver
def test_what_accelerates_too_much_is_reported_by_the_robot_and_not_let_through_by_a_driver_that_bounds(name):
    with cell(name, arm={"acceleration_limit": 9.0}) as it:
        it.follow()
        step = 0.9 * it.section.step_limit
        for k in range(20):
            it.tick((step if k % 2 else 0.0, 0.0, 0.0))
        for _ in range(5):
            it.hold()
        if getattr(it.driver, "bounded", False):
            assert it.arm.violations == []
        else:
            assert "m/s²" in it.arm.violations[0]
            assert it.arm.hard_stops > 0


@virtual
@every_driver
def test_silent(name):
    """Found when `patience` is over; then there is no packet to answer, and the set-point stays. It is no new program: the
    robot that is heard again goes on."""
    with cell(name) as it:
        it.follow()
        it.run(SLOW, 0.4)
        it.arm.disconnect = True
        patience = it.section.patience * it.cycle
        began = clock.now()
        while it.tick()[0] == 0:  # what was on its way
            began = clock.now()
        assert clock.now() - began == pytest.approx(patience, abs=2e-4)
        before, began = it.sent(), clock.now()
        assert it.driver.send(it.goal) == it.driver.hold() == faults.ROBOT_LINE
        assert max(it.apart(it.sent(), before)) < SAME
        it.arm.disconnect = False
        assert it.hold() == 0
        assert it.count("restarts") == 0
        agree(it)


@virtual
@every_driver
@pytest.mark.parametrize("stall", [0.006, 0.0188, 0.05])
def test_a_stall_of_the_emulator_is_measured_as_the_motion_that_the_robot_made(name, stall):
    """Its clock and its motion go on, and its packets of that time are missing. A Franka goes on with its last acceleration,
    the others stand; none is measured as faster than it was."""
    with cell(name, patience=100) as it:
        it.follow()
        it.run(SLOW, 0.4)
        settle, fastest = it.arm._response.settle, np.linalg.norm(SLOW)

        def settle_late(t):
            it.arm._response.settle = settle
            clock.pause(stall)
            settle(t)

        it.arm._response.settle = settle_late
        for _ in range(round(0.2 / it.cycle)):
            assert it.tick(np.multiply(it.cycle, SLOW))[0] == 0
            fastest = max(fastest, np.linalg.norm(it.arm.true_twist()["v"]))
            assert np.linalg.norm(it.V["v"]) < 1.05 * fastest, "5 % for what true speed and packet are apart"
        assert it.arm.skipped >= math.floor(stall / it.cycle) - 1
        agree(it)


@virtual
@every_driver
def test_late_and_never(name):
    """Answers that come after their cycle, or not at all: robot and driver agree again, without a jump."""
    with cell(name) as it:
        it.follow()
        late = it.arm.late
        it.run(SLOW, 0.4)
        for comes in (True, False) * 4:
            it.run(SLOW, 12 * it.cycle)
            assert it.wait().code == 0
            if comes:
                clock.pause(2.5 * it.cycle)
                assert it.driver.send(it.goal) == 0
        agree(it)
        assert (it.arm.late - late, it.count("late")) == (12, 4), (
            "cycles that the robot missed, and packets that were read late"
        )


@virtual
@every_driver
def test_a_robot_that_gets_no_answers_stops_itself(name):
    with cell(name) as it:
        it.follow()
        clock.pause(25 * it.cycle)
        reason, code, late = {
            "rsi": ("20 answers in a row", faults.ROBOT_SILENT, 19),
            "rtde": ("the counter stood still for 11", faults.ROBOT_WATCHDOG, 24),
            "fci": ("20 commands in a row were lost", faults.ROBOT_WATCHDOG, 24),
        }[name.partition("-")[0]]
        assert it.arm.reason.startswith(reason)
        assert [it.hold() for _ in range(2)][-1] == code
        assert it.count("late") == late


@virtual
@every_driver
def test_lost(name):
    """Lost packets are counted, and show in the number of the robot's cycle; the twist is that of the time that has passed."""
    with cell(name) as it:
        it.follow()
        it.run(SLOW, 0.4)
        before, cycle, begin, moved = it.count("lost", "skipped"), it.wait().cycle, it.X["p"].copy(), np.zeros(3)
        it.driver.send(it.goal)
        it.arm.line.next("drop", 2)
        for _ in range(20):
            reply = it.wait()
            assert reply.code == 0
            it.driver.send(it.goal)
            cycle, passed = reply.cycle, reply.cycle - cycle
            moved += it.V["v"] * passed * it.cycle
            assert passed in (1, 3)
        assert it.count("lost", "skipped") - before == it.arm.line.done["drop"] == 2
        assert moved == pytest.approx(it.X["p"] - begin, abs=1e-12)
        assert abs(moved[0]) > 5e-5
        agree(it)


@virtual
@every_driver
def test_duplicated_out_of_order_and_delayed(name):
    with cell(name) as it:
        it.follow()
        it.arm.line.next("duplicate", 4)
        it.move(cycles=10)
        assert (it.count("duplicates"), it.count("late")) == (4, 0)
        it.arm.line.next("reorder", 1)
        it.move(cycles=10)
        assert it.count("late") == 1
        it.arm.line.delay_time = 1.5 * it.cycle
        it.arm.line.next("delay")
        it.move(cycles=10)
        assert (it.count("duplicates"), it.count("late"), it.count("rejected")) == (4, 2, 0)
        agree(it)


@virtual
@every_driver
def test_corrupt(name):
    """Packets that are cut or changed move nothing and raise nothing. Datagrams recover; a stream out of step is silent."""
    with cell(name, patience=100) as it:
        begun = it.there()
        for fault in ("truncate", "corrupt"):
            setattr(it.arm.line, fault, 0.5)
        stream = getattr(it.driver, "_line", None)
        done = it.arm.line.done
        it.soon(lambda: (it.hold(), done["truncate"] + done["corrupt"] > 60)[1] or getattr(stream, "broken", False), 5.0)
        it.arm.line.clear()
        if getattr(stream, "broken", False):
            assert it.hold() == faults.ROBOT_SILENT
            assert it.driver.send(it.goal) == faults.ROBOT_LINE
        else:
            assert it.count("rejected") > 10
            it.hold()
            assert it.hold() == 0
            assert max(it.apart(it.X, begun)) < SEEN
        assert max(it.apart(it.there(), begun)) < SAME
        assert it.arm.violations == []


@virtual
@every_driver
def test_restarted(name):
    """The robot is stopped, moved elsewhere and restarted: reported, and nothing sent before is used."""
    with cell(name) as it:
        it.follow()
        it.run(SLOW, 0.4)
        elsewhere, found = it.carried(), set()
        it.arm.restart()
        it.soon(lambda: found.add(it.hold()) or found & {faults.ROBOT_RESTARTED, faults.ROBOT_PROGRAM})
        for _ in range(20):
            it.tick()
            it.goal = it.sent()
        assert max(it.apart(it.there(), elsewhere)) < SEEN, "it has not gone back"
        assert it.arm.violations == []


@virtual
@every_driver
def test_beyond_the_limit_of_a_cycle(name):
    """Shortened and reported, so that the robot does not object; the loop then stops softly."""
    with cell(name) as it:
        it.follow()
        before, step = it.sent(), it.section.step_limit
        assert it.tick((10 * step, 0.0, 0.0)) == (0, faults.ROBOT_LIMITED)
        assert before["p"][0] < it.sent()["p"][0] <= before["p"][0] + step * (1 + 1e-6)
        assert it.count("limited") == 1
        for _ in range(30):
            assert it.hold() == 0
        assert it.arm.reason == ""


@virtual
@every_driver
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_pose_is_not_sent(name, bad):
    with cell(name) as it:
        it.follow()
        assert it.wait().code == 0
        before = it.sent()
        it.goal["p"][1] = bad
        assert it.driver.send(it.goal) == faults.ROBOT_NOT_SENDABLE
        assert max(it.apart(it.sent(), before)) < SAME
        it.goal = it.sent()
        it.soon(lambda: it.tick() == (0, 0) and it.arm.state == "running")
        agree(it, before)
        assert np.isfinite([entry.pose for entry in it.arm.diary]).all()


@virtual
@every_driver
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"step_limit": 1e-6}, "beyond the limit"),
        ({"workspace": ()}, "outside the workspace"),
        ({"speed_limit": 0.002}, "tool speed"),
    ],
)
def test_the_robots_own_limits_stop_it_and_the_driver_says_so(name, limits, reason):
    with cell(name) as it:
        it.follow()
        if "workspace" in limits:
            limits = {"workspace": tuple(tuple(it.arm._set["p"] + way * 1e-4) for way in (-1, 1))}
        it.arm.settings = dataclasses.replace(it.arm.settings, **limits)
        codes = it.soon(lambda: [code for code in it.tick((SLOW[0] * it.cycle, 0.0, 0.0)) if code])
        assert codes[0] in (faults.ROBOT_SILENT, faults.ROBOT_PROGRAM, faults.ROBOT_PROTECTIVE)
        assert reason in it.arm.reason


@virtual
@pytest.mark.parametrize(
    ("name", "switch", "code"),
    [
        ("rtde", "protective", faults.ROBOT_PROTECTIVE),
        ("rtde", "emergency", faults.ROBOT_EMERGENCY),
        ("rtde", "safeguard", faults.ROBOT_SAFEGUARD),
        ("rtde", "violation", faults.ROBOT_SAFETY),
        ("fci", "user_stop", faults.ROBOT_EMERGENCY),
        ("fci", "guiding", faults.ROBOT_PROGRAM),
        ("fci-joints", "user_stop", faults.ROBOT_EMERGENCY),
        ("fci-joints", "guiding", faults.ROBOT_PROGRAM),
    ],
)
def test_what_the_robot_says_about_itself_is_a_fault_and_refuses_a_new_run(name, switch, code):
    with cell(name) as it:
        it.follow() if name == "rtde" else it.hold()
        setattr(it.arm, switch, True)
        it.soon(lambda: it.hold() == code)
        assert "does not know" not in faults.explain(code)
        it.driver.close()
        with pytest.raises(InputError, match=r"the robot cannot be started: the robot|make it ready on its Desk"):
            it.section.connect()
        setattr(it.arm, switch, False)
        it.arm.restart()
        it.driver = it.section.connect()
        it.follow()


@virtual
@every_driver
def test_one_answer_for_a_packet_and_none_after_the_end(name):
    with cell(name) as it:
        it.follow()
        assert it.wait().code == 0
        answers = it.answers()
        assert it.driver.send(it.goal) == 0
        assert it.driver.send(it.goal) == it.driver.hold() == faults.ROBOT_LINE
        it.driver.stop()
        clock.pause(1.5 * it.cycle)
        assert it.answers() == answers + 1
        it.wait()
        it.driver.stop()
        it.driver.stop()
        clock.pause(1.5 * it.cycle)
        assert it.answers() == answers + 2, "a stop is an answer, once"
        it.driver.close()
        it.driver.close()
        assert it.driver.wait(it.X, it.V).code == faults.ROBOT_SILENT
        assert it.driver.send(it.goal) == faults.ROBOT_LINE
        it.driver.stop()


@virtual
@every_driver
def test_a_second_run_is_refused_before_it_contacts_the_robot_and_a_later_one_is_not(name):
    with cell(name) as it:
        it.follow()
        with pytest.raises(InputError, match=r"^[^\n]*(cannot listen|in use by another run)[^\n]*$"):
            it.section.connect()
        it.move(cycles=5)
        assert it.arm.refused == it.arm.late == 0
        it.driver.close()
        clock.pause(0.5)
        it.arm.restart()
        it.driver = it.section.connect()
        goes_where_it_is_sent(it)


@virtual
@every_driver
def test_no_robot_is_one_sentence_in_time_and_leaves_nothing_behind(name):
    given, began = cells.section(name, time_limit=0.3), clock.now()
    for _ in range(2):
        with pytest.raises(InputError, match=rf"^[^\n]*{given.port}[^\n]*(start its RSI program|check address)[^\n]*$"):
            given.connect()
    assert clock.now() - began < 0.61
    unmet = given.reserve()
    unmet.stop()
    assert unmet.send(frames.identity()) == faults.ROBOT_LINE
    unmet.close()
    unmet.close()


# By joint angles


@virtual
@every_arm
def test_a_set_point_beyond_a_joint_limit_is_not_sent_and_the_stop_stays_inside(name):
    """Turn the tool until the last joint would have to pass its limit: the arm stands before it, and the robot never had to
    stop it. The stop takes v²/2 at 1 rad/s², so it must begin earlier than the limit."""
    speed = 0.4
    with cell(name) as it:
        joints = it.driver.joints
        limit = float(joints.last[-1]) + 0.3
        joints._p["upper"][len(joints.last) - 1] = limit
        joints.brakes(1.0, 1.0)
        it.follow()
        code, v = 0, 0.0
        while code == 0:
            it.wait()
            v = min(v + 2.0 * it.cycle, speed)
            axis = so3.rotate(tuple(it.goal["q"].tolist()), (0.0, 0.0, -1.0))  # of the tool
            it.goal["q"] = so3.multiply(so3.exp(tuple(v * it.cycle * part for part in axis)), tuple(it.goal["q"].tolist()))
            code = it.driver.send(it.goal)
        assert code == faults.JOINT_LIMIT
        assert joints.fault[0] == len(joints.last) - 1
        near = 0.05 * speed**2 if name == "fci-joints" else speed * it.cycle  # a Franka's jerk is bounded, too
        assert limit - joints.last[-1] == pytest.approx(speed**2 / 2, abs=near), "not before it must"
        while joints.slow_down():
            assert it.driver.send_joints() == 0
            assert joints.last[-1] <= limit
            assert it.wait().code == 0
        assert joints.last[-1] > limit - 2.0 * near
        for _ in range(50):
            it.driver.hold()
            assert it.wait().code == 0
        assert it.arm.joints.target[-1] <= limit
        assert it.arm.reason == ""


@virtual
@every_arm
def test_the_robot_itself_stops_angles_beyond_its_limits(name):
    """The emulated robot checks against its own URDF, here one with tighter limits than hilt's."""
    with cell(name) as it:
        it.follow()
        it.arm.joints._set._p["upper"][: len(it.driver.joints.last)] = it.driver.joints.last + 0.003
        it.soon(lambda: it.tick((0.0, 0.0, 0.02 * it.cycle))[0] != 0, 5.0)
        assert "beyond its limits" in it.arm.reason
        own = "joint_motion_generator_position_limits_violation"  # a Franka's name for it
        assert name != "fci-joints" or any(own in note for note in it.driver.notes())


@virtual
@every_arm
def test_the_urdf_of_another_arm_is_refused(name, tmp_path):
    own = cells.section(name).joints
    text = (SHIPPED / own.urdf).read_text()
    (tmp_path / "other.urdf").write_text(text.replace("0.0996", "0.1096").replace("0.107", "0.117"))
    other = own.model_copy(update={"urdf": str(tmp_path / "other.urdf")})
    with (
        pytest.raises(InputError, match=r"the robot's tool is 10 mm and .* from where its controller sees it; .*give the URDF"),
        cell(name, own=other),
    ):
        pass
