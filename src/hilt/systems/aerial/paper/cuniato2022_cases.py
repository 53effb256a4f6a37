"""Cuniato et al. 2022, Sec. IV: the two cases, a human who mounts a tool and a bird diverter on a cable."""

import numpy as np

from hilt.core.gravity import STANDARD_GRAVITY
from hilt.job import Result
from hilt.report.words import si
from hilt.reproduce.claims import Claim
from hilt.systems.aerial.paper.cuniato2022_figures import run
from hilt.systems.aerial.task import RAISED
from hilt.systems.aerial.views.traces import scenario_of

FRONT_HARD = ("gains.front.mass=30", "gains.front.damping=800", "gains.front.stiffness=400")
SEEDS = range(4)
SHORT = "loop.duration=22 s"  # the diverter is done by then


def raised_at(result: Result) -> float:
    found = np.flatnonzero(result.rows["task_state"] == RAISED)
    return float(result.rows["t"][found[0]]) if len(found) else np.inf


def held_back(result: Result) -> float:
    """By how much the tank has kept the stiffness below the desired one, at most [N/m]."""
    return float((result.rows["K_arm_des"] - result.rows["K_arm"])[:, 0].max())


def handover_claims() -> list[Claim]:
    result, low = run("handover"), run("handover", "tank.start=0.02 J", "tank.share=0.05")
    rows, m, hand = result.rows, result.metrics, scenario_of(result).hand
    lowest = int(rows["E_tank"].argmin())
    behind = held_back(result)
    sag = hand.tool_mass * STANDARD_GRAVITY / scenario_of(result).gains.hooked.stiffness
    at = raised_at(result)
    return [
        Claim(
            "Sec. IV-A, Fig. 3",
            "force left when the tool is mounted and the human gone",
            "about 1.4 N",
            f"{m['tool_force_final_N']:.3f} N",
            abs(m["tool_force_final_N"] - 1.4) < 0.02,
            numbers=((1.4, m["tool_force_final_N"]),),
        ),
        Claim(
            "Sec. IV-A",
            "the arm then hangs lower by weight over stiffness",
            "no figure",
            f"{1e3 * m['sag_m']:.1f} mm; m g/K = {1e3 * sag:.1f} mm",
            abs(m["sag_m"] - sag) < 0.003,
            beyond=True,
        ),
        Claim(
            "Sec. IV-A, Fig. 2",
            "displacement of the base while a human leads the tool",
            "in the figure only",
            f"{1e3 * max(m['base_displacement_m']):.1f} mm, led by {1e3 * hand.amplitude:g} mm to and fro",
            max(m["base_displacement_m"]) < 0.05,
            beyond=True,
        ),
        Claim(
            "Sec. IV-A, Fig. 4",
            "gains are raised when the human's contact is found",
            "around 10 s, while he holds",
            f"{at:.1f} s; he takes hold at {hand.start:g} s and lets go at {hand.release:g} s",
            at < hand.release,
        ),
        Claim(
            "Sec. IV-A, Figs. 4, 5",
            "the tank discharges in part and delays the rise of the gains",
            "delayed",
            f"from {rows['E_tank'].max():.3f} to {m['tank_min_J']:.3f} J; stiffness held back by up to {behind:.2f} N/m",
            behind > 0.5 and m["tank_min_J"] >= 0.01,
            "it discharges, but a tank of 0.15 J that starts full pays for the rise of 15 N/m at once; what is in it and how the tool is led at "
            f"that moment the paper does not say. With 0.02 J in it and 5 % refilled it holds back {held_back(low):.1f} N/m",
        ),
        Claim(
            "Sec. IV-A, Fig. 5",
            "later the tank recharges from what the interaction dissipates",
            "recharges",
            f"from {rows['E_tank'][lowest]:.3f} to {rows['E_tank'][-1]:.3f} J",
            rows["E_tank"][-1] > rows["E_tank"][lowest] + 1e-3,
        ),
        Claim(
            "eq. 15",
            "arm and tank are passive in the whole run (audit)",
            "≥ 0 J",
            f"{m['passivity_audit_min_J']:.1e} J",
            m["passivity_audit_min_J"] >= -1e-9,
        ),
        Claim(
            "Sec. II-B",
            "the arm keeps up: error of its inverse kinematics, largest joint torque",
            "no figure",
            f"{si(m['ik_error_max_m'], 'm', 2)}, {m['joint_torque_max_Nm']:.2f} N·m of 5 N·m",
            m["ik_error_max_m"] < 1e-3 and m["joint_torque_max_Nm"] < 5,
            beyond=True,
        ),
    ]


