"""Figures of Yang et al. 2018, drawn from our runs."""

import functools

import numpy as np

from hilt import job
from hilt.job import Result
from hilt.report.colours import AXES, CONTROLLER, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, panels
from hilt.systems.payload.analysis.variations import with_feedback
from hilt.systems.payload.metrics import position_errors
from hilt.systems.payload.views.report import feedback_picture
from hilt.systems.payload.views.traces import distance, part, projected, virtual


@functools.cache
def _shipped(name: str) -> Result:
    return job.simulate(*job.find("payload", name, []))


@functools.lru_cache(maxsize=4)  # rows of a run take 100 MB and more
def _changed(name: str, *settings: str) -> Result:
    return job.simulate(*job.find("payload", name, list(settings)))


def run(name: str, *settings: str) -> Result:
    return _changed(name, *settings) if settings else _shipped(name)


def pictures() -> list[Picture]:
    return [
        _fig8(),
        _fig9(),
        _fig10(),
        _forces(
            "Fig. 12",
            "hils-1",
            "HILS 1, 4500 kg for 20 s: the stiffer virtual grip has the sharper peak; our slave arm is ideal and lacks the oscillation of the real one.",
        ),
        _positions("Fig. 13", "hils-1", "HILS 1: travel of both hands, and the distance between them."),
        _fig14(),
        _fig15(),
        _forces(
            "Fig. 16", "hils-2", "HILS 2, an operator through 5 s of delay: the virtual arm's time is shifted by the delay."
        ),
        _positions(
            "Fig. 17",
            "hils-2",
            "HILS 2: travel of both hands, the virtual one shifted by the delay, and the distance between them.",
        ),
    ]


def _fig8() -> Picture:
    result = run("pull-3000")
    t = result.rows["t"]
    fig, axes = panels(1, 2.8)
    line(axes[0], t, part(result, "v_sc"), "commanded v_s,c", color=CONTROLLER)
    line(axes[0], t, projected(result, result.rows["V_WBcm"]["v"]), "payload", color=MEASURED)
    line(axes[0], t, part(result, "v_r"), "reference v_s,r", **IDEAL)
    axes[0].set(ylabel="velocity [m/s]", xlabel="time [s]")
    legend(axes[0])
    return Picture("Fig. 8", "3000 kg: force feedback lowers the commanded speed until the payload has followed.", fig)


def _fig9() -> Picture:
    result = run("pull-3000")
    rows, force = result.rows, part(result, "f_s")
    values = result.scenario
    fig, axes = panels(2)
    line(axes[0], rows["t"], force, color=MEASURED)
    line(axes[1], rows["t"], np.cumsum(force) * values.loop.period, "impulse", color=MEASURED)
    axes[1].axhline(28.43, color=MADE, linewidth=1.2, label="paper, after 9.5 s")
    momentum = values.payload.mass * values.operator.speed  # type: ignore[attr-defined]
    axes[1].axhline(momentum, label="m v", **IDEAL)
    axes[1].axvline(values.operator.start + 9.5, color="0.5", linewidth=0.8)  # type: ignore[attr-defined]
    axes[0].set(ylabel="force of the\nslave arm [N]")
    axes[1].set(ylabel="its impulse [N·s]", xlabel="time [s]")
    legend(axes[1])
    return Picture("Fig. 9", "3000 kg: force of the slave arm and its impulse; the grey line is 9.5 s after the step.", fig)


def _fig10() -> Picture:
    shown = feedback_picture(run("feedback-500"), with_feedback(run("feedback-500"), False))
    return Picture("Figs. 10, 11", f"500 kg pulled for a minute. {shown.caption}", shown.figure)


def _forces(name: str, scenario: str, caption: str) -> Picture:
    result = run(scenario)
    fig, axes = panels(1, 2.8)
    line(axes[0], result.rows["t"], part(result, "f_s"), "slave arm", color=MEASURED)
    line(axes[0], *virtual(result, "f_vir"), "virtual arm", **IDEAL)
    axes[0].set(ylabel="force, x [N]", xlabel="time [s]")
    legend(axes[0])
    return Picture(name, caption, fig)


def _positions(name: str, scenario: str, caption: str) -> Picture:
    result = run(scenario)
    t, errors = result.rows["t"], position_errors(result.rows, result.scenario)
    fig, axes = panels(2)
    line(axes[0], t, distance(result, "x_s"), "slave hand", color=MEASURED)
    line(axes[0], *virtual(result, "x_vir"), "virtual hand", **IDEAL)
    line(axes[1], t[-len(errors) :], 1e3 * errors, color=MADE)
    axes[0].set(ylabel="travel, x [m]")
    axes[1].set(ylabel="distance [mm]", xlabel="time [s]")
    legend(axes[0])
    return Picture(name, caption, fig)


def _fig14() -> Picture:
    result = run("hils-2")
    t = result.rows["t"]
    fig, axes = panels(2)
    for i, axis in enumerate("xyz"):
        line(axes[0], t, result.rows["f_s"][:, i], axis, color=AXES[i])
    line(axes[1], t, distance(result, "x_s"), color=MEASURED)
    axes[0].set(ylabel="force of the\nslave arm [N]")
    axes[1].set(ylabel="travel of its\nhand, x [m]", xlabel="time [s]")
    legend(axes[0])
    return Picture(
        "Fig. 14",
        "HILS 2: force of the slave arm on all axes and its travel; the operator commands nothing along y and z.",
        fig,
    )


def _fig15() -> Picture:
    result = run("hils-2")
    t = result.rows["t"]
    fig, axes = panels(1, 2.6)
    line(axes[0], t, part(result, "v_r"), "ground", color=MEASURED)
    line(axes[0], t, part(result, "v_r_orbit"), "orbit", **IDEAL)
    axes[0].set(ylabel="reference v_s,r [m/s]", xlabel="time [s]")
    legend(axes[0])
    return Picture(
        "Fig. 15", "HILS 2: what our operator commands; the paper prints its operator's profile only as a plot.", fig
    )
