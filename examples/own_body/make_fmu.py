"""Make body.fmu from the C sources in this folder: `python make_fmu.py 2|3 [body.fmu]`. In other tools it is a menu item."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
TOKEN = "{hilt-example-own-body}"
FOLDERS = {2: "linux64", 3: "x86_64-linux"}
# name, first reference, entries, causality, unit, start values
VECTORS = (
    ("force", 0, 3, "input", "N", "0 0 0"),
    ("torque", 3, 3, "input", "N.m", "0 0 0"),
    ("position", 6, 3, "output", "m", "0 0 0"),
    ("attitude", 9, 4, "output", "1", "1 0 0 0"),
    ("velocity", 13, 3, "output", "m/s", "0 0 0"),
    ("angular_velocity", 16, 3, "output", "rad/s", "0 0 0"),
    ("mass", 19, 1, "parameter", "kg", "1"),
    ("inertia", 20, 9, "parameter", "kg.m2", "1 0 0 0 1 0 0 0 1"),
)


def variable(version: int, name: str, first: int, count: int, causality: str, unit: str, start: str) -> str:
    kind = "fixed" if causality == "parameter" else "continuous"
    exact = "" if causality == "input" else ' initial="exact"'
    attributes = f'causality="{causality}" variability="{kind}"{exact}'
    if version == 3:
        size = f'<Dimension start="{count}"/>' if count > 1 else ""
        return f'<Float64 name="{name}" valueReference="{first}" {attributes} unit="{unit}" start="{start}">{size}</Float64>'
    names = [f"{name}[{number + 1}]" for number in range(count)] if count > 1 else [name]
    return "".join(
        f'<ScalarVariable name="{each}" valueReference="{first + at}" {attributes}>'
        f'<Real unit="{unit}" start="{value}"/></ScalarVariable>'
        for at, (each, value) in enumerate(zip(names, start.split(), strict=True))
    )


def outputs(version: int) -> str:
    """Return the structure that both versions require."""
    if version == 3:
        return "".join(f'<Output valueReference="{first}"/>' for _, first, _, kind, *_ in VECTORS if kind == "output")
    places = [kind for _, _, count, kind, *_ in VECTORS for _ in range(count)]
    unknowns = "".join(f'<Unknown index="{at}"/>' for at, kind in enumerate(places, 1) if kind == "output")
    return f"<Outputs>{unknowns}</Outputs>"


def description(version: int) -> str:
    units = "".join(f'<Unit name="{unit}"/>' for unit in dict.fromkeys(row[4] for row in VECTORS))
    time = (
        '<Float64 name="time" valueReference="100" causality="independent" variability="continuous"/>' if version == 3 else ""
    )
    token = "guid" if version == 2 else "instantiationToken"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<fmiModelDescription fmiVersion="{version}.0" modelName="own body" '
        f'{token}="{TOKEN}"><CoSimulation modelIdentifier="body" canHandleVariableCommunicationStepSize="true"/>'
        f"<UnitDefinitions>{units}</UnitDefinitions>"
        f"<ModelVariables>{time}{''.join(variable(version, *row) for row in VECTORS)}</ModelVariables>"
        f"<ModelStructure>{outputs(version)}</ModelStructure></fmiModelDescription>"
    )


def make(version: int, path: Path, *options: str) -> Path:
    """Write the FMU and return its path; `options` are further compiler options."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "body.so")
        sources = [str(HERE / "body.c"), str(HERE / f"fmi{version}.c")]
        # Without fused multiply-add, so that every processor computes the same bits.
        flags = ["-O2", "-fPIC", "-shared", "-ffp-contract=off", "-Wall", "-Wextra", f'-DTOKEN="{TOKEN}"']
        subprocess.run(["gcc", *flags, *sources, *options, "-o", str(library), "-lm"], check=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("modelDescription.xml", description(version))
            archive.write(library, f"binaries/{FOLDERS[version]}/body.so")
    return path


if __name__ == "__main__":
    print(make(int(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "body.fmu")))
