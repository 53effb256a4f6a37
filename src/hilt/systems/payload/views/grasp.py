"""What a report of `payload` shows of a hand that closes or opens."""

import numpy as np

from hilt.core.meter import Feed
from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import BOUND, IDEAL, MEASURED
from hilt.report.figure import Picture, legend, line
from hilt.report.page import table
from hilt.report.words import si
from hilt.systems.payload.grasp_metrics import CLOSING, Event, GraspMeter, apart, grip_residual, hand_force
from hilt.systems.payload.link import playout_delay
from hilt.systems.payload.views.traces import opened, scenario_of

AROUND = 0.3  # s before and after an event


def events(result: Result) -> list[Event]:
    """All closings and releases of the run."""
    meter = GraspMeter(scenario_of(result))
    feed = Feed(meter)
    feed.feed(result.rows)
    feed.end()
    return meter.events


def missed(result: Result) -> float | None:
    """Distance of the hand from its grip when the fingers closed on nothing; None if they never did."""
    scenario, rows = scenario_of(result), result.rows
    asked = rows["hand_open_orbit"] > 0.5
    begins = np.flatnonzero(asked[:-1] & ~asked[1:]) + 1
    late = round(scenario.grip.closing / scenario.loop.period) + 2
    for k in begins:
        if k + late < len(rows) and not asked[k : k + late].any() and rows["grip_open"][k + late] == 1.0:
            return float(np.linalg.norm(apart(rows[k], scenario)[0]))
    return None


def missed_words(result: Result, distance: float) -> str:
    reach = scenario_of(result).grip.reach
    return (
        f"<b>Missed.</b> The fingers closed on nothing: the grip was {si(distance, 'm', 3)} from the hand, and they reach "
        f"{si(reach, 'm', 3)}. Close nearer to it (operator.close_at), or open and close again."
    )


def grasp_table(result: Result, found: list[Event]) -> str:
    head = ("event", "on orbit at", "hand from grip", "largest force", "closed form", "force / form")
    rows = [
        (
            "closes" if event.kind == CLOSING else "opens",
            f"{event.t:.3f} s",
            si(event.distance, "m", 3),
            si(event.force, "N", 3),
            si(event.form, "N", 3),
            f"{event.force / event.form:.2f}" if event.form > 0.0 else "",
        )
        for event in found
    ]
    fingers = result.rows["W_fingers"][-1]
    made, left = float(fingers["into"] - fingers["out"]), grip_residual(result.rows[0], result.rows[-1])
    return (
        "<p>Closed form: √((k e)² + k m v²), the swing of the payload on the undamped grip, with the distance e and the speed "
        "v of the hand from its grip as the fingers begin to move; a hand that yields stays below it.</p>"
        f"{table(head, rows)}<p>The fingers made {si(made, 'J', 3)} by changing the stiffness of a stretched grip; hands, "
        f"fingers, dampers and payload leave {si(left, 'J', 2)} unexplained.</p>"
    )


def grasp_picture(result: Result, found: list[Event]) -> Picture:
    """Force and fingers around the first events; the virtual arm is shifted by one play-out delay."""
    rows, scenario, shown = result.rows, scenario_of(result), found[:2]
    fig, spread = figure.subplots(2, len(shown), figsize=(7.2, 4.0), sharex="col", squeeze=False)
    for column, event in enumerate(shown):
        upper, lower = spread[0][column], spread[1][column]
        begin, end = event.t - AROUND, event.until + AROUND
        t = rows["t"]
        inside = rows[(t >= begin) & (t <= end)]
        line(upper, inside["t"], hand_force(inside), "slave hand", color=MEASURED)
        upper.axhline(event.form, label="closed form", **BOUND)
        line(lower, inside["t"], 100.0 * (1.0 - inside["grip_open"]), "slave hand", color=MEASURED)
        if not scenario.bilateral_mode:
            late = playout_delay(scenario)
            ahead = rows[(t + late >= begin) & (t + late <= end)]
            line(lower, ahead["t"] + late, 100.0 * (1.0 - ahead["grip_open_vir"]), "virtual hand", **IDEAL)
        upper.set_title("the hand closes" if event.kind == CLOSING else "the hand opens", fontsize=9)
        upper.set(ylim=(-0.05 * max(event.form, event.force), 1.15 * max(event.form, event.force, 1e-9)))
        lower.set(xlabel="time [s]", ylim=(-8, 108))
        for panel in (upper, lower):
            opened(panel, inside["t"], inside, None)
    spread[0][0].set(ylabel="force of the hand [N]")
    spread[1][0].set(ylabel="fingers closed [%]")
    for row in spread:
        legend(row[0])
    more = f" The first two of {len(found)} events." if len(found) > 2 else ""
    caption = f"Size of the force of the slave hand as the fingers close and open; grey while they are not closed.{more}"
    return Picture("Grasp", caption, fig)
