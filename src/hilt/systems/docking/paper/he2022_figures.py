"""He & Shen 2022: its figures, drawn from our runs. Flights are left out where the paper leaves them out."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import CONTROLLER, IDEAL, MEASURED
from hilt.report.figure import Picture, line, panels
from hilt.systems.docking.paper.he2022_runs import BENCHES, NOISE, bench, ideal, omega, scenario, slots, table1
from hilt.systems.docking.views.choices import COLOUR_OF_METHOD
from hilt.systems.docking.views.contacts import along, scenario_of

ASSUMED = "The paper gives no lag of its robot; ours is second order with 20 ms in total, of which 2 ms in the sensor."
HERTZ_OF = {"bench-1.93": "1.93 Hz", "bench-2.64": "2.64 Hz"}
METHODS = ("pic", "dac", "pida")


def pictures() -> list[Picture]:
    return [
        _fig6(),
        _fig7(),
        _fig8(),
        _fig9(),
        _fig10(),
        _fig11(),
        _fig13(),
        _fig14(),
        _fig15(),
        _fig16(),
        _fig17(),
        _fig18(),
    ]


def _slot(name: str, delay: float) -> float:
    """Length of a slot [s]: half a period of the contact, the delay, and a margin."""
    return 1.35 * (math.pi / omega(scenario(name)) + delay)


def _strip(axes: Axes, result: Result, values: np.ndarray, slot: float, label: str | None, **style: Any) -> None:
    axes.plot(*slots(result, values, slot), label=label, **style)


def _finish(axes: Axes, name: str, slot: float, words: str, last: bool = True) -> None:
    """A slot for each collision, numbered."""
    count = scenario(name).collisions
    for n in range(1, count):
        axes.axvline((n - 0.11) * slot, color="0.75", linewidth=0.8)
    axes.set_xticks([(n + 0.39) * slot for n in range(count)], [str(n + 1) for n in range(count)])
    axes.set(ylabel=words, xlim=(-0.11 * slot, (count - 0.11) * slot))
    axes.grid(visible=False, axis="x")
    if last:
        axes.set_xlabel(f"collision (each shows {1e3 * slot:.0f} ms after the touch, flights left out)")


def _velocity(result: Result) -> np.ndarray:
    return 1e3 * along(result, "v_C_des_W")


def _known(result: Result, signal: str) -> np.ndarray:
    return np.where(result.rows["identified"] == 1, 1e-3 * result.rows[signal], np.nan)


def _legend(axes: Axes) -> None:
    """Put the legend above the panel, clear of the curves."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, fontsize=8)


def _identified(axes: list[Axes], runs: list[tuple[Result, str, str]], name: str, slot: float) -> None:
    """Stiffness above, damping below; the axis limits show the first estimates without being dominated by them."""
    contact = scenario(name).contact
    for result, label, colour in runs:
        _strip(axes[0], result, _known(result, "k_hat"), slot, label, color=colour)
        _strip(axes[1], result, _known(result, "c_hat"), slot, label, color=colour)
    axes[0].axhline(1e-3 * contact.stiffness, label="true", **IDEAL)
    axes[1].axhline(1e-3 * contact.damping, **IDEAL)
    axes[0].set_ylim(0.9e-3 * contact.stiffness, 1.1e-3 * contact.stiffness)
    room = 4e-5 * math.sqrt(contact.stiffness * scenario(name).reduced_mass)
    axes[1].set_ylim(1e-3 * contact.damping - room, 1e-3 * contact.damping + room)
    _finish(axes[0], name, slot, "stiffness [N/mm]", last=False)
    _finish(axes[1], name, slot, "damping [N·s/mm]", last=False)


def _fig6() -> Picture:
    fig, axes = panels(4, 1.6)
    slot = _slot("table1", 0.010)
    runs = [(table1("pic", delay, NOISE), f"{delay} ms", colour) for delay, colour in ((4, MEASURED), (10, CONTROLLER))]
    _identified(axes[:2], runs, "table1", slot)
    for result, label, colour in runs:
        _strip(axes[2], result, _velocity(result), slot, label, color=colour)
        _strip(axes[3], result, along(result, "F_hat_W"), slot, label, color=colour)
    _strip(axes[2], ideal("table1"), _velocity(ideal("table1")), slot, "ideal", **IDEAL)
    _strip(axes[3], ideal("table1"), along(ideal("table1"), "F_C_true_W"), slot, "ideal", **IDEAL)
    _finish(axes[2], "table1", slot, "velocity [mm/s]", last=False)
    _finish(axes[3], "table1", slot, "force [N]")
    _legend(axes[0])
    return Picture(
        "Fig. 6: PIC at 4 and 10 ms",
        "Identified stiffness and damping, velocity and compensated force, with 0.5 N of sensor noise. The damping also goes below "
        "zero, as in the paper; with the longer delay the force is over-compensated.",
        fig,
    )


