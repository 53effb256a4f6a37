"""Cuniato et al. 2022: every number and claim beside ours."""

import numpy as np

from hilt.core.gravity import STANDARD_GRAVITY
from hilt.job import Result
from hilt.report.words import si
from hilt.reproduce.claims import Claim, Reproduction
from hilt.systems.aerial.analysis.hand_limit import loops_of, stiffest_hand
from hilt.systems.aerial.paper.cuniato2022_equations import equation_claims
from hilt.systems.aerial.paper.cuniato2022_figures import SLOW_FILTER, pictures, run
from hilt.systems.aerial.task import RAISED
from hilt.systems.aerial.views.traces import scenario_of

TITLE = "Cuniato et al. 2022: hardware-in-the-loop simulation of human-aerial manipulator collaboration"
RATES = (100, 200, 500, 1000)
HANDS = (600, 1000, 2000, 5000)
SECOND_ORDER = ("servo.kind=second-order", "servo.natural_frequency=60", "servo.damping_ratio=0.7", "servo.delay=10 ms")
FRONT_HARD = ("gains.front.mass=30", "gains.front.damping=800", "gains.front.stiffness=400")
SEEDS = range(4)
SHORT = "loop.duration=22 s"  # the diverter is done by then


def raised_at(result: Result) -> float:
    found = np.flatnonzero(result.rows["task_state"] == RAISED)
    return float(result.rows["t"][found[0]]) if len(found) else np.inf


def held_back(result: Result) -> float:
    """By how much the tank has kept the stiffness below the desired one, at most [N/m]."""
    return float((result.rows["K_arm_des"] - result.rows["K_arm"])[:, 0].max())


def _flight_claims() -> list[Claim]:
    held, left = (run("hover", f"estimator.enabled={flag}").metrics["base_final_error_m"] for flag in ("true", "false"))
    pushes = {flag: run("push", f"estimator.enabled={flag}").metrics for flag in ("true", "false")}
    moved = [run("push", f"loop.period={1 / rate} s").metrics["base_displacement_m"][0] for rate in RATES]
    m = pushes["true"]
    return [
        Claim(
            "Sec. III",
            "the wrench estimator takes out the arm's weight and other loads: base off its place in hover",
            "enhanced",
            f"{si(held, 'm', 2)} with it, {si(left, 'm', 2)} without",
            held < 1e-3 < left,
        ),
        Claim(
            "Sec. III-A",
            "10 N for 0.5 s at the tool, x: displacement of the base with and without the estimator",
            "no figure",
            f"{m['base_displacement_m'][0]:.3f} and {pushes['false']['base_displacement_m'][0]:.3f} m",
            abs(m["base_displacement_m"][0] - 0.085) < 0.01,
            beyond=True,
        ),
        Claim(
            "Sec. III-A",
            "the estimator's answer to it: 63 %, 90 %, overshoot",
            "no figure",
            f"{m['estimator_t63_s']:.3f} s, {m['estimator_t90_s']:.3f} s, {m['estimator_overshoot']:.1%}; a rigid body has 0.107 and 0.194 s",
            m["estimator_overshoot"] < 0.05,
            beyond=True,
        ),
        Claim(
            "Sec. IV",
            "200 Hz, chosen for the computer: the same push at " + ", ".join(map(str, RATES)) + " Hz",
            "200 Hz",
            ", ".join(f"{1e3 * way:.1f}" for way in moved) + " mm",
            np.ptp(moved) < 0.02 * np.mean(moved),
            beyond=True,
        ),
    ]


def _handover_claims() -> list[Claim]:
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


def _diverter_claims() -> list[Claim]:
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


def limit_against_simulation() -> tuple[float, bool, bool]:
    """Computed stiffest hand of the slow filter without guard; whether 15 % less is held and 15 % more diverges."""
    still = (*SLOW_FILTER[1:], "hand.amplitude=1 mm", "port_passivity.enabled=false", "hand.start=0.5 s")
    changes = (*still, "force_filter.bias_samples=0")
    scenario = scenario_of(run("hover", *changes, "hand.stiffness=100"))
    limit = stiffest_hand(loops_of(scenario)["normal sideways"], scenario.hand.damping)
    below, above = (run("hover", *changes, f"hand.stiffness={share * limit}").metrics for share in (0.85, 1.15))
    grows = above["diverged"] or above["late_force_N"] > 3.0 * below["late_force_N"]
    return limit, not below["diverged"] and below["late_force_N"] < 1.0, bool(grows)


