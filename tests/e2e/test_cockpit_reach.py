"""Which session a command reaches: the one named and no other; and STOP on every tab and window size."""

import pytest
from playwright.sync_api import expect

from hilt.live import mailbox
from tests.e2e.cockpit import STARTED, browser, busy, needs_browser, quick, server, until

pytestmark = needs_browser

LONG_RUN = {"loop.duration": "600 s", "collisions": "10000"}
WINDOWS = {390: 844, 768: 1024, 1400: 860, 1920: 1080}  # [px]: telephone, tablet, laptop, wall
TABS = ("tab-live", "tab-operator", "tab-scenarios", "tab-maps", "tab-recordings")
HIT = """() => {
  const stop = document.querySelector("[data-testid=stop]"), box = stop.getBoundingClientRect();
  const hits = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) =>
    document.elementFromPoint(box.left + x * box.width, box.top + y * box.height) === stop));
  return { ...box.toJSON(), hits: hits.filter(Boolean).length, wide: innerWidth, high: innerHeight };
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with browser() as chromium, server(tmp_path_factory.mktemp("cockpit")) as found:
        yield chromium.page(found.address, size=(1280, 800))


def test_arming_after_start_session_reaches_the_new_session_or_none(page):
    """Start session followed by Arm means the new one: the old one must not be armed while the new one starts."""
    old = page.launch("docking", "table1", LONG_RUN)
    page.take()
    watcher, armed = mailbox.Watcher(old), []
    page.part("tab-scenarios").click()
    page.part("launch").click()
    shown = page.page.evaluate("location.hash")
    while page.page.evaluate("location.hash") == shown:
        page.page.evaluate("document.querySelector('[data-testid=arm]').click()")  # nothing if it is greyed out
        armed.append(watcher.front.armed)
        page.pause(0.05)
    assert armed
    assert not any(armed), "the old session was armed"
    page.is_in("READY")
    new = page.part("state").get_attribute("data-session")
    STARTED.add(new)
    assert new != old
    expect(page.part("arm")).to_contain_text("docking · table1")
    expect(page.part("arm")).to_have_attribute("title", f"arm {new}")
    page.arm()
    assert not watcher.front.armed
    watcher.close()
    other = mailbox.Watcher(new)
    until(lambda: other.front.armed)
    other.close()


def test_stop_is_under_the_hand_at_every_width_and_works(page):
    """Visible and clickable on every tab, whatever is scrolled; pressed where it is shown, the run stops."""
    page.part("start").click()  # armed by the test before
    page.is_in("LIVE")
    for wide, high in WINDOWS.items():
        page.page.set_viewport_size({"width": wide, "height": high})
        for tab in TABS:
            page.part(tab).click()
            page.page.evaluate("document.querySelector('main').scrollTo(0, 1e6); scrollTo(0, 1e6)")
            box = page.page.evaluate(HIT)
            assert box["hits"] == 9, (wide, tab, box)
            assert box["left"] >= 0, (wide, tab, box)
            assert box["right"] <= box["wide"], (wide, tab, box)
            assert box["bottom"] <= box["high"], (wide, tab, box)
            assert page.page.evaluate("document.documentElement.scrollWidth") <= wide, (wide, tab)
            if wide == 390:  # within reach of the thumb of the hand that holds it
                assert box["top"] > high / 2
                assert box["height"] >= 48
                assert box["width"] >= 120
        page.look(f"stop-{wide}")
    page.page.mouse.move(box["left"] + box["width"] / 2, box["top"] + box["height"] / 2)
    page.page.mouse.down()
    page.is_in("STOPPED")
    page.page.mouse.up()
    for key in ("Space", "Escape"):
        page.again()
        page.part("tab-live").click()
        page.until("window.hilt.t > 0.5")
        busy(page)
        page.page.keyboard.press(key)
        page.is_in("STOPPED")
    stops = page.probe("stops")
    assert len(stops) == 3
    quick(stops)
    expect(page.part("state")).to_have_text("STOPPED")
    expect(page.part("fault")).to_contain_text("Stopped by guest 1 (page 1, control, 127.0.0.1)")
