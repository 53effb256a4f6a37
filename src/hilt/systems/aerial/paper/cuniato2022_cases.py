"""Cuniato et al. 2022, Sec. IV: the two cases, a human who mounts a tool and a bird diverter on a cable."""

import numpy as np

from hilt.core.gravity import STANDARD_GRAVITY
from hilt.job import Result
from hilt.report.words import si
from hilt.reproduce.claims import BY_CONSTRUCTION, FITTED, NOT_TESTABLE, Claim
from hilt.reproduce.tolerance import judged, near
from hilt.systems.aerial.paper.cuniato2022_figures import run
from hilt.systems.aerial.task import RAISED
from hilt.systems.aerial.views.traces import scenario_of

# The human holds the tool for 30 s, as in the paper; as shipped for 12 s.
THIRTY_SECONDS = ("hand.handover=32 s", "hand.release=36 s", "loop.duration=50 s")
SIDEWAYS = (10, 20, 30)  # mm
FRONT = (1, 3, 10)
SEEDS = range(4)
SHORT = "loop.duration=22 s"  # the diverter is done by then


def raised_at(result: Result) -> float:
    found = np.flatnonzero(result.rows["task_state"] == RAISED)
    return float(result.rows["t"][found[0]]) if len(found) else np.inf


def held_back(result: Result) -> float:
    """Largest amount by which the tank kept the stiffness below the desired one [N/m]."""
    return float((result.rows["K_arm_des"] - result.rows["K_arm"])[:, 0].max())


def handover_claims() -> list[Claim]:
    return [*_tool(), *_gains_and_tank(), *_only_drawn()]


def _tool() -> list[Claim]:
    result = run("handover", *THIRTY_SECONDS)
    m, hand = result.metrics, scenario_of(result).hand
    sag = hand.tool_mass * STANDARD_GRAVITY / scenario_of(result).gains.hooked.stiffness
    return [
        Claim(
            "Sec. IV-A, Fig. 3",
            "the interaction lasts",
            "about 30 s",
            f"{hand.release - hand.start:g} s (12 s in the shipped scenario)",
            because="our human holds the tool for as long as the scenario says; here that time is taken from the paper",
            numbers=((30.0, hand.release - hand.start),),
            reading="from taking hold to letting go",
            tolerance=near(5.0, "s", "“about 30 s”"),
            declared=BY_CONSTRUCTION,
        ),
        Claim(
            "Sec. IV-A, Fig. 3",
            "force left when the tool is mounted and the human gone",
            "about 1.4 N",
            f"{m['tool_force_final_N']:.3f} N",
            because=f"it is the weight of the tool, whose mass in the scenario is 1.4 N over g ({1e3 * hand.tool_mass:.1f} g)",
            numbers=((1.4, m["tool_force_final_N"]),),
            reading="vertical force at the tool at the end",
            tolerance=near(0.05, "N", "half a unit of the last digit"),
            declared=BY_CONSTRUCTION,
        ),
        Claim(
            "Sec. IV-A",
            "the arm then hangs lower by weight over stiffness",
            "no number",
            f"{1e3 * m['sag_m']:.1f} mm; m g/K = {1e3 * sag:.1f} mm",
            abs(m["sag_m"] - sag) < 0.003,
            beyond=True,
            reading="tool below its desired position at the end",
            tolerance=judged("3 mm", "our criterion"),
        ),
        Claim(
            "Sec. II-B",
            "the arm keeps up: error of its inverse kinematics, largest joint torque",
            "no number",
            f"{si(m['ik_error_max_m'], 'm', 2)}, {m['joint_torque_max_Nm']:.2f} N·m of 5 N·m",
            m["ik_error_max_m"] < 1e-3 and m["joint_torque_max_Nm"] < 5,
            beyond=True,
            reading="largest value of the run",
            tolerance=judged("1 mm, 5 N·m", "what the joints of the paper's public code can do"),
        ),
    ]


