"""The tab Maps as its user has it: a sweep is entered, started, watched while it fills, and a point of it opened as a run."""

import pytest
from playwright.sync_api import expect

from hilt.cockpit import keys
from hilt.record import recording
from tests.e2e.cockpit import COMPILED, browser, needs_browser, server

pytestmark = needs_browser


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


def write(page, *axes, seeds=""):
    """Axes of a new sweep of docking, untreated."""
    page.part("tab-maps").click()
    expect(page.part("map-system").locator("option[value=docking]")).to_be_attached()
    page.part("map-system").select_option("docking")
    expect(page.part("map-scenario")).to_have_value("table1")
    for n, (key, values) in enumerate(axes):
        page.part(f"map-key-{n}").fill(key)
        page.part(f"map-values-{n}").fill(values)
    page.part("map-seeds").fill(seeds)


def whole(page):
    expect(page.part("map-progress")).to_have_attribute("data-state", "whole", timeout=COMPILED * 1e3)


def test_a_map_is_started_fills_and_a_point_opens_its_run(chromium, tmp_path):
    with server(tmp_path) as found:
        page, guest = chromium.page(found.address), chromium.page(found.link(keys.WATCH))
        write(page, ("robot.delay", "2..40 ms:20"), ("contact.stifness", "10..300 N/mm:5 log"))
        expect(page.part("maps")).to_contain_text(
            "contact.stifness is not a key of this scenario; did you mean contact.stiffness?"
        )
        expect(page.part("map-start")).to_be_disabled()
        assert not list(found.out.glob("*/sweep.json"))
        page.part("map-key-1").fill("contact.stiffness")
        expect(page.part("map-estimate")).to_contain_text("100 scenarios: at most")
        page.part("map-settings").locator("summary").first.click()
        page.part("map-form").locator('[data-key="compensate.method"] select').select_option("none")
        expect(page.part("map-settings")).to_contain_text("1 changed")
        expect(page.part("map-start")).to_be_enabled()
        page.part("map-start").click()
        whole(page)
        expect(page.part("map-picture")).to_have_attribute("data-filled", "100")
        expect(page.part("map-picture")).to_contain_text("contact.stiffness [N/mm]")
        expect(page.part("map-picture")).to_contain_text("cov_error [%]")
        expect(page.part("map-here")).to_be_attached()
        page.look("maps")

        guest.part("tab-maps").click()  # a page that may only watch sees the same, but cannot start it
        guest.part("map-list").get_by_role("button").click()
        whole(guest)
        expect(guest.part("map-picture")).to_have_attribute("data-filled", "100")
        expect(guest.part("map-start")).to_be_hidden()
        guest.part("map-picture").click()

        page.part("map-picture").focus()  # by keyboard alone: to the first delay, one stiffness up, and open it
        before = page.part("map-readout").inner_text()
        for _ in range(20):
            page.page.keyboard.press("ArrowLeft")
        page.page.keyboard.press("ArrowDown")
        expect(page.part("map-readout")).not_to_have_text(before)
        expect(page.part("map-readout")).to_contain_text("robot.delay = 2 ms")
        page.page.keyboard.press("Enter")
        page.until("location.hash.startsWith('#recording=')", COMPILED)
        expect(page.part("tab-live")).to_have_attribute("aria-selected", "true")
        name = page.page.evaluate("location.hash").removeprefix("#recording=")
        run = recording.load(found.out / f"{name}.mcap")
        assert run.scenario["robot"]["delay"] == 0.002
        assert run.scenario["compensate"]["method"] == "none"
        assert len(list(found.out.glob("*.mcap"))) == 1  # the guest's click has started nothing
        expect(page.part("metrics")).to_contain_text("robot delay")
        for each in (page, guest):
            each.page.context.close()


def test_one_axis_is_a_curve_and_a_sweep_can_be_cancelled_and_continued(chromium, tmp_path):
    with server(tmp_path) as found:
        page = chromium.page(found.address, dark=True)
        write(page, ("robot.delay", "2..40 ms:200"), ("compensate.method", "none,pida"), seeds="20")
        expect(page.part("map-start")).to_be_enabled()
        page.part("map-start").click()
        page.until("Number(document.querySelector('[data-testid=map-picture]').dataset.filled) > 2", COMPILED)
        page.part("map-cancel").click()
        expect(page.part("map-note")).to_contain_text("Continue computes the rest.")
        filled = int(page.part("map-picture").get_attribute("data-filled"))
        assert 0 < filled < 400
        expect(page.part("map-list")).to_contain_text("not finished")
        page.part("map-continue").click()
        page.until(f"Number(document.querySelector('[data-testid=map-picture]').dataset.filled) > {filled}", COMPILED)
        expect(page.part("maps").locator(".map-legend")).to_have_text("nonepida")
        expect(page.part("map-caption")).to_contain_text("Mean of 20 seeds")
        page.look("maps-curve-dark")
        page.page.context.close()
