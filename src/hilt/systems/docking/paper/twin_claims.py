"""Our own method twin: every target beside the computed value, as for a paper.

Errors in the controller's assumptions, redrawn for each seed: dead time, natural frequency and damping ratio of the robot by
up to 10 %, stiffness by up to 40 %, positions of the frames by up to 1 mm. Five collisions, the first included; the worst
counts.
"""

import numpy as np

from hilt.reproduce.claims import Claim, Listing, Reproduction
from hilt.systems.docking.analysis.bound import effective_mass, least_cof_of, touch_of
from hilt.systems.docking.analysis.bound_lp import least_cof_lp
from hilt.systems.docking.paper import twin_damped, twin_open, twin_runs, twin_touches
from hilt.systems.docking.paper import twin_grid as grid
from hilt.systems.docking.paper import twin_six_runs as six
from hilt.systems.docking.paper.twin_figures import pictures
from hilt.systems.docking.paper.twin_runs import Runs
from hilt.systems.docking.paper.twin_six_runs import GEOMETRIES
from hilt.systems.docking.paper.twin_troubles import Cost

TITLE = "Twin: contact as in space, on a robot that is 40 ms late"
NO_ENERGY_MADE = 1 + 1e-9
TICK_PHASE = 0.025  # ωT of the grids: 4 Hz, 1 ms
HE_SHEN = {10: "He & Shen: 5 % off", 20: "He & Shen: 16 % off", 40: "their method: 42 to 60 % off"}


def _size() -> str:
    return f"{grid.SIZE.robots} robots x {grid.SIZE.seeds} of 20 seeds"


def _six_size(robots: int) -> str:
    return f"{robots} robots x {grid.SIZE.geometries} geometries x {grid.SIZE.six_seeds} of 10 seeds"


def _both(cov: float, cof: float) -> str:
    return f"{cov:.4f}, {cof:.4f}"


def _where_worst(runs: Runs, after: int = 0) -> str:
    """Name the robot and the collision with the largest |CoF - 1|."""
    cof = runs.cof[:, :, after:]
    robot, _, collision = np.unravel_index(int(np.argmax(np.abs(cof - 1))), cof.shape)
    return f"{twin_runs.NAMES[int(robot)]}, collision {int(collision) + 1 + after}"


def _lightest(runs: six.Runs) -> str:
    """Name the geometry of the worst run; runs are ordered by robot, then geometry, then seed."""
    run = int(np.argmax(np.abs(runs.cof - 1).max(axis=1)))
    geometry = run // grid.SIZE.six_seeds % grid.SIZE.geometries
    mass = effective_mass(six.scenario(GEOMETRIES[geometry]))
    return f"the worst case has an effective mass of {mass:.0f} kg; ωt_b grows as the mass decreases"


def _grid(where: str, words: str, runs: Runs, cov: float, cof: float) -> Claim:
    found = runs.worst
    return Claim(
        where,
        f"{words}: worst |CoV - 1| and |CoF - 1|, {_size()}",
        f"{cov:g}, {cof:g}",
        _both(*found),
        found[0] <= cov and found[1] <= cof and runs.faults == 0,
        f"the worst case is {_where_worst(runs)}",
    )


def _guarded() -> list[Claim]:
    runs = {(n, noise): grid.guarded(n, noise) for n in (5, 3) for noise in (0.5, 2.0)}
    limits = {(5, 0.5): (0.01, 0.035)}
    slip = max(each.slip for each in runs.values())
    return [
        *(
            _grid("guarded", f"n = {n}, {noise:g} N of noise", each, *limits.get((n, noise), (0.012, 0.05)))
            for (n, noise), each in runs.items()
        ),
        Claim(
            "guarded",
            f"lag of simulated time behind real time at the end, worst of these, {_size()}",
            "≤ 0.25 s",
            f"{slip:.3f} s",
            slip <= 0.25,
            "the clock rehearsed for two unseen frames is too slow for this",
        ),
        _grid(
            "guarded",
            "bench of He & Shen, 76.9 N/mm and 130 N·s/m, n = 5, 0.5 N",
            grid.guarded(5, 0.5, "bench-2.64"),
            0.015,
            0.03,
        ),
        _grid("guarded", "Hertz contact, n = 5, 0.5 N", grid.guarded(5, 0.5, "table1", "contact.kind=hertz"), 0.005, 0.05),
    ]


