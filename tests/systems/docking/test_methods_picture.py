"""The caption of a picture of several runs names what is in it, and nothing else."""

from hilt import job
from hilt.systems.docking.views.methods import comparison_picture

STIFF = ("collisions=1", "compensate.method=pida", "robot.delay=40 ms", "contact.stiffness=300 N/mm")


def dotted_lines(picture):
    return [line for axes in picture.figure.axes for line in axes.lines if line.get_linestyle() == ":"]


def compared(*changes):
    runs = [job.simulate(*job.find("docking", "table1", [*STIFF, change])) for change in changes]
    return comparison_picture(dict(zip(changes, runs, strict=True)))


def test_the_caption_speaks_of_the_bound_only_where_it_is_drawn():
    one_bound = compared("compensate.method=pida", "compensate.method=dac")
    assert len(dotted_lines(one_bound)) == 1
    assert "Dotted: the lowest possible force" in one_bound.caption
    two_bounds = compared("robot.delay=35 ms", "robot.delay=40 ms")  # each delay has its own bound: none is drawn
    assert not dotted_lines(two_bounds)
    assert "Dotted" not in two_bounds.caption