def _gains_and_tank() -> list[Claim]:
    result, low = run("handover", *THIRTY_SECONDS), run("handover", "tank.start=0.02 J", "tank.share=0.05")
    rows, m, hand = result.rows, result.metrics, scenario_of(result).hand
    lowest, behind, at = int(rows["E_tank"].argmin()), held_back(result), raised_at(result)
    return [
        Claim(
            "Sec. IV-A, Fig. 4",
            "gains are raised when the human's contact is found",
            "while the human holds",
            f"{at - hand.start:.1f} s after the human takes hold, {hand.release - at:.0f} s before letting go",
            hand.start < at < hand.release,
            f"the hand's {1e3 * hand.amplitude:g} mm were chosen so that the thresholds of the public code find it",
            reading="contact of 0.5 to 3 N for 1 s",
            tolerance=judged(
                "between taking hold and letting go", "the paper gives the time from the start of its recording only"
            ),
            declared=FITTED,
        ),
        Claim(
            "Sec. IV-A, Fig. 4",
            "time at which the gains are raised",
            "around 10 s",
            f"{at:.1f} s, with a human who takes hold at {hand.start:g} s",
            because="the paper does not say when the operator takes hold (“after a few seconds”), and the time follows from that",
            declared=NOT_TESTABLE,
        ),
        Claim(
            "Sec. IV-A, Figs. 4, 5",
            "the tank discharges in part and delays the rise of the gains",
            "delayed",
            f"from {rows['E_tank'].max():.3f} to {m['tank_min_J']:.3f} J; stiffness held back by up to {behind:.2f} N/m of 15",
            behind > 1.5,
            "it discharges, but a tank of 0.15 J that starts full pays for the rise of 15 N/m at once; the paper does not say what is in the tank and how "
            f"the tool is led at that moment. With 0.02 J in it and 5 % refilled it holds back {held_back(low):.1f} N/m",
            reading="desired minus actual stiffness of the arm, at most",
            tolerance=judged("a tenth of the rise", "the least that a figure would show; the paper gives no number"),
        ),
        Claim(
            "Sec. IV-A, Fig. 5",
            "later the tank recharges from what the interaction dissipates",
            "recharges",
            f"from {rows['E_tank'][lowest]:.3f} to {rows['E_tank'][-1]:.3f} J",
            rows["E_tank"][-1] - rows["E_tank"][lowest] > 0.5 * (rows["E_tank"][0] - rows["E_tank"][lowest]),
            "between two rises of the gains the tank only takes in energy: a share of what the damping dissipates, which is never negative. How much "
            "that is follows from how our human leads the tool",
            reading="lowest and final energy of the tank",
            tolerance=judged("half of what was given", "the least that would be called a recharge; the paper gives no number"),
            declared=BY_CONSTRUCTION,
        ),
        Claim(
            "eq. 15",
            "arm and tank are passive in the whole run (audit)",
            "≥ 0 J",
            f"{m['passivity_audit_min_J']:.1e} J",
            m["passivity_audit_min_J"] >= -1e-9,
            "the exact form of the tank never grants what it cannot pay; as printed it fails, see eq. 14, 15 above",
            reading="lowest value of the run",
            tolerance=judged("≥ -1e-9 J", "rounding"),
            declared=BY_CONSTRUCTION,
        ),
    ]