def _realtime() -> list[Claim]:
    claims = []
    for n, target in ((5, 1.131), (3, 1.197)):
        runs, bound = grid.touches(40, n), grid.bound_at(40, n)
        mean = float(runs.cof.mean())
        claims.append(
            Claim(
                "real time",
                f"pure delay of 40 ms, n = {n}: mean CoF of the first touch, {grid.SIZE.touches} of 20 seeds (bound just after a tick {bound:.4f})",
                f"{target} ± 0.01",
                f"{mean:.4f} (lowest {runs.cof.min():.4f}, highest {runs.cof.max():.4f})",
                abs(mean - target) <= 0.01,
                f"the mean differs from the bound by {mean - bound:+.3f}",
            )
        )
    for n in (5, 3):
        runs = grid.second_order_touches(n)
        over = runs.cof[:, :, 0].mean(axis=1) - [grid.bound_of(robot, n) for robot in twin_runs.SECOND_ORDER[: len(runs.cof)]]
        claims.append(
            Claim(
                "real time",
                f"n = {n}: mean CoF of the first touch minus the bound, worst of {len(over)} of 24 robots with a servo, {runs.cof.shape[1]} seeds",
                "≤ 0.01",
                f"{over.max():.4f}",
                bool(over.max() <= 0.01) and runs.faults == 0,
                f"the command does not brake as hard as allowed on {twin_runs.NAMES[4 + int(np.argmax(over))]}",
            )
        )
    for n in (5, 3):
        runs = grid.realtime(n)
        later, cov = float(np.abs(runs.cof[:, :, 2:] - 1).max()), runs.worst[0]
        claims.append(
            Claim(
                "real time",
                f"n = {n}: worst |CoF - 1| of collisions 3 to 5, {_size()}",
                "≤ 0.025",
                f"{later:.4f} (|CoV - 1| {cov:.4f})",
                later <= 0.025 and runs.faults == 0,
                f"after one touch the frame is not known well enough: {_where_worst(runs, 2)}",
            )
        )
    return claims


def _bound() -> list[Claim]:
    touches = [
        touch_of(
            twin_runs.scenario(
                "table1", "compensate.method=twin", "sensor.noise=0.5 N", "limits.command_acceleration_ratio=3", *robot
            )
        )
        for robot in twin_runs.ROBOTS[: grid.SIZE.robots]
    ]
    braked = np.array([least_cof_of(touch) for touch in touches], float)
    apart = np.abs(braked - [least_cof_lp(touch) for touch in touches]).max()
    return [
        Claim(
            "bound",
            f"full braking against linear programme, {grid.SIZE.robots} robots, n = 3: largest difference",
            "the same",
            f"{apart:.1e}; bounds from {braked.min():.3f} to {braked.max():.3f}, {(braked > 1).sum()} of them above 1",
            apart <= 2e-3,
            "the grid of the linear programme leaves an error of order h²",
        ),
        *(_by_phase(n, noise) for n in (5, 3) for noise in twin_touches.NOISES_TRIED),
    ]


def _by_phase(n: float, noise: float) -> Claim:
    found = grid.touches_by_phase(n, noise)
    seldom = f" (noise goes below it once in {1 / twin_touches.SELDOM:.0f} touches)" if noise > 0 else ""
    return Claim(
        "bound",
        f"n = {n:g}, {noise:g} N: no first touch in real time at 40 ms is below the bound for its own phase of the tick{seldom}, {grid.SIZE.touches} touches",
        "≤ 0.001 below",
        f"{max(found.beaten, 0.0):.4f} below; mean {found.above:+.4f} relative to the bounds for the same phases",
        found.beaten <= 1e-3,
        "a method that knows a surface before touching it is not a real-time method",
    )


