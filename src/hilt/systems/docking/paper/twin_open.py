"""Method twin on robots that bend: robots it was not tuned on, and open problems with their cost."""

import numpy as np

from hilt.reproduce.claims import Claim, Listing
from hilt.systems.docking.paper import twin_effects
from hilt.systems.docking.paper import twin_grid as grid
from hilt.systems.docking.paper.twin_troubles import Cost

OPEN = "bending, left open"
DAMPED, HERTZ, SIX = 0.015, 0.05, 0.07  # targets: speed of damped contacts, forces, and forces in six degrees of freedom


def _others() -> list[Claim]:
    claims = []
    for mode in ("guarded", "realtime"):
        runs = grid.others(mode)
        later = np.abs(runs.cof[:, :, 2:] - 1)
        share = float((later.max(axis=(1, 2)) <= 0.05).mean())
        claims.append(
            Claim(
                "bending",
                f"{'real time' if mode == 'realtime' else mode}: share of robots drawn after the last change with |CoF - 1| ≤ 0.05 in collisions 3 to 5, "
                f"{len(runs.cof)} of 40 robots x {runs.cof.shape[1]} of 5 seeds",
                "≥ 98 %",
                f"{100 * share:.1f} %; worst {later.max():.4f}, |CoV - 1| {np.abs(runs.cov - 1).max():.4f}",
                share >= 0.98 and runs.faults == 0,
                "a few contacts can hardly separate the stiffness of the robot from that of the frame",
            )
        )
    return claims


def _in_space() -> list[Claim]:
    runs = grid.bending_in_space()
    off, robots = np.abs(runs.cof - 1), grid.SIZE.bending_in_space
    size = f"{robots} of 24 robots x {grid.SIZE.geometries} geometries x {min(grid.SIZE.seeds, 5)} of 5 seeds"
    return [
        Claim(
            "bending",
            f"six degrees of freedom, guarded, n = 5, 0.5 N, 0.3 to 1 N/µm, 8 to 20 Hz: worst |CoF - 1| of collisions 3 to 5, {size}",
            f"≤ {SIX:g}",
            f"{off[:, 2:].max():.4f}; collisions 1 and 2 {off[:, :2].max():.4f}, kinetic energy {runs.energy_error:.4f}",
            bool(off[:, 2:].max() <= SIX) and runs.faults == 0,
            "where the effective mass is small, the contact is as fast as the robot's own mode",
        ),
        Claim(
            "bending",
            "the same: largest relative gain of kinetic energy over the start; drift of momentum and angular momentum",
            "≤ 1e-9, ≤ 1e-10",
            f"{runs.kept.energy - 1:.1e}, {runs.kept.drift:.1e}",
            runs.kept.energy <= 1 + 1e-9 and runs.kept.drift <= 1e-10,
        ),
    ]


def _size(found: Cost) -> str:
    robots = grid.SIZE.troubled if grid.SIZE.troubled < len(twin_effects.ROBOTS) else len(twin_effects.ROBOTS)
    if found.trouble.six:
        return f"{robots} robots x {grid.SIZE.geometries} geometries x {grid.SIZE.six_seeds} seeds"
    return f"{robots} robots x {min(grid.SIZE.seeds, 5)} of 5 seeds"


def _targets() -> list[Claim]:
    claims = []
    for each in twin_effects.EFFECTS:
        speed = DAMPED if each.name.startswith("damped") else None
        force = HERTZ if each.name == "Hertz contact" else None
        if speed is None and force is None:
            continue
        found = grid.effect(each.name)
        target, value = (speed, found.speed) if speed is not None else (force, found.later)
        claims.append(
            Claim(
                OPEN,
                f"{each.name}: {'worst |CoV - 1|' if speed is not None else 'worst |CoF - 1| of collisions 3 to 5'}, {_size(found)}",
                f"≤ {target:g}",
                f"{value:.4f}",
                bool(value <= (target or 0.0)) and found.faults == 0,
                each.why,
            )
        )
    return claims


def claims() -> list[Claim]:
    return [*_others(), *_in_space(), *_targets()]


def table_of_others() -> Listing:
    """The same on robots and seeds not used for tuning; green if all runs meet the targets of damped contacts."""
    rows: list[tuple[str, ...]] = []
    good: list[bool] = []
    for each in twin_effects.EFFECTS:
        if each.six:
            continue
        runs = grid.effect_on_others(each.name)
        speed, force = np.abs(runs.cov - 1).max(axis=2), np.abs(runs.cof[:, :, 2:] - 1).max(axis=2)
        kept = [int((off <= most).sum()) for off, most in ((speed, DAMPED), (force, HERTZ))]
        rows.append(
            (
                each.name,
                f"{speed.max():.4f}; {kept[0]} of {speed.size} within {DAMPED:g}",
                f"{force.max():.4f}; {kept[1]} of {force.size} within {HERTZ:g}",
                "yes" if runs.speed > 1 + 1e-9 else "no",
            )
        )
        good.append(min(kept) == speed.size and runs.faults == 0 and runs.speed <= 1 + 1e-9)
    robots = len(runs.cof)
    return Listing(
        f"The same on {robots} of {len(twin_effects.OTHERS)} other robots x {len(twin_effects.OTHER_SEEDS)} other seeds",
        ("effect", "|CoV - 1|", "|CoF - 1| of collisions 3 to 5", "energy made"),
        rows,
        good,
    )


def table_of_effects() -> Listing:
    """One row for each effect; green only if speed and force are within the limits of every run."""
    found = [grid.effect(each.name) for each in twin_effects.EFFECTS]
    return Listing(
        f"Robots that bend: cost of each effect unknown to the controller, worst of {_size(found[0])}",
        ("effect", "|CoV - 1|, six: energy", "|CoF - 1|", "collisions 3 to 5", "energy made", "within limits"),
        [
            (
                each.trouble.name,
                f"{each.speed:.4f} of {each.limits[0]:g}",
                f"{each.force:.4f} of {each.limits[1]:g}",
                f"{each.later:.4f}",
                f"yes, {each.energy:.0e}" if each.makes_energy else "no",
                "yes" if each.within else f"no: {each.trouble.why}",
            )
            for each in found
        ],
        [each.within for each in found],
    )