def _only_drawn() -> list[Claim]:
    human, cable = run("handover", *THIRTY_SECONDS), run("diverter")
    k, m = human.rows["K_arm"][:, 0], human.rows["M_arm"][:, 0]
    pushed = float(np.abs(human.rows["F_h_raw_H"]["f"]).max())
    return [
        Claim(
            "Sec. IV-A, Fig. 2",
            "displacement of the base while a human leads the tool",
            "in the figure only",
            f"{1e3 * max(human.metrics['base_displacement_m']):.1f} mm, led by {1e3 * scenario_of(human).hand.amplitude:g} mm to and fro",
            because="the paper gives no number, and it follows from how the human moves, which is ours",
            declared=NOT_TESTABLE,
        ),
        Claim(
            "Sec. IV-A, Fig. 4",
            "levels of the gains before and after",
            "in the figure only",
            f"stiffness {k.min():g} to {k.max():g} N/m, mass {m.min():g} to {m.max():g} kg",
            because="the text gives no number; ours are those of the paper's public code, so they are inputs",
            declared=NOT_TESTABLE,
        ),
        Claim(
            "Sec. IV, Figs. 3, 6",
            "course of the forces of the human and of the impact",
            "in the figures only",
            f"up to {pushed:.1f} N by our human, {cable.metrics['peak_force_N']:.0f} N at the snap of our hook",
            because="the text gives no number, and both follow from a human and a contact that are ours",
            declared=NOT_TESTABLE,
        ),
    ]


def shaken(seed: int) -> tuple[str, ...]:
    """Settings with every contact parameter off by up to 20 %, and the cable by up to 20 mm."""
    rng, cable = np.random.default_rng(seed), scenario_of(run("diverter")).cable
    names = ("mass", "stiffness", "damping_ratio", "wall_stiffness", "wall_damping", "friction", "gate_force", "gate_friction")
    changes = [f"cable.{name}={getattr(cable, name) * rng.uniform(0.8, 1.2)}" for name in names]
    return (*changes, f"cable.offset={rng.uniform(-0.02, 0.02)}", f"seed={seed}", SHORT)


def diverter_claims() -> list[Claim]:
    return [*_displacement(), *_installed(), _front_gains()]


def _displacement() -> list[Claim]:
    m = run("diverter").metrics
    x, _, z = m["base_displacement_m"]
    bare = run("diverter", "estimator.enabled=false", SHORT).metrics
    sides = [run("diverter", f"cable.offset={mm} mm", SHORT).metrics["base_displacement_m"][0] for mm in SIDEWAYS]
    push = run("push", "push.force=[12, 0, 0]").metrics
    pushed, left = push["base_displacement_m"][0], push["base_final_error_m"]
    tolerance = near(0.05, "m", "“about 0.1”: half a unit of its digit")
    return [
        Claim(
            "Sec. IV-B, Fig. 7",
            "displacement of the base along x after the diverter has hooked, cable met from below",
            "about 0.1 m",
            f"{x:.3f} m, and {z:.3f} m along z",
            because="the paper gives no data for cable, clip or tool, nor how its arm meets the line. Here a contact model stands in, the "
            "hook comes from straight below as its text says, and the load is vertical",
            numbers=((0.1, x),),
            reading="largest displacement after the snap",
            tolerance=tolerance,
        ),
        Claim(
            "Sec. IV-B, Fig. 7",
            f"the same with the cable met from the side, {', '.join(map(str, SIDEWAYS))} mm off (the hook's mouth ends at 30 mm)",
            "about 0.1 m",
            ", ".join(f"{1e3 * each:.0f}" for each in sides) + " mm",
            because="the walls of our hook turn part of the lift sideways, and the soft front axis yields to it. 0.1 m takes about 6 N·s along x "
            f"(12 N for 0.5 s at the tool: {pushed:.3f} m), which a rising hook does not produce; the paper does not say what its contact was",
            numbers=((0.1, max(sides)),),
            reading="largest displacement along x; the largest of these is compared",
            tolerance=tolerance,
        ),
        Claim(
            "Sec. IV-B, Fig. 7",
            "the displacement is recovered by the flight controller",
            "recovered",
            f"{si(left, 'm', 2)} of {pushed:.3f} m is left along x, {si(m['base_final_error_m'], 'm', 2)} of {z:.3f} m along z, there within 2 cm "
            f"after {m['recovery_time_s']:.1f} s",
            left < 0.05 * pushed and m["base_final_error_m"] < 0.05 * z,
            reading="for the paper's 0.1 m along x, produced by a push of 12 N for 0.5 s at the tool, since our hook does not produce it; and for what our "
            "hook does, which is smaller and along z",
            tolerance=judged("5 % left at the end", "less than the width of a line in a figure; the paper gives no time"),
        ),
        Claim(
            "Sec. III-A",
            "without the estimator the cable's pull displaces the base along z by",
            "no number",
            f"{bare['base_displacement_m'][2]:.2f} m",
            bare["base_displacement_m"][2] > z,
            beyond=True,
            reading="largest displacement",
            tolerance=judged("more than with it", "our criterion"),
        ),
    ]