def _damped() -> list[Claim]:
    clean, noisy = grid.damped(0.0), grid.damped(0.5)
    size = f"{twin_damped.CASES} random cases with ζ ≤ 0.05, T 0.5 to 2 ms, sensor delays up to 5 ms"
    share = float((noisy.errors <= 0.01).mean())
    return [
        Claim(
            "damped",
            f"guarded, n = 5, no noise: worst |CoV - 1|, {size}",
            "≤ 0.01",
            f"{clean.errors.max():.4f}",
            bool(clean.errors.max() <= 0.01) and clean.faults == 0,
            "a loss too small to distinguish from a wrong sensor delay is treated as zero",
        ),
        Claim(
            "damped",
            "the same, 0.5 N: share of cases with |CoV - 1| ≤ 0.01",
            "≥ 90 %",
            f"{100 * share:.0f} % (worst {noisy.errors.max():.4f})",
            share >= 0.9 and noisy.faults == 0,
            "the loss of a contact is as small as the error that noise causes",
        ),
        Claim(
            "damped",
            "the same, 0.5 N: mean of CoV₅ - 1",
            "within 0.001",
            f"{noisy.bias:+.4f}",
            abs(noisy.bias) <= 1e-3,
            "with so few cases, noise does not average out of the mean",
        ),
    ]


def _bending() -> list[Claim]:
    claims = []
    for mode, target, share in (("guarded", 0.05, 0.98), ("realtime", 0.03, 1.0)):
        runs = grid.bending(mode)
        off = np.abs(runs.cof - 1)
        later, first, good = off[:, :, 2:].max(), off[:, :, :2].max(), (off[:, :, 2:].max(axis=(1, 2)) <= target).mean()
        size = f"{len(runs.cof)} of 144 robots x {runs.cof.shape[1]} of 5 seeds"
        claims.append(
            Claim(
                "bending",
                f"{'real time' if mode == 'realtime' else mode}, n = 5, 0.5 N: share of robots with |CoF - 1| ≤ {target:g} in collisions 3 to 5, {size}",
                f"≥ {100 * share:.0f} %",
                f"{100 * good:.1f} %; worst {later:.4f}, collisions 1 and 2 {first:.4f}",
                bool(good >= share) and runs.faults == 0,
                "a few contacts can hardly separate the stiffness of the robot from that of the frame",
            )
        )
        claims.append(
            Claim(
                "bending",
                f"{'real time' if mode == 'realtime' else mode}: worst |CoV - 1|, and largest relative gain of simulated speed over the start",
                "≤ 0.01, ≤ 1e-9",
                f"{np.abs(runs.cov - 1).max():.4f}, {runs.speed - 1:.1e}",
                bool(np.abs(runs.cov - 1).max() <= 0.01) and runs.speed <= NO_ENERGY_MADE,
                "bending not yet identified looks like a damped frame",
            )
        )
    return [*claims, _bending_touches()]


def _bending_touches() -> Claim:
    """First touches compared with their bound. Where the bound is 1, any excess is due to the method itself."""
    bounds = grid.bending_bounds()
    first = grid.bending("realtime").cof[:, :, 0].mean(axis=1)
    forced = bounds > 1.0
    over, free = first[forced] - bounds[forced], np.abs(first[~forced] - 1.0)
    return Claim(
        "bending",
        f"real time, n = 5, 0.5 N: mean CoF of the first touch minus its bound (just after a tick, without noise), on the {forced.sum()} of "
        f"{len(bounds)} robots whose bound is above 1; |CoF - 1| on the others",
        f"no mean more than ωT = {TICK_PHASE:g} below its bound",
        (f"{over.min():+.4f} to {over.max():+.4f}, mean {over.mean():+.4f}; " if forced.any() else "")
        + f"at most {free.max():.4f}, mean {free.mean():.4f}; largest bound {bounds.max():.3f}",
        bool((over >= -TICK_PHASE).all()),
        "a touch late in a tick is detected earlier than the bound assumes, by at most ωT",
    )


