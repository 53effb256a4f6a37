"""What must hold in every trial, whatever strikes; each law is stated once.

The robot judges: its emulator counts set-points that come before arming or after the end, and those beyond what it accepts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hilt import job
from hilt.core.faults import InputError
from hilt.job import Result
from hilt.lab.trials.schedule import Fault
from hilt.lab.trials.trial import Outcome, Trial
from hilt.record import recording

ROUNDING = 1e-5  # [m] of set-points in packets
# Then it need not be known where the robot is: a flipped digit in the count of late answers looks like a lost one.
UNKNOWN = ("restart", "robot", "kill", "freeze", "hang", "flip")
BRAKING = 1.5  # times the promised deceleration: set-points are rounded, and joints slow down together
JUMP = 60.0  # [N] of a fault (disturbance.py)
CAUSES = {  # what a run ends with, by what strikes and whom
    "stop operator": "requested",
    "kill recorder": "recorder",
    "kill robot": "robot-silent",
    "cable robot": "robot-silent",
    "kill sensor": "sensor-stale",
    "cable sensor": "sensor-stale",
    "kill robot2": "other-robot",
    "kill partner": "other-robot",
}
OF_SENSOR = ("sensor-jump", "sensor-saturated", "sensor-status", "sensor-frozen", "sensor-stale")  # as in disturbance.py
LATELY = 12  # set-points before a stop, of which the fastest counts as its speed
HELD_UP = ("lose", "late", "swap", "flip", "cut", "cable", "stall", "hang", "freeze", "robot", "restart")
OF_HILT = ("beyond the limit", "outside the workspace", "discontinuity", "limits violation", "tool speed", "limit of")


def broken(trial: Trial, code: int | None, outcome: Outcome) -> list[str]:
    """Return a sentence for each law that does not hold."""
    return [sentence for law in LAWS for sentence in law(trial, code, outcome)]


def _struck(trial: Trial, *kinds: str) -> bool:
    return any(fault.kind in kinds for fault in trial.faults)


def _killed(trial: Trial, role: str) -> bool:
    return any(fault.kind == "kill" and fault.target == role for fault in trial.faults)


def ends_in_order(trial: Trial, code: int | None, _: Outcome) -> Iterator[str]:
    """It ends by itself, and with a sentence instead of a traceback."""
    if trial.use.error:
        yield f"an exception: {trial.use.error.strip().splitlines()[-1]} ({trial.use.error})"
    if code not in (0, None) and not (code == -9 and _killed(trial, "hilt")) and not _struck(trial, "signal"):
        yield f"hilt ended with code {code}"
    for end, sentence in zip(trial.use.ends, trial.use.sentences, strict=True):
        if end != "done" and (not sentence or "\n" in sentence or "Traceback" in sentence):
            yield f"{end} is not explained in one sentence: {sentence!r}"


def ends_with_a_reason(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """Where nothing strikes, nothing stops it."""
    ends = trial.use.ends
    if not trial.faults and ends[:1] != ["done"]:
        yield f"nothing struck, but it ended with {ends}: {trial.use.sentences}"


def leaves_nothing(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """No socket, memory, task or process stays behind after closing."""
    if trial.use.left:
        yield f"left behind: {', '.join(trial.use.left)}"
    session = trial.use.session
    if session is not None and not _killed(trial, "hilt") and not _struck(trial, "kill"):
        beside = [
            each.name for each in trial.virtual.processes if not each.ended and each.name.startswith(("recorder", "robot "))
        ]
        if beside:
            yield f"still running: {', '.join(beside)}"


def sets_no_point_unarmed(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """No set-point before arming or after the end, and none that needs more acceleration than the robot has."""
    for role, robot in trial.robots.items():
        # Set-points of a stream that was held up arrive together; the robot's own program keeps each step small.
        together = robot.STAMP == "cycle" and any(fault.target.startswith("hilt>") for fault in trial.faults)
        for violation in [each for each in robot.violations if not (together and "needs" in each)][:3]:
            yield f"{role}: {violation}"


def stays_within_limits(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """The robot never stops because of what hilt has sent."""
    for role, robot in trial.robots.items():
        why = robot.last_reason or robot.reason
        if any(words in why for words in OF_HILT):
            yield f"{role} stopped: {why}"


def stops_softly(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """Nothing is held that moves fast."""
    for role, robot in trial.robots.items():
        if robot.hard_stops:
            yield f"{role}: {robot.hard_stops} hard stops"


def answers_every_packet(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """From arming to rest no answer is missing or late, unless something held it up or ended somebody."""
    if not _struck(trial, *HELD_UP, "kill", "stranger", "push", "double"):
        for role, robot in trial.robots.items():
            if robot.late or robot.refused:
                yield f"{role}: {robot.late} answers were late or missing and {robot.refused} refused, but nothing held them up"


def sends_within_its_own_limits(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """The robot's set-points keep speed and workspace of the rig file, by the robot's own cycles."""
    limits = trial.rig.limits
    for role, heard in diaries(trial).items():
        t, cycles, p = heard
        if len(t) < 2:
            continue
        speed = np.linalg.norm(np.diff(p, axis=0), axis=1) / (
            np.maximum(np.diff(cycles), 1) * trial.robots[role].settings.cycle
        )
        begins = [begin for begin, *_ in trial.lived[role]]
        new = np.searchsorted(begins, t[1:]) != np.searchsorted(begins, t[:-1])  # another run: the operator may have moved it
        if (fast := speed[~new].max(initial=0.0)) > limits.speed * (1.0 + 1e-3) + _coasted(trial, role):
            at = t[1:][~new][speed[~new].argmax()]
            yield f"{role}: set-points moved at {fast:.4g} m/s at t = {at:.4f} s; the limit is {limits.speed:g} m/s"
    for number, result in enumerate(trial.use.results):
        sent = result.rows["X_WB_sent"]["p"]
        if not np.isfinite(sent).all():
            yield f"run {number}: a command that is no number was sent"
        low, high = np.array(limits.workspace_min), np.array(limits.workspace_max)
        if not trial.rig.other and ((sent < low - ROUNDING) | (sent > high + ROUNDING)).any():
            yield f"run {number}: a command outside the workspace was sent"


def _coasted(trial: Trial, role: str) -> float:
    """Return the speed that a robot may gain on its own [m/s]. A Franka that misses commands goes on with its last
    acceleration, until so many in a row are missing that it stops itself."""
    robot, rig = trial.robots[role], trial.rig
    table = rig.robot if not rig.other else rig.of(rig.clock if role == "robot" else rig.other).robot
    if table["driver"] != "fci":
        return 0.0
    cycles = min(robot.late, robot.settings.late_limit) + robot.skipped
    return float(cycles * robot.settings.cycle * trial.rig.limits.acceleration)


def diaries(trial: Trial) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return what each robot has heard: times, its cycles, and positions of the set-points."""
    found = {}
    for role, robot in trial.robots.items():
        other = trial.rig.other
        name = f"robot-{trial.rig.clock if role == 'robot' else other}.csv" if other else "robot.csv"
        lines = (trial.folder / name).read_text().splitlines()[1:]
        table = np.array([[float(part) for part in line.split(",")[:12]] for line in lines if line.count(",") == 16])
        table = table.reshape(-1, 12)
        stamps = table[:, 1] / (1e3 * robot.settings.cycle if robot.STAMP == "IPOC" else 1.0)
        found[role] = (table[:, 0], stamps, table[:, 9:12])
    return found


