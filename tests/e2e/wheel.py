"""hilt as `pip install` gives it: a wheel in its own environment, which has the dependencies and not the checkout."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(source, folder):
    """`hatchling build`, as `make wheel` calls it; the finished process."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)


class Installed:
    """The environment: `python`, and the program `hilt`."""

    def __init__(self, folder):
        built = build(ROOT, folder)
        assert built.returncode == 0, built.stderr
        self.folder = Path(folder) / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder], check=True)
        self.python = self.folder / "bin" / "python"
        site = self.folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
        # .pth files in a folder named by a .pth file are not read: the checkout stays hidden.
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (wheel,) = Path(folder).glob("*.whl")
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install"]
        subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", "--no-compile", wheel], check=True)

    def hilt(self, *words, cwd):
        """Run `hilt` with these arguments, as a user without a checkout would."""
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [self.folder / "bin" / "hilt", *words]
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
