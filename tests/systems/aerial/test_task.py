"""The task's states under scripted forces: hover, handover and diverter."""

from types import SimpleNamespace

import numpy as np
import pytest

from hilt.core.faults import InputError
from hilt.core.scenario import Section, build
from hilt.core.signals import row_type
from hilt.core.stage import Cycle
from hilt.maths import so3
from hilt.systems.aerial.aerial import AERIAL
from hilt.systems.aerial.cable import Cable
from hilt.systems.aerial.gains import HOOKED, IMPACT, NORMAL
from hilt.systems.aerial.planner import PLANNER, Planner, WayPoint, planner_step
from hilt.systems.aerial.task import (
    APPROACH,
    AWAITING,
    BACK,
    BIASING,
    FAILED,
    HOVERING,
    INSTALLED,
    MOUNTED,
    RAISED,
    RECOVER,
    RELEASED,
    RETREAT,
    RISE,
    STATES,
    TASK,
    TOUCHED,
    TUG,
    UNDER,
    WAITING,
    Task,
    Tool,
    task_step,
)
from tests.packing import pack

DT = 0.01
LEVEL = (1.0, 0.0, 0.0, 0.0)
PATH = Planner(
    waypoints=(WayPoint(arrival=0.0, position=(0.0, 0.0, 1.5)), WayPoint(arrival=1.0, position=(0.1, 0.0, 1.5), yaw=0.2))
)
PLACE = (0.2, 0.1, 0.15)


class Run:
    """One task; forces on the tool are given in W."""

    def __init__(self, kind, q_NH=LEVEL, planner=PATH, **diverter):
        self.row = np.zeros(1, row_type({*TASK.reads, *TASK.writes}))
        self.state, self.params = np.zeros(1, TASK.state), np.zeros(1, TASK.params)
        self.sig, self.x, self.p = self.row[0], self.state[0], self.params[0]
        self.cable = Cable(position=so3.rotate_back(q_NH, PLACE))
        self.q_NH = q_NH
        scenario = SimpleNamespace(
            task=Task(kind=kind, diverter=diverter),
            tool=Tool(position=(0.0, 0.0, -0.35), attitude=so3.exp((0.1, 0.0, 0.0))),
            planner=planner,
            frames=SimpleNamespace(attitude=q_NH),
            cable=self.cable,
        )
        pack(AERIAL, TASK, self.p, scenario)
        TASK.reset(self.sig, self.x, self.p)
        self.passed = [int(self.sig.task_state)]
        self.rows = []
        self.n = 0
        self.sig.bias_ready = 1

    def step(self, f=(0.0, 0.0, 0.0)):
        self.sig.t = self.n * DT
        self.sig.F_h_H.f = so3.rotate_back(self.q_NH, f)
        task_step(self.sig, self.x, self.p, DT)
        self.n += 1
        if self.sig.task_state != self.passed[-1]:
            self.passed.append(int(self.sig.task_state))
        self.rows.append(self.row[0].copy())
        return self.sig

    def hold(self, time, f=(0.0, 0.0, 0.0)):
        for _ in range(round(time / DT)):
            self.step(f)

    def until(self, state, f=(0.0, 0.0, 0.0), most=20.0):
        while self.sig.task_state != state:
            assert self.sig.t < most, f"still {STATES[int(self.sig.task_state)]}"
            self.step(f)


def test_every_state_has_a_name():
    assert len(set(STATES.values())) == len(STATES) == 17


def test_hover_flies_the_path_of_the_planner():
    run = Run("hover")
    row = np.zeros(1, row_type({*PLANNER.reads, *PLANNER.writes}))
    state, params = np.zeros(1, PLANNER.state), np.zeros(1, PLANNER.params)
    PLANNER.pack(params[0], PATH, Cycle(DT))
    for n in range(150):
        run.step((5.0, 0.0, 0.0))
        row[0].t = n * DT
        planner_step(row[0], state[0], params[0], DT)
        for name in PLANNER.writes:
            assert np.array_equal(run.sig[name], row[0][name])
    assert run.passed == [HOVERING]
    assert run.sig.gain_set == NORMAL
    assert run.sig.X_bE_des.p.tolist() == [0.0, 0.0, -0.35]
    assert run.sig.X_bE_des.q.tolist() == list(so3.exp((0.1, 0.0, 0.0)))


