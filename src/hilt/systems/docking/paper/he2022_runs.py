"""He & Shen 2022: the runs behind the claims and figures, and the values derived from them."""

import functools
import math

import numpy as np

from hilt import job
from hilt.job import Result
from hilt.systems.docking.analysis.space import ideal_run
from hilt.systems.docking.docking import Docking
from hilt.systems.docking.identify import FORGETTING
from hilt.systems.docking.metrics import speeds_after
from hilt.systems.docking.views.contacts import along, collisions_of, free_travel, scenario_of, simulated_touch, tip_position

PAPER = "identify.kind=akf"  # increments, as in the paper
NOISE = "sensor.noise=0.5 N"
ENCODER = ("encoder.position_noise=2 um", "encoder.velocity_noise=0.1 mm/s")
SECOND_ORDER = ("robot.kind=second-order", "robot.damping_ratio=1", "sensor.delay=2 ms")
BENCHES = ("bench-1.93", "bench-2.64")
SEEDS = range(1, 11)


@functools.cache
def run(name: str, method: str, *settings: str) -> Result:
    return job.simulate(*job.find("docking", name, [f"compensate.method={method}", *settings]))


def table1(method: str, delay_ms: float, *settings: str) -> Result:
    return run("table1", method, f"robot.delay={delay_ms:g} ms", PAPER, *settings)


def bench(name: str, method: str, *settings: str) -> Result:
    return run(name, method, PAPER, *settings)


@functools.cache
def ideal(name: str) -> Result:
    return ideal_run(scenario(name))


def scenario(name: str) -> Docking:
    return scenario_of(run(name, "none", PAPER))


def noisy(delay_ms: float) -> list[Result]:
    """PIC with a noisy sensor, ten seeds."""
    return [table1("pic", delay_ms, NOISE, f"seed={seed}") for seed in SEEDS]


def omega(values: Docking) -> float:
    return math.sqrt(values.contact.stiffness / values.reduced_mass)


def at_the_end(result: Result, signal: str) -> list[float]:
    """A signal of the identification at the last valid sample of each collision."""
    rows, found = result.rows, []
    for collision in collisions_of(result):
        part = rows[collision.first : collision.last + 1]
        known = np.flatnonzero(part["identified"] == 1)
        if len(known):
            found.append(float(part[signal][known[-1]]))
    return found


def stiffness_error(result: Result) -> float:
    """Mean of |k̂/k - 1| over the collisions."""
    k = scenario_of(result).contact.stiffness
    return float(np.mean([abs(value / k - 1.0) for value in at_the_end(result, "k_hat")]))


def damping_error(result: Result) -> float:
    """Mean of |ĉ - c| over the collisions, relative to critical damping, because the true damping may be zero."""
    values = scenario_of(result)
    critical = 2.0 * math.sqrt(values.contact.stiffness * values.reduced_mass)
    return float(np.mean([abs(value - values.contact.damping) for value in at_the_end(result, "c_hat")])) / critical


def off(values: list[float]) -> float:
    """Largest distance from 1."""
    return max(abs(value - 1.0) for value in values)


def growth(result: Result) -> float:
    """Mean growth per hit of speed / ideal speed."""
    cov = result.metrics["cov"]
    return float(cov[-1] ** (1.0 / len(cov)))


def overshoot(result: Result) -> float:
    """Largest speed in the first collision / approach speed."""
    v = np.abs(along(result, "v_C_des_W"))
    return float(v[result.rows["collision"] == 1].max() / v[0])


def last_speed(result: Result) -> float:
    """Speed after the last collision / approach speed."""
    return speeds_after(result.rows, result.scenario)[-1] / scenario_of(result).approach.speed


def critical_delay(values: Docking) -> float:
    """Delay [s] above which m x'' + c x'(t-h) + k x(t-h) = 0 grows: ω² = (c² + √(c⁴ + 4m²k²))/(2m²), h = atan(cω/k)/ω."""
    k, c, m = values.contact.stiffness, values.contact.damping, values.reduced_mass
    w = math.sqrt((c * c + math.sqrt(c**4 + 4.0 * m * m * k * k)) / (2.0 * m * m))
    return math.atan(c * w / k) / w


