"""The stop button on the dry lab: from the click to STOPPED, measured in the page, with busy plots.

In simulation, and at every width: test_cockpit_reach.py.
"""

import pytest
from playwright.sync_api import expect

from tests.e2e.cockpit import browser, busy, dry_lab, needs_browser, quick, server

pytestmark = [*needs_browser, pytest.mark.alone]

TRIALS = 3


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cockpit")
    with dry_lab(folder) as lab, browser() as chromium, server(folder) as found:
        yield chromium, found, lab


def test_stop_on_the_dry_lab(cockpit):
    chromium, found, lab = cockpit
    page = chromium.page(found.address)
    lab.ready()
    page.launch("docking", "table1", rig=lab.name)
    page.take()
    for trial in range(TRIALS):
        if trial:
            if trial % 2:
                lab.ready()  # the robot is moved back and its program restarted
            expect(page.part("reset")).to_be_enabled()
            page.part("reset").click()
            page.is_in("READY")
            page.arm()
            page.part("home").click()  # back to where the scenario starts
            page.is_in("READY")
        page.go()
        page.has_run(0.5)
        busy(page)
        page.part("stop").click()
        page.is_in("STOPPED")
    stops = page.probe("stops")
    assert len(stops) == TRIALS
    quick(stops)
    page.look("docking-dry-lab")
    page.page.context.close()
