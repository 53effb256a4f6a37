"""Each system, started from the page of an installed wheel: it runs, is shown, and has a verdict; screenshots are kept."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from hilt.live import mailbox
from hilt.record import recording
from tests.e2e.cockpit import browser, needs_browser, server

pytestmark = needs_browser

RUNS = {  # scenario, what is changed so that it ends soon after something has happened
    "docking": ("table1", {"loop.duration": "3 s"}),
    "freefloat": ("wall", {"loop.duration": "3 s"}),
    "payload": ("hils-2", {"loop.duration": "4 s"}),
    "aerial": ("push", {"loop.duration": "3 s"}),
}
MOODS = {"met": "good", "missed": "warn", "no contact": "warn", "diverged": "bad", "stopped": "bad", "not judged": "plain"}
BOXES = """all => all.filter((e) => e.offsetParent).map((e) => e.getBoundingClientRect())
                   .map((r) => [r.left, r.top, r.right, r.bottom])"""
NARROW = ((1024, 768), (768, 1024), (390, 844))  # [px]
LEAST_COLOURS = 24  # a view with nothing in it has its ground, its frame and its name


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory, wheel):
    with browser() as chromium, server(tmp_path_factory.mktemp("cockpit"), python=wheel.python) as found:
        yield chromium, found


@pytest.mark.parametrize("system", RUNS)
def test_a_system_is_started_shown_and_reported(cockpit, system):
    chromium, found = cockpit
    page = chromium.page(found.address)
    scenario, changes = RUNS[system]
    name = page.launch(system, scenario, changes)
    page.take()
    page.go()
    page.until("window.hilt.t > 0.5")
    first, rows, frames, pictures = (page.probe(each) for each in ("scene", "kept", "frames", "pictures"))
    page.until("window.hilt.t > 1.8")
    assert page.probe("scene") != first, "nothing has moved"
    assert page.probe("kept") > rows
    assert page.probe("frames") > frames + 20
    assert page.probe("pictures") > pictures + 2
    for view in range(4):
        assert page.colours(f"view-{view}") > LEAST_COLOURS, f"view {view} is empty"
    page.look(f"{system}-live")
    page.is_in("STOPPED")
    expect(page.part("metrics").locator("tr, dt").first).to_be_visible()
    verdict = verdict_of(name)
    expect(page.part("verdict")).to_have_text(verdict["sentence"])
    expect(page.part("fault")).to_have_text(verdict["sentence"])
    expect(page.part("state")).to_have_attribute("data-mood", MOODS[verdict["kind"]])
    if system == "aerial":
        expect(page.part("state")).to_have_text("GOAL MET")
    page.look(f"{system}-end")
    nothing_overlaps(page)
    page.page.emulate_media(color_scheme="dark")
    page.pause(0.5)
    page.look(f"{system}-dark")
    for wide, high in NARROW:
        page.page.set_viewport_size({"width": wide, "height": high})
        page.pause(0.3)
        nothing_overlaps(page)
        page.look(f"{system}-{wide}")
    page.page.context.close()


def verdict_of(name):
    watcher = mailbox.Watcher(name)
    found = recording.load(Path(watcher.front.recording)).result["verdict"]
    watcher.close()
    return found


def nothing_overlaps(page):
    """Panels, bars and views lie beside each other and inside the window; nothing in the top bar overlaps."""
    wide = page.page.viewport_size["width"]
    for group in (".panel", "header.top > *", ".view", ".plot", ".plot header > *"):
        boxes = page.page.locator(group).evaluate_all(BOXES)
        for i, a in enumerate(boxes):
            assert -1 <= a[0] <= a[2] <= wide + 1, (group, a)
            for b in boxes[:i]:
                apart = a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1
                assert apart, (group, a, b)
