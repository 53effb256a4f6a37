"""The page of a reproduction: the tally first, the paper's numbers beside ours, and our own targets named as such."""

import dataclasses
import io
import re

import pytest
from rich.console import Console

from hilt.report import figure, terminal
from hilt.reproduce import papers
from hilt.reproduce.beside import numbers_picture
from hilt.reproduce.claims import FITTED, Claim, Listing, Reproduction
from hilt.reproduce.tolerance import within
from tests.report.layout import problems

pytestmark = pytest.mark.long

CLAIMS = [
    Claim("Fig. 1", "a force", "1.28", "1.283", True, numbers=((1.28, 1.283),)),
    Claim("Fig. 2", "a claim that takes many words " * 4, "3 kg", "9 kg", False, "a reason", numbers=((3.0, 9.0), (2.0, 0.0))),
    Claim("Sec. 3", "something else", "no figure", "5", True, beyond=True),
]
CHOSEN = Claim(
    "Fig. 4",
    "a drift",
    "2 m",
    "2 m",
    because="set to give it",
    declared=FITTED,
    numbers=((2.0, 2.0),),
    tolerance=within(0.1, "10 % <!>"),
)
PAPER = Reproduction("some2020", "Some 2020", CLAIMS, list)
OWN = dataclasses.replace(PAPER, own=True)


def test_the_tally_counts_every_claim_once():
    assert PAPER.tally == "3 claims: 1 reproduced, 1 differ, 1 beyond the paper (it gives no number to compare with)."
    assert OWN.tally == "3 targets of our own: 1 met, 1 missed, 1 beyond the targets."
    assert [claim["verdict"] for claim in OWN.as_json()["claims"]] == ["met", "missed, because a reason", "beyond the target"]


@pytest.mark.parametrize("found", [PAPER, OWN], ids=["paper", "own"])
def test_the_page_begins_with_the_tally(found, tmp_path):
    text = papers.write(found, tmp_path).read_text()
    assert 0 < text.index(found.tally) < text.index("<figure>") < text.index("a reason") < text.index("<details>")
    assert (">paper<" in text) != found.own
    assert ("reproduced" in text) != found.own


def test_the_page_has_coverage_reasons_and_tolerances(tmp_path):
    text = papers.write(dataclasses.replace(PAPER, claims=[*CLAIMS, CHOSEN]), tmp_path).read_text()
    coverage = text.partition("<figure>")[0]
    assert "<td><span class='beyond'>fitted</span></td><td>1</td>" in coverage
    assert "<td><span class='no'>differs</span></td><td>1</td>" in coverage
    assert "<td><span class='beyond'>by construction</span></td><td>0</td>" in coverage
    assert "<td><b>4</b></td>" in coverage
    assert text.index("What was fitted") < text.index("set to give it") < text.index("<details>")
    assert "± 10 %<br><span class='sub'>10 % &lt;!&gt;</span>" in text


def test_a_table_beside_the_claims_is_green_where_it_should_be(tmp_path):
    listing = Listing(
        "Troubles",
        ("trouble", "energy", "within limits"),
        [("bias", "no", "yes"), ("friction", "no", "no: force")],
        [True, False],
    )
    found = dataclasses.replace(OWN, tables=(lambda: listing,))
    text = papers.write(found, tmp_path).read_text()
    assert "<td>bias</td><td>no</td><td><span class='yes'>yes</span></td>" in text
    assert "<td>friction</td><td>no</td><td><span class='no'>no: force</span></td>" in text
    assert found.as_json()["tables"][0]["good"] == [True, False]
    console = Console(width=120, record=True, file=io.StringIO())
    terminal.print_claims(console, found)
    assert "no: force" in console.export_text()


def test_the_terminal_has_coverage_and_reasons():
    console = Console(width=200, record=True, file=io.StringIO())
    terminal.print_claims(console, dataclasses.replace(PAPER, claims=[*CLAIMS, CHOSEN]))
    text = console.export_text()
    assert re.search(r"fitted\s+│ 1 ", text)
    assert "(1) a reason" in text
    assert "(2) set to give it" in text


def test_brackets_of_an_equation_are_no_markup_of_the_terminal():
    """F T [v(k-1) - v(t)] once lost its bracket."""
    equation = dataclasses.replace(CHOSEN, what="ΔE = F T [v(k-1) - v(t)] + ΔH", because="[13] says so")
    console = Console(width=200, record=True, file=io.StringIO())
    terminal.print_claims(console, dataclasses.replace(PAPER, claims=[equation]))
    text = console.export_text()
    assert equation.what in text
    assert "(1) [13] says so" in text


def test_the_numbers_beside_each_other_can_be_read():
    with figure.styled():
        picture = numbers_picture(PAPER)
        picture.svg()
    assert list(problems(picture.figure)) == []
    points = [line.get_xdata()[0] for line in picture.figure.axes[0].lines if line.get_marker() in ("o", ">")]
    assert points == pytest.approx([100 * 1.283 / 1.28, 200.0, 0.0])  # beyond twice the paper's value it is drawn at the edge
    with figure.styled():
        hollow = numbers_picture(dataclasses.replace(PAPER, claims=[CHOSEN])).figure.axes[0].lines[1]
    assert hollow.get_markerfacecolor() == "white", "not to be taken for a reproduction"
    assert numbers_picture(dataclasses.replace(PAPER, claims=CLAIMS[2:])) is None