def untreated_speed(name: str, delay: float) -> float:
    """Speed after the last collision / approach speed, on a robot with a pure delay."""
    return last_speed(
        run(
            name,
            "none",
            "robot.kind=delay",
            f"robot.delay={delay:.9f} s",
            "sensor.delay=0 s",
            "loop.period=0.05 ms",
            "loop.duration=8 s",
        )
    )


def delay_of_dac(force: float) -> float:
    """Delay [s] at which DAC's mean CoF equals `force`, interpolated between runs 1 ms apart."""
    delays = np.arange(8, 21)
    return float(np.interp(force, [table1("dac", float(ms)).metrics["mean_cof"] for ms in delays], 1e-3 * delays))


def lag(late: np.ndarray, true: np.ndarray, period: float) -> float:
    """Lag [s] of one curve behind another, for lags short compared with both."""
    slope = np.gradient(true, period)
    return float(-np.dot(late - true, slope) / np.dot(slope, slope))


def lags_of_eq_6(sensor_delay: float) -> dict[str, float]:
    """Lags [s] behind the true force: measured, eq. 6 read as a lead, and eq. 6 as printed (a low-pass)."""
    result = bench("bench-2.64", "pida", f"sensor.delay={sensor_delay} s")
    period = scenario_of(result).loop.period
    true, measured = along(result, "F_C_true_W"), along(result, "F_mea_W")
    printed = np.zeros_like(measured)
    for k in range(1, len(measured)):  # F_mea = F_act + τ_p F_act', solved for F_act
        printed[k] = printed[k - 1] + period / (sensor_delay + period) * (measured[k] - printed[k - 1])
    curves = {"measured": measured, "lead": along(result, "F_act_W"), "printed": printed}
    return {name: lag(curve, true, period) for name, curve in curves.items()}


def rebound_with_eq_19(sign: float, delay_ms: int = 10) -> float:
    """Table 1 in one axis with the controller of eq. 15, eq. 17 and eq. 19: speed after the first contact / speed before it.

    The tick is 1 ms and the robot `delay_ms` late. `sign` is +1 as printed, -1 as it must be.
    """
    values, period = scenario("table1"), 1e-3
    k, mass, v0 = values.contact.stiffness, values.reduced_mass, values.approach.speed
    x, v, energy, alpha, worked = 0.0, v0, 0.0, 0.0, 0.0
    late = [-v0 * period * n for n in range(delay_ms, 0, -1)]
    for _ in range(1000):
        late.append(x)
        force = max(0.0, k * late.pop(0))
        if force == 0.0 and x < 0.0:
            return abs(v) / v0
        energy += period * (force * v + worked)
        alpha = sign * energy / (v * period) if energy < 0.0 < force else 0.0
        worked = alpha * v
        v -= period * (force + alpha) / mass
        x += period * v
        if not abs(v) < 1e6 * v0:
            return math.inf
    return math.nan


def controller_share(result: Result) -> tuple[float, float]:
    """Largest force of the energy controller on the way in and on the way out / largest measured force."""
    measured, alpha = along(result, "F_mea_W"), along(result, "F_alpha_W")
    inwards = along(result, "v_C_des_W") * np.sign(measured) > 0
    share = np.abs(alpha) / np.abs(measured).max()
    return float(share[inwards].max()), float(share[~inwards].max())