def _human_claims() -> list[Claim]:
    bare, guarded = (
        {k: run("hover", *SLOW_FILTER, f"hand.stiffness={k}", f"port_passivity.enabled={flag}") for k in HANDS}
        for flag in ("false", "true")
    )
    first = bare[HANDS[0]]
    audit = first.metrics["passivity_audit_min_J"]
    late = [guarded[k].metrics["late_force_N"] for k in HANDS]
    slow = [run("hover", *SLOW_FILTER, *SECOND_ORDER, f"hand.stiffness={k}").metrics["late_force_N"] for k in HANDS]
    soft = [run("hover", *SLOW_FILTER, "hand.stiffness=150", f"port_passivity.enabled={f}").metrics for f in ("false", "true")]
    limit, below, above = limit_against_simulation()
    hands = ", ".join(map(str, HANDS))
    return [
        Claim(
            "Sec. V",
            "a human is not endangered: a hand of 600 N/m with a force filter of 15 rad/s",
            "without endangering",
            f"stopped at {first.fault.t:.1f} s, with {first.metrics['peak_force_N']:.0f} N" if first.fault else "held",
            first.fault is None,
            f"the tank guards changes of the gains; filter, servo and tick make energy at the hand ({-first.metrics['human_port_energy_min_J']:.1f} J here) "
            f"while its audit stays at {audit:.0e} J. From {first.metrics['hand_stiffness_limit_N_m']:.0f} N/m on a hand swings up",
        ),
        Claim(
            "Sec. V",
            f"hands of {hands} N/m with the guard at the human port: force in the last quarter",
            "not treated",
            ", ".join(f"{f:.2f}" for f in late)
            + f" N; without it {sum(r.metrics['diverged'] for r in bare.values())} of {len(HANDS)} diverge",
            max(late) < 2.5
            and all(r.metrics["diverged"] for r in bare.values())
            and not any(r.metrics["diverged"] for r in guarded.values()),
            beyond=True,
        ),
        Claim(
            "Sec. V",
            "the same on a servo of second order (60 rad/s, ζ 0.7, 10 ms)",
            "not treated",
            ", ".join(f"{f:.2f}" for f in slow) + " N",
            max(slow) < 2.5,
            "the lead of the guard makes up for a lag, not for a delay; the damping that it may add is limited to 200 N·s/m, and at 5000 N/m "
            "all of it does not stop the swing",
            beyond=True,
        ),
        Claim(
            "Sec. V",
            "a relaxed hand of 150 N/m feels nothing of the guard: force with it over force without, added damping",
            "not treated",
            f"{soft[1]['late_force_N'] / soft[0]['late_force_N']:.3f}, {soft[1]['added_damping_max_Ns_m']:.2g} N·s/m",
            soft[1]["late_force_N"] <= 1.05 * soft[0]["late_force_N"] and soft[1]["added_damping_max_Ns_m"] <= 2,
            beyond=True,
        ),
        Claim(
            "Sec. V",
            "the stiffest hand can be computed: 15 % below the limit is held, 15 % above is not",
            "not treated",
            f"{limit:.0f} N/m; {below}, {above}",
            below and above,
            beyond=True,
        ),
    ]


def _link_claims() -> list[Claim]:
    now, late = run("handover").metrics, run("handover", "link.delay=50 ms").metrics
    return [
        Claim(
            "Sec. II-C",
            "50 ms each way between hardware and simulation: force at the end, displacement of the base",
            "not treated",
            f"{late['tool_force_final_N']:.3f} N, {1e3 * max(late['base_displacement_m']):.2f} mm; without delay {now['tool_force_final_N']:.3f} N, {1e3 * max(now['base_displacement_m']):.2f} mm",
            abs(late["tool_force_final_N"] - now["tool_force_final_N"]) < 1e-3,
            beyond=True,
        ),
    ]


def reproduce() -> Reproduction:
    claims = [
        *equation_claims(),
        *_flight_claims(),
        *_handover_claims(),
        *_diverter_claims(),
        *_human_claims(),
        *_link_claims(),
    ]
    return Reproduction("cuniato2022", TITLE, claims, pictures)
