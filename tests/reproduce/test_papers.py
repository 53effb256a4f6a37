"""What of each paper is reproduced, what is not, and its figures."""

import re
import sys
from pathlib import Path

import pytest

from hilt.reproduce import papers
from tests.reproduce.kept import KEPT, check_kept

FIGURES = {
    "destefano2017": (3, 4, 5, 9, 10, 11, 12, 13, 14),
    "he2022": (6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18),
    "cuniato2022": (2, 3, 4, 5, 6, 7),
    "yang2018": (8, 9, 10, 11),
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "aerial.md"


@pytest.fixture(scope="module", params=KEPT)
def found(request):
    yield papers.reproduce(request.param)
    # The runs of a paper take up to gigabytes, and this process goes on with other tests.
    for name, module in list(sys.modules.items()):
        for each in vars(module).values() if re.match(r"hilt\.systems\.\w+\.paper\.", name) else ():
            if hasattr(each, "cache_clear"):
                each.cache_clear()


def one(found, words):
    (claim,) = [claim for claim in found.claims if words in claim.what]
    return claim


def of_he2022(found, differing):
    assert {"eq. 6", "eq. 19", "eq. 16-19", "eq. 20, 30"} <= differing, "what is printed wrongly"
    assert {"Sec. IV-A, Fig. 7", "Sec. IV-B, Fig. 8a", "Sec. IV-C, Fig. 10a", "Sec. V-B, Fig. 14b"} <= differing
    assert {"Sec. V-A", "eq. 13", "Sec. I, II-B"}.isdisjoint(differing)
    forces = [claim for claim in found.claims if "mean CoF of five collisions" in claim.what]
    assert [claim.numbers[0][0] for claim in forces] == [1.28, 1.05, 1.16]
    assert all(len(claim.numbers) == 2 for claim in forces), "both models of the robot count"
    assert all(claim.verdict == "differs" for claim in forces)
    (bench,) = [claim for claim in found.claims if claim.where == "eq. 31" and claim.verdict == "differs"]
    assert "bench-1.93" in bench.what, "77.2 N/mm and 521.74 kg are 1.94 Hz"


def of_cuniato2022(found, differing):
    for words in (
        "the displacement is recovered",
        "front gains kept low",
        "the wrench estimator compensates",
        "with the guard at the human port",
        "the stiffest hand can be computed",
    ):
        assert one(found, words).holds, words
    for words in ("servo of second order", "0.1 mm of noise"):  # misses a criterion of ours
        assert (one(found, words).verdict, one(found, words).holds) == ("beyond the paper", False)
    for words in ("with the guard at the human port", "servo of second order"):
        assert f"| {one(found, words).here.partition(' N')[0]} N |" in PAGE.read_text()
    assert one(found, "the interaction lasts").numbers == ((30.0, 30.0),), "as long as in the paper"


def of_yang2018(found, differing):
    assert "eq. 7" in differing, "printed with the wrong sign"
    assert "HILS 2, Fig. 17" in differing, "half of 0.002 m is not 0.002 m"
    assert not any(claim.numbers for claim in found.claims if claim.beyond), "only the paper's own numbers are beside ours"


CHECKS = {"he2022": of_he2022, "cuniato2022": of_cuniato2022, "yang2018": of_yang2018}


def test_every_claim_has_a_verdict_and_the_known_ones_differ(found):
    check_kept(found)
    differing = {claim.where for claim in found.claims if claim.verdict == "differs"}
    CHECKS.get(found.key, lambda *_: None)(found, differing)


def test_every_figure_of_the_paper_is_drawn(found):
    pictures = found.pictures()
    assert all(picture.svg().startswith("data:image/svg+xml") for picture in pictures)
    titles = " ".join(picture.title for picture in pictures)
    assert [number for number in FIGURES[found.key] if not re.search(rf"\b{number}\b", titles)] == []