def slots(result: Result, values: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Collisions side by side in slots of equal length, each starting at the touch of the simulated rod; flights are left out."""
    x, y = [np.zeros(0)], [np.zeros(0)]
    t = result.rows["t"]
    for collision in collisions_of(result):
        start = simulated_touch(result, collision)
        part = (t >= start - 0.1 * length) & (t < start + 0.88 * length)
        x += [t[part] - start + (collision.number - 1) * length, np.array([np.nan])]
        y += [values[part], np.array([np.nan])]
    return np.concatenate(x), np.concatenate(y)


def error_by_collision(result: Result) -> np.ndarray:
    """|k̂/k - 1| at the end of each collision."""
    return np.abs(np.array(at_the_end(result, "k_hat")) / scenario_of(result).contact.stiffness - 1.0)


def increments(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Collision number, Δp·e, Δv·e and ΔF·e of the samples used by the identification in `result`."""
    rows = result.rows
    force, position, speed = (along(result, name) for name in ("F_act_W", "p_C_W", "v_C_W"))
    used, samples, peak = [], 0, 0.0
    for k in range(1, len(rows)):
        samples = samples + 1 if rows["in_contact"][k] else 0
        peak = max(peak, abs(force[k])) if samples else 0.0
        if samples > 2 and min(abs(force[k]), abs(force[k - 1])) > 0.1 * peak:
            used.append(k)
    now, e = np.array(used), np.sign(force[used])
    dp, dv, dF = (e * (each[now] - each[now - 1]) for each in (position, speed, force))
    return rows["collision"][now], dp, dv, dF


def stiffness_by_eq_13(result: Result, printed: bool) -> np.ndarray:
    """|k̂/k - 1| at the end of each collision, from the same increments with eq. 12 and eq. 13.

    As printed, R follows the innovation y and the prior P; hilt uses the residual after the update and the posterior P.
    """
    number, dp, dv, dF = increments(result)
    P, x, R, found = np.diag([1e10, 1e6]), np.zeros(2), 1.0, np.zeros(len(dp))
    for n, (H, z) in enumerate(zip(np.column_stack([dp, dv]), dF, strict=True)):
        P = P + np.diag([1e2, 1e-2])
        prior, y = H @ P @ H, z - H @ x
        gain = P @ H / (prior + R)
        x, P = x + gain * y, P - np.outer(gain, H) @ P
        share = (1.0 - FORGETTING) / (1.0 - FORGETTING ** (n + 2))
        seen = y * y + prior if printed else (z - H @ x) ** 2 + H @ P @ H
        R, found[n] = (1.0 - share) * R + share * seen, x[0]
    last = [np.flatnonzero(number == each)[-1] for each in np.unique(number)]
    return np.abs(found[last] / scenario_of(result).contact.stiffness - 1.0)


def time_in_contact(result: Result) -> float:
    """From the first touch of the simulated rod until it leaves [s]."""
    inside = np.abs(tip_position(result, "p_C_des_W")) > free_travel(scenario_of(result))
    change = np.diff(inside.astype(int))
    t = result.rows["t"]
    return float(t[np.flatnonzero(change == -1)[0]] - t[np.flatnonzero(change == 1)[0]])


def behind_the_desired(result: Result, signal: str) -> float:
    """Lag [s] of a force signal behind the contact force at the simulated rod's position."""
    values, x = scenario_of(result), tip_position(result, "p_C_des_W")
    depth = np.where(np.abs(x) > free_travel(values), x - np.sign(x) * free_travel(values), 0.0)
    desired = values.contact.stiffness * depth + np.where(
        depth != 0.0, values.contact.damping * along(result, "v_C_des_W"), 0.0
    )
    return lag(along(result, signal), desired, values.loop.period)


def moments_of_eq_27() -> tuple[float, float]:
    """Errors of eq. 27 and eq. 28 against F_comp at the simulated tip, and of eq. 20 and eq. 30 against F_α there; `oblique`.

    The first is relative to the largest moment; the second, whose lever arm ends at the robot's tip, relative to its angular
    impulse.
    """
    rows = run("oblique", "pida", PAPER).rows
    tip, desired = rows["p_C_W"], rows["p_C_des_W"]
    act, comp, alpha = (rows[name] for name in ("F_act_W", "F_comp_W", "F_alpha_W"))
    origin = np.array(scenario("oblique").start_of_tip) - (0.0, 0.0, 0.2)  # 0.2 m behind the tip: the paper gives no position
    moment = np.cross(tip - origin, act) + np.cross(desired - tip, comp) + np.cross(tip - origin, comp - act)
    right = np.cross(desired - origin, comp)
    levers = np.linalg.norm(np.cross(desired - tip, alpha), axis=1).sum()
    impulse = np.linalg.norm(np.cross(desired - origin, alpha), axis=1).sum()
    return float(np.abs(moment - right).max() / np.abs(right).max()), float(levers / impulse)
