"""Metrics of a hand that closes or opens: its largest force then, compared with the closed form of the grip's spring.

A hand that moves as commanded, whatever the force, and a payload of effective mass m on a spring k without damping swing with

    F = √((k e)² + k m v²)        at the distance e and the speed v of the hand from its grip when the fingers begin to move

A hand that yields to the force and a grip that damps stay below it; fingers that move slowly let e grow meanwhile.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.meter import highest, lengths
from hilt.core.missing import Missing
from hilt.maths import so3

CLOSING, RELEASE = "closing", "release"
WORDS = {CLOSING: "closed", RELEASE: "opened"}
METRIC_WORDS = {
    "closing_force_N": "largest force as the hand closed on the payload",
    "closing_form_N": "closed form of it, √((k e)² + k m v²)",
    "release_force_N": "largest force as the hand let go of it",
    "release_form_N": "closed form of it, likewise",
    "fingers_J": "energy made by the fingers, closing and opening",
    "grip_residual_J": "energy that the grip's ledger does not explain",
}


@dataclass
class Event:
    """A moment at which the fingers begin to move."""

    kind: str
    t: float
    until: float  # s, the force is attributed to it
    distance: float  # m, of the hand from its grip
    form: float  # N, closed form of the force
    force: float = 0.0  # N, largest so far


def effective_mass(scenario: Any, direction: np.ndarray) -> float:
    """Effective mass at the grip along a direction of any length [kg]; with a force-controlled arm, its mass in series."""
    payload, size = scenario.payload, float(np.linalg.norm(direction))
    inverse = 1.0 / payload.mass
    if scenario.rotates and size > 0.0:
        lever = np.cross(np.array(scenario.grip.position) - payload.centre_of_mass, direction / size)
        inverse += float(lever @ np.linalg.solve(np.array(payload.inertia), lever))
    return 1.0 / (inverse + 1.0 / scenario.force_arm.mass) if scenario.bilateral_mode else 1.0 / inverse


def apart(row: Any, scenario: Any) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of the hand from its grip; of two hands, of their middle."""
    q, w = tuple(row["X_WB_true"]["q"]), row["V_WB_true"]["w"]
    lever = np.array(so3.rotate(q, tuple(map(float, scenario.grip.position))))
    hands = range(scenario.arm.count)
    place = np.mean([row["hands"][7 * i : 7 * i + 3] for i in hands], axis=0)
    speed = np.mean([row["hand_twists"][6 * i : 6 * i + 3] for i in hands], axis=0)
    return place - row["X_WB_true"]["p"] - lever, speed - row["V_WB_true"]["v"] - np.cross(w, lever)


def closed_form(row: Any, scenario: Any) -> float:
    e, v = apart(row, scenario)
    k = scenario.arm.count * scenario.grip.stiffness
    mass = effective_mass(scenario, v if np.any(v) else e)
    return math.sqrt(float((k * e) @ (k * e) + k * mass * (v @ v)))


def hand_force(rows: np.ndarray) -> np.ndarray:
    """Size of the true force of all hands on the payload."""
    wrenches = rows["hand_wrenches"]
    return lengths(wrenches[:, 0:3] + wrenches[:, 6:9])


def grip_residual(first: Any, last: Any) -> float:
    """hands + fingers - payload - damping - change of the stored energy."""
    net = {
        name: float(last[f"W_{name}"]["into"] - last[f"W_{name}"]["out"])
        for name in ("hands", "fingers", "grips", "grip_damping")
    }
    stored = float(last["E_grip"] - first["E_grip"])
    return net["hands"] + net["fingers"] - net["grips"] - net["grip_damping"] - stored


class GraspMeter:
    """Metrics of closings and releases in a run; none for a hand that never moves its fingers."""

    def __init__(self, scenario: Any) -> None:
        self._scenario = scenario
        self._open = 1.0 if scenario.operator.begins_open else 0.0
        self._first: Any = None
        self._last: Any = None
        self.events: list[Event] = []

    def take(self, rows: np.ndarray) -> None:
        t, is_open = rows["t"], rows["grip_open"]
        before = np.concatenate([[self._open], is_open[:-1]])
        for k in np.flatnonzero(((before == 1.0) & (is_open < 1.0)) | ((before == 0.0) & (is_open > 0.0))):
            self.events.append(self._event(rows[k], before[k] == 1.0))
        self._open = float(is_open[-1])
        for event in self.events:
            if event.until >= t[0]:
                inside = (t >= event.t) & (t <= event.until)
                event.force = highest(event.force, hand_force(rows[inside]))
        self._first = rows[0].copy() if self._first is None else self._first
        self._last = rows[-1].copy()

    def _event(self, row: Any, closes: bool) -> Event:
        scenario, t = self._scenario, float(row["t"])
        e, v = apart(row, scenario)
        takes = scenario.grip.closing
        if closes:  # and half a swing of the payload on its grip
            mass = effective_mass(scenario, v if np.any(v) else e)
            takes += math.pi * math.sqrt(mass / (scenario.arm.count * scenario.grip.stiffness))
        return Event(CLOSING if closes else RELEASE, t, t + takes, float(np.linalg.norm(e)), closed_form(row, scenario))

    def result(self) -> dict[str, float]:
        operator, gripped = self._scenario.operator, self._scenario.gripped
        planned = {CLOSING: operator.close_at > 0.0, RELEASE: operator.release_at is not None}
        found: dict[str, float] = {}
        for kind, words in WORDS.items():
            events = [event for event in self.events if event.kind == kind]
            if events and gripped:
                worst = max(events, key=lambda event: event.force / event.form if event.form > 0.0 else 0.0)
                found |= {f"{kind}_force_N": worst.force, f"{kind}_form_N": worst.form}
            elif planned[kind] and gripped:
                found[f"{kind}_force_N"] = Missing(f"the hand never {words} on the payload in this run")
        if found and self._last is not None:
            fingers = self._last["W_fingers"]
            found["fingers_J"] = float(fingers["into"] - fingers["out"])
            found["grip_residual_J"] = grip_residual(self._first, self._last)
        return found
