"""Identify a robot's response (dead time, natural frequency, damping) by a gentle excitation: `hilt identify robot RIG.toml`.

The convention is that of the loop and of plant/robot.py, so that a simulation with the identified parameters predicts the lab:

    tick k reads y_k, then sends the set-point u_{k+1}, which applies at (k+1) T
    u(t) is linear from u_k at kT to u_{k+1} at (k+1)T;   y = G u(t - pure_delay),   G = ω²/(s² + 2ζω s + ω²)

At tick k, a robot with pure_delay = 0 and no G is where tick k-1 sent it. `delay` = pure_delay + 2ζ/ω is the total lag,
`loop_delay` = delay + T the time from the tick that read a measurement to the robot's response to it. An RSI controller
executes an answer in the cycle after it was received: its pure_delay is one cycle plus its dead time.

These parameters are the robot's own. The simulated robot rounds off the corners of the set-point when the pure delay is not a
whole number of ticks (lab/answer.py); the parameters with which it responds like the robot are fitted with its own arithmetic
and written to the rig file.

Time is the robot's own: its cycles count, not the arrival of packets. A cycle without an answer holds the set-point; an answer
that the robot reports late, or a stretch that does not fit the rest, splits the record: the next part starts with its own state
and offset. Lost packets thus cost data, not accuracy.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from hilt.core import registry, toml
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.core.units import Second
from hilt.device.rigfile import RigFile
from hilt.device.rigtext import set_table
from hilt.lab import gentle
from hilt.lab.answer import DELAY, EXACT, FLOOR, SAMPLED, SHORTEST, Record, answer, fit
from hilt.lab.beyond import ModelCheck, look
from hilt.lab.gentle import Track, Watch
from hilt.live.ready import Ask
from hilt.maths.quintic import quintic_positions

LOWEST = 0.5  # [Hz], where the chirp begins
LEAST_SHARE = 0.5  # of the record that must be usable
_ROUNDS = 6


def excitation(period: float, reach: float, speed: float, acceleration: float, chirp: float) -> np.ndarray:
    """Return positions along one axis [m], one per cycle, from rest to rest: steps to ± reach, then a chirp of `chirp` seconds.

    The steps are quintics. The chirp goes from 0.5 Hz to a tenth of the robot's rate, as large as reach, speed and acceleration
    allow: 1/A² = 1/reach² + (ω/v)² + (ω²/a)².
    """
    rest = round(0.25 / period)
    pieces, now = [np.zeros(rest)], 0.0
    for place in (reach, -reach, 0.0):
        ticks = math.ceil(gentle.quintic_time(abs(place - now), speed, acceleration) / period) + 1
        pieces += [now + (place - now) * quintic_positions(np.arange(1, ticks + 1) / ticks), np.full(rest, place)]
        now = place
    t = np.arange(1, round(chirp / period) + 1) * period
    ratio = 0.1 / period / LOWEST
    omega = 2.0 * math.pi * LOWEST * ratio ** (t / chirp)
    phase = (omega - 2.0 * math.pi * LOWEST) * chirp / math.log(ratio)
    size = 1.0 / np.sqrt(1.0 / reach**2 + (omega / speed) ** 2 + (omega**2 / acceleration) ** 2)
    wave = size * np.sin(phase) * quintic_positions(t / 0.5) * quintic_positions((chirp - t) / 0.5)
    rate = np.diff(np.concatenate([[0.0, 0.0], wave, [0.0]])) / period
    wave *= min(1.0, speed / np.abs(rate).max(), acceleration / (np.abs(np.diff(rate)).max() / period))
    return np.concatenate([*pieces, wave, np.zeros(2 * rest)])


def within(rig: RigFile, reach: float, chirp: float) -> np.ndarray:
    """Return the excitation at half of the rig's limits, and of the driver's own bounds if it has some: set-points that it
    limits would show the driver, not the robot."""
    robot, limits = rig.robot_section, rig.limits
    most = min(limits.acceleration, getattr(robot, "acceleration", math.inf))
    jerk = min(limits.jerk, getattr(robot, "jerk", math.inf))
    # The chirp ends at a tenth of the robot's rate: there the jerk limits the acceleration.
    acceleration = min(most, jerk * robot.cycle / (0.2 * math.pi))
    return excitation(robot.cycle, reach, gentle.SHARE * limits.speed, gentle.SHARE * acceleration, chirp)


@dataclass(frozen=True)
class RobotFit:
    """The robot's response; times in s, in the convention above."""

    cycle: float
    kind: str  # of plant/robot.py
    pure_delay: float
    natural_frequency: float  # [rad/s], 0 for a pure delay
    damping_ratio: float
    delay: float
    loop_delay: float
    correlation_delay: float  # lag at which commanded and measured velocity correlate best
    bandwidth: float  # [Hz] at -3 dB, 0 for a pure delay
    deviations: dict[str, float]
    simulation: dict[str, float]  # pure_delay, natural_frequency, damping_ratio with which plant/robot.py responds like it
    residual: float  # rms [m]
    residual_share: float  # of the rms of the motion
    cycles: int
    used: int
    lost: int  # cycles without an answer
    unheard: int  # answers that the robot reports as late
    beyond: ModelCheck = field(default_factory=ModelCheck)
    sensor_age: float = 0.0  # [s], mean, of the sensor's newest sample; 0 if its samples are not counted
    curves: dict[str, np.ndarray] = field(repr=False, compare=False, default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name not in ("curves", "beyond")}
        return own | vars(self.beyond) | {"fits": self.beyond.fits}

    @property
    def simulated_delay(self) -> float:
        pure, omega, zeta = self.simulation.values()
        return pure + (2.0 * zeta / omega if omega else 0.0)

    def settings(self) -> dict[str, Any]:
        """Return the scenario keys of the response."""
        pure, omega, zeta = self.simulation.values()
        keys: dict[str, Any] = {"robot.kind": self.kind, "robot.delay": _ms(self.simulated_delay)}
        if omega:
            keys |= {"robot.pure_delay": _ms(pure), "robot.damping_ratio": round(zeta, 4)}
        return keys | ({"sensor.sample_age": _ms(self.sensor_age)} if self.sensor_age else {})

    def words(self) -> list[str]:
        """Return lines for the terminal."""
        d, of = self.deviations, self.deviations.get
        lines = [f"pure delay         {1e3 * self.pure_delay:.2f} ms ± {1e3 * d['pure_delay']:.2g} ms"]
        if self.natural_frequency > 0.0:
            lines += [
                f"natural frequency  {self.natural_frequency:.4g} rad/s ± {of('natural_frequency', 0.0):.2g} rad/s "
                f"({self.bandwidth:.3g} Hz at -3 dB)",
                f"damping ratio      {self.damping_ratio:.3f} ± {of('damping_ratio', 0.0):.2g}",
            ]
        return [
            *lines,
            f"total delay        {1e3 * self.delay:.2f} ms; by correlation {1e3 * self.correlation_delay:.2f} ms; "
            f"including the loop's tick {1e3 * self.loop_delay:.2f} ms",
            f"residual           {1e6 * self.residual:.3g} µm rms, {100 * self.residual_share:.2g} % of the motion; "
            f"{self.used} of {self.cycles} cycles used, {self.lost} not answered, {self.unheard} answers too late",
            *([f"model              {self.beyond.words()}"] if self.beyond.words() else []),
            *(
                [f"sensor             its newest sample is {1e3 * self.sensor_age:.2f} ms old on average"]
                * bool(self.sensor_age)
            ),
        ]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4f} ms"


