"""Two robots that make one relative motion: the loop knows only that motion.

Its command is divided between the robots (maths/pair.py), each is commanded late enough for both to have the same delay
(core/pairing.py), and the loop measures the difference of both measured motions.
"""

from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.pairing import Shared
from hilt.core.signals import POSE, TWIST, WRENCH, record
from hilt.device.paired_rig import PairedRig, advanced
from hilt.device.placed import pose_of
from hilt.device.rigfile import RigFile
from hilt.maths import delay, pair, so3, spatial, vec


@jit
def divide(X_WB, share, carries, own, others):
    """Divide the command into the part of the clock, which carries the mock-up or what it meets, and the other robot's."""
    X_B, X_W = pair.shares(spatial.load(X_WB), share)
    spatial.store(own, X_B if carries else X_W)
    spatial.store(others, X_W if carries else X_B)


@jit
def meet(here, twist, seen, age, carries, out):
    """Write the relative motion, from the clock's motion and the other robot's, which was measured `age` seconds ago."""
    own, others = spatial.load(here), advanced(seen.X, seen.V, age)
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
    """Push a pose into a delay line and read the one from `samples` ago, interpolated if need be."""
    zero = (0.0, 0.0, 0.0)
    delay.push_motion(line, vec.load(pose.p), zero, so3.load(pose.q), zero)
    spatial.store(out, (delay.read_position(line, samples), delay.read_attitude(line, samples)))


@jit
def relative_pose(X_GB, X_GW, out):
    spatial.store(out, pair.relative(spatial.load(X_GB), spatial.load(X_GW)))


@jit
def feel_opposite(wrench, X_WB, X_BS, X_WS, out):
    """Write the wrench that a sensor on the other side would measure."""
    X_WQ = spatial.compose(spatial.load(X_WB), spatial.load(X_BS))
    f, tau = pair.reaction(X_WQ, spatial.load(X_WS), vec.load(wrench.f), vec.load(wrench.tau))
    vec.store(out.f, f)
    vec.store(out.tau, tau)


_MET = record(hall=14, X_WB=POSE, V_WB=TWIST)


class RelativeRig(PairedRig):
    """The rig of a scenario whose motion two robots share. The scenario's sensor is fixed to what the mock-up meets. A
    sensor on the mock-up's side measures the opposite, and its wrench is converted into the scenario's."""

    def __init__(self, file: RigFile, pairing: Shared) -> None:
        super().__init__(file, pairing)
        self._share, self._carries = pairing.share, pairing.clock == pairing.moves  # whether the clock carries the mock-up
        self._met, self._line = np.zeros(1, _MET)[0], np.zeros(1, delay.MOTION_LINE)[0]
        self._wish = np.zeros(1, POSE)[0]
        self._ticks_later = pairing.later(pairing.clock) / pairing.period
        self._opposite = file.carrier == pairing.moves
        self._X_BS, self._X_WS = pose_of(file.X_BS), np.zeros(1, POSE)[0]
        self._X_WS["p"], self._X_WS["q"] = pairing.X_WS
        self._felt = np.zeros(1, WRENCH)[0]
        start = np.zeros(1, POSE)
        start["q"][:, 0] = self._wish["q"][0] = 1.0
        self._begin({"X_WB_cmd": start})  # compile now: the first packet must be answered in time
        put_later(self._line, self._own, self._ticks_later, self._wish)
        meet(self._wish, self._twist, self._partner.seen, 0.0, self._carries, self._met)
        relative_pose(self._wish, self._wish, self._met["X_WB"])
        feel_opposite(self._wrench, self._met["X_WB"], self._X_BS, self._X_WS, self._felt)

    def _begin(self, row: Any) -> None:
        divide(row["X_WB_cmd"][0], self._share, self._carries, self._own, self._others)
        zero = (0.0, 0.0, 0.0)
        delay.fill_motion(self._line, tuple(self._own["p"]), zero, tuple(self._own["q"]), zero, self.cycle)

    def _meet(self, row: np.ndarray, age: float) -> None:
        met = self._met
        meet(self._here, self._twist, self._partner.seen, age, self._carries, met)
        row["X_WB_meas"][0], row["V_WB_meas"][0] = met["X_WB"], met["V_WB"]
        row["hall_poses"][0] = met["hall"]

    def _feel(self, row: np.ndarray) -> None:
        if not (self._together and self._opposite):
            super()._feel(row)
            return
        feel_opposite(self._wrench, self._met["X_WB"], self._X_BS, self._X_WS, self._felt)
        row["F_So_S"][0] = self._felt

    def _divide(self, row: np.ndarray) -> Any:
        divide(row["X_WB_cmd"][0], self._share, self._carries, self._own, self._others)
        put_later(self._line, self._own, self._ticks_later, self._wish)
        return self._wish

    def write(self, row: np.ndarray) -> int:
        code = super().write(row)
        if self._together:
            own, others = self._course.last, self._partner.seen["sent"]
            relative_pose(*((own, others) if self._carries else (others, own)), row["X_WB_sent"][0])
        return code
