"""modelDescription.xml of FMI 2.0: variables with units, what the FMU can do, and the step it wants."""

import math
from dataclasses import dataclass
from xml.etree import ElementTree as xml

from hilt.fmi import units
from hilt.fmi.variables import Kind, Variable

_REAL_INPUTS = (Kind.LIVE, Kind.STICK)


@dataclass(frozen=True)
class About:
    """The header of the description."""

    name: str  # of the model
    identifier: str  # of its library
    guid: str
    words: str
    tool: str
    period: float
    duration: float


def text(about: About, variables: tuple[Variable, ...]) -> bytes:
    root = xml.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=about.name,
        guid=about.guid,
        description=about.words,
        generationTool=about.tool,
        variableNamingConvention="structured",
    )
    xml.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=about.identifier,
        canHandleVariableCommunicationStepSize="false",
        canGetAndSetFMUstate="true",
        canSerializeFMUstate="true",
        canNotUseMemoryManagementFunctions="true",
    )
    _units(root, variables)
    categories = xml.SubElement(root, "LogCategories")
    for name in ("logStatusDiscard", "logStatusError"):
        xml.SubElement(categories, "Category", name=name)
    xml.SubElement(root, "DefaultExperiment", startTime="0", stopTime=repr(about.duration), stepSize=repr(about.period))
    listed = xml.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        _variable(listed, reference, variable)
    _structure(root, variables)
    xml.indent(root)
    return xml.tostring(root, encoding="utf-8", xml_declaration=True)


def _units(root: xml.Element, variables: tuple[Variable, ...]) -> None:
    defined = xml.SubElement(root, "UnitDefinitions")
    for unit in sorted({variable.unit for variable in variables} - {""}):
        element = xml.SubElement(defined, "Unit", name=units.plain(unit))
        found = units.exponents(unit)
        if found is not None:
            xml.SubElement(element, "BaseUnit", {base: str(power) for base, power in found.items()})


def _variable(listed: xml.Element, reference: int, variable: Variable) -> None:
    causality, variability = _role(variable)
    element = xml.SubElement(
        listed,
        "ScalarVariable",
        name=variable.name,
        valueReference=str(reference),
        description=variable.meaning,
        causality=causality,
        variability=variability,
    )
    whole = variable.kind is Kind.ROW_INTEGER
    inside = xml.SubElement(element, "Integer" if whole else "Real")
    if variable.unit and not whole:
        inside.set("unit", units.plain(variable.unit))
    for name, value in (("min", variable.low), ("max", variable.high), ("start", variable.start)):
        if value is not None and math.isfinite(value):
            inside.set(name, repr(value))


def _role(variable: Variable) -> tuple[str, str]:
    if variable.kind in _REAL_INPUTS:
        return "input", "discrete"
    if variable.kind is Kind.CONSTANT:
        return "local", "constant"
    return "output", "discrete"


def _structure(root: xml.Element, variables: tuple[Variable, ...]) -> None:
    structure = xml.SubElement(root, "ModelStructure")
    outputs = [number for number, variable in enumerate(variables, 1) if _role(variable)[0] == "output"]
    for group in ("Outputs", "InitialUnknowns"):
        element = xml.SubElement(structure, group)
        for number in outputs:
            xml.SubElement(element, "Unknown", index=str(number))
