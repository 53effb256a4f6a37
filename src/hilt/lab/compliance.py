"""The tap test: identify how a robot bends by tapping a frame. `hilt identify compliance RIG.toml`.

A slow press shows only how much robot and frame yield together. If the motors move so that the tip leaves the frame and meets
it again, its oscillation in the air and in contact separates the two. The robot feels its way to the frame:

    rest        bias and noise of the sensor
    touch       move slowly along the axis until a force is measured
    press       back off a little, then press very slowly until the preload is reached
    tap         chirp the motors about that position
    return      go back to the start

Each part is a path of the loop, with the rig's guard, watch and soft stop, and a force limit tighter than the rig's. The system
with this contact fits a model to the force (`analysis.compliance` of its package).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from hilt.core import registry
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.core.units import Second
from hilt.device.live_rig import LabRig
from hilt.device.rigfile import RigFile
from hilt.device.rigtext import set_table
from hilt.lab import gentle
from hilt.lab.gentle import Track, Watch
from hilt.live.ready import Ask
from hilt.maths.quintic import quintic_positions

PART = "analysis.compliance"
AXES = tuple(f"{sign}{axis}" for axis in "xyz" for sign in ("", "-"))
REST = 0.5  # [s]
TOUCH_SPEED, PRESS_SPEED = 0.005, 0.0005  # [m/s]
SPEEDING_UP = 0.2  # [s]
BACK = 0.001  # [m] to back off after the first touch
DEEPEST = 0.003  # [m] that the press may go beyond the touch
FELT = 0.25  # of the preload: force that counts as the first touch
LOWEST, HIGHEST = 2.0, 15.0  # [Hz], of the chirp
FADE = 0.1  # [s], at its ends
SETTLE, RING = 0.7, 0.5  # [s] at the preload, before and after it


@dataclass(frozen=True)
class Tapping:
    """How the frame is tapped."""

    axis: str = "x"  # towards the frame, such as -z
    reach: float = math.inf  # [m], longest approach
    preload: float = 8.0  # [N]
    amplitude: float = 0.15e-3  # [m], of the motors
    duration: float = 2.0  # [s], of the chirp
    force: float = 300.0  # [N], limit

    def __post_init__(self) -> None:
        if self.axis not in AXES:
            raise InputError(f"--axis is {self.axis!r}; it must be one of {', '.join(AXES)}, towards the frame; choose one")
        for name, value, unit in (
            ("--reach", self.reach, "m"),
            ("--preload", self.preload, "N"),
            ("--amplitude", self.amplitude, "m"),
            ("--force", self.force, "N"),
        ):
            if not value > 0.0:
                raise InputError(f"{name} is {value:g} {unit}; it must be greater than 0; change it")
        if not self.preload < 0.5 * self.force:
            raise InputError(
                f"--preload is {self.preload:g} N, but the force may be at most {self.force:g} N, and a tap reaches ten times "
                "the preload; lower --preload or raise --force"
            )

    @property
    def direction(self) -> np.ndarray:
        return np.eye(3)["xyz".index(self.axis[-1])] * (-1.0 if self.axis.startswith("-") else 1.0)


@dataclass(frozen=True)
class Tap:
    """The measured tap; positions along the axis, from the start."""

    t: np.ndarray  # [s], of the robot's own cycles
    motor: np.ndarray
    force: np.ndarray  # [N], of the frame, without bias; NaN where its time is not known
    when: np.ndarray  # [s], when it acted
    noise: float
    series: float  # [N/m], robot and frame together, from the press


def owner() -> Any:
    """Return the system that can evaluate a tap test."""
    for system in registry.systems().values():
        if system.part(PART) is not None:
            return system
    raise InputError("no installed system models a contact with a robot that bends; a tap test cannot be evaluated")


def run(rig: RigFile, tapping: Tapping, *, watch: Watch | None = None, ask: Ask | None = None) -> Any:
    """Tap the frame and identify how the robot bends; it returns to its start. Armed like a run."""
    system = owner()
    tap = measure(rig, tapping, watch=watch, ask=ask, system=system.name)
    return system.part(PART).fit(tap.t, tap.motor, tap.force, tap.when, tap.noise, tap.series)


def measure(
    file: RigFile, tapping: Tapping, *, watch: Watch | None = None, ask: Ask | None = None, system: str | None = None
) -> Tap:
    """Touch, press and tap the frame, and return to the start; returns what was measured."""
    delay = TypeAdapter(Second).validate_python(file.setting("sensor.delay", 0.0, system))
    with gentle.armed(file, ask) as rig:
        probe = Probe(rig, tapping, watch)
        try:
            probe.touch()
            press = probe.press()
            tapped = probe.tap()
        finally:
            probe.go_back()
    return _measured(tapped, press, probe, delay)


class Probe:
    """A robot that feels its way to a frame."""

    def __init__(self, rig: LabRig, tapping: Tapping, watch: Watch | None) -> None:
        self._rig, self._tapping, self._watch = rig, tapping, watch
        self.direction, self.cycle, self._stopped = tapping.direction, rig.cycle, False
        self.bias = np.zeros(3)
        rest = self._follow(np.zeros(round(REST / rig.cycle)))
        self.start = rig.set_point["p"].copy()
        self.bias, self.noise = rest.wrench[:, :3].mean(axis=0), float(rest.wrench[:, :3].std(axis=0).max())

    @property
    def place(self) -> float:
        """Position of the set-point along the axis, from the start [m]."""
        return float((self._rig.set_point["p"] - self.start) @ self.direction)

    def _follow(self, places: np.ndarray, above: float = math.inf) -> Track:
        """Follow positions along the axis, relative to the present one; stop early if the force exceeds `above` [N]."""
        offsets = np.zeros(len(places), POSE)
        offsets["p"], offsets["q"][:, 0] = np.outer(places, self.direction), 1.0

        def pressed(row: np.ndarray) -> bool:
            return math.dist(row["F_So_S"]["f"][0], self.bias) > above

        until = pressed if math.isfinite(above) else None
        try:
            return gentle.follow(self._rig, offsets, self._watch, force=self._tapping.force, until=until)
        except gentle.Stopped:
            self._stopped = True
            raise

    def _felt(self, track: Track) -> np.ndarray:
        """Return the magnitude of the force without bias [N]."""
        return np.linalg.norm(track.wrench[:, :3] - self.bias, axis=1)

    def touch(self) -> None:
        """Move slowly forward until a force is measured, and back off a little."""
        limits, start = self._rig.file.limits, float(self.start @ self.direction)
        corners = np.array([limits.workspace_min, limits.workspace_max]) @ self.direction
        reach = min(self._tapping.reach, float(corners.max()) - start - 1e-6)
        least = max(6.0 * self.noise, FELT * self._tapping.preload)
        track = self._follow(_ramp(reach, self._speed(TOUCH_SPEED), self._rig.cycle), least)
        if not (self._felt(track) > least).any():
            raise InputError(
                f"the robot has moved {1e3 * reach:.4g} mm along {self._tapping.axis} and felt less than {least:.2g} N: it did "
                "not meet the frame; give its direction as --axis, and check --reach and limits.workspace"
            )
        self._go(-BACK)

    def press(self) -> Track:
        """Press very slowly until the preload is reached."""
        preload = self._tapping.preload
        track = self._follow(_ramp(BACK + DEEPEST, self._speed(PRESS_SPEED), self._rig.cycle), preload)
        if not (self._felt(track) > preload).any():
            raise InputError(
                f"the force reached {self._felt(track).max():.3g} N within {1e3 * (BACK + DEEPEST):g} mm, not {preload:g} N; "
                "robot or frame is too soft; lower --preload"
            )
        return track

    def tap(self) -> Track:
        cycle, tapping = self._rig.cycle, self._tapping
        return self._follow(chirp(cycle, tapping.amplitude, tapping.duration))

    def go_back(self) -> None:
        """Return to the start; a robot that was stopped stays where it is until an operator has checked it."""
        if not self._stopped:
            self._go(-self.place)

    def _speed(self, speed: float) -> float:
        return min(speed, gentle.SHARE * self._rig.file.limits.speed)

    def _go(self, distance: float) -> None:
        """Move by a distance along the axis [m], as a quintic."""
        limits, cycle = self._rig.file.limits, self._rig.cycle
        duration = gentle.quintic_time(abs(distance), gentle.SHARE * limits.speed, gentle.SHARE * min(limits.acceleration, 1.0))
        ticks = math.ceil(duration / cycle) + 1
        self._follow(distance * quintic_positions(np.arange(1, ticks + 1) / ticks))


def _ramp(distance: float, speed: float, cycle: float) -> np.ndarray:
    """Return positions over a distance at constant speed, from rest to rest."""
    t = np.arange(1, math.ceil((distance / speed + SPEEDING_UP) / cycle) + 1) * cycle
    rate = np.clip(np.minimum(t, t[-1] - t) / SPEEDING_UP, 0.0, 1.0)
    return np.asarray(distance * np.cumsum(rate) / rate.sum())


def chirp(cycle: float, amplitude: float, duration: float) -> np.ndarray:
    """Return the positions of a chirp from 2 to 15 Hz, with a rest before and after it."""
    t = np.arange(1, round(duration / cycle) + 1) * cycle
    phase = 2.0 * math.pi * (LOWEST + 0.5 * (HIGHEST - LOWEST) * t / duration) * t
    wave = amplitude * np.sin(phase) * quintic_positions(t / FADE) * quintic_positions((duration - t) / FADE)
    return np.concatenate([np.zeros(round(SETTLE / cycle)), wave, np.zeros(round(RING / cycle))])


def _measured(tapped: Track, press: Track, probe: Probe, delay: float) -> Tap:
    """Return force and motor position along the axis; the force is taken along the direction of the preload."""
    away = press.wrench[-1, :3] - probe.bias
    push = away / np.linalg.norm(away)
    t = tapped.cycle * probe.cycle
    age = tapped.age
    if not np.isfinite(age).any():
        age = np.full(len(t), 0.5 * tapped.sensor_period)  # independent clocks: any age up to a period is equally likely
    force = np.where(np.isfinite(age), (tapped.wrench[:, :3] - probe.bias) @ push, np.nan)
    motor = (tapped.measured["p"] - probe.start) @ probe.direction
    return Tap(t, motor, force, t - age - delay, probe.noise, _series(press, probe, push))


def _series(press: Track, probe: Probe, push: np.ndarray) -> float:
    """Return the slope of the press in its upper part [N/m]."""
    force = (press.wrench[:, :3] - probe.bias) @ push
    x = (press.measured["p"] - probe.start) @ probe.direction
    there = force > 0.3 * force.max()
    slope = float(np.polyfit(x[there], force[there], 1)[0]) if there.sum() > 3 and np.ptp(x[there]) > 0.0 else 0.0
    if not slope > 0.0:
        raise InputError("the force did not grow along the press; check the sensor, and that the axis points at the frame")
    return slope


def write(found: Any, source: Path, target: Path) -> None:
    """Write a copy of the rig file with the result, and its uncertainty, as the controller's beliefs."""
    text = set_table(source.read_text(encoding="utf-8"), f"scenario.{owner().name}", found.settings(), found.note())
    target.write_text(text, encoding="utf-8")


