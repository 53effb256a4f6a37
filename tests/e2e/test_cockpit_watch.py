"""Whoever watches, and whatever happens to the server: the loop goes on, and can be found again."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from hilt.live import mailbox
from hilt.record import recording
from tests.e2e.cockpit import Server, browser, needs_browser, server, until

pytestmark = [*needs_browser, pytest.mark.lab]

WATCHED = 5.0  # [s]
STARTED_LATE = 1e-3  # [s]: half of the ticks begin within it on a busy machine


@pytest.fixture(scope="module")
def chromium():
    with browser() as found:
        yield found


def rows_of(name):
    watcher = mailbox.Watcher(name)
    path = until(lambda: watcher.front.state == mailbox.STOPPED and watcher.front.recording)
    watcher.close()
    return recording.load(Path(path)).rows


def test_two_browsers_watch_a_run_of_1_khz(chromium, tmp_path):
    with server(tmp_path) as found:
        pages = [chromium.page(found.address, size=(1024, 768)) for _ in range(2)]
        name = pages[0].launch("docking", "table1", {"loop.duration": "60 s", "collisions": "1000"})
        pages[1].page.goto(found.link(session=name))
        pages[0].take()
        pages[0].go()
        expect(pages[1].part("holder")).to_contain_text("holds the controls")
        expect(pages[1].part("arm")).to_be_disabled()
        for page in pages:
            page.until("window.hilt.t > 2")
        begun = pages[0].probe("t")
        memory, rates = found.memory, [[], []]
        while pages[0].probe("t") < begun + WATCHED:
            pages[0].pause(0.5)
            for page, kept in zip(pages, rates, strict=True):
                kept.append(page.probe("rate"))
        assert all(np.median(kept) >= 30.0 for kept in rates), rates
        assert found.memory - memory < 32 << 20
        expect(pages[1].part("timing")).to_contain_text("rows lost0")
        pages[1].part("stop").click()  # anyone may
        for page in pages:
            page.is_in("STOPPED")
            page.page.context.close()
        rows = rows_of(name)
        assert rows["tick"].tolist() == list(range(len(rows)))
        assert np.median(rows["lateness"]) < STARTED_LATE


def test_a_killed_server_does_not_disturb_the_run_and_the_next_one_finds_it(chromium, tmp_path):
    with server(tmp_path) as first:
        page = chromium.page(first.address)
        name = page.launch("docking", "table1", {"loop.duration": "60 s", "collisions": "1000"})
        page.take()
        page.go()
        page.until("window.hilt.t > 1")
        killed = page.probe("t")
        first.kill()
        page.is_in("NO CONTACT")
        expect(page.part("banner")).to_contain_text("The run continues without it")
        page.pause(1.0)
        second = Server(tmp_path, port=first.port)  # the same token, from the environment: the page that is open goes on
        try:
            expect(page.part("banner")).to_be_hidden()
            page.is_in("LIVE")
            page.until(f"window.hilt.t > {killed + 1}")
            expect(page.part("timing")).to_contain_text("rows lost0")
        finally:
            second.kill()
        page.page.context.close()
        third = Server(tmp_path, token=None)  # its own token and another port: the address that it prints shows the run
        try:
            assert third.port != first.port
            page = chromium.page(third.address)
            page.until(f"[...document.querySelectorAll('[data-testid=session-list] option')].some((o) => o.value === {name!r})")
            if page.part("state").get_attribute("data-session") != name:  # the machine runs more than this one
                page.part("session-list").select_option(name)
            page.is_in("LIVE")
            expect(page.part("state")).to_have_attribute("data-session", name)
            t = page.probe("t")
            page.until(f"window.hilt.t > {t + 0.5}")
            page.part("stop").click()
            page.is_in("STOPPED")
            page.page.context.close()
        finally:
            third.kill()
        rows = rows_of(name)
    assert rows["tick"].tolist() == list(range(len(rows)))
    after = rows["lateness"][(rows["t"] > killed) & (rows["t"] < killed + 1.0)]
    assert np.median(after) < STARTED_LATE
