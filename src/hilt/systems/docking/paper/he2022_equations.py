"""He & Shen 2022: masses, frequencies, the untreated loop, and what the printed equations do."""

import math

from hilt.reproduce.claims import Claim
from hilt.systems.docking.paper.he2022_runs import (
    PAPER,
    lags_of_eq_6,
    omega,
    rebound_with_eq_19,
    run,
    scenario,
    table1,
)


def masses() -> list[Claim]:
    small, large = scenario("bench-2.64").reduced_mass, scenario("bench-1.93").reduced_mass
    claims = [
        Claim(
            "Sec. V-A",
            "relative masses for 300 and 600 kg against 4000 kg",
            "279.07, 521.74 kg",
            f"{small:.2f}, {large:.2f} kg",
            abs(small - 279.07) < 0.005 and abs(large - 521.74) < 0.005,
            numbers=((279.07, small), (521.74, large)),
        ),
    ]
    for name, paper in (("table1", 4.0), ("bench-2.64", 2.64), ("bench-1.93", 1.93)):
        found = omega(scenario(name)) / (2 * math.pi)
        claims.append(
            Claim(
                "eq. 31",
                f"contact frequency of {name}",
                f"{paper:g} Hz",
                f"{found:.3f} Hz",
                abs(found - paper) < 0.006,
                numbers=((paper, found),),
            )
        )
    return claims


def untreated() -> list[Claim]:
    claims = []
    for delay in (4, 10, 20, 40):
        found = table1("none", delay)
        closed = math.exp(0.5 * math.pi * omega(scenario("table1")) * 1e-3 * delay)
        claims.append(
            Claim(
                "Sec. II-B",
                f"no control, {delay} ms: growth of the speed per hit (closed form to first order exp(πωτ/2) = {closed:.3f})",
                "diverges",
                f"{found.metrics['cov'][0]:.3f}",
                found.metrics["cov"][0] > 1.0 and found.metrics["diverged"],
            )
        )
    return claims


def printed() -> list[Claim]:
    tau = 0.002
    behind = lags_of_eq_6(tau)
    minus, plus = rebound_with_eq_19(-1.0), rebound_with_eq_19(+1.0)
    literal, ours = (run("oblique", method, PAPER).metrics["kinetic_energy_ratio"] for method in ("pida-literal", "pida"))
    return [
        Claim(
            "eq. 6",
            f"takes the sensor's {1e3 * tau:g} ms off the force",
            "compensated",
            f"as printed {1e3 * behind['printed']:.2f} ms behind, measured {1e3 * behind['measured']:.2f} ms",
            abs(behind["printed"]) < 0.2 * tau,
            f"it is printed the wrong way round, F_mea = F_act + τ_p F_act', which is a low-pass and adds lag; read as the lead F_act = F_mea + τ_p F_mea' it leaves {1e3 * behind['lead']:.2f} ms",
        ),
        Claim(
            "eq. 19",
            "the energy controller keeps E_obs from falling below zero (Table 1, one axis, 10 ms: rebound over approach)",
            "1",
            f"as printed {plus:.0f}",
            abs(plus - 1.0) < 0.05,
            f"a minus is missing: F_α then works with E_obs instead of against it, and what is missing doubles every tick; with the minus the rebound is {minus:.3f}",
        ),
        Claim(
            "eq. 16-19",
            "works for multi-DOF contact (oblique, off-centre, 20 ms: kinetic energy at the end over the ideal)",
            "1",
            f"axis by axis as printed {literal:.2f}",
            abs(literal - 1.0) < 0.03,
            f"E_obs is split by weights that do not sum to one, and each axis divides by its own velocity, which passes zero; along the force, as one scalar, the same contact ends at {ours:.4f}",
        ),
    ]
