"""De Stefano, Balachandran, Artigas & Secchi 2017: every number and figure beside ours."""

import functools

import numpy as np

from hilt import job
from hilt.job import Result
from hilt.report.colours import AXES, CONTROLLER, IDEAL, MADE, MEASURED
from hilt.report.figure import Picture, line, panels
from hilt.report.words import si
from hilt.reproduce.claims import Claim, Reproduction
from hilt.systems.freefloat.analysis.reference import continuous
from hilt.systems.freefloat.freefloat import drift

TITLE = "De Stefano et al. 2017: a passive and explicit discrete integrator"
T1, T2, T3 = 0.1, 0.01, 0.001


@functools.cache
def run(name: str, kind: str, period: float | None = None, *settings: str) -> Result:
    changes = [f"integrator.kind={kind}", *([f"loop.period={period}"] if period else []), *settings]
    return job.simulate(*job.find("freefloat", name, changes))


def mass() -> float:
    return float(run("paper", "euler", T1).scenario.body.mass)  # type: ignore[attr-defined]


@functools.cache
def continuous_energy(period: float, shift: float = 0.0) -> np.ndarray:
    """H_c of the paper's profile, `shift` samples after each tick."""
    result = run("paper", "euler", period)
    values = result.scenario
    t = result.rows["t"] + shift * period
    return continuous(values, np.r_[0.0, t])["H"][1:] if shift else continuous(values, t)["H"]


def energy_difference(period: float) -> tuple[np.ndarray, np.ndarray]:
    """Time and ΔE - ΔH = F(k-1) T [v(k-1) - v(t)] of each tick [DeStefano2017, eq. 12]; v(t) is continuous."""
    result = run("paper", "euler", period)
    rows = result.rows
    v = np.sqrt(2.0 * continuous_energy(period) / mass())
    force, speed = rows["F_Bcm_W"]["f"][:-1, 0], rows["V_WBcm"]["v"][:-1, 0]
    return rows["t"][1:], force * period * (speed - v[1:])


def balance_error() -> float:
    """Largest error of H(k) = H(k-1) + T v F + ΔH [DeStefano2017, eq. 9] over the run."""
    rows = run("paper", "euler", T1).rows
    force, v = rows["F_Bcm_W"]["f"][:-1, 0], rows["V_WBcm"]["v"][:-1, 0]
    return float(np.abs(np.diff(rows["H"]) - T1 * v * force - T1**2 * force**2 / (2 * mass())).max())


def _drift_claims() -> list[Claim]:
    slow, fast = (run("paper", "euler", period).metrics["drift_m"] for period in (T1, T2))
    held = run("paper", "passive", T1).metrics
    printed = run("paper", "passive-literal", T1).metrics
    ratio = slow[1] / fast[1]
    return [
        Claim(
            "Sec. II, Fig. 3",
            "drift of (5) at 32 s, T = 0.1 s",
            "0.05 m",
            f"{slow[0]:.4f} m",
            abs(slow[0] / 0.05 - 1) < 0.005,
            numbers=((0.05, slow[0]),),
        ),
        Claim(
            "Sec. II, Fig. 3",
            "drift of (5) reached from 32 s to 50 s, T = 0.1 s",
            "0.15 m",
            f"{slow[1]:.4f} m",
            abs(slow[1] / 0.15 - 1) < 0.005,
            numbers=((0.15, slow[1]),),
        ),
        Claim(
            "Sec. II, Fig. 3",
            "drift with T = 0.01 s",
            "10 times lower",
            f"{ratio:.3f} times lower",
            abs(ratio - 10) < 0.05,
            numbers=((10.0, ratio),),
        ),
        Claim(
            "Sec. IV",
            "the controller removes the drift (F held, as we read it)",
            "corrected",
            f"{si(held['position_error_m'], 'm')} left of 0.15 m",
            held["position_error_m"] < 1e-6,
        ),
        Claim(
            "eq. 17-19",
            "the same with F(k), as printed",
            "corrected",
            f"{printed['drift_m'][1]:.3f} m at 50 s",
            printed["position_error_m"] < 1e-6,
            "the controller divides by the force of the next sample: velocity and correction then belong to different ticks, "
            "the force acts one tick late, and at each change of sign the quotient has no bound (here it is limited to T|F|/m)",
        ),
    ]


