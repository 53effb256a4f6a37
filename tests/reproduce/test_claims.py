"""Verdicts are computed where there are numbers, and what was fitted or holds by construction never counts as reproduced."""

import pytest

from hilt.reproduce import papers
from hilt.reproduce.claims import (
    BEYOND,
    BY_CONSTRUCTION,
    DIFFERS,
    FITTED,
    MEANING,
    NOT_TESTABLE,
    REPRODUCED,
    Claim,
    Reproduction,
)
from hilt.reproduce.tolerance import below, judged, near, within
from tests.reproduce.kept import KEPT


def claim(*numbers, tolerance=None, **rest):
    return Claim("Fig. 1", "a force", "1.28", "1.283", numbers=numbers, tolerance=tolerance, **rest)


@pytest.mark.parametrize(
    ("tolerance", "ours", "holds"),
    [
        (within(0.01, "why"), 1.2927, True),
        (within(0.01, "why"), 1.2929, False),
        (near(0.01, "N", "why"), 1.2701, True),
        (near(0.01, "N", "why"), 1.2699, False),
        (below("why"), 1.27, True),
        (below("why"), 1.28, False),
    ],
)
def test_numbers_and_a_tolerance_decide(tolerance, ours, holds):
    found = claim((1.28, ours), tolerance=tolerance)
    assert found.holds is holds
    assert found.verdict == (REPRODUCED if holds else DIFFERS)


def test_every_number_of_a_claim_must_agree():
    assert claim((1.28, 1.28), (1.28, 1.4), tolerance=within(0.01, "why")).verdict == DIFFERS


def test_compared_numbers_take_no_manual_verdict():
    with pytest.raises(ValueError, match="either numbers"):
        claim((1.28, 1.4), tolerance=within(0.01, "why"), judged=True)
    with pytest.raises(ValueError, match="either numbers"):
        claim()
    with pytest.raises(ValueError, match="either numbers"):
        claim((1.28, 1.4), tolerance=judged("close", "why"))


@pytest.mark.parametrize("kind", [FITTED, BY_CONSTRUCTION])
def test_what_was_fitted_is_never_reproduced_and_disagreement_is_not_excused(kind):
    agrees, not_even = (
        claim((1.28, ours), tolerance=within(0.01, "why"), declared=kind, because="chosen") for ours in (1.28, 2.0)
    )
    assert agrees.verdict == kind
    assert agrees.as_json()["verdict"] == f"{kind}, because chosen"
    assert not_even.verdict == DIFFERS


def test_a_declaration_needs_its_reason():
    for declared, because in ((FITTED, ""), ("guessed", "a reason")):
        with pytest.raises(ValueError, match="with a reason"):
            claim(judged=True, declared=declared, because=because)
    assert claim(declared=NOT_TESTABLE, because="no figure").verdict == NOT_TESTABLE


def test_beyond_the_paper_a_missed_criterion_of_ours_is_no_difference_from_it():
    found = claim(judged=False, beyond=True, because="too slow")
    assert found.verdict == BEYOND
    assert found.as_json()["verdict"] == "beyond the paper, our own criterion missed, because too slow"


def test_coverage_counts_every_claim_once():
    claims = [
        claim(judged=True),
        claim(judged=False, because="why"),
        claim(judged=True, declared=FITTED, because="why"),
        claim(declared=NOT_TESTABLE, because="why"),
    ]
    found = Reproduction("some2020", "Some 2020", claims, list)
    assert list(found.coverage) == list(MEANING)
    assert found.coverage == {REPRODUCED: 1, DIFFERS: 1, FITTED: 1, BY_CONSTRUCTION: 0, NOT_TESTABLE: 1, BEYOND: 0}
    assert found.as_json()["coverage"] == found.coverage
    assert found.tally == "4 claims: 1 reproduced, 1 differ, 1 fitted, 1 not testable here."


def test_every_paper_has_its_list_of_claims_that_are_not_reproductions():
    ours = "twin"  # our own targets are met or missed
    assert set(KEPT) == set(papers.names()) - {ours}
    assert all(set(lists) - {DIFFERS} == {FITTED, BY_CONSTRUCTION, NOT_TESTABLE} for lists in KEPT.values())