def identify(track: Track, period: float, axis: Any = (1.0, 0.0, 0.0)) -> RobotFit:
    """Identify the robot's response from a track along one axis of W."""
    record = Record(track, period, np.asarray(axis, float))
    lag, n = record.correlation_delay(), len(record.y)
    if np.nanstd(record.y) < 10 * FLOOR:
        raise InputError("the robot did not move; check whether its program accepts corrections, and use a longer path")
    margin, fits, model = lag + 4.0 * period, [], EXACT
    for _ in range(_ROUNDS):
        stretches = record.stretches(margin)
        used = sum(span.stop - span.start for span in stretches)
        if used < max(LEAST_SHARE * n, 2 * SHORTEST):
            raise InputError(
                f"only {100 * used / n:.0f} % of {n} cycles are undisturbed ({record.lost} not answered, {record.unheard} "
                f"answers late), {100 * LEAST_SHARE:.0f} % are needed; run hilt doctor to check this machine, and try again"
            )
        fits = [fit(record, stretches, lag, model) for model in (DELAY, SAMPLED, EXACT)]
        model = SAMPLED if fits[SAMPLED].cost < 0.8 * fits[EXACT].cost else EXACT  # clearly better, not only because of noise
        r = record.residual(fits[model].x, stretches, model)
        usual = 1.4826 * float(np.nanmedian(np.abs(r)))
        strange = np.abs(r) > 10.0 * max(usual, FLOOR)
        if not strange.any():
            break
        around = math.ceil(margin / period)
        for k in np.flatnonzero(strange):
            record.outside[max(k - around, 0) : k + around] = True
    # A pure delay unless the inertia explains the record noticeably better.
    if fits[DELAY].cost <= 1.1 * fits[model].cost + 0.005 * n:
        model = DELAY
    return _result(record, fits, model, stretches, lag)


