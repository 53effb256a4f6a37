"""A lab's robot and sensor as one rig: the robot's packet is the clock, and the newest wrench is read with it.

States: READY (everything is read, a thread answers every packet, nothing moves), LIVE (the loop answers with set-points) and
STOPPED. LIVE can only be left by a soft stop: the last speed is reduced with a bounded deceleration, packet by packet, then
the robot is held. `stop` only starts it and answers the packet that is due; `rest` keeps answering until the robot is at rest.

A cycle without an answer produces no motion: the robot's set-point stands still. So after silence, a lost packet or a late
answer there is no speed to reduce: braking from the remembered speed would jerk a standing robot from 0 to v in one cycle.

While LIVE, what is sent is checked once more (course.py), and the robot's measured pose is watched (watch.py).

Driving home, calibrating and identifying are paths (path.py), and `follow` runs them in the loop like a scenario.
"""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from hilt import loop
from hilt.core import clock, faults
from hilt.core.clock import DeviceClock
from hilt.core.faults import Fault, InputError
from hilt.core.guard import NEVER
from hilt.core.signals import POSE, TWIST, WRENCH
from hilt.core.system import Bench
from hilt.device import drivers, path
from hilt.device.answers import AnswerCount
from hilt.device.course import Course, check_first, check_near
from hilt.device.joints.space import JointSpace
from hilt.device.path import NoSink, Path, Plan
from hilt.device.protocol import JointedDriver, Reply, RobotDriver, SensorDriver
from hilt.device.rigfile import RigFile
from hilt.device.watch import Watch
from hilt.host import machine, realtime
from hilt.host.machine import Task
from hilt.loop import Overseer, Sink
from hilt.record.letters import LIVE, OFF, READY, STATES, STOPPED

MOMENT = 0.3  # s; trouble shorter than this is ignored: a start, a stall
PROMPT = 2e-4  # s that another thread may keep the interpreter while a robot is held
STOP_TIME = 5.0  # s after which a soft stop is abandoned: the robot stops by itself when it gets no answers


def check_home(fault: Fault | None) -> None:
    if fault is not None:
        raise InputError(f"the robot was stopped softly while it returned: {faults.explain(fault.code)}")


