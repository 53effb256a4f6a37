"""Claims that must never count as reproduced, identified by words that only one claim of the paper has.

A commit that moves a claim out of this list must say what has changed: a different input or a different computation.
"""

from pathlib import Path

from hilt.reproduce.claims import BY_CONSTRUCTION, DIFFERS, FITTED, NOT_TESTABLE

KEPT = {
    "destefano2017": {
        FITTED: {
            "drift of (5) at 32 s, T",
            "drift of (5) reached from 32 s to 50 s",
            "Euler's energy is above the continuous case",
            "energy with the controller equals the continuous case",
            "most active along z (60 N)",
        },
        BY_CONSTRUCTION: {
            "drift with T = 0.01 s against that with 0.1 s",
            "removes the drift, against the held force",
            "H(k) = H(k-1) + T vᵀF + ΔH",
            "free motion: Euler keeps momentum and energy",
            "ΔE - ΔH of a tick tends to zero with T",
            "ΔE = F T [v(k-1) - v(t)] + ΔH is the area",
            "E_obs without and with the controller, T = 0.1 s",
            "E_obs without and with the controller, T = 0.01 s",
            "sensor noise: E_obs with the controller",
        },
        NOT_TESTABLE: {
            "curves of E_obs, β, v_pc, force and position",
            "cost: explicit",
        },
        DIFFERS: {
            "at 32 s and at 50 s, T = 0.1 s, against the continuous force",
            "against the continuous force: at 32 s and 50 s",
            "where the force changes sign",
            "the same at t_k + T/2",
            "so ΔH stands for ΔE",
            "where the power falls",
            "a stable interaction",
            "model uncertainties",
        },
    },
    "cuniato2022": {
        FITTED: {
            "gains are raised when the human's contact is found",
            "the diverter is installed",
        },
        BY_CONSTRUCTION: {
            "in the same way with the exact form",
            "the interaction lasts",
            "force left when the tool is mounted",
            "later the tank recharges",
            "arm and tank are passive in the whole run",
        },
        NOT_TESTABLE: {
            "signs of gravity, thrust and rotors",
            "time at which the gains are raised",
            "displacement of the base while a human leads the tool",
            "levels of the gains before and after",
            "course of the forces",
        },
        DIFFERS: {
            "h_e = Ad Ad Ad h_h",
            "the compliant frame yields",
            "orientation error by the quaternion's vector part",
            "the tank keeps arm and tank passive",
            "along x after the diverter has hooked, cable met from below",
            "with the cable met from the side",
            "a human is not endangered",
            "the tank discharges in part and delays",
        },
    },
    "he2022": {
        FITTED: {
            "bench-1.93: identified stiffness and damping",
            "bench-2.64: identified stiffness and damping",
            "the same contact gives the same stiffness at both frequencies",
        },
        BY_CONSTRUCTION: {
            "relative masses for 300 and 600 kg",
            "contact frequency of table1",
            "contact frequency of bench-2.64",
            "moment that goes with F_comp",
            "DAC, 10 ms: CoV",
            "PIDA, 10 ms: CoV",
            "PIDA, 20 ms: CoV",
            "with damping amendment the energy stays",
            "DAC leaves the force alone on the way in",
        },
        NOT_TESTABLE: {
            "mean error of the stiffness",
            "mean error of the damping",
            "largest error of the velocity",
            "largest error of the force",
            "curves of velocity, force and energy",
            "curves of the experiments",
        },
    },
    "yang2018": {
        FITTED: {
            "HILS 2: largest force",
            "HILS 2: the force is larger than in HILS 1",
            "HILS 2: the hands are slightly further apart than in HILS 1",
            "a motion table that is late may make the HILS unstable",
        },
        BY_CONSTRUCTION: {
            "HILS 1: mean force of the slave arm",
            "HILS 1: positions of both hands",
            "HILS 1: both hands stay almost constant along y and z",
            "largest |v_c - v| in HILS 1 with seven joints",
            "second term, by the force",
            "HILS 2: the virtual arm simulates the force",
            "the delay does no harm",
            "one loop of the virtual environment",
            "viewpoints on the virtual arm",
        },
        NOT_TESTABLE: {
            "curves of force, speed and position",
            "without the damping term of (2)",
            "calculation of the virtual environment",
            "v ≈ v_c when the force is controlled by feedback",
            "forces of the slave arm along y and z",
            "oscillation of the measured force",
            "G, which scales the operator's force",
        },
    },
}


PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"


def check_kept(found):
    """Exactly the kept claims have the verdict under which they are kept, and every claim states how it was judged."""
    counts = " | ".join(str(count) for count in found.coverage.values())
    assert f"`{found.key}` | {len(found.claims)} | {counts} |" in PAGE.read_text(), "the page has other numbers"
    kept = KEPT[found.key]
    for verdict, fragments in kept.items():
        for words in fragments:
            (claim,) = [claim for claim in found.claims if words in claim.what]
            assert claim.verdict == verdict, f"{words}: {claim.verdict}, not {verdict}"
        assert found.coverage[verdict] == len(fragments), f"{verdict}: a claim that is not in the list"
    for claim in found.claims:
        assert claim.because or claim.verdict in ("reproduced", "beyond the paper"), claim.what
        if claim.verdict != NOT_TESTABLE:
            assert claim.reading, f"{claim.what}: how was it read?"
            assert claim.tolerance is not None, f"{claim.what}: what counts as agreement?"
            assert claim.tolerance.why, f"{claim.what}: why is the tolerance what it is?"
