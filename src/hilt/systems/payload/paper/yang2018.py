"""Yang, Konno, Abiko & Uchiyama 2018: every number and figure compared with ours."""

import functools
import math

import numpy as np

from hilt.job import Result
from hilt.reproduce.claims import BY_CONSTRUCTION, FITTED, NOT_TESTABLE, Claim, Reproduction
from hilt.reproduce.tolerance import judged, near, within
from hilt.systems.payload.metrics import IMPULSE_TIME, shift
from hilt.systems.payload.paper.yang2018_arm import arm_claims, arm_picture
from hilt.systems.payload.paper.yang2018_beyond import beyond_claims
from hilt.systems.payload.paper.yang2018_facility import facility_claims, mean_force_ratio
from hilt.systems.payload.paper.yang2018_figures import pictures, run
from hilt.systems.payload.payload import Payload

TITLE = "Yang et al. 2018: hardware-in-the-loop simulation of massive-payload manipulation on orbit"
MASSES = (500, 3000, 4500, 6000)
DELAYS = (0, 2, 5, 7)
STEPS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
LAST_DIGIT = "half a unit of the last digit"
TWO_MODELS = (
    "the slave side is simulated here as well, with the same law and the same mass; only its grip is softer. Agreement between two of our own "
    "models says nothing about the paper's hardware"
)


@functools.cache
def scenario(name: str) -> Payload:
    values = run(name).scenario
    assert isinstance(values, Payload)
    return values


def grip_words(name: str) -> str:
    grip, arm = scenario(name).grip, scenario(name).arm
    return f"a grip of {grip.stiffness / 1e3:g} kN/m and {grip.damping:g} N·s/m and a sensor noise of {arm.force_noise:g} N rms"


def closed_form() -> float:
    """m v (1 - exp(-t/(m K_s))) of the 3000 kg payload: a rigid grip, no coupling."""
    values = scenario("pull-3000")
    mass, speed = values.payload.mass, values.operator.speed
    return mass * speed * (1.0 - math.exp(-IMPULSE_TIME / (mass * values.slave.compliance)))


def fastest_mode(sign: float) -> float:
    """Largest real part of (5), (7), (8) in continuous time, with `sign` before (7); states: x - x_t and v_t."""
    values = scenario("pull-3000")
    k, d, c, m = values.virtual.grip_stiffness, values.virtual.grip_damping, values.slave.compliance, values.payload.mass
    s = sign / (1.0 + sign * d * c)  # v = -K_s f put into f = sign (K_t (x - x_t) + D_t (v - v_t))
    system = np.array([[-c * s * k, c * s * d - 1.0], [s * k / m, -s * d / m]])
    return float(np.linalg.eigvals(system).real.max())


def explicit_growth(period: float) -> float:
    """Growth per tick of (5) to (10) solved explicitly, with the sign of (7) corrected; states: x - x_t, v1, v2, v_t."""
    values = scenario("hils-1")
    k, d, c, m = values.virtual.grip_stiffness, values.virtual.grip_damping, values.slave.compliance, values.payload.mass
    f = np.array([k, d, 0.0, -d])
    v = -c * f + values.slave.damping * np.array([0.0, -1.0, 1.0, 0.0])
    v_t = np.array([0.0, 0.0, 0.0, 1.0]) + period * f / m
    update = np.array([np.array([1.0, 0.0, 0.0, 0.0]) + period * (v - v_t), v, [0.0, 1.0, 0.0, 0.0], v_t])
    return float(np.abs(np.linalg.eigvals(update)).max())