def _pida() -> list[Claim]:
    claims = []
    for delay, paper in HE_SHEN.items():
        theirs, ours = grid.on_pure_delay(delay, "pida"), grid.on_pure_delay(delay, "twin")
        cof = float(theirs.cof.mean())
        times = theirs.worst[1] / max(ours.worst[1], 1e-12)
        claims.append(
            Claim(
                "PIDA beside it",
                f"pure delay of {delay} ms: worst |CoV - 1| and |CoF - 1| of PIDA and of twin guarded, 0.5 N, {grid.SIZE.seeds} of 20 seeds",
                f"ten times better ({paper})",
                f"PIDA {_both(*theirs.worst)} (mean CoF {cof:.3f}); twin {_both(*ours.worst)}; {times:.0f} times",
                times >= 10,
                "with such a short delay there is little to gain above the noise",
            )
        )
    theirs, ours = grid.pida(), grid.guarded()
    times = theirs.worst[1] / ours.worst[1]
    claims.append(
        Claim(
            "PIDA beside it",
            f"the same, worst of all robots, {_size()}",
            "ten times better",
            f"PIDA {_both(*theirs.worst)}; twin {_both(*ours.worst)}; {times:.0f} times",
            times >= 10,
            f"the worst case of the twin is {_where_worst(ours)}",
        )
    )
    return claims


def _six() -> list[Claim]:
    masses = [effective_mass(six.scenario(geometry)) for geometry in GEOMETRIES]
    claims = [
        Claim(
            "six degrees",
            "effective mass at the contact in the four geometries",
            "60 to 271 kg",
            ", ".join(f"{mass:.0f}" for mass in masses) + " kg",
            60 <= min(masses) <= 65 and 265 <= max(masses) <= 272,
        ),
    ]
    later, drift, energy = [], [], []
    for which, robots, cof in (("20 ms", 3, 0.05), ("40 ms", 3, 0.07), ("ζ 0.5", 1, 0.12), ("normal", 2, 0.06)):
        runs = grid.six(which)
        words = {
            "normal": "20 and 40 ms, normal assumed wrong by up to 5° and identified",
            "ζ 0.5": "40 ms, second order, ζ 0.5",
        }.get(which, which)
        claims.append(
            Claim(
                "six degrees",
                f"guarded, n = 5, 0.5 N, {words}: kinetic energy and |CoF - 1|, worst, {_six_size(robots)}",
                f"0.015, {cof:g}",
                _both(runs.energy_error, runs.worst),
                runs.energy_error <= 0.015 and runs.worst <= cof and runs.faults == 0,
                _lightest(runs),
            )
        )
        drift.append(runs.kept.drift)
        energy.append(runs.kept.energy)
        if which != "normal":
            later.append(float(np.abs(runs.cof[:, 2:] - 1).max()))
    touches = grid.six_touches()
    off = [float(each.cof.mean()) - each.bound for each in touches]
    return [
        *claims,
        Claim(
            "six degrees",
            "the same: |CoF - 1| of collisions 3 to 5",
            "≤ 0.05",
            f"{max(later):.4f}",
            max(later) <= 0.05,
            "at a known frame the robot does not follow the clock exactly",
        ),
        Claim(
            "six degrees",
            "the same: drift of momentum and angular momentum",
            "≤ 1e-10",
            f"{max(drift):.1e}",
            max(drift) <= 1e-10,
        ),
        Claim(
            "six degrees",
            "the same: largest relative gain of kinetic energy over the start",
            "≤ 1e-9",
            f"{max(energy) - 1:.1e}",
            max(energy) <= NO_ENERGY_MADE,
        ),
        Claim(
            "six degrees",
            f"real time: mean CoF of the first touch minus the bound for m_eff, 20 and 40 ms, {grid.SIZE.geometries} geometries, ten phases of the tick each",
            "-0.06 to 0.01",
            f"{min(off):.3f} to {max(off):.3f}",
            min(off) >= -0.06 and max(off) <= 0.01,
            "the tip turns while pressed, which the bound neglects",
        ),
    ]


def _energy() -> list[Claim]:
    runs = [grid.guarded(n, noise) for n in (5, 3) for noise in (0.5, 2.0)] + [grid.realtime(n) for n in (5, 3)]
    runs += [grid.guarded(5, 0.5, "bench-2.64"), grid.guarded(5, 0.5, "table1", "contact.kind=hertz")]
    speed = max(each.speed for each in runs)
    fastest = max(each.command_speed for each in runs)
    hardest = max(grid.guarded(n, noise).command_acceleration / n for n in (5, 3) for noise in (0.5, 2.0))
    return [
        Claim(
            "energy",
            "largest relative gain of simulated speed over the start, all grids in one degree of freedom",
            "≤ 1e-9",
            f"{speed - 1:.1e}",
            speed <= NO_ENERGY_MADE,
        ),
        Claim(
            "energy",
            "largest commanded speed / v0 and acceleration / (n·v0·ω), from differences of the set-points",
            "≤ 1.5, ≤ 1",
            f"{fastest:.6f}, {hardest:.6f}",
            fastest <= 1.5 * NO_ENERGY_MADE and hardest <= 1 + 1e-6,
        ),
    ]


