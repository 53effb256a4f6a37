"""Two robots as one rig: the clock is answered in the loop's tick, the other one by a process of its own (partner/).

The loop only knows the relative motion. Its command is divided between the robots (maths/pair.py), each is commanded so much
later that both have the same delay (core/pairing.py), and what the loop measures is the difference of both measured motions;
the other robot's is first taken to the clock's cycle with its measured speed.

A fault of either stops both softly. The loop finds the other robot's with its next packet, and the other robot finds the loop's
stop with its own next packet. If the clock falls silent no set-points come: the other robot waits for them at rest.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core import clock, faults
from hilt.core.clock import SteadyClock
from hilt.core.faults import InputError
from hilt.core.pairing import Pairing
from hilt.core.signals import POSE, TWIST, WRENCH, record
from hilt.core.system import Bench
from hilt.device.course import check_first, check_near
from hilt.device.live_rig import STOP_TIME, LabRig
from hilt.device.partner.handle import LOOK, SecondRobot
from hilt.device.placed import pose_of
from hilt.device.rigfile import RigFile
from hilt.loop import Overseer
from hilt.maths import delay, pair, so3, spatial, vec


def check_pairing(file: RigFile, pairing: Pairing | None, system: str) -> None:
    """Refuse a rig whose robots are not those of the scenario."""
    if pairing is None:
        if file.other:
            raise InputError(
                f"the rig file has the robots {file.clock} and {file.other}, but this scenario of {system} moves one; "
                "use a rig with one robot, or give the scenario its second robot"
            )
        return
    wanted = {pairing.moves, pairing.meets}
    if set(file.robots) != wanted:
        has = ", ".join(f"[robots.{name}]" for name in file.robots) or "[robot]"
        raise InputError(
            f"this scenario of {system} moves two robots, {pairing.moves} and {pairing.meets}, but the rig file has {has}; "
            f"give [robots.{pairing.moves}] and [robots.{pairing.meets}]"
        )
    if file.clock != pairing.clock:
        raise InputError(
            f"the rig file's clock is robots.{file.clock}, but the scenario's is {pairing.clock}; "
            f"set pair.clock = '{file.clock}', or clock = true in [robots.{pairing.clock}]",
            "pair.clock",
        )
    if file.carrier not in ("", *wanted):
        raise InputError(
            f"[sensors.{file.carrier}] names no robot; a sensor is named after the robot that carries it; "
            f"write [sensors.{pairing.meets}] or [sensors.{pairing.moves}]"
        )
    _ = file.X_BS
    cycle = float(file.of(file.other).robot_section.cycle)
    if abs(cycle - pairing.cycle) > 1e-9:
        raise InputError(
            f"pair.cycle is {pairing.cycle:g} s but the robot {file.other} takes a set-point every {cycle:g} s; "
            f"set pair.cycle = '{1e3 * cycle:g} ms'",
            "pair.cycle",
        )


@jit
def divide(X_WB, share, carries, own, others):
    """The parts of the clock, which carries the mock-up or what it meets, and of the other robot."""
    X_B, X_W = pair.shares(spatial.load(X_WB), share)
    spatial.store(own, X_B if carries else X_W)
    spatial.store(others, X_W if carries else X_B)


@jit
def _advanced(X, V, dt):
    """A pose some time later."""
    q = so3.load(X.q)
    w = vec.scale(dt, vec.load(V.w))
    turned = so3.normalise(so3.multiply(so3.exp(w), q)) if w != (0.0, 0.0, 0.0) else q
    return vec.add(vec.load(X.p), vec.scale(dt, vec.load(V.v))), turned


@jit
def meet(here, twist, seen, age, carries, out):
    """The relative motion from the clock's and from the other robot's, measured `age` before."""
    own, others = spatial.load(here), _advanced(seen.X, seen.V, age)
    V_own, V_others = (vec.load(twist.v), vec.load(twist.w)), (vec.load(seen.V.v), vec.load(seen.V.w))
    X_GB, X_GW = (own, others) if carries else (others, own)
    V_GB, V_GW = (V_own, V_others) if carries else (V_others, V_own)
    v, w = pair.relative_twist(X_GB, V_GB, X_GW, V_GW)
    pair.store(out.hall, X_GB, X_GW)
    spatial.store(out.X_WB, pair.relative(X_GB, X_GW))
    vec.store(out.V_WB.v, v)
    vec.store(out.V_WB.w, w)


@jit
def put_later(line, pose, samples, out):
    """Push a pose into a delay line and read the one that was pushed `samples` before, between two of them if need be."""
    zero = (0.0, 0.0, 0.0)
    delay.push_motion(line, vec.load(pose.p), zero, so3.load(pose.q), zero)
    spatial.store(out, (delay.read_position(line, samples), delay.read_attitude(line, samples)))


@jit
def relative_pose(X_GB, X_GW, out):
    spatial.store(out, pair.relative(spatial.load(X_GB), spatial.load(X_GW)))


@jit
def feel_opposite(wrench, X_WB, X_BS, X_WS, out):
    """What a sensor on the other side would feel."""
    X_WQ = spatial.compose(spatial.load(X_WB), spatial.load(X_BS))
    f, tau = pair.reaction(X_WQ, spatial.load(X_WS), vec.load(wrench.f), vec.load(wrench.tau))
    vec.store(out.f, f)
    vec.store(out.tau, tau)


_MET = record(hall=14, X_WB=POSE, V_WB=TWIST)


class PairedRig(LabRig):
    """The rig of a scenario with two robots. The scenario's sensor is fixed to what the mock-up meets. One on the mock-up's
    side feels the opposite, and its wrench is turned into what the scenario's would feel."""

    def __init__(self, file: RigFile, pairing: Pairing) -> None:
        self._trouble = faults.NONE
        self._partner = SecondRobot(file, pairing.other)
        super().__init__(file)
        self._pairing, self._carries = pairing, pairing.clock == pairing.moves  # whether the clock carries the mock-up
        self._steady = SteadyClock(self.cycle)
        self._together = False  # whether the loop moves both; not on the way home
        self._own, self._others, self._wish = (np.zeros(1, POSE)[0] for _ in range(3))
        self._met, self._line = np.zeros(1, _MET)[0], np.zeros(1, delay.MOTION_LINE)[0]
        self._ticks_later = pairing.later(pairing.clock) / pairing.period
        self._fault = faults.NONE  # of the other robot
        self._opposite = file.carrier == pairing.moves
        self._X_BS, self._X_WS = pose_of(file.X_BS), np.zeros(1, POSE)[0]
        self._X_WS["p"], self._X_WS["q"] = pairing.X_WS
        self._felt = np.zeros(1, WRENCH)[0]
        self._wish["q"][0] = 1.0
        self._begin(self._wish)  # compile now: the first packet must be answered in time
        put_later(self._line, self._own, self._ticks_later, self._wish)
        meet(self._wish, self._twist, self._partner.seen, 0.0, self._carries, self._met)
        relative_pose(self._wish, self._wish, self._met["X_WB"])
        feel_opposite(self._wrench, self._met["X_WB"], self._X_BS, self._X_WS, self._felt)

    @property
    def trouble(self) -> int:
        return self._trouble or self._partner.trouble

    @trouble.setter
    def trouble(self, code: int) -> None:
        self._trouble = code

    def open(self) -> None:
        try:
            self._partner.open()
        except InputError:
            self.close()
            raise
        super().open()

    def _begin(self, X_WB: Any) -> None:
        """Both parts of a pose, at rest there."""
        divide(X_WB, self._pairing.share, self._carries, self._own, self._others)
        zero = (0.0, 0.0, 0.0)
        delay.fill_motion(self._line, tuple(self._own["p"]), zero, tuple(self._own["q"]), zero, self.cycle)

    def check_start(self, bench: Bench) -> None:
        """Both robots are at their parts of the scenario's start, and the first step is allowed."""
        self._begin(bench.row[0]["X_WB_cmd"])
        self._check_own()
        self._partner.check_start(self._others)
        check_first(bench)

    def _check_own(self) -> None:
        has, advice = self._check_place(), "drive it there, or change X_WR in the rig file"
        check_near(has, self._own, self.file.lab.start_tolerance, "the start of the scenario", advice)

    def arm(self, bench: Bench) -> None:
        """The other robot first: it stays where it is until set-points come."""
        self.check_start(bench)
        self._partner.arm(self._others, bench.p[0]["guard"], self._pairing.later(self._pairing.other), self.cycle)
        try:
            self._take_over(self._check_own)
        except InputError:
            self._partner.stop()
            self._partner.await_rest(STOP_TIME)
            raise
        self._go_live(bench, boxed=True, in_time=True)
        self._course.start(self._own)
        self._together, self._fault = True, faults.NONE
        self._steady.start()

    def read(self, row: np.ndarray) -> int:
        code = super().read(row)
        if self._together and self._fault:
            faults.trip(row[0], code or faults.OTHER_ROBOT, -1, float(self._fault), 0.0)
            return code or faults.OTHER_ROBOT
        return code

    def _see(self, row: np.ndarray) -> None:
        if not self._together:
            super()._see(row)
            return
        self._fault = self._partner.look()
        self._steady.heard(self.reply.cycle, self._came)
        seen, met, began = self._partner.seen, self._met, self._steady.began
        age = began - float(seen["t"]) if seen["cycles"] else 0.0
        if not seen["cycles"]:  # it has not been heard of since it was armed: it stands
            seen["X"] = seen["sent"] = self._others
        meet(self._here, self._twist, seen, age, self._carries, met)
        row["X_WB_meas"][0], row["V_WB_meas"][0] = met["X_WB"], met["V_WB"]
        row["hall_poses"][0] = met["hall"]
        row["clock_phase"][0] = age % self._partner.cycle

    def _feel(self, row: np.ndarray) -> None:
        if not (self._together and self._opposite):
            super()._feel(row)
            return
        feel_opposite(self._wrench, self._met["X_WB"], self._X_BS, self._X_WS, self._felt)
        row["F_So_S"][0] = self._felt

    def _wanted(self, row: np.ndarray) -> Any:
        if not self._together:
            return super()._wanted(row)
        divide(row["X_WB_cmd"][0], self._pairing.share, self._carries, self._own, self._others)
        self._partner.push(self._steady.began + self.cycle, self._others)
        put_later(self._line, self._own, self._ticks_later, self._wish)
        return self._wish

    def write(self, row: np.ndarray) -> int:
        code = super().write(row)
        if self._together:
            own, others = self._course.last, self._partner.seen["sent"]
            relative_pose(*((own, others) if self._carries else (others, own)), row["X_WB_sent"][0])
        return code

    def stop(self) -> None:
        if self._together:  # each has a path of its own on the way home
            self._partner.stop()
        super().stop()

    def reset(self) -> None:
        """READY again, both: the clock is held while the other robot comes to rest."""
        together, self._together = self._together, False
        super().reset()
        if together:
            self._partner.await_rest(STOP_TIME)

    def home(self, bench: Bench, speed: float, overseer: Overseer | None = None) -> None:
        """Both at once, each straight and gently to its part of the start."""
        self._begin(bench.row[0]["X_WB_cmd"])
        goal = replace(bench, row=bench.row.copy())
        goal.row["X_WB_cmd"][0] = self._own
        self._partner.home(self._others, min(speed, self.file.limits.speed))
        try:
            super().home(goal, speed, overseer)
            while self._partner.on_its_way():
                if overseer is not None and overseer.look(goal.row):
                    self._partner.stop()
                clock.pause(LOOK)
        except InputError:
            self._partner.stop()
            self._partner.await_rest(STOP_TIME)
            raise

    def close(self) -> None:
        super().close()
        self._partner.close()

    def notes(self) -> list[str]:
        told = self._partner.tell()
        why = told.get("said") or (faults.explain(self._fault) if self._fault else "")
        found = [f"robot {self._partner.name}: {note}" for note in (*told.get("notes", ()), why) if note]
        if not any("clock" in table for table in self.file.robots.values()):
            found.append(f"robots.{self.file.clock} is the clock, being the first; say so with clock = true")
        return [*super().notes(), *found]

    def counters(self) -> dict[str, dict[str, int]]:
        waited = {"waited": int(self._partner.seen["waited"])}
        return {**super().counters(), self._partner.name: {**self._partner.tell().get("counters", {}), **waited}}
