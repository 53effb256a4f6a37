"""Recordings in the page: their outcome, scrubbing without delay, and several side by side from their first contact."""

from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from hilt import job
from tests.e2e.cockpit import browser, needs_browser, server

pytestmark = needs_browser

AT_ONCE = 300.0  # [ms]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("cockpit")
    for method in ("none", "pida"):
        job.run(*job.find("docking", "table1", ["robot.delay=25 ms", f"compensate.method={method}"]), found / "runs")
    job.run(*job.find("docking", "table1", ["collisions=1000", "loop.duration=60 s"]), found / "runs")
    return found


@pytest.fixture(scope="module")
def cockpit(folder):
    with browser() as chromium, server(folder) as found:
        yield chromium, found


def names(folder):
    """Names in the order in which they were made."""
    return [path.stem for path in sorted((folder / "runs").glob("*.mcap"), key=lambda path: path.stat().st_mtime_ns)]


def seek(page, t):
    """Move the bar; return the time that is then shown."""
    before = page.probe("frames")
    page.part("scrub-bar").evaluate("(bar, t) => { bar.value = t; bar.dispatchEvent(new Event('input')); }", t)
    page.until(f"window.hilt.frames > {before} && Math.abs(window.hilt.t - {t}) < 1e-3")


def test_a_recording_is_scrubbed(cockpit, folder):
    chromium, found = cockpit
    page = chromium.page(found.address)
    page.part("tab-recordings").click()
    longest = max((folder / "runs").glob("*.mcap"), key=lambda path: path.stat().st_size).stem
    page.page.locator(f'tr[data-name="{longest}"]').get_by_role("button", name="Open").click()
    expect(page.part("scrub")).to_be_visible()
    page.until("window.hilt.frames > 0")
    scenes = []
    for t in np.random.default_rng(1).uniform(0.0, 60.0, 20):
        seek(page, float(t))
        scenes.append(page.probe("scene"))
    seeks = page.probe("seeks")
    assert len(seeks) >= 20
    assert np.percentile(seeks, 95) < AT_ONCE, seeks
    assert len({tuple(scene) for scene in scenes}) > 15
    expect(page.part("metrics")).to_contain_text("speed")
    page.look("docking-recording")
    plots_are_exported(page)
    layouts_are_kept(page)
    page.page.context.close()


def plots_are_exported(page):
    """As a table in SI units, and as a picture in the units of its axes."""
    plot = page.page.locator(".plot", has_text="tip position")
    expect(plot.locator("h3")).to_have_text("tip position [mm]")
    with page.page.expect_download() as taken:
        plot.get_by_role("button", name="tip position as csv").click()
    head, first, *_ = taken.value.path().read_text().splitlines()
    assert head.startswith('"t [s]","simulated p_C_des_W.0 [m]')
    assert float(first.split(",")[0]) == pytest.approx(0.0, abs=0.1)
    with page.page.expect_download() as taken:
        plot.get_by_role("button", name="tip position as svg").click()
    assert taken.value.suggested_filename == "tip-position.svg"
    assert "tip position [mm]" in ElementTree.parse(taken.value.path()).getroot().find("{*}text").text


def layouts_are_kept(page):
    """Under a name, in this browser, next to the sets of the system; they survive a reload."""
    remove = page.page.get_by_role("button", name="remove plot contact force along x")
    remove.click()
    page.part("save-layout").click()
    page.page.get_by_label("name of the layout").fill("mine")
    page.page.keyboard.press("Enter")
    expect(page.part("layouts")).to_have_value("saved: mine")
    page.part("layouts").select_option("contact")
    expect(remove).to_be_visible()
    page.page.reload()
    page.until("window.hilt.frames > 0")
    page.part("layouts").select_option("saved: mine")
    expect(remove).to_have_count(0)
    expect(page.page.locator(".plot", has_text="tip position")).to_be_visible()
    page.page.get_by_role("button", name="Forget").click()
    expect(remove).to_be_visible()


def test_the_list_shows_the_outcome_of_each_run_and_what_was_changed(cockpit, folder):
    chromium, found = cockpit
    page = chromium.page(found.address, size=(1400, 860))
    page.part("tab-recordings").click()
    diverged, kept, long = (page.page.locator(f'tr[data-name="{name}"]') for name in names(folder))
    expect(diverged).to_contain_text("diverged")
    expect(diverged).to_contain_text("robot.delay 25 ms")
    expect(diverged.get_by_title("robot.delay is 20 ms in the shipped scenario")).to_be_visible()
    expect(diverged.locator("td").nth(4)).to_have_text("none")
    expect(kept).to_contain_text("goal")
    expect(kept.locator("td").nth(4)).to_have_text("pida")
    expect(long).to_contain_text("collisions 1000")
    page.look("recordings")
    page.page.get_by_label("find a recording").fill("diverged")
    expect(page.part("recordings").locator("tbody tr")).to_have_count(1)
    page.page.context.close()


def test_three_recordings_are_compared_from_their_first_contact_and_what_differs_is_listed(cockpit, folder):
    chromium, found = cockpit
    page = chromium.page(found.address, size=(1400, 860))
    page.part("tab-recordings").click()
    rows = page.part("recordings").locator("tbody tr")
    expect(rows).to_have_count(3)
    for name in names(folder):
        page.part("recordings").get_by_label(f"compare {name}", exact=True).check()
    expect(page.part("compare")).to_have_text("Compare 3")
    page.part("compare").click()
    expect(page.part("tab-live")).to_have_text("Compare")
    page.until("window.hilt.frames > 0")
    seek(page, 0.0)
    differs = page.part("differences")
    expect(differs.locator("tr", has_text="compensate.method").locator("td")).to_have_text(["none", "pida", "pida"])
    expect(differs.locator("tr", has_text="robot.delay").locator("td")).to_have_text(["25 ms", "25 ms", "20 ms"])
    expect(differs.locator("tr", has_text="contact.stiffness")).to_have_count(0)
    expect(page.page.locator(".judged")).to_have_count(3)
    assert page.page.locator(".plot .legend").first.inner_text().count("C ") == 3
    page.look("docking-compare")
    page.page.context.close()