def _fig7() -> Picture:
    result, other = table1("pic", 20), ideal("table1")
    fig, (left, right) = figure.subplots(1, 2, figsize=(7.2, 2.8), width_ratios=(1.7, 1), sharey=True)
    for axes in (left, right):
        line(axes, result.rows["t"], _velocity(result), "PIC, 20 ms", color=MEASURED)
        line(axes, other.rows["t"], _velocity(other), "ideal", **IDEAL)
        axes.set_xlabel("time [s]")
    right.set(xlim=(0.48, 0.75), title="first contact")
    left.set_ylabel("velocity [mm/s]")
    _legend(left)
    return Picture(
        "Fig. 7: PIC at 20 ms",
        "The paper shows an overshoot of 1.6 and a rebound below one half. Ours overshoots because the force of the first 20 ms is missed, and loses "
        "little; the table lists settings that would lose more.",
        fig,
    )


def _fig8() -> Picture:
    result, other, slot = table1("dac", 10), ideal("table1"), _slot("table1", 0.010)
    fig, ((a, b), (c, d)) = figure.subplots(2, 2, figsize=(7.2, 5.0))
    _strip(a, result, _velocity(result), slot, "DAC, 10 ms", color=MEASURED)
    _strip(a, other, _velocity(other), slot, "ideal", **IDEAL)
    line(b, result.rows["t"], result.rows["H"], color=MEASURED)
    b.axhline(result.rows["H"][0], **IDEAL)
    b.set(xlabel="time [s]", ylabel="kinetic energy [J]", ylim=(0.0, None))
    _strip(c, result, along(result, "F_C_true_W"), slot, None, color=MEASURED)
    _strip(c, other, along(other, "F_C_true_W"), slot, None, **IDEAL)
    _finish(a, "table1", slot, "velocity [mm/s]")
    _finish(c, "table1", slot, "true force [N]")
    for axes in (a, c):
        axes.set_xlabel("collision, flights left out")
    numbers = np.arange(len(result.metrics["cov"])) + 1.0
    for side, name, colour in ((-0.2, "cov", MEASURED), (0.2, "cof", CONTROLLER)):
        d.bar(numbers + side, [100.0 * (ratio - 1.0) for ratio in result.metrics[name]], 0.38, color=colour)
    d.axhline(0.0, color="black", linewidth=0.8)
    d.set(xlabel="collision", ylabel="CoV - 1 (blue),\nCoF - 1 (orange) [%]", xticks=numbers)
    _legend(a)
    return Picture("Fig. 8: DAC at 10 ms", "Speed and energy are correct; the force is too large in each collision.", fig)


def _compare(words: str, pick: Any, ideal_pick: Any, methods: tuple[str, ...]) -> figure.Figure:
    """Table 1 at 10 and 20 ms, one curve per method."""
    fig, axes = panels(2, 2.1)
    for panel, delay in zip(axes, (10, 20), strict=True):
        slot = _slot("table1", 0.020)
        for method in methods:
            result = table1(method, delay)
            _strip(panel, result, pick(result), slot, method, color=COLOUR_OF_METHOD[method])
        _strip(panel, ideal("table1"), ideal_pick(ideal("table1")), slot, "ideal", **IDEAL)
        _finish(panel, "table1", slot, f"{words}\n{delay} ms", last=delay == 20)
    _legend(axes[0])
    return fig


def _fig9() -> Picture:
    fig = _compare("velocity [mm/s]", _velocity, _velocity, METHODS)
    return Picture(
        "Fig. 9: velocities at 10 and 20 ms", "With the energy controller (dac, pida) each flight has the ideal speed.", fig
    )


def _fig10() -> Picture:
    fig, axes = panels(2, 1.9)
    for panel, delay in zip(axes, (10, 20), strict=True):
        for method in ("pic", "pida"):
            result = table1(method, delay)
            line(panel, result.rows["t"], result.rows["H"], method, color=COLOUR_OF_METHOD[method])
        panel.axhline(result.rows["H"][0], label="ideal in flight", **IDEAL)
        panel.set(ylabel=f"kinetic energy [J]\n{delay} ms", ylim=(0.0, None))
    axes[1].set_xlabel("time [s]")
    _legend(axes[0])
    return Picture(
        "Fig. 10: energy without (pic) and with (pida) damping amendment",
        "With it, every flight has the energy of the first.",
        fig,
    )