def test_handover_goes_through_its_states():
    """Contact 0.5 to 3 N for 1 s raises the gains; -2 to -1 N for 4 s is a tool without a human."""
    run = Run("handover")
    run.sig.bias_ready = 0
    run.hold(2.0, (1.0, 0.0, 0.0))
    assert run.passed == [BIASING]
    run.sig.bias_ready = 1
    run.hold(0.1)
    assert run.sig.task_state == AWAITING
    begin = run.n
    run.until(RAISED, (1.5, 1.0, 0.0))
    assert (run.n - begin) * DT == pytest.approx(1.0, abs=2.5 * DT)  # one tick to find it, one for rounding
    assert run.sig.gain_set == HOOKED
    run.hold(3.0, (2.0, 0.0, -3.0))
    run.hold(5.0, (0.6, 0.0, -1.4))
    assert run.sig.task_state == RAISED, "a hand still holds the tool"
    begin = run.n
    run.until(RELEASED, (0.0, 0.0, -1.4))
    assert (run.n - begin) * DT == pytest.approx(4.0, abs=2.5 * DT)
    run.hold(1.0, (0.0, 0.0, -1.4))
    assert run.passed == [BIASING, AWAITING, TOUCHED, RAISED, MOUNTED, RELEASED]
    assert run.sig.gain_set == HOOKED


@pytest.mark.parametrize("size", [0.4, 3.2])
def test_a_touch_too_light_or_too_strong_is_no_contact(size):
    run = Run("handover")
    run.hold(3.0, (0.0, size, 0.0))
    assert run.passed == [BIASING, AWAITING]


def test_interruptions_restart_the_timer():
    run = Run("handover")
    for _ in range(3):
        run.hold(0.9, (1.0, 0.0, 0.0))
        run.hold(0.05)
    assert RAISED not in run.passed
    run.until(RAISED, (1.0, 0.0, 0.0))
    for _ in range(3):
        run.hold(3.5, (0.0, 0.0, -1.4))
        run.hold(0.05, (0.0, 0.0, 1.0))
    assert RELEASED not in run.passed
    assert run.sig.task_state == RAISED


def to_rise(**keys):
    run = Run("diverter", **keys)
    run.until(RISE)
    return run


@pytest.mark.parametrize("q_NH", [LEVEL, so3.exp((0.0, 0.0, 0.7))])
def test_the_diverter_waits_under_the_cable(q_NH):
    """Mouth 30 mm below the cable, throat below that by the mouth's height; counted from the first way-point, in W."""
    run = to_rise(q_NH=q_NH)
    assert run.passed == [WAITING, APPROACH, UNDER, RISE]
    below = 0.03 + 0.03 / np.tan(np.radians(40.0))
    assert run.sig.p_bd_N == pytest.approx((0.2, 0.1, 1.5 + 0.15 - below), abs=1e-9)
    assert run.sig.yaw_bd == 0.2
    gains = {int(row.task_state): int(row.gain_set) for row in run.rows}
    assert gains == {WAITING: NORMAL, APPROACH: NORMAL, UNDER: IMPACT, RISE: IMPACT}
    speed = max(np.linalg.norm(row.v_bd_N) for row in run.rows if row.task_state == APPROACH)
    assert speed <= 0.06 * (1 + 1e-9)


def test_a_new_bias_is_requested_and_awaited_under_the_cable():
    run = Run("diverter")
    run.until(UNDER)
    assert run.sig.bias_request == 1
    run.step()
    run.sig.bias_ready = 0
    run.hold(6.0)
    assert run.sig.task_state == UNDER
    run.sig.bias_ready = 1
    run.step()
    assert run.sig.task_state == RISE
    assert run.sig.bias_request == 0


def snap(run):
    """The load grows to 36 N, drops and returns: the gate, the drop into the slot, its bottom."""
    run.hold(1.5)
    for load in np.arange(0.0, 36.0, 0.5):
        run.step((0.0, 0.0, -load))
    assert run.sig.task_state == RISE
    run.step((0.0, 0.0, -21.9))
    assert run.sig.task_state == RISE, "0.62 of the peak is not a snap"
    run.step((0.0, 0.0, -21.0))
    assert run.sig.task_state == BACK


