"""Reads modelDescription.xml of an FMU for co-simulation, FMI 2.0 or 3.0: the few things that stepping it needs.

Python's own parser is enough. FMPy reads all of it, but brings a dozen packages along for a handful of attributes.
"""

import math
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hilt.core.faults import shortened
from hilt.fmi import archive

# The folder of an FMU's library for each kind of machine.
BINARIES = {
    (2, "Linux", "x86_64"): "linux64",
    (3, "Linux", "x86_64"): "x86_64-linux",
    (3, "Linux", "aarch64"): "aarch64-linux",
}
NUMBERS = {2: "Real", 3: "Float64"}


@dataclass(frozen=True)
class Variable:
    """A floating-point variable; `size` counts the entries of an array of FMI 3."""

    reference: int
    causality: str
    size: int


@dataclass(frozen=True)
class Description:
    version: int  # 2 or 3
    name: str
    token: str  # GUID of FMI 2, instantiation token of FMI 3
    identifier: str  # name of the library
    tool: str
    variables: dict[str, Variable]
    needs_tool: bool
    only_once: bool
    fixed_step: float  # s: a step must be a whole multiple; 0 if any will do

    @property
    def in_python(self) -> bool:
        """Whether the model is Python, run by the interpreter that hilt runs in."""
        return self.tool.startswith("PythonFMU")

    @property
    def folder(self) -> str | None:
        """Folder of its library for this machine."""
        return BINARIES.get((self.version, platform.system(), platform.machine()))


def read(path: Path, key: str) -> Description:
    """Read and check; every defect is refused in one sentence."""
    text = archive.description(path, key)
    again = "export it again"
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise archive.refusal(path, "defines entities in its modelDescription.xml", "do not use it: FMI has none", key)
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError):
        raise archive.refusal(path, "has a modelDescription.xml that is not XML", again, key) from None
    stated = root.get("fmiVersion") or "nothing"
    version = {"2": 2, "3": 3}.get(stated.partition(".")[0])
    if root.tag != "fmiModelDescription" or version is None:
        raise archive.refusal(
            path, f"has FMI version {shortened(stated)!r}; hilt supports 2.0 and 3.0", "export it as one of these", key
        )
    section = root.find("CoSimulation")
    if section is None:
        kinds = [each for each in ("ModelExchange", "ScheduledExecution") if root.find(each) is not None]
        what = f"is for {' and '.join(kinds)} only" if kinds else "does not say how to run it"
        raise archive.refusal(path, f"{what}", "export it for co-simulation, with a solver inside", key)
    token = root.get("guid" if version == 2 else "instantiationToken")
    identifier = section.get("modelIdentifier") or ""
    if token is None or not identifier.isidentifier() or not identifier.isascii():
        raise archive.refusal(path, "has no usable modelIdentifier, or no GUID", again, key)
    return Description(
        version=version,
        name=root.get("modelName") or identifier,
        token=token,
        identifier=identifier,
        tool=root.get("generationTool") or "",
        variables=_variables(root, version, path, key),
        needs_tool=_true(section, "needsExecutionTool"),
        only_once=_true(section, "canBeInstantiatedOnlyOncePerProcess"),
        fixed_step=_step(root, section, version),
    )


def _true(element: Any, name: str) -> bool:
    return element.get(name, "false") in ("true", "1")


def _step(root: Any, section: Any, version: int) -> float:
    """Return the step that the FMU insists on: its fixed internal one, or its proposal if it accepts no other."""
    found = section.get("fixedInternalStepSize") if version == 3 else None
    experiment = root.find("DefaultExperiment")
    if found is None and experiment is not None and not _true(section, "canHandleVariableCommunicationStepSize"):
        found = experiment.get("stepSize")
    try:
        step = float(found or 0.0)
    except ValueError:
        return 0.0
    return step if math.isfinite(step) and step > 0.0 else 0.0


def _variables(root: Any, version: int, path: Path, key: str) -> dict[str, Variable]:
    elements = root.find("ModelVariables")
    found: dict[str, Variable] = {}
    for each in () if elements is None else elements:
        number = each.find("Real") if version == 2 else each if each.tag == "Float64" else None
        name, reference = each.get("name"), each.get("valueReference", "")
        if number is None or name is None:
            continue
        sizes = [dimension.get("start", "") for dimension in each.findall("Dimension")]
        if not all(text.isascii() and text.isdigit() and len(text) < 11 for text in (reference, *filter(None, sizes))):
            raise archive.refusal(
                path, f"has a variable {shortened(name)!r} without a usable reference", "export it again", key
            )
        if int(reference) >= 1 << 32 or "" in sizes:
            continue  # a size that depends on a parameter
        found[name] = Variable(int(reference), each.get("causality", "local"), math.prod(map(int, sizes)))
    return found