def _fig11() -> Picture:
    def force(result: Result) -> np.ndarray:
        return along(result, "F_C_true_W")

    return Picture(
        "Fig. 11: contact forces at 10 and 20 ms",
        "True forces. DAC keeps the speed at the price of a larger force, which grows with the delay; PIDA stays near the ideal.",
        _compare("true force [N]", force, force, METHODS),
    )


def _fig13() -> Picture:
    fig, axes = panels(2, 1.9)
    slot = _slot("bench-1.93", 0.020)
    runs = [
        (bench(name, "pida", NOISE), f"{scenario_of(bench(name, 'pida')).reduced_mass:.2f} kg", colour)
        for name, colour in zip(BENCHES, (MEASURED, CONTROLLER), strict=True)
    ]
    _identified(axes, runs, "bench-1.93", slot)
    _finish(axes[1], "bench-1.93", slot, "damping [N·s/mm]")
    _legend(axes[0])
    return Picture(
        "Fig. 13: identification on the bench",
        f"PIDA with 0.5 N of noise: both masses identify the same contact. {ASSUMED}",
        fig,
    )


def _of_benches(
    words: str, signal: Any, methods: tuple[str, ...], most: float | None = None, with_ideal: bool = True
) -> figure.Figure:
    """Both benches, one above the other, one curve per method; `most` limits the axis where a method diverges."""
    fig, axes = figure.subplots(2, 1, figsize=(7.2, 4.8))  # each with its own slots
    for panel, name in zip(axes, BENCHES, strict=True):
        slot = _slot(name, 0.020)
        for method in methods:
            result = bench(name, method)
            _strip(panel, result, signal(result), slot, method, color=COLOUR_OF_METHOD[method])
        if with_ideal:
            _strip(panel, ideal(name), signal(ideal(name)), slot, "ideal", **IDEAL)
        _finish(panel, name, slot, f"{words}\n{HERTZ_OF[name]}")
        if most:
            panel.set_ylim(-most, most)
    _legend(axes[0])
    return fig


def _fig14() -> Picture:
    return Picture(
        "Fig. 14: velocities on the bench",
        f"Without control the speed grows beyond the axis; with it the rebounds get slower because of the damping. {ASSUMED}",
        _of_benches("velocity [mm/s]", _velocity, ("none", *METHODS), most=50.0),
    )


def _fig15() -> Picture:
    fig, axes = panels(2, 1.9)
    for panel, name in zip(axes, BENCHES, strict=True):
        for method in ("none", *METHODS):
            result = bench(name, method)
            line(panel, result.rows["t"], result.rows["H"], method, color=COLOUR_OF_METHOD[method])
        line(panel, ideal(name).rows["t"], ideal(name).rows["H"], "ideal", **IDEAL)
        panel.set(ylabel=f"kinetic energy [J]\n{HERTZ_OF[name]}", ylim=(0.0, 0.15))
    axes[1].set_xlabel("time [s]")
    _legend(axes[0])
    return Picture(
        "Fig. 15: energy on the bench", f"Without control it grows beyond the axis, with control it decreases. {ASSUMED}", fig
    )


def _measured_and_compensated(cases: list[tuple[str, str, str]]) -> figure.Figure:
    fig, axes = figure.subplots(2, 1, figsize=(7.2, 4.8))
    for panel, (name, method, words) in zip(axes, cases, strict=True):
        result, slot = bench(name, method), _slot(name, 0.020)
        _strip(panel, result, along(result, "F_mea_W"), slot, "measured", color=MEASURED)
        _strip(panel, result, along(result, "F_hat_W"), slot, "compensated", color=CONTROLLER)
        _finish(panel, name, slot, f"force [N]\n{words}")
    _legend(axes[0])
    return fig


def _fig16() -> Picture:
    return Picture(
        "Fig. 16: measured and compensated force at 1.93 Hz, PIC and DAC",
        f"PIC advances the force; DAC leaves it unchanged on the way in and reduces it on the way out. {ASSUMED}",
        _measured_and_compensated([("bench-1.93", "pic", "PIC"), ("bench-1.93", "dac", "DAC")]),
    )


def _fig17() -> Picture:
    return Picture(
        "Fig. 17: measured forces on the bench",
        f"DAC hits hardest. With PIC our forces do not die away as in the paper. {ASSUMED}",
        _of_benches("measured force [N]", lambda result: along(result, "F_mea_W"), METHODS, with_ideal=False),
    )


def _fig18() -> Picture:
    return Picture(
        "Fig. 18: measured and compensated force, PIDA",
        f"The compensated force is ahead of the measured one by the delay of the loop. {ASSUMED}",
        _measured_and_compensated([("bench-1.93", "pida", "1.93 Hz"), ("bench-2.64", "pida", "2.64 Hz")]),
    )
