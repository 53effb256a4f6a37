"""The tick of freefloat as a NumPy user would write it: vectors are arrays, each tick is a Python call.

It has only the rules that the benchmark runs: `passive` and the mean rule for translation, `momentum` for rotation.
"""

import math
from types import SimpleNamespace

import numpy as np
from beside_cpp import Numbers

from hilt.core import faults
from hilt.dynamics.integrators import PASSIVE
from hilt.maths.so3 import SMALL


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # By hand: np.cross is made for stacks of vectors and takes several times as long for one.
    a0, a1, a2 = a
    b0, b1, b2 = b
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return np.array(
        [
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
            a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
            a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
            a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
        ]
    )


CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def rotate(q: np.ndarray, a: np.ndarray) -> np.ndarray:
    t = 2.0 * cross(q[1:], a)
    return a + q[0] * t + cross(q[1:], t)


def rotate_back(q: np.ndarray, a: np.ndarray) -> np.ndarray:
    return rotate(CONJUGATE * q, a)


def exp(phi: np.ndarray) -> np.ndarray:
    square = phi @ phi
    if square < SMALL:
        s = 0.5 - square * (1.0 / 48.0 - square / 3840.0)
        return np.array([1.0 - square * (0.125 - square / 384.0), *(s * phi)])
    angle = math.sqrt(square)
    return np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) / angle * phi)])


def log(q: np.ndarray) -> np.ndarray:
    sign = 1.0 if q[0] >= 0.0 else -1.0
    u = sign * q[1:]
    square = u @ u
    if square < SMALL:
        return (2.0 + square * (1.0 / 3.0 + square * (0.15 + square * (5.0 / 56.0)))) * u
    s = math.sqrt(square)
    return 2.0 * math.atan2(s, sign * q[0]) / s * u


class Port:
    """Energy in and out [J] of one port, or of one port per axis."""

    def __init__(self, into: np.ndarray, out: np.ndarray) -> None:
        self.into, self.out = into.copy(), out.copy()

    def book(self, axes: slice, work: np.ndarray) -> None:
        self.into[axes] += np.maximum(work, 0.0)
        self.out[axes] -= np.minimum(work, 0.0)

    def energy(self) -> np.ndarray:
        return self.into - self.out


