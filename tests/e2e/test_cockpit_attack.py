"""STOP, the dead-man switch and a page that only watches, in a real browser, while everything else is kept busy."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from hilt.cockpit import keys
from hilt.live import mailbox
from hilt.record import recording
from tests.e2e.attack import attack, long_recording
from tests.e2e.cockpit import browser, needs_browser, server, until

pytestmark = [*needs_browser, pytest.mark.lab]

LONG_RUN = {"loop.duration": "600 s", "collisions": "10000"}


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cockpit")
    name = long_recording(folder / "runs", 64 << 20)
    with browser() as chromium, server(folder) as found:
        yield chromium, found, name


@pytest.fixture(scope="module")
def driver(cockpit):
    """A page that controls a long run, and the run's name."""
    chromium, found, _ = cockpit
    page = chromium.page(found.address, size=(1024, 640))
    yield page, page.launch("docking", "table1", LONG_RUN)
    page.page.context.close()


def test_stop_arrives_while_forms_recordings_sockets_and_strangers_keep_the_server_busy(cockpit, driver):
    """Tests whether it arrives; benchmarks/cockpit.py measures how soon."""
    _, found, recorded = cockpit
    page, name = driver
    page.take()
    page.go()
    with attack(found, name, recorded, sockets=8, strangers=20):
        page.until("window.hilt.t > 1")
        page.part("stop").click()
        page.is_in("STOPPED")
        assert len(page.probe("stops")) == 1
    watcher = mailbox.Watcher(name)
    path = until(lambda: watcher.front.recording)
    watcher.close()
    stopped = recording.load(Path(path)).result["who"][-1]
    assert stopped["what"] == "stop"
    assert "control, 127.0.0.1" in stopped["who"]


def test_a_link_to_watch_shows_and_stops_and_steers_nothing(cockpit, driver):
    chromium, found, _ = cockpit
    page, name = driver
    page.again()
    guest = chromium.page(found.link(keys.WATCH, session=name))
    guest.is_in("LIVE")
    guest.until("window.hilt.t > 0.2")
    expect(guest.part("holder")).to_have_text("watch only: you can stop, not steer")
    for part in ("arm", "start", "reset", "home", "quit", "take", "tab-scenarios", "tab-operator"):
        expect(guest.part(part)).to_be_hidden()
    guest.look("watch-only")
    guest.part("stop").click()
    page.is_in("STOPPED")
    guest.is_in("STOPPED")
    expect(guest.part("fault")).to_contain_text("watch, 127.0.0.1")  # who did it
    guest.page.context.close()


def test_a_link_opens_one_page_a_reload_keeps_it_and_no_address_or_cookie_has_a_secret(cockpit):
    chromium, found, _ = cockpit
    link = found.address
    page = chromium.page(link)
    page.until("window.hilt.connected")
    said = page.page.evaluate("location.hash + location.search + document.cookie")
    assert re.fullmatch(r"|#session=[\w.-]+", said), "empty, or the run that it shows"
    assert page.page.context.cookies() == []
    page.page.reload()
    page.until("window.hilt.connected")
    second = chromium.page(link)  # the same link, used by someone who has seen it
    expect(second.part("banner")).to_contain_text("does not know this page")
    assert not second.probe("connected")
    second.look("link-used")
    second.page.goto(found.address)
    second.until("window.hilt.connected")
    expect(second.part("banner")).to_be_hidden()
    for each in (page, second):
        each.page.context.close()
