"""FMUs for the tests: the body of examples/own_body in C and in Python, with faults built in, or damaged."""

import importlib.util
import subprocess
import zipfile
from pathlib import Path

import numpy as np

from hilt import job
from tests import peers

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_body"
TROUBLED = Path(__file__).with_name("troubled.c")
WALL = Path(__file__).with_name("wall.c")


def _example():
    spec = importlib.util.spec_from_file_location("make_fmu", EXAMPLE / "make_fmu.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = _example()


def c_body(version, folder, name="body.fmu", *options):
    return MAKE.make(version, folder / name, *options)


def troubled(version, folder, after=1e9, status=0):
    """A body that counts its instances and whose step fails after a time."""
    wrapped = [
        "-Wl,--wrap=malloc",
        "-Wl,--wrap=free",
        f"-Dfmi{version}DoStep=plain_step",
        f"-Dfmi{version}Terminate=plain_terminate",
    ]
    own = folder / f"troubled{version}.o"
    trouble = [f"-DFMI{version}", f"-DAFTER={after}", f"-DSTATUS={status}", "-c", "-fPIC"]
    subprocess.run(["gcc", *trouble, str(TROUBLED), "-o", str(own)], check=True)
    if version == 3:
        wrapped.pop()
    return c_body(version, folder, f"troubled-{version}-{status}-{after:g}.fmu", str(own), *wrapped)


def wall(folder, fails_after=1e9):
    """The walls of freefloat's scenario `wall`, and that scenario with them instead of its own."""
    library, fmu = folder / "wall.so", folder / "wall.fmu"
    numbers = ["-DGAP=0.01", "-DSTIFFNESS=48000.0", f"-DFAILS_AFTER={fails_after}"]
    flags = ["-O2", "-fPIC", "-shared", "-ffp-contract=off", *numbers]
    subprocess.run(["gcc", *flags, str(WALL), "-o", str(library)], check=True)
    variables = "".join(
        f'<ScalarVariable name="{name}[{i + 1}]" valueReference="{first + i}" causality="{causality}"><Real/></ScalarVariable>'
        for name, first, causality in (("position", 0, "input"), ("force", 3, "output"))
        for i in range(3)
    )
    with zipfile.ZipFile(fmu, "w") as archive:
        archive.write(library, "binaries/linux64/wall.so")
        archive.writestr(
            "modelDescription.xml",
            '<fmiModelDescription fmiVersion="2.0" guid="x"><CoSimulation modelIdentifier="wall"/>'
            f"<ModelVariables>{variables}</ModelVariables></fmiModelDescription>",
        )
    section = {"path": str(fmu), **dict.fromkeys(("attitude", "velocity", "angular_velocity", "torque"), "")}
    return job.find("freefloat", "wall", ["loop.duration=4 s", "collisions=100", ("wall", None), ("contact_fmu", section)])


def python_body(folder):
    """The same with PythonFMU."""
    python = peers.python_with("pythonfmu")
    made = [python, "-P", "-m", "pythonfmu", "build", "-f", str(EXAMPLE / "python_body.py"), "-d", str(folder)]
    subprocess.run(made, check=True, capture_output=True, cwd=folder)
    return folder / "PythonBody.fmu"


def changed(fmu, path, files=None, description=None):
    """A copy in which files are replaced (None: left out), or parts of its description."""
    with zipfile.ZipFile(fmu) as old, zipfile.ZipFile(path, "w") as new:
        names = {name: old.read(name) for name in old.namelist()}
        for before, after in (description or {}).items():
            text = names["modelDescription.xml"].decode()
            assert before in text
            names["modelDescription.xml"] = text.replace(before, after).encode()
        for name, content in {**names, **(files or {})}.items():
            if content is not None:
                new.writestr(name, content)
    return path


def parameters(body):
    """Of the example's body, for a body of a scenario that starts without being turned."""
    assert tuple(body.attitude) == (1.0, 0.0, 0.0, 0.0)
    numbers = {"inertia": np.ravel(body.inertia), "position": body.position, "velocity": body.velocity}
    return {
        "mass": body.mass,
        **{name: list(map(float, each)) for name, each in {**numbers, "angular_velocity": body.angular_velocity}.items()},
    }


def freefloat(fmu, scenario="capture", settings=(), **section):
    """A scenario of freefloat whose body is an FMU."""
    _, own, _ = job.find("freefloat", scenario, list(settings))
    named = {"path": str(fmu), "parameters": parameters(own.body), **section}
    return job.find("freefloat", scenario, [*settings, ("body_fmu", named)])