class FreeFloat:
    """A free body with its observers, controller, ledger, set-point and guard."""

    def __init__(self, numbers: Numbers) -> None:
        limits = {name.removeprefix("p.guard."): value for name, value in numbers.items() if name.startswith("p.guard.")}
        self.limits = SimpleNamespace(**{name: value if value.size > 1 else float(value[0]) for name, value in limits.items()})
        self.dt = float(numbers["p.dt"][0])
        self.q_BS, self.arm_B = numbers["p.wrench.q_BS"], numbers["p.wrench.p_BcmSo_B"]
        self.mass, self.kind = float(numbers["p.translation.mass"][0]), int(numbers["p.translation.kind"][0])
        self.threshold = float(numbers["p.translation.threshold"][0])
        self.axes = slice(int(numbers["p.translation.axes"][0]))
        self.inverse_inertia = numbers["p.rotation.inverse_inertia"].reshape(3, 3)
        self.rotates, self.com_B = bool(numbers["p.rotation.rotates"][0]), numbers["p.setpoint.p_BoBcm_B"]

        self.position, self.velocity = numbers["x.translation.p"].copy(), numbers["x.translation.v"].copy()
        self.observer, self.observer_free, self.integrator, self.controller, self.made = (
            Port(numbers[f"x.{name}.into"], numbers[f"x.{name}.out"])
            for name in (
                "translation.observer",
                "translation.observer_free",
                "translation.integrator",
                "translation.controller",
                "rotation.made",
            )
        )
        self.q, self.L_W = numbers["x.rotation.q"], numbers["x.rotation.L_W"]
        self.guard_p, self.guard_v, self.guard_a, self.guard_q, self.guard_w = (numbers[f"x.guard.{name}"] for name in "pvaqw")
        self.blind = bool(numbers["x.guard.blind"][0])
        self.des_p, self.des_q = numbers["row.X_WB_cmd.p"], numbers["row.X_WB_cmd.q"]
        self.v_pc, self.v_c, self.beta = np.zeros(3), np.zeros(3), np.zeros(3)
        self.fault, self.fault_axis, self.fault_value, self.fault_limit = faults.NONE, -1, 0.0, 0.0

    def tick(self, q_meas: np.ndarray, f_S: np.ndarray, tau_S: np.ndarray) -> None:
        self.wrench_at_com(q_meas, f_S, tau_S)
        self.translate()
        self.rotate()
        self.set_point()
        self.guard(f_S, tau_S)

    def wrench_at_com(self, q_WB: np.ndarray, f_S: np.ndarray, tau_S: np.ndarray) -> None:
        q_WS = multiply(q_WB, self.q_BS)
        self.f_W = rotate(q_WS, f_S)
        self.tau_W = rotate(q_WS, tau_S) + cross(rotate(q_WB, self.arm_B), self.f_W)

    def translate(self) -> None:
        self.published = [(port.into.copy(), port.out.copy()) for port in (self.integrator, self.controller, self.made)]
        self.p_now, self.v_now = self.position.copy(), self.velocity.copy()
        self.H = 0.5 * self.mass * (self.velocity @ self.velocity)
        self.E_obs, self.E_obs_free = self.observer.energy(), self.observer_free.energy()

        axes, dt = self.axes, self.dt
        force, v_before = self.f_W[axes], self.v_now[axes]
        v_after = v_before + dt * force / self.mass
        created = -force * (0.5 * dt * force / self.mass) * dt
        self.observer_free.book(axes, created)
        self.observer.book(axes, created)
        energy, v_pc = self.observer.energy()[axes], np.zeros_like(force)
        if self.kind == PASSIVE:
            most = dt * np.abs(force) / self.mass
            np.divide(-energy, dt * force, out=v_pc, where=(energy < 0.0) & (np.abs(force) > self.threshold))
            v_pc = np.minimum(np.maximum(v_pc, -most), most)
        self.observer.book(axes, force * v_pc * dt)

        v_mean = 0.5 * (v_before + v_after)
        v_move = v_after if self.kind == PASSIVE else v_mean
        self.v_pc[axes], self.v_c[axes] = v_pc, v_move - v_pc
        self.beta[axes] = np.divide(v_pc, force, out=np.zeros_like(force), where=force != 0.0)
        for made, taken in zip((force * v_mean - force * v_move) * dt, force * v_pc * dt, strict=True):
            self.integrator.book(slice(1), made)
            self.controller.book(slice(1), taken)
        self.velocity[axes] = v_after
        self.position[axes] += dt * self.v_c[axes]

    def angular_velocity(self, q: np.ndarray, L_W: np.ndarray) -> np.ndarray:
        return rotate(q, self.inverse_inertia @ rotate_back(q, L_W))

    def rotate(self) -> None:
        dt, q, L_W, tau_W = self.dt, self.q, self.L_W, self.tau_W
        w_W = self.angular_velocity(q, L_W)
        self.q_now, self.w_now, self.L_now, self.H_rot, self.w_W = q, w_W, L_W, 0.5 * (L_W @ w_W), w_W
        if not self.rotates:
            return
        L_B = rotate_back(q, L_W + 0.5 * dt * tau_W)
        L_half = L_B - 0.5 * dt * cross(self.inverse_inertia @ L_B, L_B)
        turn_B = dt * (self.inverse_inertia @ L_half)
        q_next = multiply(q, exp(turn_B))
        self.q = (1.5 - 0.5 * (q_next @ q_next)) * q_next  # one Newton step towards unit length
        self.L_W = L_W + dt * tau_W
        self.w_W = w_after = self.angular_velocity(self.q, self.L_W)
        gain = 0.5 * dt * (tau_W @ (w_W + w_after)) + 0.5 * (L_W @ w_after - self.L_W @ w_W)
        self.made.book(slice(1), gain - rotate_back(q, tau_W) @ turn_B)

    def set_point(self) -> None:
        c_W = rotate(self.q, self.com_B)
        self.des_p, self.des_q = self.position - c_W, self.q
        self.des_v, self.des_w = self.velocity - cross(self.w_W, c_W), self.w_W

    def guard(self, f_S: np.ndarray, tau_S: np.ndarray) -> None:
        limits, dt = self.limits, self.dt
        velocity = (self.des_p - self.guard_p) / dt
        change = (velocity - self.guard_v) / dt
        jolt = np.zeros(3) if self.blind else (change - self.guard_a) / dt
        turned = (self.des_q != self.guard_q).any()
        turn = log(multiply(self.des_q, CONJUGATE * self.guard_q)) / dt if turned else np.zeros(3)
        spin = (turn - self.guard_w) / dt
        # Squares: the root is needed only for the message.
        force, torque, speed = f_S @ f_S, tau_S @ tau_S, velocity @ velocity
        acceleration, angular_speed, energy = change @ change, turn @ turn, self.H + self.H_rot
        if not math.isfinite(force + torque + speed + acceleration + angular_speed + energy + self.des_q[0]):
            self.trip(faults.NOT_FINITE, -1, math.nan, 0.0)
        self.check(faults.FORCE, force, limits.force)
        self.check(faults.TORQUE, torque, limits.torque)
        if (self.des_p < limits.workspace_min).any():
            axis = int(np.argmax(self.des_p < limits.workspace_min))
            self.trip(faults.WORKSPACE, axis, self.des_p[axis], limits.workspace_min[axis])
        if (self.des_p > limits.workspace_max).any():
            axis = int(np.argmax(self.des_p > limits.workspace_max))
            self.trip(faults.WORKSPACE, axis, self.des_p[axis], limits.workspace_max[axis])
        self.check(faults.SPEED, speed, limits.speed)
        self.check(faults.ANGULAR_SPEED, angular_speed, limits.angular_speed)
        self.check(faults.ACCELERATION, acceleration, limits.acceleration)
        self.check(faults.ANGULAR_ACCELERATION, spin @ spin, limits.angular_acceleration)
        self.check(faults.JERK, jolt @ jolt, limits.jerk)
        if energy > limits.energy:
            self.trip(faults.ENERGY, -1, energy, limits.energy)
        self.guard_p, self.guard_v, self.guard_a = self.des_p, velocity, change
        self.guard_q, self.guard_w, self.blind = self.des_q, turn, False

    def check(self, code: int, square: float, limit: float) -> None:
        if square > limit * limit:
            self.trip(code, -1, math.sqrt(square), limit)

    def trip(self, code: int, axis: int, value: float, limit: float) -> None:
        if self.fault == faults.NONE:
            self.fault, self.fault_axis, self.fault_value, self.fault_limit = code, axis, value, limit

    def numbers(self) -> Numbers:
        """Return the last state and signals, under hilt's names."""
        (made_in, made_out), (taken_in, taken_out), (turned_in, turned_out) = self.published
        named = {
            "x.translation.p": self.position,
            "x.translation.v": self.velocity,
            "x.translation.observer.into": self.observer.into,
            "x.translation.observer.out": self.observer.out,
            "x.translation.observer_free.into": self.observer_free.into,
            "x.translation.observer_free.out": self.observer_free.out,
            "x.translation.integrator.into": self.integrator.into,
            "x.translation.integrator.out": self.integrator.out,
            "x.translation.controller.into": self.controller.into,
            "x.translation.controller.out": self.controller.out,
            "x.rotation.q": self.q,
            "x.rotation.L_W": self.L_W,
            "x.rotation.made.into": self.made.into,
            "x.rotation.made.out": self.made.out,
            "x.guard.p": self.guard_p,
            "x.guard.v": self.guard_v,
            "x.guard.a": self.guard_a,
            "x.guard.q": self.guard_q,
            "x.guard.w": self.guard_w,
            "row.fault": self.fault,
            "row.F_Bcm_W.f": self.f_W,
            "row.F_Bcm_W.tau": self.tau_W,
            "row.X_WBcm.p": self.p_now,
            "row.X_WBcm.q": self.q_now,
            "row.V_WBcm.v": self.v_now,
            "row.V_WBcm.w": self.w_now,
            "row.L_W": self.L_now,
            "row.X_WBcm_next.p": self.position,
            "row.X_WBcm_next.q": self.q,
            "row.V_WBcm_next.v": self.velocity,
            "row.V_WBcm_next.w": self.w_W,
            "row.H": self.H,
            "row.H_rot": self.H_rot,
            "row.v_pc": self.v_pc,
            "row.v_c": self.v_c,
            "row.beta": self.beta,
            "row.E_obs": self.E_obs,
            "row.E_obs_free": self.E_obs_free,
            "row.X_WB_sim.p": self.des_p,
            "row.X_WB_sim.q": self.des_q,
            "row.V_WB_sim.v": self.des_v,
            "row.V_WB_sim.w": self.des_w,
            "row.X_WB_cmd.p": self.des_p,
            "row.X_WB_cmd.q": self.des_q,
            "row.V_WB_cmd.v": self.des_v,
            "row.V_WB_cmd.w": self.des_w,
            "row.X_WB_sent.p": self.des_p,
            "row.X_WB_sent.q": self.des_q,
            "row.W_integrator.into": made_in,
            "row.W_integrator.out": made_out,
            "row.W_controller.into": taken_in,
            "row.W_controller.out": taken_out,
            "row.W_rotation.into": turned_in,
            "row.W_rotation.out": turned_out,
        }
        return {name: np.atleast_1d(value) for name, value in named.items()}
