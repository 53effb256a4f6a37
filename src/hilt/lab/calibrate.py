"""Identify the load on the sensor from static poses, by least squares. `hilt calibrate tool RIG.toml`.

    f_i = b_f + m g_i        τ_i = b_τ + m c × g_i        g_i = R_iᵀ g, gravity in the sensor's axes of pose i

Both are linear: four unknowns in the forces, six in the torques. Their accuracy depends on how far gravity moves in the
sensor's axes. With d_i = g_i - mean and noise σ_f, σ_τ of a mean over n samples, N poses of any attitude give

    σ_m = σ_f/√(n N)/g        σ_c = σ_τ/√(n ⅔N)/(m g)

Example: 2 kg in 12 poses with 0.3 N and 0.015 N·m (0.3 N at 50 mm). One raw sample per pose gives 9 g and 0.27 mm (1 σ), not
reliably 1 % (20 g); two samples give that at 3 σ. With 0.1 N·m one sample gives 1.8 mm, and 1 mm at 3 σ takes 30. `run`
averages SAMPLES = 250 per pose: 0.6 g, and 0.02 mm or 0.11 mm. With tilts only, gravity moves less: 12 tilts of up to 30°, as
`run` uses, make m 2.7 times worse and c 3.3, 2.9 and 2.2 times along x, y and z; tilts of up to 20° 4 times, and 4.8, 4.3 and
3.2 times. Static poses do not show the inertia; the rig file has to give it.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.core.guard import Limits
from hilt.core.signals import POSE
from hilt.device.rigfile import RigFile
from hilt.device.rigtext import set_table
from hilt.lab import gentle
from hilt.lab.gentle import Track, Watch
from hilt.live.ready import Ask
from hilt.maths import so3
from hilt.maths.quintic import quintic_positions
from hilt.sense.tool_load import GRAVITY, ToolLoad

SAMPLES = 250  # averaged in each pose
SPREAD = 0.05  # least rms spread of gravity's direction, in each of two directions (3°)
_UPRIGHT: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
_GOLDEN = math.pi * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True)
class Tool:
    """The identified load, in the sensor's axes, with 1 σ of each parameter from the scatter of the poses."""

    mass: float
    centre_of_mass: tuple[float, ...]
    force_bias: tuple[float, ...]
    torque_bias: tuple[float, ...]
    mass_deviation: float
    centre_of_mass_deviation: tuple[float, ...]
    force_residual: float  # rms over poses and axes [N]
    torque_residual: float  # [N·m]
    condition: float  # of the torques' equations, g = 1; 2 is excellent
    poses: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def load(self) -> ToolLoad:
        return ToolLoad.model_validate(
            {name: getattr(self, name) for name in ("mass", "centre_of_mass", "force_bias", "torque_bias")}
        )

    def words(self) -> list[str]:
        """Return lines for the terminal."""
        c, d = ([1e3 * part for part in each] for each in (self.centre_of_mass, self.centre_of_mass_deviation))
        force, torque = (", ".join(f"{part:.3g}" for part in each) for each in (self.force_bias, self.torque_bias))
        return [
            f"mass            {self.mass:.4g} kg ± {1e3 * self.mass_deviation:.2g} g",
            f"centre of mass  {c[0]:.2f}, {c[1]:.2f}, {c[2]:.2f} mm ± {d[0]:.2g}, {d[1]:.2g}, {d[2]:.2g} mm",
            f"bias            {force} N;  {torque} N·m",
            f"residual        {self.force_residual:.2g} N, {self.torque_residual:.2g} N·m over {self.poses} poses; "
            f"condition {self.condition:.2g}",
        ]


def identify_tool(poses: Any, wrenches: Any, gravity: Any = GRAVITY) -> Tool:
    """Identify the load from attitudes q_WS (n, 4) of the sensor and mean wrenches (n, 6) at its origin, in its axes."""
    q, F = np.asarray(poses, float), np.asarray(wrenches, float)
    if len(q) < 4:
        raise InputError(f"{len(q)} poses are given; at least 4 are needed, and 12 are recommended; add some")
    if not (np.isfinite(q).all() and np.isfinite(F).all()):
        raise InputError("a pose or a wrench is not a finite number; check the sensor and measure again")
    g = np.array([so3.rotate_back(tuple(each), tuple(gravity)) for each in q])
    condition = _excitation(g)
    f_design = np.column_stack([g.reshape(-1), np.tile(np.eye(3), (len(q), 1))])
    tau_design = np.column_stack([np.vstack([-_skew(each) for each in g]), np.tile(np.eye(3), (len(q), 1))])
    (mass, *force_bias), f_cov, f_rms = _solve(f_design, F[:, :3].reshape(-1))
    tau_fit, tau_cov, tau_rms = _solve(tau_design, F[:, 3:].reshape(-1))
    if not mass > 3.0 * math.sqrt(f_cov[0, 0]):
        raise InputError(
            f"the load comes out as {mass:.3g} kg ± {math.sqrt(f_cov[0, 0]):.2g} kg, which is not a valid mass; "
            "check the sensor's axes (sensor.attitude) and whether it carries the tool at all"
        )
    c = tau_fit[:3] / mass
    c_deviation = np.sqrt(np.diag(tau_cov)[:3] + c * c * f_cov[0, 0]) / mass
    return Tool(
        float(mass),
        _floats(c),
        _floats(force_bias),
        _floats(tau_fit[3:]),
        math.sqrt(f_cov[0, 0]),
        _floats(c_deviation),
        f_rms,
        tau_rms,
        condition,
        len(q),
    )