def _troubles() -> list[Claim]:
    found = grid.troubles()
    claims = []
    for each in found:
        speed, force = each.limits
        claims.append(
            Claim(
                "troubles",
                f"{each.trouble.name}: error of {'kinetic energy' if each.trouble.six else 'CoV'} and CoF, worst, {_troubled(each)}",
                f"{speed:g}, {force:g}",
                f"{_both(each.speed, each.force)} (collisions 3 to 5 {each.later:.4f})",
                each.within,
                f"{' and '.join(_exceeded(each))} above the limit" + (f": {each.trouble.why}" if each.trouble.why else ""),
            )
        )
    most = max(each.energy for each in found)
    return [
        *claims,
        Claim(
            "troubles",
            f"in all {len(found)} of them: largest relative gain of energy over the start; commands within their limits; runs with a fault",
            "≤ 2e-9, yes, 0",
            f"{most:.0e}, {'yes' if all(each.commands_kept for each in found) else 'no'}, {sum(each.faults for each in found)}",
            all(not each.makes_energy and each.commands_kept and each.faults == 0 for each in found),
            "; ".join(each.trouble.name for each in found if each.makes_energy or not each.commands_kept or each.faults),
        ),
    ]


def _troubled(each: Cost) -> str:
    if each.trouble.six:
        return f"{grid.SIZE.troubled} robots x {grid.SIZE.geometries} geometries x {grid.SIZE.six_seeds} of 10 seeds"
    return f"{grid.SIZE.troubled} robots x {grid.SIZE.seeds} of 20 seeds"


def _seeds(each: Cost) -> str:
    """State the number of seeds: the worst of two may be a tenth of the worst of twenty, so a "yes" must say how many."""
    seeds = grid.SIZE.six_seeds if each.trouble.six else grid.SIZE.seeds
    return f"{seeds} seed{'s' if seeds > 1 else ''}"


def _exceeded(each: Cost) -> list[str]:
    """Names of the quantities above their limits."""
    speed, force = each.limits
    words = [(each.speed > speed, "kinetic energy" if each.trouble.six else "speed"), (each.force > force, "force")]
    return [name for beyond, name in words if beyond] + ([f"{each.faults} faults"] if each.faults else [])


def _table_of_troubles() -> Listing:
    """Energy has its own column: a trouble may cost accuracy in force and speed and still be safe."""
    found = grid.troubles()
    seeds = f"worst of {grid.SIZE.troubled} robots and {grid.SIZE.seeds} of 20 seeds ({grid.SIZE.six_seeds} of 10 in six degrees of freedom)"
    return Listing(
        f"What each trouble costs: {seeds}" + ("" if grid.SIZE.seeds >= 20 else "; HILT_SEEDS=20 runs all"),
        ("trouble", "|CoV - 1|, six: energy", "|CoF - 1|", "collisions 3 to 5", "energy made", "within limits"),
        [
            (
                each.trouble.name,
                f"{each.speed:.4f} of {each.limits[0]:g}",
                f"{each.force:.4f} of {each.limits[1]:g}",
                f"{each.later:.4f}",
                f"yes, {each.energy:.0e}" if each.makes_energy else "no",
                f"yes, {_seeds(each)}" if each.within else f"no: {', '.join(_exceeded(each))}",
            )
            for each in found
        ],
        [each.within for each in found],
    )


def reproduce() -> Reproduction:
    claims = [
        *_guarded(),
        *_realtime(),
        *_bound(),
        *_damped(),
        *_bending(),
        *twin_open.claims(),
        *_pida(),
        *_six(),
        *_energy(),
        *_troubles(),
    ]
    tables = (_table_of_troubles, twin_open.table_of_effects, twin_open.table_of_others)
    return Reproduction("twin", TITLE, claims, pictures, own=True, tables=tables)
