"""An operator moves 4500 kg through 5 s of delay, at a browser: the virtual arm answers at once, the slave 5 s later."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from hilt.live import mailbox
from hilt.record import recording
from tests.e2e.cockpit import browser, needs_browser, server, until

pytestmark = [*needs_browser, pytest.mark.alone]  # the hand's messages come within 0.3 s, or the run is stopped

PUSHES = 8
DELAY = 5.0  # [s] of the link, in each direction
AT_ONCE = 100.0  # [ms]
SETTINGS = {"operator.kind": "live", "operator.start": "0 s", "loop.duration": "60 s"}


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory):
    with browser() as chromium, server(tmp_path_factory.mktemp("cockpit")) as found:
        yield chromium, found


@pytest.fixture
def driven(cockpit):
    """A page that controls the run, and the run's name."""
    chromium, found = cockpit
    page = chromium.page(found.address)
    name = page.launch("payload", "hils-2", SETTINGS)
    page.take()
    page.go()
    page.part("tab-operator").click()
    seen = page.probe("pictures")
    page.until(f"window.hilt.pictures > {seen + 3}")  # no driving before there is a picture
    yield page, name
    page.page.context.close()


def drive(page):
    """Short pushes, three forward and one back, with the dead-man switch held all the time and then released."""
    keys = page.page.keyboard
    keys.down("f")
    for push in range(PUSHES):
        key = "ArrowLeft" if push % 4 == 3 else "ArrowRight"
        keys.down(key)
        page.pause(0.45)
        keys.up(key)
        page.pause(0.45)
    keys.up("f")
    page.pause(0.1)


def test_the_virtual_arm_answers_at_once_and_the_slave_after_the_delay(driven):
    page, name = driven
    drive(page)
    released = page.probe("t")
    page.until(f"window.hilt.t > {released + 0.1} || window.hilt.state !== 'LIVE'")
    assert page.probe("state") == "LIVE", page.part("fault").text_content()
    latency = page.probe("latency")
    page.look("payload-operator")
    page.until(f"window.hilt.t > {released + DELAY + 2.5} || window.hilt.state !== 'LIVE'")
    assert page.probe("state") == "LIVE", "letting go is not a fault"
    page.part("stop").click()
    page.is_in("STOPPED")
    expect(page.part("reset")).to_be_enabled()  # it is written
    assert len(latency["motion"]) >= PUSHES // 2
    assert np.median(latency["echo"]) < AT_ONCE, latency["echo"]  # how long it takes at worst: benchmarks/cockpit.py
    assert np.median(latency["motion"]) < AT_ONCE, latency["motion"]

    watcher = mailbox.Watcher(name)
    rows = recording.load(Path(watcher.front.recording)).rows
    watcher.close()
    t, virtual, slave = rows["t"], rows["x_vir"][:, 0] - rows["x_vir"][0, 0], rows["x_s"][:, 0] - rows["x_s"][0, 0]
    assert virtual.max() > 1e-3
    touched = t[np.flatnonzero(rows["joystick"].any(axis=1))[0]]
    assert np.abs(slave[t < touched + DELAY]).max() < 1e-2 * virtual.max(), "no slave can know yet"
    # The slave's hand applies the virtual one's force, so their motions agree as well as their loads do.
    late = np.interp(t - DELAY, t, virtual)
    assert np.abs(slave - late).max() < 0.2 * late.max()
    # The hand has let go: from then on the virtual arm only slows down, and 5 s later so does the slave.
    for path, begin in ((virtual, released + 0.1), (slave, released + DELAY + 0.5)):
        speed = np.diff(np.interp(np.arange(begin, t[-1], 0.5), t, path)) / 0.5
        assert (np.diff(np.abs(speed)) < 0).all()
        assert abs(speed[-1]) < 0.8 * abs(speed[0])


def test_a_tab_that_is_closed_while_driving_stops_the_run_softly(driven):
    page, name = driven
    page.page.keyboard.down("f")
    page.page.keyboard.down("ArrowRight")
    page.until("window.hilt.latency.echo.length > 5")  # the loop receives the hand
    assert page.probe("state") == "LIVE"
    page.page.close(run_before_unload=True)
    watcher = mailbox.Watcher(name)
    until(lambda: watcher.front.state == mailbox.STOPPED)
    assert "dead-man" in watcher.front.sentence
    watcher.close()
