"""A robot and a sensor of a lab as one rig: the robot's packet is the clock, the newest wrench comes with it.

States: READY (everything is read, a thread answers every packet, nothing moves), LIVE (the loop answers with set-points) and
STOPPED. From LIVE the only way is a soft stop: the last speed is taken down with a bounded deceleration, packet by packet, then
the robot is held. `stop` only says so, and answers the packet that is due; `rest` goes on answering until the robot stands.

A cycle that the robot had no answer for moved nothing: its set-point stood. So after a silence, a lost packet or a late answer
there is no speed to take down: a brake from the speed remembered would set a standing robot going, from 0 to v in one cycle.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from hilt import clock, faults
from hilt.clock import DeviceClock
from hilt.device import drivers
from hilt.device.behind import Behind
from hilt.device.drivers import RobotDriver, SensorDriver
from hilt.device.rigfile import RigFile
from hilt.device.way import StraightWay, check_near
from hilt.faults import InputError
from hilt.guard import overload
from hilt.letters import LIVE, OFF, READY, STATES, STOPPED
from hilt.maths import so3
from hilt.maths.quintic import quintic
from hilt.signals import POSE, TWIST, WRENCH
from hilt.stage import Bench, System

_UPRIGHT = (1.0, 0.0, 0.0, 0.0)
TURN_SHARE = 0.5  # of limits.angular_speed, on the way back to the start
MOMENT = 0.3  # s of trouble that are none: a start, a stall
STOP_TIME = 5.0  # s after which a soft stop is given up: the robot stops by itself when nobody answers


def _warm_up(row: np.ndarray) -> None:
    """Have compiled what only a fault and a stop need: the first one would find the robot without answers for 50 ms."""
    faults.trip(row[0], faults.NONE, -1, 0.0, 0.0)
    so3.multiply(so3.exp(so3.between(_UPRIGHT, _UPRIGHT)), _UPRIGHT)
    quintic(0.0)


class LabRig:
    """Real drivers; `open` connects them, `close` lets go of them."""

    def __init__(self, file: RigFile, system: System) -> None:
        if system.observe is None:
            raise InputError(f"{system.name} cannot run on devices; docking, freefloat and aerial can; choose one")
        self.file, self.state = file, OFF
        self.clock = DeviceClock(float(file.robot_section.cycle))
        self._observe: Any = system.observe
        self._w = self._p = np.zeros(0)
        self.trouble = faults.NONE  # while READY
        self._well = self._second = 0.0
        self._missed = 0
        self._end = threading.Event()
        self._keeper: threading.Thread | None = None
        self._robot: RobotDriver | None = None
        self._sensor: SensorDriver | None = None
        self._last, self._now, self._here = (np.zeros(1, POSE)[0] for _ in range(3))
        self._twist, self._wrench = np.zeros(1, TWIST)[0], np.zeros(1, WRENCH)[0]
        self._velocity, self._turning = np.zeros(3), np.zeros(3)  # of the set-point
        self._heard, self._unanswered = 0.0, 0
        self.cycle = float(file.robot_section.cycle)
        self._behind = Behind(self.cycle)
        _warm_up(np.zeros(1, system.row))

    def open(self) -> None:
        try:
            self._robot, self._sensor = drivers.connect(self.file.robot_section, self.file.sensor_section)
            self._robot.sent(self._here)
        except InputError:
            self.close()
            raise
        self._keep_ready()

    def _keep_ready(self) -> None:
        self.state, self.trouble, self._well = READY, faults.NONE, clock.now()
        self._end.clear()
        self._keeper = threading.Thread(target=self._hold, name="hold", daemon=True)
        self._keeper.start()

    def _hold(self) -> None:
        """Answer every packet without moving, and see whether all is well; a moment's trouble is none."""
        robot, sensor = self._robot, self._sensor
        assert robot is not None
        assert sensor is not None
        while not self._end.is_set():
            code = robot.wait(self._here, self._twist) or sensor.read(self._wrench)
            code = robot.hold() or code if code != faults.ROBOT_SILENT else code
            if code == faults.NONE:
                self.trouble, self._well = code, clock.now()
            elif clock.now() - self._well > MOMENT:
                self.trouble = code

    def _take_over(self, check: Callable[[], None]) -> None:
        """The next packet is the caller's, if the check allows it: now that nobody else answers, what it finds stays true."""
        check()
        self._let_go()
        try:
            check()
        except InputError:
            self._keep_ready()
            raise

    def _let_go(self) -> None:
        """End the thread that holds the robot."""
        self._end.set()
        if self._keeper is not None:
            self._keeper.join()
        self._keeper = None

    def bias(self) -> None:
        assert self._sensor is not None
        self._sensor.bias()

    @property
    def place(self) -> Any:
        """Pose of the mock-up by the robot's encoders, as last seen, in every state."""
        return self._here

    def check_start(self, bench: Bench) -> None:
        """Whether the rig may be armed: it is READY, and the robot stands where the bench begins."""
        start = bench.row[0]["X_WB_des"]
        self._check_place()
        self._behind.start(self._last["p"] - start["p"])
        advice = "drive it there, or change X_WR of the rig"
        check_near(self._last, start, self.file.lab.start_tolerance, "where the scenario starts", advice)

    def _check_place(self) -> None:
        """The rig is READY, and the robot where it was told to be: else it would go from there to somewhere else."""
        assert self._robot is not None
        if self.state != READY:
            raise InputError(f"the rig is {STATES[self.state]}; only a rig that is READY can be moved; reset it first")
        self._robot.sent(self._last)
        advice = "see what holds or moves it, then start its program again"
        check_near(self._here, self._last, self.file.lab.start_tolerance, "the set-point that it was given", advice)

    def arm(self, bench: Bench) -> None:
        """From here on set-points go out."""
        self._take_over(lambda: self.check_start(bench))
        self._w, self._p = bench.w, bench.p
        self._stand_still()
        self.clock = DeviceClock(self.cycle)
        self._second, self._missed = clock.now(), 0
        self.state = LIVE

    def read(self, row: np.ndarray) -> int:
        if self._robot is None or self._sensor is None:
            return faults.DEVICE
        code = self._wait()
        row["X_WB_meas"][0], row["V_WB_meas"][0] = self._here, self._twist
        late = self.clock.arrived()
        row["lateness"][0] = late
        if code == faults.NONE:  # a robot that is silent has a fault of its own
            self._watch_gaps(row)
        code = code or self._sensor.read(self._wrench)
        row["F_So_S"][0] = self._wrench
        self._observe(row, self._w, self._p)
        if late > self.file.lab.lateness:
            faults.trip(row[0], faults.LATENESS, -1, late, self.file.lab.lateness)
        return code

    def _wait(self) -> int:
        """The robot's next packet, into `place`; whether its set-point has stood since the last one is said by what it counts,
        and by the time: who comes a whole cycle late answers too late."""
        assert self._robot is not None
        code, before = self._robot.wait(self._here, self._twist), (self._heard, self._unanswered)
        counted = self._robot.counters()
        self._heard, self._unanswered = clock.now(), counted.get("lost", 0) + counted.get("delay", 0)
        if code or self._unanswered != before[1] or self._heard - before[0] > 2.0 * self.cycle:
            self._stand_still()
            self._make_up()
        return code

    def _make_up(self) -> None:
        """A set-point that the robot has not heard of was not gone to: what is missing is made up for gently."""
        assert self._robot is not None
        self._robot.sent(self._now)
        self._behind.lose(self._last, self._now)
        self._last["p"], self._last["q"] = self._now["p"], self._now["q"]

    def _stand_still(self) -> None:
        self._velocity[:] = self._turning[:] = 0.0

    def _watch_gaps(self, row: np.ndarray) -> None:
        """Time passes in the lab also when packets do not come: too many of them, and the run is no longer what it claims."""
        now, missed = clock.now(), self.clock.missed
        if now - self._second > 1.0:
            self._second, self._missed = now, missed
        if missed - self._missed > self.file.lab.missed:
            faults.trip(row[0], faults.ROBOT_GAP, -1, float(missed - self._missed), float(self.file.lab.missed))

    def write(self, row: np.ndarray) -> int:
        if self._robot is None or self.state != LIVE:
            return faults.DEVICE
        self._now["p"], self._now["q"] = row["X_WB_des"][0]["p"], row["X_WB_des"][0]["q"]
        self._behind.take(self._now)
        code = self._robot.send(self._now)
        self._remember()
        return code

    def _remember(self) -> None:
        """What the robot was really told last, and how fast that moves."""
        assert self._robot is not None
        self._robot.sent(self._now)
        self._velocity[:] = (self._now["p"] - self._last["p"]) / self.cycle
        self._turning[:] = np.array(so3.between(tuple(self._last["q"]), tuple(self._now["q"]))) / self.cycle
        self._last["p"], self._last["q"] = self._now["p"], self._now["q"]

    def stop(self) -> None:
        """Begin the soft stop with the packet that is due. Never raises, never waits, safe to call twice."""
        if self.state == LIVE:
            self.state = STOPPED
        if self._robot is not None and self.state == STOPPED:
            self._brake()

    def _brake(self) -> None:
        """Answer one packet with the motion that is left; nothing happens if none is due."""
        assert self._robot is not None
        lab = self.file.lab
        needed = max(
            float(np.linalg.norm(self._velocity)) / lab.deceleration,
            float(np.linalg.norm(self._turning)) / lab.angular_deceleration,
        )
        if needed <= self.cycle:
            self._stand_still()
            self._robot.stop()
            return
        share = 1.0 - self.cycle / needed  # translation and turn end together
        velocity, turning = share * self._velocity, share * self._turning
        self._now["p"] = self._last["p"] + self.cycle * velocity
        self._now["q"] = so3.multiply(so3.exp(tuple(self.cycle * turning)), tuple(self._last["q"]))
        if self._robot.send(self._now) == faults.NONE:  # if none was due, the step is still to come
            self._velocity[:], self._turning[:] = velocity, turning
            self._last["p"], self._last["q"] = self._now["p"], self._now["q"]

    def rest(self) -> None:
        """Go on answering until the robot stands."""
        if self._robot is None or self.state != STOPPED:
            return
        for _ in range(round(STOP_TIME / self.cycle)):
            if not (self._velocity.any() or self._turning.any()) or self._wait():
                break
            self._brake()

    def home(self, bench: Bench, speed: float) -> None:
        """From READY to where the bench begins, straight and gently; armed on the way like any other motion, and like any other
        it ends in a soft stop if something is wrong."""
        assert self._robot is not None
        assert self._sensor is not None
        self._take_over(self._check_place)
        limits, end = self.file.limits, bench.row[0]["X_WB_des"]
        way = StraightWay(self._last, end, self.cycle, min(speed, limits.speed), TURN_SHARE * limits.angular_speed)
        self._stand_still()
        self._behind.start()
        self.state, code = LIVE, faults.NONE
        for k in range(1, way.ticks + 1):
            code = self._wait() or self._sensor.read(self._wrench) or overload(self._wrench, limits)[0]
            if code == faults.NONE:
                way.at(k, self._now)
                self._behind.take(self._now)
                code = self._robot.send(self._now)
                self._remember()
            if code != faults.NONE:
                break
        self.stop()
        self.rest()
        self.reset()
        if code != faults.NONE:
            raise InputError(f"the robot was stopped softly on its way back: {faults.explain(code)}")

    def reset(self) -> None:
        """After a stop: READY again, from where the robot stands."""
        if self.state == STOPPED:
            self._keep_ready()

    def close(self) -> None:
        """Let go of both devices, at rest. Never raises."""
        self.stop()
        self.rest()
        self._let_go()
        if self._robot is not None:
            self._robot.close()
        if self._sensor is not None:
            self._sensor.stop()
        self._robot = self._sensor = None
        self.state = OFF

    def notes(self) -> list[str]:
        """What both drivers have to say besides their figures."""
        return [note for device in (self._robot, self._sensor) for note in getattr(device, "notes", list)()]

    def counters(self) -> dict[str, dict[str, int]]:
        """What both drivers have counted."""
        return {
            name: device.counters() for name, device in (("robot", self._robot), ("sensor", self._sensor)) if device is not None
        }
