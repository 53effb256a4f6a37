"""The cockpit as its user has it: a server process, Chromium, and what the user does in the page.

Every request of every page is recorded: none may leave this machine, and no page may log errors in its console.
"""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from matplotlib import image
from playwright.sync_api import expect, sync_playwright

from hilt import cockpit
from hilt.cockpit import keys
from hilt.device import rigfile
from hilt.lab.dry.facility import running_facility
from hilt.live import mailbox
from tests.e2e.lab import RIG, hurry, patient_rig
from tests.patience import becomes as until

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
BUILT = (Path(cockpit.__file__).parent / "static" / "index.html").is_file()
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-gpu-compositing",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PICTURES = os.environ.get("HILT_PICTURES")  # a folder for screenshots
SCALE = 1.0 if PICTURES else 0.5  # pixels, all of them drawn by the processor, of one of the page's
TOKEN = "the-token-of-the-browser-tests"
AT_ONCE = 200.0  # [ms] from STOP to STOPPED
LONG = 60.0  # [s] before a test gives up waiting
COMPILED = 200.0  # [s] for the answer of a station that has to be compiled first
STARTED: set[str] = set()  # stations; others on this machine are not ours

expect.set_options(timeout=LONG * 1e3)
needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(sys.platform != "linux", reason="shared memory as Linux has it"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: sh tools/browser.sh"),
    pytest.mark.skipif(not BUILT, reason="the page is not built: sh tools/build_page.sh"),
]


def _pixels(png):
    return image.imread(io.BytesIO(png))[..., :3]


