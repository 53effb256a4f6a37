"""Known vulnerabilities of what hilt depends on: the packages of all locks, and what the cockpit's page is bundled from.

    python tools/audit.py          0: none is known, or a service does not answer (a sentence says so); 1: each is named

Python packages are looked up at OSV, the open database of advisories (HILT_AUDIT names another server of the same kind), and
the page's with `npm audit`. Both are bounded in time: a check must not hang where there is no network.
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
# What runs and tests hilt; what builds its site; what its drivers are tested against.
LOCKS = ("requirements.lock", "requirements-docs.lock", "requirements-peers.lock")
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^ \\;]+)", re.M)


class NoAnswer(Exception):
    """A service that could not be asked."""


def pins(lock: str) -> list[tuple[str, str]]:
    """Names and versions of a lock file."""
    return [(name.lower(), version) for name, version in _PIN.findall(lock)]


def ask_osv(found: list[tuple[str, str]], service: str, seconds: float = LIMIT) -> dict[str, list[str]]:
    """Package and version -> advisories."""
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
        raise NoAnswer(f"{len(results)} answers to {len(found)} questions")
    advisories = ([each["id"] for each in result.get("vulns", [])] for result in results)
    return {f"{name} {version}": ids for (name, version), ids in zip(found, advisories, strict=True) if ids}


def ask_npm(page: Path, seconds: float = LIMIT) -> dict[str, list[str]]:
    """Packages that the page ships, not those that only build it -> advisories."""
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
        signal.alarm(round(2 * LIMIT))  # also for a service that sends a byte now and then
        try:
            found = check()
            signal.alarm(0)
        except NoAnswer as error:
            print(f"audit: {what} were not checked for known vulnerabilities: the service did not answer ({error})")
            continue
        for package, advisories in found.items():
            print(f"audit: {package} has known vulnerabilities: {', '.join(advisories)}; take another version", file=sys.stderr)
            code = 1
        if not found:
            print(f"audit: no known vulnerability in {what}")
    return code


if __name__ == "__main__":
    sys.exit(main())
