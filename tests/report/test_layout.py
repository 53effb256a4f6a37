"""The layout check finds what a reader would notice."""

import pytest

from hilt.report import figure
from tests.report.layout import fingerprint, problems


def drawn(change):
    with figure.styled():
        made, (axes, _) = figure.panels(2)
        axes.plot([0.0, 1.0], [0.0, 1.0], label="one")
        axes.set(ylabel="force [N]", title="a title")
        figure.legend(axes)
        change(axes)
        figure.Picture("", "", made).svg()
    return made


def test_a_plain_figure_has_no_problem():
    assert list(problems(drawn(lambda axes: None))) == []


PLANTED = {
    "lies on 'there'": lambda axes: (axes.text(0.5, 0.5, "here"), axes.text(0.51, 0.5, "there")),
    "cut off": lambda axes: axes.text(0.9, 0.5, "a text that is far too long for where it begins").set_in_layout(False),
    "askew": lambda axes: axes.text(0.5, 0.5, "up the hill", rotation=40),
    "another panel": lambda axes: axes.text(0.5, -0.9, "below").set_in_layout(False),
    "lies on 'a title'": lambda axes: axes.text(0.5, 1.02, "3", transform=axes.transAxes),
}


@pytest.mark.parametrize("words", PLANTED)
def test_a_planted_one_is_found(words):
    assert any(words in problem for problem in problems(drawn(PLANTED[words])))


def test_another_curve_is_another_fingerprint():
    plain, same, other = (fingerprint(drawn(change)) for change in (lambda a: None, lambda a: None, lambda a: a.plot([0], [2])))
    assert plain == same != other
