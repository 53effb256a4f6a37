"""The stop button: from the click to STOPPED, measured in the page, in simulation and on the dry lab, with busy plots."""

import os

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.e2e.cockpit import browser, dry_lab, needs_browser, server

pytestmark = needs_browser

TRIALS = 3
AT_ONCE = 200.0  # [ms]


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cockpit")
    with dry_lab(folder) as lab, browser() as chromium, server(folder) as found:
        yield chromium, found, lab


def busy(page):
    """Plots with as many signals as a page may ask for, and a pointer that runs over them."""
    box = page.part("plots").bounding_box()
    for x in np.linspace(0.2, 0.8, 8):
        page.page.mouse.move(box["x"] + x * box["width"], box["y"] + 0.5 * box["height"])


def quick(stops):
    """Each of them where a core is free for the page (benchmarks/cockpit.py), half of them on a machine with more to do."""
    assert np.median(stops) < AT_ONCE, stops
    assert os.getloadavg()[0] > (os.cpu_count() or 1) or max(stops) < AT_ONCE, stops


def test_stop_in_simulation(cockpit):
    chromium, found, _ = cockpit
    page = chromium.page(found.address)
    page.launch("docking", "table1", {"loop.duration": "60 s", "collisions": "1000"})
    page.take()
    page.go()
    for key in ("", "Space", "Escape"):
        if key:
            page.again()
        page.until("window.hilt.t > 0.5")
        busy(page)
        if key:
            page.page.keyboard.press(key)
        else:
            page.part("stop").click()
        page.is_in("STOPPED")
    stops = page.probe("stops")
    assert len(stops) == TRIALS
    quick(stops)
    expect(page.part("fault")).to_contain_text("asked to stop")
    page.page.context.close()


def test_stop_on_the_dry_lab(cockpit):
    chromium, found, lab = cockpit
    page = chromium.page(found.address)
    lab.ready()
    page.launch("docking", "table1", rig=lab.NAME)
    page.take()
    for trial in range(TRIALS):
        if trial:
            if trial % 2:
                lab.ready()  # somebody drives the robot back and starts its program again
            expect(page.part("reset")).to_be_enabled()
            page.part("reset").click()
            page.is_in("READY")
            page.arm()
            page.part("home").click()  # back to where the scenario starts
            page.is_in("READY")
        page.go()
        page.until("window.hilt.t > 0.5")
        busy(page)
        page.part("stop").click()
        page.is_in("STOPPED")
    stops = page.probe("stops")
    assert len(stops) == TRIALS
    quick(stops)
    page.look("docking-dry-lab")
    page.page.context.close()
