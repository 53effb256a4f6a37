"""Figures of Cuniato et al. 2022, drawn from our runs, and two that the paper lacks."""

import functools

import numpy as np

from hilt import job
from hilt.job import Result
from hilt.report.colours import CONTROLLER, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, panels
from hilt.systems.aerial.paper.cuniato2022_equations import FORMS, TICK, TICKS, pump
from hilt.systems.aerial.views.flight import displacement
from hilt.systems.aerial.views.port import limit_picture
from hilt.systems.aerial.views.task import forces, gains, tank

SLOW_FILTER = ("hand.amplitude=20 mm", "force_filter.bandwidth=15")
BARE_HAND = (*SLOW_FILTER, "hand.stiffness=600", "port_passivity.enabled=false")


@functools.cache
def _kept(name: str, *settings: str) -> Result:
    return job.simulate(*job.find("aerial", name, list(settings)))


@functools.lru_cache(maxsize=8)  # rows of a run take some 20 MB
def _changed(name: str, *settings: str) -> Result:
    return job.simulate(*job.find("aerial", name, list(settings)))


def run(name: str, *settings: str) -> Result:
    """A run; those that figures show are kept."""
    return _kept(name, *settings) if settings in ((), BARE_HAND) else _changed(name, *settings)


def pictures() -> list[Picture]:
    human, cable = run("handover"), run("diverter")
    led = "The hand's motion is ours: the paper shows only its effect."
    return [
        _named("Fig. 2", displacement(human), led),
        _named("Fig. 3", forces(human), led),
        _named("Fig. 4", gains(human), led),
        _named("Fig. 5", tank(human), led),
        _named("Fig. 6", forces(cable), "The contact model is ours."),
        _named("Fig. 7", displacement(cable), "The paper has about 100 mm along x, with a contact that it does not describe."),
        _tank_forms(),
        _not_protected(),
        limit_picture(run("handover")),
    ]


def _named(name: str, picture: Picture, words: str) -> Picture:
    return Picture(name, f"{picture.title}. {picture.caption} {words}", picture.figure)


def _tank_forms() -> Picture:
    fig, axes = panels(1, 2.8)
    t = TICK * np.arange(TICKS)
    words = {"printed": "as printed (14)", "ode": "α and ½ corrected,\nz integrated", "exact": "exact"}
    for form, colour in zip(FORMS, (MADE, CONTROLLER, MEASURED), strict=True):
        line(axes[0], t, pump(form, False)[1], words[form], color=colour)
    axes[0].axhline(0.0, color="black", linewidth=0.6)
    axes[0].set(ylabel="passivity audit [J]", xlabel="time [s]", yscale="symlog")
    legend(axes[0])
    caption = "Stiffness pumped 5 ↔ 400 N/m every tick of 1 ms: below zero, energy comes from nothing; the tank holds 0.15 J."
    return Picture("Forms of the tank", caption, fig)


def _not_protected() -> Picture:
    result = run(
        "hover", "hand.amplitude=20 mm", "force_filter.bandwidth=15", "hand.stiffness=600", "port_passivity.enabled=false"
    )
    rows = result.rows
    shown = rows["t"] >= 5.5
    fig, axes = panels(2)
    line(axes[0], rows["t"][shown], rows["F_h_raw_H"]["f"][shown, 0], color=MADE)
    line(axes[1], rows["t"][shown], rows["E_audit"][shown], "audit of arm\nand tank", color=MEASURED)
    net = rows["W_human"]["into"] - rows["W_human"]["out"]
    line(axes[1], rows["t"][shown], net[shown], "energy from\nthe human", color=CONTROLLER)
    axes[1].axhline(0.0, color="black", linewidth=0.6)
    axes[0].set(ylabel="force of the\nhuman, x [N]")
    axes[1].set(ylabel="energy [J]", xlabel="time [s]")
    legend(axes[1])
    caption = "A hand of 600 N/m, a force filter of 15 rad/s, no guard: the human is thrown about while the tank's audit holds."
    return Picture("The tank does not protect the human", caption, fig)
