"""The picture that fits a sweep: what is drawn over which axes, in which units, with the scenario's own values marked."""

import numpy as np
import pytest

from hilt.report import page as pages
from hilt.report.colours import MADE, MEASURED
from hilt.sweeps import making, page, pictures, scales, sweep
from hilt.sweeps.making import Request, over_of
from hilt.sweeps.table import Plan

DELAY, STIFFNESS, METHOD = "robot.delay=2..40 ms:20", "contact.stiffness=10..300 N/mm:7 log", "compensate.method=none,pida"


class Formula:
    """Results known by formula: cov_error is the delay in tenths of a second, and a long delay diverges."""

    name = "plain"

    def run(self, space, chunks):
        for numbers in chunks:
            at = space.columns(numbers)
            zero = np.zeros(len(numbers))
            delay = at.get("robot.delay", zero + 0.02)
            yield (
                numbers,
                {
                    "cov_error": 10.0 * delay + 0.01 * (at.get("seed", zero + 1) - 1),
                    "cof_error": np.where(at.get("collisions", zero) == 3, np.nan, delay),
                    "diverged": delay > 0.03,
                    "force_lead_s": delay,
                    "ticks": np.full(len(numbers), 10),
                    "fault": zero.astype(np.int32),
                },
            )


@pytest.fixture
def swept(tmp_path):
    def run(*over, **rest):
        space = making.find("docking", "table1", [], Request(over_of(over), **rest))
        return sweep.run(Plan(space, None, 1000), Formula(), tmp_path / "a")

    return run


def axes_of(picture):
    return [axes for axes in picture.figure.axes if axes.get_label() != "<colorbar>"]


def test_one_axis_is_a_curve_with_a_line_for_each_word(swept):
    (panel,) = axes_of(pictures.picture(swept(DELAY, METHOD).table, "cov_error"))
    assert panel.get_xlabel() == "robot.delay [ms]"
    assert panel.get_ylabel() == "cov_error [%]"
    curves = {line.get_label(): line for line in panel.lines}
    assert set(curves) == {"none", "pida", "the scenario"}
    assert curves["none"].get_xdata() == pytest.approx(np.arange(2, 41, 2))
    assert curves["none"].get_ydata() == pytest.approx(np.arange(2, 41, 2))  # 10 · delay, in percent
    assert curves["the scenario"].get_xdata()[0] == pytest.approx(20.0)
    assert (curves["none"].get_color(), curves["pida"].get_color()) == (MADE, MEASURED)  # as in every picture of methods


def test_a_band_shows_the_range_over_seeds(swept):
    picture = pictures.picture(swept(DELAY, seeds=3).table, "cov_error")
    (panel,) = axes_of(picture)
    assert panel.lines[0].get_ydata() == pytest.approx(np.arange(2, 41, 2) + 1)  # the mean of 0, 1 and 2 percent more
    band = panel.collections[0].get_paths()[0].vertices
    first = band[np.isclose(band[:, 0], 2.0), 1]
    assert (first.min(), first.max()) == (pytest.approx(2.0), pytest.approx(4.0))
    assert "Mean of 3 seeds" in picture.caption


def test_two_axes_are_a_map_with_a_panel_for_each_word_and_a_cross_in_the_scenarios_own(swept):
    picture = pictures.picture(swept(DELAY, STIFFNESS, METHOD).table, "cov_error")
    none, pida = axes_of(picture)
    assert [none.get_title(), pida.get_title()] == ["none", "pida"]
    assert (none.get_xlabel(), none.get_ylabel()) == ("robot.delay [ms]", "contact.stiffness [N/mm]")
    assert (none.get_xscale(), none.get_yscale()) == ("linear", "log")
    mesh = none.collections[0].get_array()
    assert mesh.shape == (7, 20)
    assert np.ma.getdata(mesh)[3] == pytest.approx(np.arange(2, 41, 2))  # x is the delay
    assert not none.lines
    assert [line.get_xydata()[0].tolist() for line in pida.lines] == [[pytest.approx(20.0), pytest.approx(176.275)]] * 2
    assert "Beyond the violet line the loop diverges. Cross: the scenario." in picture.caption


def test_three_axes_are_small_multiples_of_the_shortest(swept):
    panels = axes_of(pictures.picture(swept("collisions=3,5", DELAY, STIFFNESS).table, "cof_error"))
    assert [panel.get_title() for panel in panels] == ["collisions = 3", "collisions = 5"]
    assert np.ma.getmaskarray(panels[0].collections[0].get_array()).all()  # no value: nothing is drawn
    assert [bool(panel.lines) for panel in panels] == [False, True]
    assert np.ma.getdata(panels[1].collections[0].get_array())[0] == pytest.approx(np.arange(2, 41, 2) / 10)


def test_a_list_in_any_order_is_drawn_in_order(swept):
    (panel,) = axes_of(pictures.picture(swept("robot.delay=30,10,20 ms").table, "force_lead_s"))
    assert panel.lines[0].get_xdata() == pytest.approx([10, 20, 30])
    assert panel.lines[0].get_ydata() == pytest.approx([10, 20, 30])  # ms


def test_draws_are_points_over_each_key(swept):
    over = ("robot.delay=uniform(10,20) ms", "contact.stiffness=uniform(100,200) N/mm")
    panels = axes_of(pictures.picture(swept(*over, draws=32).table, "cov_error"))
    assert [panel.get_xlabel() for panel in panels] == ["robot.delay [ms]", "contact.stiffness [N/mm]"]
    assert all(len(panel.lines[0].get_xdata()) == 32 for panel in panels)


def test_a_report_of_very_many_draws_still_opens(swept):
    done = swept("robot.delay=uniform(10,20) ms", "contact.stiffness=uniform(100,200) N/mm", draws=50_000)
    picture = pictures.picture(done.table, "cov_error")
    assert all(len(panel.lines[0].get_xdata()) == 2000 for panel in axes_of(picture))
    assert "2,000 of 50,000 draws" in picture.caption


@pytest.mark.parametrize("over", [(METHOD,), (), (DELAY, STIFFNESS, "collisions=1,2,3", "contact.damping=0,1 N*s/m")])
def test_every_kind_of_sweep_has_a_report(swept, over):
    done = swept(*over, seeds=4)
    text = page.write(done).read_text()
    assert text.startswith(pages.document("", "")[:15])
    assert text.count("<img") >= 1
    assert f"{done.scenarios:,} scenarios" in text
    assert all(key in text for key in done.table.space.keys)


@pytest.mark.parametrize(
    ("largest", "unit", "shown"),
    [
        (0.04, "s", (1e3, "ms")),
        (2e5, "N/m", (1e-3, "N/mm")),
        (30.0, "N/m", (1.0, "N/m")),
        (0.02, "m", (1e3, "mm")),
        (4000.0, "kg", (1.0, "kg")),
        (1.0, "1", (1.0, "")),
        (0.5, "rad", (pytest.approx(57.29578), "°")),
    ],
)
def test_units_are_readable_ones(largest, unit, shown):
    assert scales.readable(largest, unit) == shown
