"""hilt for a user without privileges: no home, and nothing of ours except what everyone may read.

The interpreter may be where others have no access, such as below /root. Then the user gets a mount namespace in which that
folder contains the interpreter and nothing else.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from hilt import compiled
from hilt.compiled import reach
from tests.another_user import US

ROOT = Path(__file__).parents[2]


def _closed(path):
    """The outermost folder on a path that others cannot enter."""
    ways = [*reversed(path.parents), path]
    return next((each for each in ways if not each.stat().st_mode & stat.S_IXOTH), None)


def _view(shelf):
    """Shell lines that give access to what is needed, in a mount namespace that ends with the process."""
    needed = {Path(os.path.realpath(each)) for each in (sys.base_prefix, sys.prefix, ROOT)}
    closed = {path: _closed(path) for path in needed}
    closed = {path: each for path, each in closed.items() if each is not None}
    lines = []
    for number, path in enumerate(closed):
        lines += [f"mkdir -p {shelf}/{number}", f"mount --bind {path} {shelf}/{number}"]
    lines += [f"mount -t tmpfs -o mode=0755 tmpfs {folder}" for folder in sorted(set(closed.values()))]
    for number, path in enumerate(closed):
        lines += [f"mkdir -p {path}", f"mount --bind {shelf}/{number} {path}"]
    return lines


class Outsider:
    """A user with only their own folder. `keeps`: they also have a folder for compiled code."""

    def __init__(self, folder, shelf, keeps):
        self.folder = folder
        folder.mkdir(mode=0o700)
        os.chown(folder, US, US)
        self.environment = {"PATH": "/usr/bin:/bin"}
        if keeps:
            self._give_compiled(folder / "cache")
        view = _view(shelf)
        self._before = ["unshare", "--mount", "sh", "-ec", "; ".join([*view, 'exec "$@"']), "sh"] if view else []
        user = ["setpriv", "--reuid", str(US), "--regid", str(US), "--clear-groups", "--no-new-privs"]
        self._before += user

    def _give_compiled(self, cache):
        """A copy of our compiled code, as if they had run everything once before."""
        self.environment["XDG_CACHE_HOME"] = str(cache)
        (cache / "hilt").mkdir(parents=True)
        sources = reach.PACKAGE.rglob("*.py") if compiled.ROOT is not None else ()
        for kept in map(compiled._folder_of, sources):
            if kept.is_dir():
                shutil.copytree(kept, cache / "hilt" / compiled.ROOT.name / kept.name)
        for path in (cache, *cache.rglob("*")):
            os.chown(path, US, US)
            path.chmod(0o700 if path.is_dir() else 0o600)

    def start(self, *arguments, folder=None, python=("-P", "-m", "hilt.cli.main")):
        return subprocess.Popen(
            [*self._before, sys.executable, *python, *map(str, arguments)],
            cwd=folder or self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hilt(self, *arguments, folder=None):
        """Output, errors and exit code of a command."""
        child = self.start(*arguments, folder=folder)
        said, complained = child.communicate(timeout=240)
        assert "Traceback" not in complained, complained
        return child.returncode, said, complained

    def can_start(self):
        child = self.start(python=("-P", "-c", "import hilt.cli.main"))
        _, complained = child.communicate(timeout=60)
        return "" if child.returncode == 0 else complained.strip()[-200:]


@contextmanager
def outsider(keeps):
    """An outsider, or a skipped test with the reason. Not in pytest's own folders, which others cannot enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="outsider-") as name:
        folder, shelf = Path(name), Path(name) / "shelf"
        folder.chmod(0o711)
        shelf.mkdir()
        found = Outsider(folder / "theirs", shelf, keeps)
        if why := found.can_start():
            pytest.skip(f"another user cannot start Python here: {why}")
        yield found