def _result(record: Record, fits: list[Any], model: int, stretches: list[slice], lag: float) -> RobotFit:
    T, n, best = record.period, len(record.y), fits[model]
    r = record.residual(best.x, stretches, model)
    known = np.isfinite(r)
    covariance = np.linalg.pinv(best.jac.T @ best.jac) * 2.0 * best.cost / max(int(known.sum()) - len(best.x), 1)
    names = ("pure_delay", "natural_frequency", "damping_ratio")
    pure, omega, zeta = found = _parameters(best.x, T)
    scales = np.array([T, omega, zeta])[: len(best.x)]
    deviations = dict(zip(names, (np.sqrt(np.diag(covariance)) * scales).tolist(), strict=False))
    like = _parameters(fits[SAMPLED].x, T) if model == EXACT else found
    delay, sharp = pure + (2.0 * zeta / omega if omega else 0.0), 1.0 - 2.0 * zeta * zeta
    residual = float(np.sqrt(np.mean(r[known] ** 2)))
    places = answer(record.u, T, best.x, model)[0]
    return RobotFit(
        cycle=T,
        kind="delay+second-order" if omega else "delay",
        pure_delay=pure,
        natural_frequency=omega,
        damping_ratio=zeta,
        delay=delay,
        loop_delay=delay + T,
        correlation_delay=lag,
        bandwidth=omega * math.sqrt(sharp + math.sqrt(sharp * sharp + 1.0)) / (2.0 * math.pi),
        deviations=deviations,
        simulation=dict(zip(names, like, strict=True)),
        residual=residual,
        residual_share=residual / float(np.nanstd(record.y)),
        cycles=n,
        used=int(known.sum()),
        lost=record.lost,
        unheard=record.unheard,
        beyond=look(record, stretches, lag, best.x, r),
        sensor_age=0.5 * record.sensor_period,  # independent clocks: any age up to a period is equally likely
        curves={"t": np.arange(n) * T, "commanded": record.u, "measured": record.y, "model": places, "residual": r},
    )


def _parameters(theta: np.ndarray, period: float) -> tuple[float, float, float]:
    """Return pure delay [s], natural frequency [rad/s] and damping ratio."""
    return (max(float(theta[0]), 0.0) * period, *((math.exp(theta[1]), math.exp(theta[2])) if len(theta) > 1 else (0.0, 1.0)))


def run(
    rig: RigFile,
    *,
    axis: str = "x",
    reach: float = 0.01,
    chirp: float = 8.0,
    watch: Watch | None = None,
    ask: Ask | None = None,
) -> RobotFit:
    """Move the robot ± `reach` [m] along an axis of W about its present pose, at half of the rig's limits, and identify it.

    Armed like a run: with lab.arm = "ask" the robot is held until `ask` says yes.
    """
    period, number = rig.robot_section.cycle, "xyz".index(axis)
    places = within(rig, reach, chirp)
    offsets = np.zeros(len(places), POSE)
    offsets["p"][:, number], offsets["q"][:, 0] = places, 1.0
    track = gentle.drive(rig, offsets, watch, ask)
    return identify(track, period, np.eye(3)[number])


def write(found: RobotFit, source: Path, target: Path) -> None:
    """Write a copy of the rig file with the robot's response in its table [scenario]."""
    text = set_table(source.read_text(encoding="utf-8"), "scenario", found.settings())
    keys = toml.parse(text)["scenario"]
    for name, system in registry.systems().items():
        if not getattr(system.scenario, "ROBOT_DELAY_IS_WHOLE", False):
            continue
        sensor_delay = TypeAdapter(Second).validate_python({**keys, **keys.get(name, {})}.get("sensor.delay", 0.0))
        if sensor_delay > 0.0:
            text = set_table(text, f"scenario.{name}", {"robot.delay": _ms(found.simulated_delay + sensor_delay)})
    target.write_text(text, encoding="utf-8")


def plot(found: RobotFit, path: Path) -> None:
    """Plot commanded, measured and fitted position, and the residual; SVG or PNG by the file name."""
    from hilt.report import colours, figure

    with figure.styled():
        _drawn(found, colours, figure).savefig(path)


def _drawn(found: RobotFit, colours: Any, figure: Any) -> Any:
    c = found.curves
    drawing, (above, below) = figure.panels(2)
    figure.line(above, c["t"], 1e3 * c["commanded"], "commanded", **colours.IDEAL)
    figure.line(above, c["t"], 1e3 * c["measured"], "measured", color=colours.MEASURED)
    figure.line(above, c["t"], 1e3 * c["model"], "fitted", color=colours.CONTROLLER, linewidth=0.8)
    figure.line(below, c["t"], 1e6 * c["residual"], color=colours.MADE, linewidth=0.8)
    above.set_ylabel("position [mm]")
    below.set_ylabel("residual [µm]")
    below.set_xlabel("t [s]")
    above.legend(loc="upper right")
    above.set_title(
        f"pure delay {1e3 * found.pure_delay:.2f} ms, natural frequency {found.natural_frequency:.4g} rad/s, "
        f"damping ratio {found.damping_ratio:.3g}"
    )
    return drawing