def _installed() -> list[Claim]:
    result = run("diverter")
    m, rows = result.metrics, result.rows
    others = [run("diverter", *shaken(seed)) for seed in SEEDS]
    hold = sum(bool(r.metrics["hooked"] and r.rows["latched_true"][-1]) for r in others)
    most = max(max(r.metrics["base_displacement_m"]) for r in others)
    missed = run("diverter", "cable.offset=35 mm", SHORT)
    return [
        Claim(
            "Sec. IV-B, Fig. 6",
            "the diverter is installed: the hook is closed over the cable, and the task knows it",
            "installed",
            f"{m['hooked']}, truly {bool(rows['latched_true'][-1])}; {m['peak_force_N']:.0f} N at most",
            bool(m["hooked"] and rows["latched_true"][-1]),
            "hook, gate and cable are ours and were made so that this arm can close the hook",
            reading="the gate's true state at the end, and what the task concludes from forces",
            tolerance=judged("both true", "installed or not"),
            declared=FITTED,
        ),
        Claim(
            "Sec. IV-B",
            f"the same with every contact parameter off by 20 % and the cable by 20 mm, {len(SEEDS)} seeds",
            "not treated",
            f"{hold} of {len(SEEDS)} hook; base {1e3 * most:.0f} mm at most",
            hold == len(SEEDS) and most < 0.045,
            beyond=True,
            reading="eight contact parameters redrawn for each seed",
            tolerance=judged("all hook, below 45 mm", "our criteria"),
        ),
        Claim(
            "Sec. IV-B",
            "a cable 35 mm to the side is missed, and not mistaken for hooked",
            "not treated",
            f"hooked {missed.metrics['hooked']}, truly {bool(missed.rows['latched_true'].any())}",
            not missed.metrics["hooked"],
            beyond=True,
            reading="what the task concludes from forces",
            tolerance=judged("not hooked", "the hook's mouth ends at 30 mm"),
        ),
    ]


def front(times: float) -> tuple[str, ...]:
    """Front gains multiplied by `times`, all three: the same motion in time, with less compliance."""
    mass, damping, stiffness = scenario_of(run("diverter")).gains.front.numbers
    return (
        f"gains.front.mass={times * mass}",
        f"gains.front.damping={times * damping}",
        f"gains.front.stiffness={times * stiffness}",
    )


def _front_gains() -> Claim:
    runs = [run("diverter", "cable.offset=20 mm", SHORT, *front(times)) for times in FRONT]
    ways = [1e3 * each.metrics["base_displacement_m"][0] for each in runs]
    return Claim(
        "Sec. IV-B",
        f"front gains kept low attenuate the impact: displacement along x, cable 20 mm to the side, front gains times {', '.join(map(str, FRONT))}",
        "attenuated",
        ", ".join(f"{way:.0f}" for way in ways) + " mm",
        ways == sorted(ways) and ways[-1] > 2 * ways[0] and not any(each.fault for each in runs),
        reading="hook, cable and the 20 mm are ours. Only loops that stay stable; 30 times as high, like the other axes, the loop becomes unstable, "
        "which is another matter",
        tolerance=judged(
            "rises with the gains, twofold for the highest",
            "the least that would be called attenuated; the paper gives no number",
        ),
    )