def _validity_claims() -> list[Claim]:
    result = run("pull-3000")
    ours, theory = result.metrics["impulse_Ns"], scenario("pull-3000").payload.mass * scenario("pull-3000").operator.speed
    error = 1.0 - ours / theory
    speed = result.metrics["final_speed_m_s"] / scenario("pull-3000").operator.speed
    constants = [run("pull-3000", f"payload.mass={m} kg", "loop.duration=30 s").metrics["time_constant_s"] for m in MASSES]
    expected = [m * scenario("pull-3000").slave.compliance for m in MASSES]
    return [
        Claim(
            "Sec. Validity, Fig. 9",
            f"3000 kg pulled at 0.01 m/s: impulse over 9.5 s (theory {theory:g} N·s)",
            "28.43 N·s (about 5 % low)",
            f"{ours:.2f} N·s ({error:.1%} low); closed form m v (1 - exp(-t/(m K_s))) = {closed_form():.2f} N·s",
            because=f"a perfect force sensor and table give the closed-form result, {1 - closed_form() / theory:.1%} below m v because the speed "
            "is still rising; the rest of the paper's 5 % is an error of its measurement, which a simulated sensor without error does not have",
            numbers=((28.43, ours),),
            reading="integral of f_s over 9.5 s from the step",
            tolerance=near(0.005, "N·s", LAST_DIGIT),
        ),
        Claim(
            "Sec. Validity, Fig. 9",
            "the same compared with theory, m v",
            "30 N·s",
            f"{ours:.2f} N·s",
            numbers=((theory, ours),),
            reading="“almost agrees with theory”; the grip is our choice; between 20 and 160 kN/m it changes this by 0.05 N·s",
            tolerance=within(0.05, "the paper's own error, which it calls almost agreeing"),
        ),
        Claim(
            "Sec. Validity, Fig. 8",
            "the speed of the payload tends to v_s,r = 0.01 m/s",
            "converges",
            f"{speed:.2%} of it after 21 s",
            abs(speed - 1) < 0.01,
            reading="speed at the end of the run",
            tolerance=judged("within 1 %", "less than the width of a line in a figure"),
        ),
        Claim(
            "eq. 2, Table 2",
            f"time constant at {', '.join(map(str, MASSES))} kg against m K_s",
            "no number",
            ", ".join(f"{c:.3f}" for c in constants) + " s; m K_s " + ", ".join(f"{e:.3f}" for e in expected) + " s",
            all(abs(c / e - 1) < 0.01 for c, e in zip(constants, expected, strict=True)),
            beyond=True,
            reading="closed form of eq. 2 for a rigid grip, which the paper does not give",
            tolerance=judged("within 1 %", "our criterion"),
        ),
    ]


def _feedback_claims() -> list[Claim]:
    on, off = run("feedback-500").metrics, run("feedback-500", "slave.force_feedback=false").metrics
    values = scenario("feedback-500")
    stiff = values.operator.speed / values.slave.compliance
    soft = (23.0 / values.operator.speed) ** 2 / values.payload.mass
    numbers = f"{on['peak_force_N']:.1f} / {off['peak_force_N']:.1f} N"
    squares = f"{on['mean_square_force_N2']:.2f} / {off['mean_square_force_N2']:.2f} N²"
    return [
        Claim(
            "Sec. Comparison, Figs. 10, 11",
            "500 kg: force feedback lowers the largest force and its mean square",
            "lower, both",
            f"{on['peak_force_N'] / off['peak_force_N']:.2f} and {on['mean_square_force_N2'] / off['mean_square_force_N2']:.2f} times the values without",
            on["peak_force_N"] < off["peak_force_N"] and on["mean_square_force_N2"] < off["mean_square_force_N2"],
            reading=f"pulled for a minute and stopped; {grip_words('feedback-500')} are assumed",
            tolerance=judged("both lower", "the paper's conclusion; its numbers are compared below"),
        ),
        Claim(
            "Sec. Comparison, Figs. 10, 11",
            "largest force with / without feedback",
            "18 / 23 N",
            numbers,
            because=f"the paper gives neither grip nor noise; here {grip_words('feedback-500')}. Without feedback the force is about v √(k m), "
            f"so 23 N correspond to a grip of about {soft / 1e3:.1f} kN/m; with feedback even a rigid grip gives about v/K_s = {stiff:.0f} N, so the "
            "paper's 18 N must contain something else, such as the grasping that its figures include",
            numbers=((18.0, on["peak_force_N"]), (23.0, off["peak_force_N"])),
            reading="largest value of the run",
            tolerance=near(0.5, "N", LAST_DIGIT),
        ),
        Claim(
            "eq. 11",
            "mean square of the force with / without feedback",
            "5.41 / 15.35 N²",
            squares,
            because="it depends on the noise and on how long the payload oscillates on its grip, and the paper gives neither the grip nor the noise nor "
            f"the averaging time; here {grip_words('feedback-500')}, {values.loop.duration:g} s",
            numbers=((5.41, on["mean_square_force_N2"]), (15.35, off["mean_square_force_N2"])),
            reading="mean of f² over the run",
            tolerance=near(0.005, "N²", LAST_DIGIT),
        ),
    ]