class LabRig:
    """A rig with real drivers; `open` connects them, `close` disconnects them."""

    def __init__(self, file: RigFile) -> None:
        self.file, self.state = file, OFF
        self.clock = DeviceClock(float(file.robot_section.cycle))
        self._bench: Bench | None = None  # of the run, once armed
        self.trouble = faults.NONE  # while READY
        self._well = self._second = 0.0
        self._missed = 0
        self._end = machine.event()
        self._keeper: Task | None = None
        self._robot: RobotDriver | None = None
        self._joints: JointSpace | None = None  # of a robot that takes joint angles
        self._sensor: SensorDriver | None = None
        self._read_until: Callable[[Any, float], int] | None = None  # of a sensor that knows when its samples arrived
        self._here, self._sent = np.zeros(1, POSE)[0], np.zeros(1, POSE)[0]
        self._twist, self._wrench = np.zeros(1, TWIST)[0], np.zeros(1, WRENCH)[0]
        self.reply, self._came = Reply(faults.NONE, 0), 0.0  # the robot's last packet, and its arrival time
        self._late = 0.0  # s, of that packet
        self._stood = False  # whether the robot's set-point has stood still since the previous packet
        self.cycle = float(file.robot_section.cycle)
        self._course, self._watch = Course(self.cycle), Watch(file)
        self._answers = AnswerCount()
        self._in_time = True  # whether a run must keep up with the robot's clock
        self._watch.warm_up(self._course.limits)
        path.warm_up()

    def open(self) -> None:
        try:
            self._robot, self._sensor = self._connect()
            self._robot.sent(self._here)
            self._check_driver()
            self._joints = getattr(self._robot, "joints", None)
            self._read_until = getattr(self._sensor, "read_until", None)
            if self._joints is not None:
                self._joints.brakes(self.file.lab.deceleration, self.file.lab.angular_deceleration)
        except InputError:
            self.close()
            raise
        self._keep_ready()

    def _connect(self) -> tuple[RobotDriver, SensorDriver]:
        return drivers.connect(self.file.robot_section, self.file.sensor_section)

    def _check_driver(self) -> None:
        """A user's driver may be older than `Reply`: report it here, not by the death of a thread."""
        assert self._robot is not None
        found = self._robot.wait(self._here, self._twist)
        self._robot.hold()
        if not isinstance(found, Reply):
            raise InputError(
                f"wait() of the robot's driver returned {found!r}; it must return Reply(code, cycle, heard) of "
                "hilt.device.protocol; see docs/lab.md"
            )
        self.reply = found
        self._answers.change(found.cycle, self._answers.held)

    def _keep_ready(self) -> None:
        self.state, self.trouble, self._well = READY, faults.NONE, clock.now()
        self._answers.change(self.reply.cycle, self._answers.held)
        self._end.clear()
        self._keeper = machine.thread(self._hold, "hold")

    def _hold(self) -> None:
        """Answer every packet without moving, beside a thread that may have other work: this one comes first, and gets the
        interpreter within a fifth of a millisecond."""
        rights = realtime.prioritise(realtime.HOLDING) if self.file.lab.realtime else None
        before = machine.switch_threads_after(PROMPT)
        try:
            self._answer_without_moving()
        finally:
            machine.switch_threads_after(before)
            if rights is not None:
                rights.release()

    def _answer_without_moving(self) -> None:
        """Until the end is asked for, and watch for trouble; trouble shorter than MOMENT is ignored."""
        robot, sensor = self._robot, self._sensor
        assert robot is not None
        assert sensor is not None
        while not self._end.is_set():
            before, asked = self.reply, clock.now()
            self.reply, self._came = robot.wait(self._here, self._twist), clock.now()
            if not self.reply.heard or self.reply.cycle != before.cycle + 1:
                self._answers.note(before, self.reply)
            if self.reply.code == faults.ROBOT_SILENT and self._came - asked < self.cycle:
                clock.pause(self.cycle)  # a driver that does not wait would keep everything else from this core
            code = self.reply.code or sensor.read(self._wrench)
            code = robot.hold() or code if code != faults.ROBOT_SILENT else code
            if code == faults.NONE:
                self.trouble, self._well = code, clock.now()
            elif clock.now() - self._well > MOMENT:
                self.trouble = code

    def _take_over(self, check: Callable[[], None]) -> None:
        """Let the caller answer the packets, if the check passes; it is repeated once no other thread can move the robot."""
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
    def samples(self) -> int:
        """Records that the sensor has sent; 0 if its driver does not count them."""
        return getattr(self._sensor, "samples", 0)

    @property
    def wrench_age(self) -> float:
        """Age of the wrench in use at the robot's last cycle [s]; negative if it is newer, from a sensor that cannot return
        older ones. NaN if its driver does not know, or if the packet came too late to tell which cycle it belongs to."""
        now = clock.now()
        arrived = now - getattr(self._sensor, "age", math.nan)
        return self._came - self._late - arrived if self._late < 0.5 * self.cycle else math.nan

    @property
    def set_point(self) -> Any:
        """The robot's present set-point."""
        return self._course.last

    @property
    def place(self) -> Any:
        """Pose of the mock-up by the robot's encoders, as last seen, in every state."""
        return self._here

    def check_start(self, bench: Bench) -> None:
        """Check that the rig may be armed: it is READY, the robot is at the bench's start, and its first step is allowed."""
        start = bench.row[0]["X_WB_cmd"]
        has = self._check_place()
        advice = "drive it there, or change X_WR in the rig file"
        check_near(has, start, self.file.lab.start_tolerance, "the start of the scenario", advice)
        check_first(bench, self._feel)

    def _check_place(self) -> Any:
        """Return the robot's set-point; refuse a rig that is not READY, or a robot that is not at its set-point."""
        assert self._robot is not None
        if self.state != READY:
            raise InputError(f"the rig is {STATES[self.state]}; only a READY rig can be moved; reset it first")
        has = np.zeros(1, POSE)[0]
        self._robot.sent(has)
        advice = "find out what holds or moves it, then restart its program"
        check_near(self._here, has, self.file.lab.start_tolerance, "its set-point", advice)
        return has

    def arm(self, bench: Bench) -> None:
        """Go live: from now on set-points are sent."""
        self._take_over(lambda: self.check_start(bench))
        self._go_live(bench, boxed=True, in_time=True)

    def _go_live(self, bench: Bench, boxed: bool, in_time: bool) -> None:
        """Start a course at the start of the bench, from rest; it shares the bench's limits, so live changes apply."""
        assert self._robot is not None
        self._bench, self._in_time = bench, in_time
        self._robot.sent(self._course.last)
        self._robot.sent(self._sent)
        limits = self._course.limits = bench.p[0]["guard"]
        self._course.start(bench.row[0]["X_WB_cmd"])
        self._watch.start(limits, boxed)
        self.clock = DeviceClock(self.cycle)
        self._second, self._missed = clock.now(), 0
        self._answers.change(self.reply.cycle, self._answers.live)
        self.state = LIVE

    def read(self, row: np.ndarray) -> int:
        if self._robot is None or self._sensor is None or self._bench is None:
            return faults.DEVICE
        code = self._wait()
        late = self._late = self.clock.arrived()
        self._see(row)
        row["lateness"][0] = late
        if code == faults.NONE:  # a silent robot has its own fault
            self._watch_gaps(row)
            if found := self._watch.look(self._here, self._twist, self._course.last):
                faults.trip(row[0], found, self._watch.x["axis"], self._watch.x["value"], self._watch.x["limit"])
        code = code or self._sense()
        self._feel(row)
        self._bench.code.observe(row, self._bench.w, self._bench.p)
        if self._in_time and late > self.file.lab.lateness:
            faults.trip(row[0], faults.LATENESS, -1, late, self.file.lab.lateness)
        return code

    def _sense(self) -> int:
        """Read the wrench that belongs to the measured pose. The pose is that of the robot's cycle, and its packet may come
        late: a wrench newer than the pose would look like damping."""
        assert self._sensor is not None
        if self._read_until is None:
            return self._sensor.read(self._wrench)
        return self._read_until(self._wrench, self._came - self._late % self.cycle)

    def _see(self, row: np.ndarray) -> None:
        """Write the measured motion of the mock-up into the row."""
        row["X_WB_meas"][0], row["V_WB_meas"][0] = self._here, self._twist

    def _feel(self, row: np.ndarray) -> None:
        """Write the measured wrench into the row."""
        row["F_So_S"][0] = self._wrench

    def _wait(self) -> int:
        """Read the robot's next packet into `place`; 0 or a fault code. Its set-point has stood still since the last packet if
        the reply says so, or if the loop is a whole cycle late, since its answer was then too late. A robot that coasts has not
        stood still: its driver knows which answers arrived, and catches up."""
        assert self._robot is not None
        before, came = self.reply, self._came
        self.reply, self._came = self._robot.wait(self._here, self._twist), clock.now()
        if not self.reply.heard or self.reply.cycle != before.cycle + 1:
            self._answers.note(before, self.reply)
        reply, late = self.reply, self._came - came > 2.0 * self.cycle and not getattr(self._robot, "bounded", False)
        coasts = reply.coasts and self._joints is None
        lost = reply.stood or not reply.heard or reply.cycle > before.cycle + 1
        self._stood = reply.code != faults.NONE or late or (lost and not coasts)
        if coasts:
            self._course.resume()
        elif self._stood:
            self._robot.sent(self._sent)
            self._course.lose(self._sent, reply.stood)  # it has not moved to a set-point that it did not receive
            if self._joints is not None:
                self._joints.stand_still()
        return self.reply.code

    def _watch_gaps(self, row: np.ndarray) -> None:
        """Stop if too many packets are missing: time passes in the lab without them, and the run leaves the scenario."""
        now, missed = clock.now(), self.clock.missed
        if now - self._second > 1.0:
            self._second, self._missed = now, missed
        if self._in_time and missed - self._missed > self.file.lab.missed:
            faults.trip(row[0], faults.ROBOT_GAP, -1, float(missed - self._missed), float(self.file.lab.missed))

    def write(self, row: np.ndarray) -> int:
        code = self._answer(row)
        row["X_WB_sent"][0] = self._sent  # rounded and bounded as in the packet; if nothing was sent, the previous one
        return code

    def _answer(self, row: np.ndarray) -> int:
        """Answer the packet with the row's command, as far as the course allows it."""
        if self._robot is None or self.state != LIVE:
            return faults.DEVICE
        if code := self._course.next(self._wanted(row)):
            checked = self._course.checked
            faults.trip(row[0], code, checked["fault_axis"], checked["fault_value"], checked["fault_limit"])
            return code
        if (code := self._send()) in faults.OF_JOINTS and self._joints is not None:
            faults.trip(row[0], code, *self._joints.fault)
        return code

    def _wanted(self, row: np.ndarray) -> Any:
        """Return the pose that the row commands."""
        return row["X_WB_cmd"][0]

    def _send(self) -> int:
        """Send the course's next set-point; what was really sent becomes the last one."""
        assert self._robot is not None
        code = self._robot.send(self._course.now)
        if code in faults.OF_JOINTS:
            return code  # nothing was sent: the stop answers the packet
        self._robot.sent(self._sent)
        # A driver with its own bounds follows the course as fast as they allow; the course itself goes on.
        follows = code == faults.NONE and getattr(self._robot, "bounded", False)
        self._course.record_sent(self._course.now if follows else self._sent)
        return code

    def stop(self) -> None:
        """Start the soft stop with the packet that is due. Never raises, never waits, safe to call twice."""
        if self.state == LIVE:
            self.state = STOPPED
        if self._robot is not None and self.state == STOPPED:
            self._brake()

    def _brake(self) -> None:
        """Answer one packet with the next step of the stop; does nothing if none is due."""
        assert self._robot is not None
        lab = self.file.lab
        if self._joints is not None:
            self._brake_joints(self._joints)
        elif not self._course.slow_down(lab.deceleration, lab.angular_deceleration):
            self._robot.stop()
        elif self._robot.send(self._course.now) == faults.NONE:  # if none was due, the step is still pending
            self._course.slowed()

    def _brake_joints(self, joints: JointSpace) -> None:
        """The same for a robot that takes joint angles: all joints slow down together, wherever that takes the tool."""
        robot = cast(JointedDriver, self._robot)
        if not joints.slow_down():
            joints.stand_still()
            self._course.stand_still()
            robot.stop()
        elif robot.send_joints() == faults.NONE:
            robot.sent(self._sent)
            self._course.record_sent(self._sent)

    def rest(self) -> None:
        """Keep answering until the robot is at rest."""
        if self._robot is None or self.state != STOPPED:
            return
        for _ in range(round(STOP_TIME / self.cycle)):
            if not self._moves or self._wait():
                break
            self._brake()

    @property
    def _moves(self) -> bool:
        """Whether the robot is still slowing down: its set-points, or, after them, a driver that limits its commands itself."""
        return bool(self._course.moving or getattr(self._robot, "moves", False))

    def follow(
        self,
        plan: Plan,
        sink: Sink | None = None,
        watch: Callable[[int], None] | None = None,
        overseer: Overseer | None = None,
    ) -> Fault | None:
        """Follow a path in the loop, from READY back to READY; returns the fault that ended it, or None."""
        bench = self._arm_path(plan)
        try:
            fault = loop.run(bench, self, self.clock, sink or NoSink(), watch, overseer)
        finally:
            self.rest()
            self.reset()
        if fault is None and not bench.row["done"][0]:
            raise InputError("too many cycles of the robot were missed on its path; run hilt doctor to check this machine")
        return fault

    def _arm_path(self, plan: Plan) -> Bench:
        """Plan the path, and plan it again once no other thread answers: the robot's program may have been restarted."""
        found: list[tuple[Path, Any]] = []

        def check() -> None:
            has = self._check_place()
            found[:] = [(plan(has), has)]

        self._take_over(check)
        (planned, start), course = found[0], self._course
        bench = path.bench(planned, start, self.cycle, course, lambda: self._stood)
        self._go_live(bench, planned.boxed, in_time=False)
        return bench

    def home(self, bench: Bench, speed: float, overseer: Overseer | None = None) -> None:
        """Drive from READY to the start of the bench, straight and gently."""
        limits, end, packed = self.file.limits, bench.row[0]["X_WB_cmd"], self._limits_home()
        speed = min(speed, limits.speed)
        fault = self.follow(
            lambda begin: Path(path.straight(begin, end, self.cycle, limits, speed), packed, boxed=False), overseer=overseer
        )
        check_home(fault)

    def _limits_home(self) -> Any:
        packed = path.packed(self.file.limits, self.cycle)
        packed["workspace_min"], packed["workspace_max"] = -NEVER, NEVER  # it may have to return from outside
        return packed

    def reset(self) -> None:
        """After a stop: READY again, from the robot's present pose."""
        if self.state == STOPPED:
            self._keep_ready()

    def close(self) -> None:
        """Disconnect both devices, at rest. Never raises."""
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
        """Notes of both drivers, besides their counters."""
        return [note for device in (self._robot, self._sensor) for note in getattr(device, "notes", list)()]

    def timing(self) -> dict[str, Any]:
        """Timing of the last run and the counters of both drivers, for its report."""
        return {**self.clock.counts(), "devices": self.counters()}

    def counters(self) -> dict[str, dict[str, int]]:
        devices = (("robot", self._robot), ("sensor", self._sensor))
        found = {name: device.counters() for name, device in devices if device is not None}
        return {**found, "answers": self._answers.counters(self.reply.cycle)}