class Server:
    """`hilt cockpit` in its own process and its own folder."""

    def __init__(self, folder, port=0, token=TOKEN, python=sys.executable):
        self.folder = Path(folder)
        self.child = subprocess.Popen(
            [python, "-m", "hilt.cli.main", "cockpit", "--port", str(port), "--no-browser", "--out", str(self.out)],
            cwd=self.folder,
            env={**os.environ, "HILT_COCKPIT_TOKEN": token} if token else None,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.printed = self.child.stdout.readline().strip()
        assert self.printed.startswith("http://127.0.0.1:"), self.printed
        self.port = int(re.search(r":(\d+)/", self.printed)[1])

    @property
    def out(self):
        return self.folder / "runs"

    @property
    def address(self):
        """A new link, as `hilt cockpit --link` prints it: each opens one page."""
        return self.link()

    def link(self, role=keys.CONTROL, **shown):
        return keys.Card(self.port).link(role) + "".join(f"&{key}={value}" for key, value in shown.items())

    @property
    def memory(self):
        """Bytes of resident memory, of the door and the processes behind it."""
        pages = [Path(f"/proc/{pid}/statm").read_text().split()[1] for pid in self.processes()]
        return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE")

    def processes(self):
        """The server's processes, without the stations that it has started."""
        children = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        return [self.child.pid, *map(int, children)]

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()


@contextmanager
def server(folder, **options):
    """A server that is ended together with the stations that its pages have started."""
    found = Server(folder, **options)
    try:
        yield found
    finally:
        for name in STARTED & set(mailbox.sessions()):
            pid = mailbox.Sender(name).pid
            try:
                end(name)
            except Exception:  # after a failure it may not answer, and left alive it would keep the core from the next test
                os.kill(pid, signal.SIGKILL)
        STARTED.clear()
        found.kill()


def end(name):
    """Stop a station and end it."""
    sender = mailbox.Sender(name)
    sender.wait(sender.stop(), LONG)
    until(lambda: not sender.alive or sender.front.state != mailbox.LIVE)
    until(lambda: not sender.alive or sender.wait(sender.quit(), LONG).accepted)  # not while it writes its recording
    until(lambda: not sender.alive)
    sender.close()


class Browser:
    """Chromium, with the requests and complaints of its pages."""

    def __init__(self, playwright):
        self.playwright = playwright
        self.chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        self.hosts, self.complaints = set(), []

    def page(self, address, size=(1280, 800), dark=False):
        context = self.chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            device_scale_factor=SCALE,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(LONG * 1e3)
        page.on("request", lambda request: self._asked(request.url))
        page.on("websocket", lambda socket: self._asked(socket.url))
        page.on("console", lambda said: self._said(f"{said.text} {said.location['url']}") if said.type == "error" else None)
        page.on("pageerror", lambda error: self._said(str(error)))
        page.goto(address)
        return Page(page)

    def _asked(self, url):
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob"):
            self.hosts.add(parts.hostname)

    def _said(self, text):
        # From a server that was killed, or has just been restarted.
        if not any(each in text for each in ("net::ERR_CONNECTION", "WebSocket connection", "503 (Service Unavailable)")):
            self.complaints.append(text)


@contextmanager
def browser():
    with sync_playwright() as playwright:
        found = Browser(playwright)
        try:
            yield found
        finally:
            found.chromium.close()
    assert found.hosts <= {"127.0.0.1"}, "a request has left the machine"
    assert not found.complaints, found.complaints


class Page:
    """One page: its parts by name, and the counters in `window.hilt`."""

    def __init__(self, page):
        self.page = page

    def part(self, name):
        return self.page.get_by_test_id(name)

    def probe(self, expression):
        """A number in `window.hilt`."""
        return self.page.evaluate(f"window.hilt.{expression}")

    def until(self, expression, patience=LONG):
        """Wait until something in the page is true; the page's content policy forbids evaluating strings in it."""
        end = time.monotonic() + patience
        while not (found := self.page.evaluate(expression)):
            assert time.monotonic() < end, f"not within {patience} s: {expression}"
            self.page.wait_for_timeout(20)
        return found

    def is_in(self, state, patience=LONG):
        """Wait for a state of the loop, which the badge has beside its text: for a finished run the text is its outcome."""
        if state in mailbox.STATES:
            expect(self.part("state")).to_have_attribute("data-state", state, timeout=patience * 1e3)
        else:
            expect(self.part("state")).to_have_text(state, timeout=patience * 1e3)

    def has_run(self, seconds):
        """Wait until a LIVE run has lasted this long; if it ends before, fail with its outcome."""
        badge = self.part("state")
        self.until(f"window.hilt.t > {seconds} || document.querySelector('[data-state=STOPPED]') !== null")
        assert badge.get_attribute("data-state") == "LIVE", badge.text_content()

    def pause(self, seconds):
        self.page.wait_for_timeout(1e3 * seconds)

    def launch(self, system, scenario, settings=(), rig=None):
        """A session from the scenario's form; its name."""
        self.part("tab-scenarios").click()
        self.part(f"scenario-{system}-{scenario}").click()
        expect(self.part("scenarios").get_by_role("heading", name=f"{system} · {scenario}")).to_be_visible()
        for key, value in dict(settings).items():
            self._enter(key, value)
        if rig is not None:
            self.part("rig").select_option(rig)
        before = self.page.evaluate("location.hash")
        expect(self.part("launch")).to_be_enabled()
        self.part("launch").click()
        self.until(f"location.hash !== {before!r} || document.querySelector('.verdict.bad')", COMPILED)
        assert self.page.evaluate("location.hash") != before, self.page.locator(".error").all_inner_texts()
        name = self.page.evaluate("location.hash").removeprefix("#session=")
        STARTED.add(name)
        expect(self.part("state")).to_have_attribute("data-session", name)
        self.is_in("READY")
        return name

    def _enter(self, key, value):
        field = self.part("scenario-form").locator(f'[data-key="{key}"]')
        box = field.locator("select, input").first
        if not box.is_visible():
            field.locator("xpath=ancestor::details/summary").click()
        if box.evaluate("element => element.tagName") == "SELECT":
            box.select_option(value)
        else:
            box.fill(value)

    def take(self):
        if self.part("take").inner_text() == "Take controls":
            self.part("take").click()
        expect(self.part("holder")).to_have_text("you hold the controls")

    def arm(self):
        """Repeat until it works: a robot that was restarted a moment ago is refused."""
        end = time.monotonic() + LONG
        while self.part("state").inner_text().strip() != "READY · armed":
            assert time.monotonic() < end, "arming failed"
            self.part("arm").click()
            self.pause(0.3)

    def go(self):
        """Arm and start."""
        self.arm()
        self.part("start").click()
        self.is_in("LIVE")

    def again(self):
        """Reset, arm and start, as soon as the last run is written."""
        expect(self.part("reset")).to_be_enabled()
        self.part("reset").click()
        self.is_in("READY")
        self.go()

    def look(self, name):
        """Keep a screenshot for inspection, if there is a folder for them."""
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png")

    def colours(self, part):
        """The number of different colours in a part of the page."""
        return len(np.unique(_pixels(self.part(part).screenshot()).reshape(-1, 3), axis=0))


def busy(page):
    """Plots with as many signals as a page may request, and a pointer that moves over them."""
    box = page.part("plots").bounding_box()
    for x in np.linspace(0.2, 0.8, 8):
        page.page.mouse.move(box["x"] + x * box["width"], box["y"] + 0.5 * box["height"])


def quick(stops):
    """Half of them; how long it takes at worst: benchmarks/cockpit.py."""
    assert np.median(stops) < AT_ONCE, stops


class DryLab:
    """An emulated facility, and its rig file in a folder where a cockpit finds it."""

    def __init__(self, facility, folder, path, realtime):
        self.facility, self.control, self.name = facility, facility.control, f"rigs/{path.name}"
        text = path.read_text()
        patient = {  # for a busy machine without privileges: however long it stalls, it stops no run
            'arm = "run"': f'arm = "run"\nrealtime = {str(realtime).lower()}\nmissed = 100000\nready = "0.2 s"',
            'lateness = "100 ms"': 'lateness = "20 s"',
            "patience = 25": "patience = 5000",
            'stale = "100 ms"': 'stale = "20 s"',
            "gap = 50": "gap = 100000",
            'jump_force = "25 N"': 'jump_force = "0 N"',  # between records of which some were lost
            'jump_torque = "2.5 N*m"': 'jump_torque = "0 N*m"',
            **{f"port = {old['port']}": f"port = {new['port']}" for old, new in _devices(rigfile.load(path), facility.rig)},
        }
        for old, new in patient.items():
            assert old in text, old
            text = text.replace(old, new)
        (folder / "rigs").mkdir()
        (folder / self.name).write_text(text)

    def ready(self):
        """Before a run: as after a restart, with the robots counting violations."""
        self.control.clear()
        self.control.restart()
        self.control.live(True)


def _devices(*rigs):
    """The tables of all devices of each rig, side by side."""
    tables = [(rig.robots or {"": rig.robot}, rig.sensors or {"": rig.sensor}) for rig in rigs]
    return zip(*([*robots.values(), *sensors.values()] for robots, sensors in tables), strict=True)


@contextmanager
def dry_lab(folder, rig=None, path=RIG, diary=None, realtime=False, emulated=()):
    """`rig` is that of `path`, with longer timeouts for a busy machine. `realtime`: loop and devices
    have priority if the host permits it."""
    with running_facility(rig or patient_rig(), list(emulated), diary=diary) as facility:
        if realtime:
            hurry(facility)
        yield DryLab(facility, folder, path, realtime)