def knows_where_the_robot_is(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """At rest after a run, the robot's set-point is where hilt takes it to be, whatever was lost before."""
    end = trial.use.ends[-1] if trial.use.ends else ""
    if end.startswith("robot-") and end not in ("robot-gap", "robot-off-track"):  # its program has ended, or nothing is known
        return
    if trial.use.apart > 2.0 * ROUNDING and not _struck(trial, *UNKNOWN):
        yield f"at rest the robot's set-point is {1e3 * trial.use.apart:.4g} mm from where hilt takes it to be"


def records_everything(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """The recording has all rows, in order; or says how many are lost."""
    for number, result in enumerate(trial.use.results):
        yield from (f"run {number}: {sentence}" for sentence in _of_recording(trial, result))
    known = {result.recording for result in trial.use.results}
    for path in sorted(trial.folder.glob("runs/*.mcap")):
        if path not in known:
            yield from _cut_recording(path)


def _of_recording(trial: Trial, result: Result) -> Iterator[str]:
    timing: dict[str, Any] = result.timing or {}
    ticks = result.rows["tick"]
    if len(ticks) and not np.array_equal(ticks, np.arange(ticks[0], ticks[0] + len(ticks))):
        yield "rows are missing between others"
    if len(ticks) + timing["rows_lost"] != timing["rows"]:
        yield f"{len(ticks)} rows and {timing['rows_lost']} lost ones are not the {timing['rows']} of the run"
    disturbed = _struck(trial, "full", "slow", "kill", "freeze", "hang", "deleted", "stall")
    if timing["rows_lost"] and not disturbed:
        yield f"{timing['rows_lost']} rows were lost, but nothing struck recorder or disk"
    if result.recording is None:
        if not _struck(trial, "full"):
            yield "there is no recording"
        return
    try:
        kept = recording.load(result.recording)
    except InputError as error:
        if not _struck(trial, "full", "deleted"):
            yield f"the recording cannot be read: {error}"
        return
    if not _struck(trial, "full", "deleted", "kill", "slow", "freeze", "hang") and len(kept.rows) != len(ticks):
        yield f"the recording has {len(kept.rows)} rows, the result {len(ticks)}"
    if trial.seed % 5 == 0 and timing["rows_lost"] == 0 and len(kept.rows) == timing["rows"] and kept.result is not None:
        difference = job.replay(kept)
        if difference is not None:
            yield f"the replay differs: {difference}"


def _cut_recording(path: Path) -> Iterator[str]:
    """One of a killed run: readable up to its last whole row, or without any."""
    try:
        rows = recording.load(path).rows
    except InputError:
        return
    if len(rows) and not np.array_equal(rows["tick"], np.arange(len(rows))):
        yield f"{path.name}: rows are missing between others"


def comes_to_rest(trial: Trial, code: int | None, outcome: Outcome) -> Iterator[str]:
    """After the last set-point of a run, the robot's goes on for v²/2a at most, and for v/a and a few cycles."""
    a_most = trial.rig.lab.deceleration
    if _struck(trial, "restart", "robot"):  # then the operator moves it
        return
    for role, (t, cycles, p) in diaries(trial).items():
        cycle = trial.robots[role].settings.cycle
        for number, (_, end, _over) in enumerate(trial.lived[role]):
            before = np.flatnonzero(t <= end)
            next_begin = trial.lived[role][number + 1][0] if number + 1 < len(trial.lived[role]) else np.inf
            after = np.flatnonzero((t > end) & (t < next_begin))
            if len(before) < 2:
                continue
            b, last = before[-1], before[-LATELY:]  # some of the newest may have been lost
            speeds = np.linalg.norm(np.diff(p[last], axis=0), axis=1) / (np.maximum(np.diff(cycles[last]), 1) * cycle)
            speed = float(speeds.max())
            steps = np.linalg.norm(np.diff(p[np.r_[b, after]], axis=0), axis=1) if len(after) else np.zeros(0)
            moving = np.flatnonzero(steps > 1e-9)
            way = float(np.linalg.norm(p[after[moving[-1]]] - p[b])) if len(moving) else 0.0
            time = float(t[after[moving[-1]]] - end) if len(moving) else 0.0
            outcome.ways.append((speed, way, time))
            slack = _slack(trial, end)
            late = trial.robots[role].late + round(slack / cycle)
            fastest = speed + _coasted(trial, role)
            if way > fastest**2 / (2.0 * a_most) + (1.5 + late) * fastest * cycle + ROUNDING:
                yield f"{role}: after its last set-point at {speed:.4g} m/s it moved on by {1e3 * way:.4g} mm"
            if not _struck(trial, *HELD_UP, "kill"):
                stop = np.r_[last, after, [last[-1] if not len(after) else after[-1]] * 2]  # then it stands
                passed = np.r_[cycles[stop[:-2]], cycles[stop[-1]] + np.array([1.0, 2.0])]
                hard = _braking(p[stop], passed, cycle)[len(last) - 2 :].max(initial=0.0)
                if hard > BRAKING * a_most:
                    yield f"{role}: it braked with {hard:.3g} m/s²; {a_most:g} m/s² are promised"
            if time > speed / a_most + 3.0 * cycle + slack:
                yield f"{role}: it came to rest {1e3 * time:.4g} ms after its last set-point at {speed:.4g} m/s"


def notices(trial: Trial, _: int | None, outcome: Outcome) -> Iterator[str]:
    """What must end a run does, whatever else strikes."""
    for fault in trial.faults:
        if _must_end(trial, fault) and trial.use.ends[0] == "done":
            yield f"{fault} did not end the run"


def names_the_cause(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """A fault that strikes alone is the one that the end names."""
    if len(trial.faults) != 1 or not _must_end(trial, trial.faults[0]):
        return
    fault, end = trial.faults[0], trial.use.ends[0]
    name = OF_SENSOR[int(fault.amount)] if fault.kind == "sensor" else CAUSES.get(f"{fault.kind} {fault.target}", end)
    if end != name:
        yield f"{fault} ended the run as {end}; it is {name}"


def _must_end(trial: Trial, fault: Fault) -> bool:
    """Whether the first run must end because of a fault."""
    lived = trial.lived["robot"]
    if not lived or not trial.use.ends:
        return False
    begin, over = lived[0][0], lived[0][0] + trial.lab.seconds
    at, needs = trial.began + fault.at, _noticed_after(trial, fault)
    return needs is not None and begin + 0.01 < at < over - needs


def _noticed_after(trial: Trial, fault: Fault) -> float | None:
    """Return how long it may take until a fault ends the run [s]; None if it need not."""
    rig = trial.rig
    robot, sensor = (rig.of(rig.clock) if rig.other else rig).robot_section, rig.sensor_section
    silence, stale = float(getattr(robot, "patience", 100)) * robot.cycle, float(getattr(sensor, "stale", 0.1))
    if fault.kind in ("stop", "signal"):
        return 0.05
    if fault.kind == "kill" and fault.target != "hilt":
        return {"recorder": 0.4}.get(fault.target, max(silence, stale) + 0.2)
    if fault.kind == "cable" and fault.duration > max(silence, stale) + 0.02 and fault.target in ("robot", "sensor"):
        return max(silence, stale) + 0.1
    if fault.kind == "sensor" and fault.duration > 0.05:
        name = ("jump", "saturate", "status", "freeze", "silence")[int(fault.amount)]
        if name in ("saturate", "status"):
            return 0.1
        # Over a gap between its records a force may change by more than from one to the next.
        whole = not any(each.target in ("sensor", "sensor>hilt") for each in trial.faults if each is not fault)
        if name == "jump" and whole and 0.0 < float(getattr(sensor, "jump_force", 0.0)) < JUMP:
            return 0.1
        if name == "silence" and fault.duration > stale + 0.02:
            return stale + 0.1
    if fault.kind == "hang" and fault.target == "hilt" and fault.duration > rig.lab.lateness + 0.02:
        return fault.duration + 0.1
    if fault.kind == "push" and fault.amount > 2.0 * rig.lab.tracking_tolerance and fault.duration > 0.05:
        return fault.duration + 0.1
    return None


def does_its_job(trial: Trial, _: int | None, __: Outcome) -> Iterator[str]:
    """Where nothing strikes, the contacts are as in space, and the ledger closes."""
    if trial.faults or not trial.use.results:
        return
    metrics, ledger = trial.use.results[0].metrics, trial.use.results[0].ledger
    for speed in metrics.get("cov", []):
        if abs(speed - 1.0) > 0.03:
            yield f"nothing struck, but a contact left with {speed:.4g} of the ideal speed"
    if metrics.get("contacts_missed"):
        yield f"nothing struck, but {metrics['contacts_missed']} contacts were missed"
    if not np.isfinite(ledger.get("residual_J", 0.0)):
        yield "the ledger has a residual that is no number"


def _braking(p: np.ndarray, cycles: np.ndarray, cycle: float) -> np.ndarray:
    """Return the change of speed from each set-point to the next [m/s²]."""
    passed = np.maximum(np.diff(cycles), 1) * cycle
    v = np.diff(p, axis=0) / passed[:, None]
    found: np.ndarray = np.linalg.norm(np.diff(v, axis=0), axis=1) / passed[1:]
    return found


def _slack(trial: Trial, end: float) -> float:
    """Return for how long packets or processes were held up around a stop [s]."""
    held = [fault for fault in trial.faults if fault.kind in HELD_UP]
    return sum(
        fault.duration + fault.amount * (fault.kind == "late")
        for fault in held
        if trial.began + fault.at < end + 0.5 and trial.began + fault.at + fault.duration > end - 0.3
    )


LAWS = (
    ends_in_order,
    ends_with_a_reason,
    leaves_nothing,
    sets_no_point_unarmed,
    stays_within_limits,
    stops_softly,
    answers_every_packet,
    sends_within_its_own_limits,
    knows_where_the_robot_is,
    records_everything,
    comes_to_rest,
    notices,
    names_the_cause,
    does_its_job,
)