def _hils_claims() -> list[Claim]:
    one, two = run("hils-1").metrics, run("hils-2").metrics
    means = {name: mean_force_ratio(name) for name in ("hils-1", "hils-2")}
    operator = scenario("hils-2").operator
    chosen = (
        "the paper shows its operator only as a plot. Speed, smoothness and seed of ours were chosen, knowing the 28 N, among profiles that "
        "give 19 to 29 N"
    )
    soft = run("hils-2", "grip.stiffness=10 kN/m").metrics["position_error_m"]
    return [
        Claim(
            "HILS 1, Fig. 12",
            "HILS 1: mean force of the slave arm equals that of the virtual arm",
            "sufficient accuracy",
            f"{means['hils-1'] - 1:+.2%}; largest {one['peak_force_N']:.1f} against {one['virtual_peak_force_N']:.1f} N",
            abs(means["hils-1"] - 1) < 0.02,
            TWO_MODELS,
            reading="mean of |f| over the run",
            tolerance=judged("± 2 %", "“sufficient accuracy”; the paper gives no number"),
            declared=BY_CONSTRUCTION,
        ),
        Claim(
            "HILS 1, Fig. 13",
            "HILS 1: positions of both hands, 4500 kg, step",
            "almost correspond",
            f"{1e3 * one['position_error_m']:.2f} mm apart at most, of 200 mm",
            one["position_error_m"] < 0.002,
            TWO_MODELS,
            reading="largest distance",
            tolerance=judged("below 2 mm", "the paper's value for HILS 2, where it is “slightly larger”"),
            declared=BY_CONSTRUCTION,
        ),
        Claim(
            "HILS 2, Fig. 14",
            "HILS 2: largest force, 4500 kg, operator, 5 s delay",
            "approximately 28 N",
            f"{two['peak_force_N']:.1f} N with an operator who commands at most {operator.speed:g} m/s",
            because=chosen,
            numbers=((28.0, two["peak_force_N"]),),
            reading="largest |f_s| of the run",
            tolerance=within(0.1, "“approximately”, from one run by one human"),
            declared=FITTED,
        ),
        Claim(
            "HILS 2, Fig. 14",
            "HILS 2: the force is larger than in HILS 1, since the operator is faster",
            "larger",
            f"{two['peak_force_N']:.1f} against {one['peak_force_N']:.1f} N",
            two["peak_force_N"] > one["peak_force_N"],
            chosen + "; the force grows with the commanded speed",
            reading="largest |f_s| of both runs",
            tolerance=judged("larger", "the paper's word"),
            declared=FITTED,
        ),
        Claim(
            "HILS 2, Fig. 16",
            "HILS 2: the virtual arm simulates the force of the slave arm well",
            "well",
            f"mean force {means['hils-2'] - 1:+.2%}",
            abs(means["hils-2"] - 1) < 0.02,
            TWO_MODELS,
            reading="mean of |f|, the virtual arm's 5 s later",
            tolerance=judged("± 2 %", "as for Fig. 12"),
            declared=BY_CONSTRUCTION,
        ),
        Claim(
            "HILS 2, Fig. 17",
            "HILS 2: distance between the hands, at most",
            "0.002 m",
            f"{two['position_error_m']:.4f} m",
            because="it is the deflection of the grip under the force, and operator and grip are ours. A grip of 10 kN/m, to which the 23 N without "
            f"feedback correspond, gives {soft:.4f} m; choosing it for that reason would be a fit",
            numbers=((0.002, two["position_error_m"]),),
            reading="largest distance, the virtual hand's position 5 s later",
            tolerance=near(0.0005, "m", LAST_DIGIT),
        ),
        Claim(
            "HILS 2, Fig. 17",
            "HILS 2: the hands are slightly further apart than in HILS 1",
            "slightly larger",
            f"{1e3 * two['position_error_m']:.2f} against {1e3 * one['position_error_m']:.2f} mm",
            two["position_error_m"] > one["position_error_m"],
            chosen + "; the distance grows with the force",
            reading="largest distance of both runs",
            tolerance=judged("larger", "the paper gives no number for HILS 1 that would say how much “slightly” is"),
            declared=FITTED,
        ),
        Claim(
            "HILS 1, 2, Figs. 8-17",
            "curves of force, speed and position",
            "in the figures only",
            "our figures below",
            because="the paper prints them only as plots",
            declared=NOT_TESTABLE,
        ),
    ]