def test_a_snap_a_drop_of_the_load_and_a_tug_are_a_hook():
    run = to_rise()
    snap(run)
    run.step((0.0, 0.0, -0.5))
    assert run.sig.task_state == BACK, "just after the snap the load rings"
    run.hold(0.5, (0.0, 0.0, -30.0))
    assert run.sig.v_bd_N[2] == pytest.approx(-0.04)
    run.step((0.0, 0.0, -1.4))
    assert run.sig.task_state == TUG
    assert run.sig.hooked == 0
    run.step((0.0, 0.0, 1.3))
    assert run.sig.task_state == RECOVER
    assert run.sig.hooked == 1
    assert run.sig.gain_set == IMPACT
    run.hold(0.3, (0.0, 0.0, 2.0))
    assert run.sig.gain_set == IMPACT, "gains soften only below 1.5 N"
    run.step((0.0, 0.0, 1.0))
    assert run.sig.gain_set == HOOKED
    run.sig.e_p_N = (0.0, 0.0, 0.03)
    run.hold(3.0)
    assert run.sig.task_state == RECOVER, "the base is 3 cm away"
    run.sig.e_p_N = (0.0, 0.0, 0.01)
    run.until(INSTALLED)
    run.hold(1.0)
    assert run.passed == [WAITING, APPROACH, UNDER, RISE, BACK, TUG, RECOVER, INSTALLED]
    assert run.sig.gain_set == HOOKED
    assert run.sig.v_bd_N.tolist() == [0.0, 0.0, 0.0]


def test_no_pull_on_the_tug_is_no_hook():
    run = to_rise()
    snap(run)
    run.until(FAILED, most=30.0)
    assert run.passed[-4:] == [BACK, TUG, RETREAT, FAILED]
    assert not any(row.hooked for row in run.rows)
    assert run.sig.gain_set == NORMAL


def test_a_rise_that_meets_nothing_fails_and_returns():
    """Given up at 12 cm; the return ends where it began, at rest, within the allowed acceleration."""
    run = to_rise()
    start = np.array(run.sig.p_bd_N)
    run.until(FAILED, most=30.0)
    run.hold(0.1)
    assert run.passed[-3:] == [RISE, RETREAT, FAILED]
    height = np.array([row.p_bd_N[2] for row in run.rows]) - start[2]
    assert 0.12 < height.max() < 0.12 + 0.05**2 / (2 * 0.2) + 0.05 * DT  # and the braking distance
    assert run.sig.p_bd_N == pytest.approx(start, abs=1e-3)
    assert run.sig.v_bd_N.tolist() == [0.0, 0.0, 0.0]
    assert max(np.abs(row.a_bd_N).max() for row in run.rows if row.task_state >= APPROACH) <= 0.2 + 1e-9


@pytest.mark.parametrize(
    ("f", "z"), [((0.0, 0.0, -56.0), 0.0), ((40.0, 0.0, -40.0), 0.0), ((0.0, 0.0, -20.0), -0.061)], ids=["down", "aslant", "z"]
)
def test_too_much_force_or_distance_ends_the_rise(f, z):
    run = to_rise()
    run.hold(0.5, (0.0, 0.0, -20.0))
    run.sig.z_arm[2] = z
    run.step(f)
    assert run.sig.task_state == RETREAT
    assert run.sig.gain_set == IMPACT
    run.hold(2.0, (0.0, 0.0, -10.0))
    assert run.sig.gain_set == IMPACT, "under load the tool stays stiff"
    run.until(FAILED, most=30.0)
    assert run.sig.gain_set == NORMAL
    assert run.sig.hooked == 0


def test_a_long_rise_under_load_without_a_snap_fails():
    run = to_rise()
    run.until(RETREAT, (0.0, 0.0, -15.0), most=30.0)
    assert run.sig.p_bd_N[2] - run.p.under[2] == pytest.approx(0.30, abs=1e-3)


def test_a_missed_snap_is_detected_on_the_return():
    """Only after a load was measured: without one, a pull on the return is not a cable."""
    for load, end in ((15.0, RECOVER), (0.0, RETREAT)):
        run = to_rise()
        run.until(RETREAT, (0.0, 0.0, -load), most=30.0)
        run.step((0.0, 0.0, 1.3))
        assert run.sig.task_state == end
        assert run.sig.hooked == (end == RECOVER)


def test_a_band_upside_down_is_one_sentence():
    class Keys(Section):
        task: Task

    with pytest.raises(InputError, match=r"task.handover.contact is 3 to 0.5 N; the first must be lower; swap them"):
        build(Keys, {"task": {"kind": "handover", "handover": {"contact": [3.0, 0.5]}}})