def shaken(seed: int) -> tuple[str, ...]:
    """Every figure of the contact off by up to 20 %, the cable by up to 20 mm."""
    rng, cable = np.random.default_rng(seed), scenario_of(run("diverter")).cable
    names = ("mass", "stiffness", "damping_ratio", "wall_stiffness", "wall_damping", "friction", "gate_force", "gate_friction")
    changes = [f"cable.{name}={getattr(cable, name) * rng.uniform(0.8, 1.2)}" for name in names]
    return (*changes, f"cable.offset={rng.uniform(-0.02, 0.02)}", f"seed={seed}", SHORT)


def diverter_claims() -> list[Claim]:
    result = run("diverter")
    m, rows = result.metrics, result.rows
    x, _, z = m["base_displacement_m"]
    bare = run("diverter", "estimator.enabled=false", SHORT).metrics
    others = [run("diverter", *shaken(seed)) for seed in SEEDS]
    hold = sum(bool(r.metrics["hooked"] and r.rows["latched_true"][-1]) for r in others)
    most = max(max(r.metrics["base_displacement_m"]) for r in others)
    aside = "cable.offset=20 mm"
    soft, hard = run("diverter", aside, SHORT), run("diverter", aside, SHORT, *FRONT_HARD)
    missed = run("diverter", "cable.offset=35 mm", SHORT)
    return [
        Claim(
            "Sec. IV-B, Fig. 7",
            "displacement of the base after the diverter has hooked",
            "about 0.1 m along x",
            f"{x:.3f} m along x, {z:.3f} m along z",
            abs(x - 0.1) < 0.03,
            "the paper gives no figures of cable, clip or tool and not how its arm meets the line. Here a model of the contact stands in, the "
            "hook comes from straight below, and the load is vertical",
            numbers=((0.1, x),),
        ),
        Claim(
            "Sec. IV-B, Fig. 7",
            "the displacement is recovered by the flight controller",
            "recovered",
            f"within 2 cm {m['recovery_time_s']:.2f} s after the snap, {si(m['base_final_error_m'], 'm', 2)} at the end",
            m["recovery_time_s"] < 5,
        ),
        Claim(
            "Sec. IV-B, Fig. 6",
            "the diverter is installed: the hook is closed over the cable, and the task knows it",
            "installed",
            f"{m['hooked']}, truly {bool(rows['latched_true'][-1])}; {m['peak_force_N']:.0f} N at most",
            bool(m["hooked"] and rows["latched_true"][-1]),
        ),
        Claim(
            "Sec. IV-B",
            f"the same with every figure of the contact off by 20 % and the cable by 20 mm, {len(SEEDS)} seeds",
            "not treated",
            f"{hold} of {len(SEEDS)} hook; base {1e3 * most:.0f} mm at most",
            hold == len(SEEDS) and most < 0.045,
            beyond=True,
        ),
        Claim(
            "Sec. IV-B",
            "a cable 35 mm aside is missed, and not taken for hooked",
            "not treated",
            f"hooked {missed.metrics['hooked']}, truly {bool(missed.rows['latched_true'].any())}",
            not missed.metrics["hooked"],
            beyond=True,
        ),
        Claim(
            "Sec. IV-B",
            "front gains kept low attenuate the impact (cable 20 mm aside): displacement along x",
            "attenuated",
            f"{soft.metrics['base_displacement_m'][0]:.3f} m; as hard as the others {hard.metrics['base_displacement_m'][0]:.3f} m"
            + (f", stopped at {hard.fault.t:.1f} s" if hard.fault else ""),
            soft.metrics["base_displacement_m"][0] < 0.5 * hard.metrics["base_displacement_m"][0],
        ),
        Claim(
            "Sec. III-A",
            "without the estimator the cable's pull displaces the base along z by",
            "no figure",
            f"{bare['base_displacement_m'][2]:.2f} m",
            bare["base_displacement_m"][2] > z,
            beyond=True,
        ),
    ]