def _energy_claims() -> list[Claim]:
    rows = run("paper", "euler", T1).rows
    exact = continuous_energy(T1)
    increase = float((rows["H"] - exact).max())
    shifted = float((rows["H"][1:] - exact[:-1]).max())
    sizes = [float(np.abs(energy_difference(period)[1]).max()) for period in (T1, T2, T3)]
    corrected = {}
    for period in (T1, T2):
        v_c = run("paper", "passive", period).rows["v_c"][:, 0]
        reference = continuous_energy(period, 0.5)
        corrected[period] = float(np.abs(0.5 * mass() * v_c**2 - reference).max() / reference.max())
    return [
        Claim("eq. 7-9", "H(k) = H(k-1) + T vᵀF + ΔH", "identity", f"error {balance_error():.1e} J", balance_error() < 1e-12),
        Claim(
            "Sec. II, Fig. 4",
            "Euler increases the energy over the continuous case",
            "increase, larger for larger T",
            f"at most {si(increase, 'J')} of {exact.max():.0f} J above it",
            increase > 0.001 * exact.max(),
            "under a held force the velocity of (6) is exact, so the kinetic energy is right at every sample; ΔH only says that the "
            f"port was booked with the velocity before the step. Reading H(k+1) against the continuous H(k) would show +{shifted:.2f} J",
        ),
        Claim(
            "Sec. III-B, Fig. 5",
            "ΔE - ΔH tends to zero with T (0.1, 0.01, 0.001 s)",
            "tends to zero",
            ", ".join(si(size, "J") for size in sizes) + " a tick at most",
            sizes[0] > 50 * sizes[1] > 2500 * sizes[2],
        ),
        Claim(
            "Sec. IV, Fig. 11",
            "energy with the controller equals the continuous case (T = 0.1 and 0.01 s)",
            "equal",
            f"within {corrected[T1]:.2%} and {corrected[T2]:.3%}",
            corrected[T1] < 0.01 and corrected[T2] < 0.001,
        ),
    ]


def _observer_claims() -> list[Claim]:
    claims = []
    for number, period in ((9, T1), (10, T2)):
        m = run("paper", "passive", period).metrics
        claims.append(
            Claim(
                f"Sec. IV, Fig. {number}",
                f"E_obs without and with the controller, T = {period:g} s",
                "negative; never below 0 J",
                f"{m['e_obs_uncontrolled_min_J']:.3f} J; {m['e_obs_min_J']:.0e} J",
                m["e_obs_uncontrolled_min_J"] < 0 and m["e_obs_min_J"] >= -1e-12,
            )
        )
    rows = run("oos-sim", "passive").rows
    free, kept = rows["E_obs_free"].min(axis=0), rows["E_obs"].min()
    force = np.abs(rows["F_Bcm_W"]["f"]).max(axis=0)
    claims += [
        Claim(
            "Sec. V, Figs. 12-14",
            "250 kg, 4 ms, sensor noise: E_obs with the controller, three axes",
            "never below 0 J",
            f"{kept:.0e} J",
            bool(kept >= -1e-12),
        ),
        Claim(
            "Sec. V, Figs. 12-14",
            "without it: most active along z (60 N), less along y and x",
            "|E| z > y > x",
            ", ".join(f"{axis} {force[i]:.0f} N {si(float(free[i]), 'J')}" for i, axis in ((2, "z"), (1, "y"), (0, "x"))),
            bool(free[2] < free[1] < free[0] < 0),
        ),
    ]
    return claims


