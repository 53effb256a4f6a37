"""The signal table: every wire of every block diagram, with its unit, frame and meaning.

One record holds all signals of a tick. It is the wires, the log row and the shared-memory layout at once, so all numbers
are eight bytes wide and nothing is padded: the bytes of a row are also the bytes of its ROS 2 message (record/recording.py).
`docs/signals.md` is made from this table.

Names: `X_WB` pose of B in W, `V_WB` its twist, `F_So_S` wrench at So expressed in S. Quaternions are w, x, y, z.
Row k holds what is true at t = kT, and the set-point that the tick sends for t + T.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Fields = list[tuple[Any, ...]]


def record(**fields: Any) -> np.dtype:
    """A record type: `record(p=3, q=4, energy="f8", port=PORT)`; a whole number is that many floats."""
    columns: Fields = [("_", "i8")] if not fields else []
    for name, kind in fields.items():
        columns.append(
            (name, "f8", (kind,)) if isinstance(kind, int) else (name, *kind) if isinstance(kind, tuple) else (name, kind)
        )
    # np.record, not np.void: attribute access also without the compiler (NUMBA_DISABLE_JIT=1).
    return np.dtype((np.record, np.dtype(columns, align=True)))


FLOAT = np.dtype("f8")
INTEGER = np.dtype("i8")
POSE = record(p=3, q=4)
TWIST = record(v=3, w=3)
WRENCH = record(f=3, tau=3)
PORT = record(into="f8", out="f8")

UNITS_OF_PARTS = {"p": "m", "q": "1", "v": "m/s", "w": "rad/s", "f": "N", "tau": "N·m", "into": "J", "out": "J"}


@dataclass(frozen=True)
class Signal:
    """One wire: `unit` is empty for records, whose parts have the units of UNITS_OF_PARTS."""

    name: str
    kind: np.dtype
    size: int
    unit: str
    frame: str
    meaning: str

    def column(self) -> tuple[Any, ...]:
        return (self.name, self.kind, (self.size,)) if self.size > 1 else (self.name, self.kind)


TABLE: dict[str, Signal] = {}


def declare(name: str, kind: np.dtype, meaning: str, *, size: int = 1, unit: str = "", frame: str = "") -> None:
    """Add a signal to the table; another package may add its own."""
    if name in TABLE:
        raise ValueError(f"signal {name} is declared already: {TABLE[name].meaning}")
    TABLE[name] = Signal(name, kind, size, unit, frame, meaning)


# The loop
declare("tick", INTEGER, "number of the tick, from 0", unit="1")
declare("t", FLOAT, "time of the tick, tick · T", unit="s")
declare("lateness", FLOAT, "how much later than its deadline the tick began", unit="s")
declare("done", INTEGER, "1 when the scenario has come to its end", unit="1")
declare("fault", INTEGER, "code of the first fault, 0 for none", unit="1")
declare("fault_axis", INTEGER, "axis of the fault (0, 1, 2), -1 for none", unit="1")
declare("fault_value", FLOAT, "the value that tripped the guard", unit="SI")
declare("fault_limit", FLOAT, "the limit it passed", unit="SI")

# Measured: what the rig gives the tick
declare("X_WB_meas", POSE, "pose of the mock-up by the robot's encoders", frame="W")
declare("V_WB_meas", TWIST, "twist of the mock-up by the robot's encoders", frame="W")
declare("F_So_S", WRENCH, "wrench on the mock-up as the sensor measures it, at the sensor's origin", frame="S")

# Sense
declare("F_Bcm_W", WRENCH, "measured wrench, shifted to the centre of mass", frame="W")

declare("p_C_W", FLOAT, "tip of the rod by the encoders", size=3, unit="m", frame="W")
declare("v_C_W", FLOAT, "its velocity by the encoders", size=3, unit="m/s", frame="W")
declare("p_C_des_W", FLOAT, "tip of the simulated rod at t, relative to the target", size=3, unit="m", frame="W")
declare("v_C_des_W", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare("F_mea_W", FLOAT, "measured contact force on the target", size=3, unit="N", frame="W")
declare("F_act_W", FLOAT, "measured force, the sensor's delay taken off", size=3, unit="N", frame="W")
declare("in_contact", INTEGER, "1 while the measured force says so", unit="1")
declare("e_W", FLOAT, "direction of the measured force while in contact, else 0", size=3, unit="1", frame="W")

# Identify
declare("k_hat", FLOAT, "identified stiffness of the contact", unit="N/m")
declare("c_hat", FLOAT, "identified damping of the contact", unit="N·s/m")
declare("k_var", FLOAT, "variance of the stiffness", unit="N²/m²")
declare("c_var", FLOAT, "variance of the damping", unit="N²·s²/m²")
declare("identified", INTEGER, "1 when the stiffness may be used", unit="1")

# Compensate
declare("F_comp_W", FLOAT, "force with the robot's delay taken off", size=3, unit="N", frame="W")
declare("F_alpha_W", FLOAT, "force of the energy controller", size=3, unit="N", frame="W")
declare("F_hat_W", FLOAT, "force that drives the simulated bodies", size=3, unit="N", frame="W")
declare("E_contact", FLOAT, "energy stored in the contact since it began, as observed", unit="J")
declare("m_eff", FLOAT, "mass that the contact feels along its direction", unit="kg")

# Dynamics
declare("X_NA", POSE, "pose of the servicer at t: centre of mass and attitude", frame="N")
declare("V_NA", TWIST, "its twist", frame="N")
declare("X_NB", POSE, "pose of the target at t: centre of mass and attitude", frame="N")
declare("V_NB", TWIST, "its twist", frame="N")
declare("P_N", FLOAT, "momentum of both bodies", size=3, unit="kg·m/s", frame="N")
declare("L_N", FLOAT, "angular momentum of both bodies about the origin", size=3, unit="kg·m²/s", frame="N")
declare("X_WBcm", POSE, "pose of the simulated body at t: centre of mass and attitude", frame="W")
declare("V_WBcm", TWIST, "twist of the simulated body at t, not corrected by the controller", frame="W")
declare("X_WBcm_next", POSE, "pose of the simulated body at t + T", frame="W")
declare("V_WBcm_next", TWIST, "twist of the simulated body at t + T", frame="W")
declare("L_W", FLOAT, "angular momentum about the centre of mass", size=3, unit="kg·m²/s", frame="W")
declare("H", FLOAT, "kinetic energy of translation", unit="J")
declare("H_rot", FLOAT, "kinetic energy of rotation", unit="J")
declare("v_pc", FLOAT, "velocity taken off by the passivity controller from t to t + T", size=3, unit="m/s", frame="W")
declare("v_c", FLOAT, "velocity at which the set-point moves from t to t + T", size=3, unit="m/s", frame="W")
declare("beta", FLOAT, "damping coefficient of the passivity controller", size=3, unit="m/(s·N)", frame="W")
declare("E_obs", FLOAT, "energy observed with the controller", size=3, unit="J", frame="W")
declare("E_obs_free", FLOAT, "energy observed as if there were no controller", size=3, unit="J", frame="W")

# Ground and link (payload)
declare("v_r", FLOAT, "reference velocity that the operator commands", size=3, unit="m/s", frame="W")
declare("x_vir", FLOAT, "hand of the virtual arm at t, on the ground", size=3, unit="m", frame="W")
declare("v_vir", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare("x_tvir", FLOAT, "virtual payload: its grip", size=3, unit="m", frame="W")
declare("v_tvir", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare("f_vir", FLOAT, "force of the virtual arm on the virtual payload", size=3, unit="N", frame="W")
declare("v_r_orbit", FLOAT, "reference velocity as it is played out on orbit", size=3, unit="m/s", frame="W")
declare("x_vir_orbit", FLOAT, "hand of the virtual arm as it is played out on orbit", size=3, unit="m", frame="W")
declare("link_silence", FLOAT, "age of the newest packet on orbit beyond the play-out delay", unit="s")
declare("link_sent", INTEGER, "packets sent to orbit", unit="1")
declare("link_lost", INTEGER, "packets lost on the way", unit="1")

# Orbit (payload)
declare("x_s", FLOAT, "hand of the slave arm, measured", size=3, unit="m", frame="W")
declare("v_s", FLOAT, "its velocity, measured", size=3, unit="m/s", frame="W")
declare("f_s", FLOAT, "force of the slave arm on the payload, measured at the wrist", size=3, unit="N", frame="W")
declare("v_sc", FLOAT, "velocity commanded to the slave arm from t to t + T", size=3, unit="m/s", frame="W")
declare("m_hat", FLOAT, "mass of the payload as identified on orbit", unit="kg")
declare("m_var", FLOAT, "its variance", unit="kg²")
declare("b_hat", FLOAT, "bias of the wrist sensor along the operator's direction", unit="N")
declare("k_grip_hat", FLOAT, "stiffness of the grip as identified", unit="N/m")
declare("identify_frozen", INTEGER, "1 while something else than the arm moves the payload", unit="1")
declare("m_sent", FLOAT, "mass that orbit has reported to the ground after the push, 0 before", unit="kg")
declare("k_sent", FLOAT, "stiffness of the grip reported with it", unit="N/m")
declare("x_sent", FLOAT, "place of the hand reported with it", size=3, unit="m", frame="W")
declare("link_state", INTEGER, "0 link alive, 1 silent, 2 coming back", unit="1")

# Command
declare("X_WB_des", POSE, "set-point: pose of the mock-up for t + T", frame="W")
declare("V_WB_des", TWIST, "twist of the mock-up at the set-point", frame="W")
declare("hexa_angles", FLOAT, "crank angles of the motion table for the set-point", size=6, unit="rad")
declare("stage_xy", FLOAT, "place of the X-Y stage under it, from its middle", size=2, unit="m", frame="W")

# Truth: what the simulated world knows and no tick may read
declare("X_WB_true", POSE, "where the robot really holds the mock-up", frame="W")
declare("V_WB_true", TWIST, "how the robot really moves the mock-up", frame="W")
declare("F_Bcm_true_W", WRENCH, "true wrench of the world on the mock-up, at its centre of mass", frame="W")
declare("F_C_true_W", FLOAT, "true contact force on the target", size=3, unit="N", frame="W")
declare("p_C_true_W", FLOAT, "where the rod's tip really is", size=3, unit="m", frame="W")
declare("penetration", FLOAT, "true depth of the tip in a frame", unit="m")
declare("collision", INTEGER, "number of the present or last collision, from 1", unit="1")
declare("contact", INTEGER, "wall or frame that is touched: 1 front, -1 rear, 0 none", unit="1")

# Ledger: joules that entered (into) and left (out) the simulated body since the start, by cause
declare("W_environment", PORT, "work of the world on the robot: true wrench (trapezoid) on true motion")
declare("W_sampling", PORT, "made by holding the wrench over a tick")
declare("W_delay", PORT, "made by the robot's answer: held wrench on commanded minus true motion")
declare("W_sensor", PORT, "made by the sensor: measured minus true wrench on commanded motion")
declare("W_compensation", PORT, "made by the compensation: compensated minus measured force on commanded motion")
declare("W_controller", PORT, "made by the passivity or energy controller")
declare("W_integrator", PORT, "made by the integrator of the translation")
declare("W_rotation", PORT, "made by the integrator of the rotation")

LOOP = ("tick", "t", "lateness", "done", "fault", "fault_axis", "fault_value", "fault_limit")


def row_type(names: Iterable[str]) -> np.dtype:
    """The record of a system: the loop's signals and those named, in the order of the table."""
    wanted = set(LOOP) | set(names)
    unknown = wanted - set(TABLE)
    if unknown:
        raise ValueError(f"no such signals in the table: {', '.join(sorted(unknown))}")
    return np.dtype((np.record, np.dtype([s.column() for s in TABLE.values() if s.name in wanted], align=True)))


def leaves(dtype: np.dtype, prefix: str = "") -> dict[str, tuple[int, np.dtype, tuple[int, ...]]]:
    """Flat view of a record: dotted name -> (byte offset, number type, shape)."""
    flat: dict[str, tuple[int, np.dtype, tuple[int, ...]]] = {}
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]  # type: ignore[index]
        base, shape = kind.subdtype or (kind, ())
        if base.names:
            for inner, (inner_offset, number, inner_shape) in leaves(base).items():
                flat[f"{prefix}{name}.{inner}"] = (offset + inner_offset, number, shape + inner_shape)
        else:
            flat[prefix + name] = (offset, base, shape)
    return flat


def unit_of(dotted: str) -> str:
    """Unit of a flat name such as `X_WB.p` or `H`."""
    name, _, part = dotted.partition(".")
    return UNITS_OF_PARTS[part] if part else TABLE[name].unit