def _excitation(g: np.ndarray) -> float:
    """Return the condition of the torques' equations; refuse poses that leave a parameter undetermined, and say which."""
    d = (g - g.mean(axis=0)) / np.linalg.norm(g[0])
    squares, axes = np.linalg.eigh(d.T @ d / len(g))
    spread, along = np.sqrt(np.maximum(squares[::-1], 0.0)), axes[:, -1]
    advice = "add poses that tilt the tool by 30° or more about two different horizontal axes"
    if spread[0] < SPREAD:
        raise InputError(
            f"all {len(g)} poses hold the sensor in nearly the same attitude (they spread by {math.degrees(spread[0]):.2g}°, "
            f"{math.degrees(SPREAD):.2g}° are needed); weight and bias cannot be distinguished; {advice}"
        )
    if spread[1] < SPREAD:
        raise InputError(
            f"the {len(g)} poses move gravity along only one direction of the sensor, [{along[0]:.2f}, {along[1]:.2f}, "
            f"{along[2]:.2f}]; the centre of mass along it cannot be determined; {advice}"
        )
    # The torques' normal matrix for m c, with the bias eliminated: sum |d|² 1 - d dᵀ.
    weakest, strongest = spread[1] ** 2 + spread[2] ** 2, spread[0] ** 2 + spread[1] ** 2
    return float(math.sqrt(strongest / weakest))


def _solve(design: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Solve least squares; returns the solution, its covariance and the rms of the residual."""
    solution = np.linalg.lstsq(design, y, rcond=None)[0]
    r = y - design @ solution
    variance = r @ r / (len(y) - design.shape[1])
    return solution, variance * np.linalg.inv(design.T @ design), float(np.sqrt(r @ r / len(y)))


def _skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(each) for each in values)


def tilts(poses: int, tilt: float) -> list[tuple[float, ...]]:
    """Return turns about horizontal axes of W, spread evenly over a disc by the golden angle."""
    turns = [(tilt * math.sqrt((i + 1) / poses), _GOLDEN * i) for i in range(poses)]
    return [so3.exp((size * math.cos(angle), size * math.sin(angle), 0.0)) for size, angle in turns]


def path_of(stops: list[tuple[float, ...]], period: float, limits: Limits, dwell: int) -> tuple[np.ndarray, list[int]]:
    """Return a path that turns in place from pose to pose and back, resting at each, and the tick at which each rest begins."""
    q_now, pieces, rests, length = _UPRIGHT, [], [], 0
    speed = gentle.SHARE * limits.angular_speed
    for i, q_next in enumerate([*stops, _UPRIGHT]):
        angle = math.hypot(*so3.between(q_now, q_next))
        ticks = math.ceil(gentle.quintic_time(angle, speed, gentle.ANGULAR_ACCELERATION) / period) + 1
        piece = np.zeros(ticks + (dwell if i < len(stops) else 0), POSE)
        piece["q"] = q_next
        moving = quintic_positions(np.arange(1, ticks + 1) / ticks)
        piece["q"][:ticks] = [so3.interpolate(q_now, q_next, float(share)) for share in moving]
        rests.append(length + ticks)
        length += len(piece)
        pieces.append(piece)
        q_now = q_next
    return np.concatenate(pieces), rests[:-1]


def means(track: Track, rests: list[int], settle: int, samples: int, q_BS: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the sensor's attitude and the mean wrench of each rest."""
    begins = [rest + settle for rest in rests]
    spans = [np.flatnonzero((begin < track.progress) & (track.progress <= begin + samples)) for begin in begins]
    q = [so3.multiply(tuple(track.measured["q"][span[-1]]), tuple(q_BS)) for span in spans]
    return np.array(q), np.array([track.wrench[span].mean(axis=0) for span in spans])


def run(
    rig: RigFile,
    poses: int = 12,
    *,
    tilt: float = math.radians(30.0),
    samples: int = SAMPLES,
    settle: float = 1.0,
    watch: Watch | None = None,
    ask: Ask | None = None,
    system: str | None = None,
) -> Tool:
    """Turn the tool through static poses about the mock-up's origin, measure and identify; the robot returns to its start.

    It turns at half of limits.angular_speed. The tool needs free space to turn: limits.workspace checks only the origin.
    Armed like a run: with lab.arm = "ask" the robot is held until `ask` says yes.
    """
    attitude = rig.setting("sensor.attitude", _UPRIGHT, system)
    period = rig.robot_section.cycle
    rest = math.ceil(settle / period)
    offsets, rests = path_of(tilts(poses, tilt), period, rig.limits, rest + samples)
    track = gentle.drive(rig, offsets, watch, ask)
    return identify_tool(*means(track, rests, rest, samples, attitude))


def write(tool: Tool, source: Path, target: Path) -> None:
    """Write a copy of the rig file with the load in its table [tool]; an existing inertia is kept."""
    values = {
        "mass": f"{tool.mass:.6g} kg",
        "centre_of_mass": [f"{1e3 * part:.4f} mm" for part in tool.centre_of_mass],
        "force_bias": [f"{part:.6g} N" for part in tool.force_bias],
        "torque_bias": [f"{part:.6g} N*m" for part in tool.torque_bias],
    }
    note = f"identified from {tool.poses} poses; residual {tool.force_residual:.2g} N, {tool.torque_residual:.2g} N·m"
    target.write_text(set_table(source.read_text(encoding="utf-8"), "tool", values, note), encoding="utf-8")
