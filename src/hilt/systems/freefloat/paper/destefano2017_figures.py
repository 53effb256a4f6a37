"""De Stefano et al. 2017: its figures, drawn from our runs."""

import numpy as np
from matplotlib.figure import Figure

from hilt.report.colours import AXES, CONTROLLER, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, legend, line, panels
from hilt.systems.freefloat.freefloat import drift
from hilt.systems.freefloat.paper.destefano2017_runs import (
    T1,
    T2,
    T3,
    apart_from_continuous,
    continuous_energy,
    energy_difference,
    mass,
    run,
)


def pictures() -> list[Picture]:
    return [_fig3(), _fig4(), _fig5(), _fig9("Fig. 9", T1), _fig9("Fig. 10", T2), _fig11(), *(_fig12(a) for a in (2, 1, 0))]


def _fig3() -> Picture:
    fig, axes = panels(3, 1.6)
    result = run("paper", "euler", T1)
    line(axes[0], result.rows["t"], result.rows["F_Bcm_W"]["f"][:, 0], color=MEASURED)
    axes[0].set(ylabel="force [N]")
    for panel, period in zip(axes[1:], (T1, T2), strict=True):
        result = run("paper", "euler", period)
        t = result.rows["t"]
        line(panel, t, drift(result.rows, result.scenario), "(5), held force", color=MADE)
        line(panel, t, apart_from_continuous("euler", period), "(5), continuous force", color=MEASURED)
        line(panel, t, apart_from_continuous("passive", period), "passive, continuous force", color=CONTROLLER)
        panel.set(ylabel=f"drift [m]\nT = {period:g} s")
    legend(axes[1])
    axes[2].set(xlabel="time [s]")
    return Picture(
        "Fig. 3",
        "Force profile, its peaks fitted to the drifts; the drift of (5) against the held force, which the paper shows, and the deviations from the continuous case. The passive rule has no drift against the held force.",
        fig,
    )


def _energies(kind: str, label: str) -> Figure:
    """½ m v² of the velocity commanded at t_k compared with H_c(t_k), for both sample times."""
    fig, axes = panels(2)
    for period, colour in ((T1, MADE), (T2, MEASURED)):
        rows = run("paper", kind, period).rows
        energy = 0.5 * mass() * rows["v_c"][:, 0] ** 2
        line(axes[0], rows["t"], energy, f"T = {period:g} s", color=colour)
        line(axes[1], rows["t"], energy - continuous_energy(period), f"T = {period:g} s", color=colour)
    line(axes[0], run("paper", "euler", T2).rows["t"], continuous_energy(T2), "continuous H_c", **IDEAL)
    axes[0].set(ylabel=label)
    axes[1].set(ylabel="minus H_c [J]", xlabel="time [s]", ylim=(-0.1, 0.8))
    for panel in axes:
        panel.legend()
    return fig


def _fig4() -> Picture:
    caption = (
        "Energy of the velocity commanded at t_k: Euler's is above the continuous case at t_k. Half a tick later it is not: the held "
        "force is half a tick late. In the printed indices, a tick later, it is below."
    )
    return Picture("Fig. 4", caption, _energies("euler", "½ m v² [J]"))


def _fig5() -> Picture:
    fig, axes = panels(3, 1.4)
    for panel, period in zip(axes, (T1, T2, T3), strict=True):
        line(panel, *energy_difference(period), color=MEASURED)
        panel.set(ylabel=f"ΔE - ΔH [J]\nT = {period:g} s")
    axes[2].set(xlabel="time [s]")
    return Picture(
        "Fig. 5", "Difference between the energy made in a tick and its estimate: a hundred times less for a tenth of T.", fig
    )


def _fig9(name: str, period: float) -> Picture:
    rows = run("paper", "passive", period).rows
    fig, axes = panels(3, 1.5)
    line(axes[0], rows["t"], rows["E_obs_free"][:, 0], color=MADE)
    line(axes[1], rows["t"], rows["v_pc"][:, 0], color=CONTROLLER)
    line(axes[2], rows["t"], rows["E_obs"][:, 0], color=MEASURED)
    axes[0].set(ylabel="E_obs without [J]")
    axes[1].set(ylabel="v_pc [m/s]")
    axes[2].set(ylabel="E_obs with [J]", xlabel="time [s]", ylim=axes[0].get_ylim())
    return Picture(
        name, f"T = {period:g} s: energy observed without the controller, its correction, energy observed with it.", fig
    )


def _fig11() -> Picture:
    caption = "The same with the controller, compared at the same instant as in Fig. 4."
    return Picture("Fig. 11", caption, _energies("passive", "½ m v_c² [J]"))


def _fig12(axis: int) -> Picture:
    rows = run("oos-sim", "passive").rows
    name = "xyz"[axis]
    fig, axes = panels(6, 1.15)
    columns = (
        ("E_obs_free", "E_obs w/o [J]", MADE),
        ("E_obs", "E_obs with [J]", MEASURED),
        ("beta", f"β_{name} [m/(s·N)]", CONTROLLER),
        ("v_pc", "v_pc [m/s]", CONTROLLER),
    )
    for panel, (signal, text, colour) in zip(axes, columns, strict=False):
        line(panel, rows["t"], rows[signal][:, axis], color=colour)
        panel.set_ylabel(text, fontsize=8)
    axes[1].set_ylim(axes[0].get_ylim())
    axes[2].set_ylim(0.0, 2.0 * float(np.median(rows["beta"][:, axis])))  # constant: T/(2m)
    line(axes[4], rows["t"], rows["F_Bcm_W"]["f"][:, axis], color=AXES[axis])
    axes[4].set_ylabel(f"F_{name} [N]", fontsize=8)
    line(axes[5], rows["t"], rows["X_WBcm"]["p"][:, axis] - rows["X_WBcm"]["p"][0, axis], color=AXES[axis])
    axes[5].set_ylabel(f"{name} [m]", fontsize=8)
    axes[5].set(xlabel="time [s]")
    number = {2: 12, 1: 13, 0: 14}[axis]
    caption = "Our forces have the size of the paper's but not its curves, which it prints only as plots."
    return Picture(f"Fig. {number}: axis {name}", caption, fig)