def _equation_claims() -> list[Claim]:
    printed, corrected = fastest_mode(-1.0), fastest_mode(1.0)
    values = scenario("hils-1")
    growth = [explicit_growth(step) for step in STEPS]
    explicit = run("hils-1", "virtual.step=explicit")
    condition = values.slave.compliance * values.virtual.grip_damping + 2 * values.slave.damping
    stopped = f"stopped at {explicit.fault.t:.3f} s" if explicit.fault else "not stopped"
    damping = 0.5 / math.sqrt(values.payload.mass * values.slave.compliance * values.slave.coupling)
    return [
        Claim(
            "eq. 7",
            "force of the virtual arm, f = -K_t (x - x_t) - D_t (v - v_t): fastest growth of (5), (7), (8)",
            "a stable arm",
            f"as printed {printed:+.0f} 1/s; with + {corrected:+.3f} 1/s",
            printed < 0,
            "(5) and (8) need the force on the payload; (7) prints the one on the arm, and the payload then runs away. hilt uses the opposite sign",
            reading="largest real part of the eigenvalues in continuous time, 3000 kg; K_f, which is given no value, is set to K_s",
            tolerance=judged("below 0", "a mode that grows is not a stable arm"),
        ),
        Claim(
            "eq. 5-10",
            f"the explicit step with the sign corrected, at Δt = {STEPS[0]:g} … {STEPS[-1]:g} s: growth per tick",
            "runs at 1 ms",
            f"{min(growth):.2f} … {max(growth):.3g}; hils-1 {stopped}",
            max(growth) < 1,
            f"K_s D_t + 2 D = {condition:.3f} must be below 1 at any Δt, with the gains of Table 2; hilt solves the step implicitly, which is stable",
            reading="largest eigenvalue of one tick; K_f, which is given no value, is set to K_s, since the virtual arm should move like the slave arm",
            tolerance=judged("below 1 at each Δt", "growth per tick above 1 diverges"),
        ),
        Claim(
            "Sec. Control law of slave arm",
            "without the damping term of (2) the loop was not always stable, so it was added (largest force in HILS 1 with and without D)",
            "not always stable",
            f"{run('hils-1').metrics['peak_force_N']:.2f}, {run('hils-1', 'slave.damping=0').metrics['peak_force_N']:.2f} N: no difference here",
            because="the instability came from arms and sensors that the paper does not describe; our hand follows its command exactly",
            declared=NOT_TESTABLE,
        ),
        Claim(
            "Sec. Virtual environment",
            "calculation of the virtual environment",
            "1 ms a loop",
            "not computed; make bench measures hilt's tick",
            because="it is a timing of the paper's computer",
            declared=NOT_TESTABLE,
        ),
        Claim(
            "Table 2, eq. 2",
            "K_V of Table 2 appears in no equation and K_c is given no value: K_V = K_c",
            "0.08, no unit",
            f"K_c = {values.slave.coupling:g} 1/s damps m K_s ẍ + ẋ + K_c x of 4500 kg with ζ = {damping:.3f}",
            0.7 < damping < 1.5,
            beyond=True,
            reading="damping ratio of the coupling, rigid grip",
            tolerance=judged("0.7 to 1.5", "a range that one would choose"),
        ),
    ]


def _coupling_claims() -> list[Claim]:
    def both(*settings: str) -> tuple[Result, Result]:
        return run("hils-2", *settings), run("hils-2", *settings, "slave.coupling=0")

    (kept, free), (still, drifts) = both("virtual.mass_ratio=0.8"), both("arm.force_bias=[0.5, 0, 0]")
    most = [1e3 * r.metrics["position_error_m"] for r in (kept, free)]
    end = [1e3 * r.metrics["final_position_error_m"] for r in (kept, free)]
    bias = [1e3 * r.metrics["final_position_error_m"] for r in (still, drifts)]
    return [
        Claim(
            "Sec. Virtual arm",
            "K_c compensates the position error of a wrong mass (virtual 20 % too light)",
            "compensated",
            f"at most {most[0]:.1f} mm, without K_c {most[1]:.1f} mm; at the end {end[0]:.2f} and {end[1]:.2f} mm",
            most[0] < 0.5 * most[1],
            f"K_c acts over 1/K_c = {1 / scenario('hils-2').slave.coupling:.1f} s, longer than the payload accelerates, so it removes only a part. "
            "And from rest to rest the hands end together even without it, since the total impulse is zero whatever the mass",
            reading="largest distance between the hands in HILS 2",
            tolerance=judged("half of that without", "the least that “compensated” can mean"),
        ),
        Claim(
            "Sec. Virtual arm",
            "what K_c does remove: drift from a wrist sensor that is 0.5 N off (distance at the end)",
            "not treated",
            f"{bias[0]:.1f} mm, without K_c {bias[1]:.1f} mm and growing",
            bias[0] < 0.5 * bias[1],
            beyond=True,
            reading="HILS 2, distance between the hands at the end",
            tolerance=judged("half of that without", "our criterion"),
        ),
    ]