def words(found: Any) -> list[str]:
    """Return lines for the terminal."""
    rows = found.table()
    wide, mid = (max(len(row[i]) for row in rows) for i in (0, 1))
    return [
        *(f"{name:<{wide}}  {value:<{mid}}  ± {deviation}" for name, value, deviation in rows),
        f"{'tap':<{wide}}  {found.touches} touches of up to {found.largest_force:.3g} N, "
        f"{100 * found.air:.0f} % of the time in the air",
        f"{'residual':<{wide}}  {found.residual:.3g} N rms, {100 * found.residual_share:.2g} % of the force; "
        f"{found.used} of {found.samples} samples used",
    ]


def plot(found: Any, path: Path) -> None:
    """Plot measured and fitted force, and the residual; SVG or PNG by the file name."""
    from hilt.report import colours, figure

    with figure.styled():
        _drawn(found, colours, figure).savefig(path)


def _drawn(found: Any, colours: Any, figure: Any) -> Any:
    c = found.curves
    drawing, (above, below) = figure.panels(2)
    figure.line(above, c["t"], c["measured"], "measured", color=colours.MEASURED)
    figure.line(above, c["t"], c["model"], "fitted", color=colours.CONTROLLER, linewidth=0.8)
    figure.line(below, c["t"], c["residual"], color=colours.MADE, linewidth=0.8)
    above.set_ylabel("force [N]")
    below.set_ylabel("residual [N]")
    below.set_xlabel("t [s]")
    above.legend(loc="upper right")
    above.set_title(
        f"tip stiffness {1e-6 * found.stiffness:.3g} N/µm, mode {found.mode_frequency:.4g} Hz, "
        f"damping ratio {found.mode_damping_ratio:.3g}"
    )
    return drawing
