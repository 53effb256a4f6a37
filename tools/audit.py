"""Known vulnerabilities of hilt's dependencies: the packages of all lock files, and those bundled into the cockpit's page.

    python tools/audit.py          exits 0: none known, or a service did not answer (prints so); 1: prints each

Python packages are looked up at OSV, the open database of advisories (or at the server in HILT_AUDIT), the page's packages
with `npm audit`. Both are bounded in time: a check must not hang where there is no network.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SERVICE = "https://api.osv.dev"
LIMIT = 15.0  # s
# For running and testing hilt; for building its site; for testing its drivers.
LOCKS = ("requirements.lock", "requirements-docs.lock", "requirements-peers.lock")
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^ \\;]+)", re.M)


class NoAnswer(Exception):
    """A service did not answer."""


def pins(lock: str) -> list[tuple[str, str]]:
    """Return the names and versions in a lock file."""
    return [(name.lower(), version) for name, version in _PIN.findall(lock)]


def ask_osv(found: list[tuple[str, str]], service: str, seconds: float = LIMIT) -> dict[str, list[str]]:
    """Return advisories by package and version."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in found]
    request = urllib.request.Request(
        f"{service}/v1/querybatch", json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            results = list(json.load(answer)["results"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoAnswer(str(getattr(error, "reason", error))) from None
    if len(results) != len(found):
        raise NoAnswer(f"{len(results)} answers to {len(found)} queries")
    advisories = ([each["id"] for each in result.get("vulns", [])] for result in results)
    return {f"{name} {version}": ids for (name, version), ids in zip(found, advisories, strict=True) if ids}


def ask_npm(page: Path, seconds: float = LIMIT) -> dict[str, list[str]]:
    """Return advisories by package, for packages that the page ships, without those that only build it."""
    npm = shutil.which("npm")
    if npm is None:
        raise NoAnswer("npm is not installed")
    command = [
        npm,
        "audit",
        "--omit=dev",
        "--package-lock-only",
        "--json",
        "--fetch-retries=0",
        f"--fetch-timeout={seconds * 1e3:.0f}",
    ]
    try:
        done = subprocess.run(command, cwd=page, capture_output=True, text=True, timeout=seconds + 5.0)
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise NoAnswer(type(error).__name__) from None
    if "auditReportVersion" not in answer:
        raise NoAnswer(f"status {answer.get('statusCode', 'unknown')}")
    found = {}
    for name, each in answer["vulnerabilities"].items():
        titles = [str(via.get("url") or via.get("title")) for via in each["via"] if isinstance(via, dict)]
        found[f"{name} {each['range']}"] = titles or [f"through {', '.join(map(str, each['via']))}"]
    return found


def _too_late(*_: Any) -> None:
    raise NoAnswer(f"not within {2 * LIMIT:g} s")


def main() -> int:
    service = os.environ.get("HILT_AUDIT", SERVICE)
    packages = sorted({pin for lock in LOCKS for pin in pins((ROOT / lock).read_text())})
    checks = {
        f"{len(packages)} packages of {' and '.join(LOCKS)}": lambda: ask_osv(packages, service),
        "the packages of the cockpit's page": lambda: ask_npm(ROOT / "src" / "hilt" / "cockpit" / "page"),
    }
    signal.signal(signal.SIGALRM, _too_late)
    code = 0
    for what, check in checks.items():
        signal.alarm(round(2 * LIMIT))  # also ends a service that only sends a byte now and then
        try:
            found = check()
            signal.alarm(0)
        except NoAnswer as error:
            print(f"audit: {what} were not checked for known vulnerabilities: the service did not answer ({error})")
            continue
        for package, advisories in found.items():
            print(f"audit: {package} has known vulnerabilities: {', '.join(advisories)}; use another version", file=sys.stderr)
            code = 1
        if not found:
            print(f"audit: no known vulnerability in {what}")
    return code


if __name__ == "__main__":
    sys.exit(main())