def path_change(*settings: str) -> float:
    """Largest distance [m] of the slave hand from its path in HILS 2 as shipped, both from the arrival of the first packet."""
    ways = []
    for result in (run("hils-2"), run("hils-2", *settings)):
        assert isinstance(result.scenario, Payload)
        ways.append(result.rows["x_s"][shift(result.scenario) :])
    count = min(map(len, ways))
    return float(np.linalg.norm(ways[0][:count] - ways[1][:count], axis=1).max())


def _link_claims() -> list[Claim]:
    errors = [run("hils-2", f"link.delay={d} s").metrics["position_error_m"] for d in DELAYS]
    rough = path_change("link.jitter=500 ms", "link.loss=0.2")
    wrong = [run("hils-2", f"virtual.mass_ratio={r}").metrics["position_error_m"] for r in (0.8, 1.2)]
    away = {p: run("outage", f"link.outage_policy={p}").metrics for p in ("hold", "soft-stop")}
    hold, soft = (away[p]["travel_after_outage_m"] for p in ("hold", "soft-stop"))
    lost = scenario("outage").link.outage_duration
    return [
        Claim(
            "Sec. HILS 2",
            f"the delay does no harm: distance between the hands at {', '.join(map(str, DELAYS))} s",
            "effective with delay",
            ", ".join(f"{1e3 * e:.3f}" for e in errors) + " mm",
            max(errors) - min(errors) < 1e-5,
            "in joystick mode no loop closes through the link: a delay shifts the slave side in time and changes nothing else",
            reading="largest distance, the virtual hand's position shifted by the delay, as the paper does",
            tolerance=judged("10 µm", "rounding and the tick"),
            declared=BY_CONSTRUCTION,
        ),
        Claim(
            "Sec. Virtual arm",
            "virtual mass 20 % too small, too large: distance between the hands",
            "no number",
            ", ".join(f"{1e3 * e:.1f} mm" for e in wrong),
            max(wrong) < 0.012,
            beyond=True,
            reading="HILS 2, largest distance",
            tolerance=judged("12 mm", "our criterion"),
        ),
        Claim(
            "Sec. HILS 2",
            "jitter of 500 ms and 20 % loss change the path of the slave hand by at most",
            "not treated",
            f"{1e9 * rough:.0f} nm",
            rough < 5e-5,
            beyond=True,
            reading="against HILS 2 without, largest distance",
            tolerance=judged("50 µm", "our criterion"),
        ),
        Claim(
            "Sec. HILS 2",
            f"link lost for {lost:g} s at full speed: travel of 4500 kg with the last command held, or with a soft stop",
            "not treated",
            f"{1e3 * hold:.0f} mm and {'at rest' if away['hold']['stopped'] else 'still moving'}; "
            f"{1e3 * soft:.0f} mm and {'at rest' if away['soft-stop']['stopped'] else 'still moving'}",
            soft < 0.3 * hold and bool(away["soft-stop"]["stopped"]),
            beyond=True,
            reading="travel from the last packet; from when the silence is detected, 50 ms later, it is 1 mm less",
            tolerance=judged("0.3 of that held, and at rest", "our criterion"),
        ),
    ]


def reproduce() -> Reproduction:
    claims = [
        *_validity_claims(),
        *_feedback_claims(),
        *_hils_claims(),
        *_equation_claims(),
        *_coupling_claims(),
        *_link_claims(),
        *facility_claims(),
        *arm_claims(),
        *beyond_claims(),
    ]
    return Reproduction("yang2018", TITLE, claims, lambda: [*pictures(), arm_picture()])
