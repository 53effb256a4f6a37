"""What hilt depends on and ships: known vulnerabilities fail the check, silent services do not; the wheel has all licences."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "hilt" / "cockpit" / "page"
BUILT = ROOT / "src" / "hilt" / "cockpit" / "static" / "cockpit.js"
spec = importlib.util.spec_from_file_location("audit", ROOT / "tools" / "audit.py")
audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)


@contextmanager
def service(bad=(), status=200, body=None):
    """An advisory server on loopback that has advisories for the packages in `bad`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            results = [{"vulns": [{"id": "X-1"}]} if each["package"]["name"] in bad else {} for each in asked]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps({"results": results}).encode() if body is None else body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def silent():
    """A server that accepts the connection and never answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def npm(folder, answer):
    """A fake npm that prints this answer."""
    folder.mkdir()
    (folder / "npm").write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    (folder / "npm").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


CLEAN = {"auditReportVersion": 2, "vulnerabilities": {}}
KNOWN = {
    "auditReportVersion": 2,
    "vulnerabilities": {"three": {"range": "<9", "via": [{"url": "Y-2"}]}, "uplot": {"range": "*", "via": ["three"]}},
}
REFUSED = {"statusCode": 405, "message": "405"}


def run(address, path):
    environment = {**os.environ, "HILT_AUDIT": address, "PATH": path}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "audit.py")], capture_output=True, text=True, env=environment, timeout=60
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("name", audit.LOCKS)
def test_the_lock_is_read_whole(name):
    lock = (ROOT / name).read_text()
    found = audit.pins(lock)
    assert len(found) == lock.count("==") == len(set(found))
    assert "://" not in lock, "no host names"


def test_every_lock_is_audited():
    assert sorted(path.name for path in ROOT.glob("*.lock")) == sorted(audit.LOCKS)


def test_a_check_of_the_whole_audits():
    listed = subprocess.run(["make", "--dry-run", "check"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "tools/audit.py" in listed.stdout


def test_no_known_vulnerability_passes(tmp_path):
    with service() as address:
        done = run(address, npm(tmp_path / "bin", CLEAN))
    assert done.returncode == 0
    assert done.stdout.count("no known vulnerability") == 2


def test_a_known_vulnerability_fails_the_check_and_is_named(tmp_path):
    with service(bad=("numpy",)) as address:
        done = run(address, npm(tmp_path / "bin", KNOWN))
    assert done.returncode == 1
    one, two, three = done.stderr.splitlines()
    assert one.startswith("audit: numpy 2.")
    assert "X-1" in one
    assert "three <9" in two
    assert "Y-2" in two
    assert "through three" in three


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"results": []}', b'{"results": null}'])
def test_a_service_that_answers_nonsense_counts_as_silent(body):
    with service(body=body) as address, pytest.raises(audit.NoAnswer):
        audit.ask_osv([("numpy", "2")], address)


def test_silent_services_are_one_sentence_each_and_not_a_failure(tmp_path):
    with service(status=503) as address:
        done = run(address, npm(tmp_path / "bin", REFUSED))
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == done.stdout.count("did not answer") == 2
    with silent() as address, pytest.raises(audit.NoAnswer):
        audit.ask_osv([("numpy", "2")], address, seconds=0.2)
    with pytest.raises(audit.NoAnswer):
        audit.ask_osv([("numpy", "2")], "http://127.0.0.1:1")


def test_the_wheel_carries_the_licences_of_what_it_contains(tmp_path):
    if not BUILT.exists():
        pytest.skip("the cockpit's page is not built; run sh tools/build_page.sh")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("hilt/cockpit/static/LICENSES.txt").decode()
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist()), "our own"
    lock = json.loads((PAGE / "package-lock.json").read_text())["packages"]
    shipped = {path.removeprefix("node_modules/"): each for path, each in lock.items() if path and not each.get("dev")}
    assert shipped
    for name, each in shipped.items():
        assert f"{name} {each['version']} ({each['license']})" in text
    assert text.count("Permission is hereby granted") >= sum(each["license"] == "MIT" for each in shipped.values())