def _contact_claims() -> list[Claim]:
    gains = {k: float(np.mean(run("wall", k, None, "robot.delay=0 s").metrics["rebound_gain"])) for k in ("euler", "passive")}
    turning = {k: run("tumble", k).metrics["rotation_energy_drift_J"] for k in ("explicit", "momentum")}
    return [
        Claim(
            "Sec. III-B",
            "the passive integrator gives a stable interaction (rebound from a spring, 30 kg, 48 N/mm, T = 1 ms, no delay)",
            "gain ≤ 1",
            f"passive {gains['passive']:.4f}, (5) as printed {gains['euler']:.4f} a contact",
            gains["passive"] <= 1.001,
            "the loop holds the force over the tick, which is half a sample of delay: the rebound grows by exp(πωT/4), while (5), "
            "a symplectic rule, gives back what it took. Passivity of the integrator's port is not passivity of the loop",
        ),
        Claim(
            "Sec. VI",
            "rotation (future work there): free tumbling, 14.16 J, 60 s, T = 0.1 s",
            "no figure",
            f"explicit Euler {turning['explicit']:+.2f} J, momentum {turning['momentum']:+.4f} J",
            abs(turning["momentum"]) < 0.005,
            beyond=True,
        ),
    ]


def pictures() -> list[Picture]:
    return [_fig3(), _fig4(), _fig5(), _fig9("Fig. 9", T1), _fig9("Fig. 10", T2), _fig11(), *(_fig12(a) for a in (2, 1, 0))]


def _fig3() -> Picture:
    fig, axes = panels(3, 1.6)
    result = run("paper", "euler", T1)
    line(axes[0], result.rows["t"], result.rows["F_Bcm_W"]["f"][:, 0], color=MEASURED)
    axes[0].set(ylabel="force [N]")
    for panel, period in zip(axes[1:], (T1, T2), strict=True):
        result = run("paper", "euler", period)
        line(panel, result.rows["t"], drift(result.rows, result.scenario), color=MADE)
        panel.set(ylabel=f"drift [m], T = {period:g} s")
    axes[2].set(xlabel="time [s]")
    return Picture("Fig. 3", "Force profile, and the drift in position of (5) for both sample times.", fig)


def _fig4() -> Picture:
    fig, axes = panels(2)
    for period, colour in ((T1, MADE), (T2, MEASURED)):
        rows = run("paper", "euler", period).rows
        line(axes[0], rows["t"], rows["H"], f"H, T = {period:g} s", color=colour)
        line(axes[1], rows["t"], rows["H"] - continuous_energy(period), f"T = {period:g} s", color=colour)
    line(axes[0], run("paper", "euler", T2).rows["t"], continuous_energy(T2), "continuous H_c", **IDEAL)
    axes[0].set(ylabel="kinetic energy [J]")
    axes[1].set(ylabel="H - H_c [J]", xlabel="time [s]")
    for panel in axes:
        panel.legend()
    return Picture(
        "Fig. 4", "The paper shows an increase here. Sample by sample there is none: the held force lags by half a tick.", fig
    )


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
    fig, axes = panels(2)
    for period, colour in ((T1, MADE), (T2, MEASURED)):
        rows = run("paper", "passive", period).rows
        energy, t = 0.5 * mass() * rows["v_c"][:, 0] ** 2, rows["t"] + 0.5 * period
        line(axes[0], t, energy, f"T = {period:g} s", color=colour)
        line(axes[1], t, energy - continuous_energy(period, 0.5), f"T = {period:g} s", color=colour)
    line(axes[0], run("paper", "euler", T2).rows["t"], continuous_energy(T2), "continuous H_c", **IDEAL)
    axes[0].set(ylabel="½ m v_c² [J]")
    axes[1].set(ylabel="difference [J]", xlabel="time [s]")
    for panel in axes:
        panel.legend()
    return Picture(
        "Fig. 11", "Energy of the corrected velocity, which is that of the middle of the tick, beside the continuous case.", fig
    )


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
    caption = "Our forces have the size of the paper's, not its curves, which it prints only as pictures."
    return Picture(f"Fig. {number}: axis {name}", caption, fig)


def reproduce() -> Reproduction:
    claims = [*_drift_claims(), *_energy_claims(), *_observer_claims(), *_contact_claims()]
    return Reproduction("destefano2017", TITLE, claims, pictures)
