"""FMUs that cannot be used: one sentence for every defect, and nothing of an untrusted archive outside its folder."""

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hilt import job
from hilt.core.faults import InputError
from hilt.fmi import archive, description, export
from tests.fmi import models
from tests.fmi.models import changed, freefloat
from tests.sentences import sentences

LIBRARY = "binaries/linux64/body.so"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return models.c_body(2, tmp_path_factory.mktemp("good"))


CO = '<CoSimulation modelIdentifier="body" canHandleVariableCommunicationStepSize="true"/>'
# What is damaged, and the sentence about it.
DEFECTS = {
    "no description": ({"files": {"modelDescription.xml": None}}, "has no modelDescription.xml"),
    "not XML": ({"files": {"modelDescription.xml": b"<fmi"}}, "is not XML"),
    "entities": ({"files": {"modelDescription.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a/>'}}, "defines entities"),
    "FMI 1": ({"description": {'fmiVersion="2.0"': 'fmiVersion="1.0"'}}, "has FMI version '1.0'; hilt supports 2.0 and 3.0"),
    "something else": ({"files": {"modelDescription.xml": b"<html/>"}}, "has FMI version 'nothing'"),
    "model exchange": (
        {"description": {CO: '<ModelExchange modelIdentifier="body"/>'}},
        "is for ModelExchange only; export it for co-simulation",
    ),
    "no interface": ({"description": {CO: ""}}, "does not say how to run it"),
    "a path for a name": (
        {"description": {'modelIdentifier="body"': 'modelIdentifier="../body"'}},
        "no usable modelIdentifier",
    ),
    "tool": ({"description": {CO: CO.replace("/>", ' needsExecutionTool="true"/>')}}, "and a licence for it"),
    "fixed step": (
        {
            "description": {
                CO: CO.replace('"true"', '"false"'),
                "<ModelVariables>": '<DefaultExperiment stepSize="0.003"/><ModelVariables>',
            }
        },
        "can only be stepped by multiples of 0.003 s, but loop.period is 0.004 s",
    ),
    "other platform": (
        {"files": {LIBRARY: None, "binaries/win64/body.dll": b""}},
        "has libraries for win64, but none for this machine, linux64",
    ),
    "sources only": ({"files": {LIBRARY: None, "sources/body.c": b""}}, "has no library for this machine, linux64"),
    "no library": ({"files": {LIBRARY: b"not a library"}}, "has a library that cannot be loaded"),
    "other GUID": ({"description": {"{hilt-example-own-body}": "{another}"}}, "cannot be instantiated"),
    "missing input": (
        {"description": {'name="force[2]"': 'name="force_y"'}},
        r"has no Real variable 'force\[2\]'; did you mean",
    ),
    "wrong causality": (
        {
            "description": {
                'name="torque[1]" valueReference="3" causality="input"': 'name="torque[1]" valueReference="3" causality="local"'
            }
        },
        "has the causality local; it must be an input",
    ),
    "no reference": ({"description": {'valueReference="7"': 'valueReference="seven"'}}, "without a usable reference"),
    "outside": ({"files": {"../../evil.so": b""}}, "leads outside of it"),
    "absolute": ({"files": {"/tmp/evil.so": b""}}, "leads outside of it"),
    "backslash": ({"files": {"..\\evil.so": b""}}, "leads outside of it"),
    "drive": ({"files": {"C:/evil.so": b""}}, "leads outside of it"),
}


def set_up(fmu, **section):
    system, values, _ = freefloat(fmu, **section)
    return system.set_up(values)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_reported_in_one_sentence(good, tmp_path, defect):
    spoiled, sentence = DEFECTS[defect]
    fmu = changed(good, tmp_path / "bad.fmu", **spoiled)
    with pytest.raises(InputError, match=sentence) as said:
        set_up(fmu)
    assert len(sentences(str(said.value))) == 1
    assert said.value.key.startswith(("body_fmu", "loop.period"))
    assert {each.name for each in tmp_path.iterdir()} == {"bad.fmu"}


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ({"force": "thrust"}, r"has no Real variable 'thrust\[1\]'"),
        ({"force": ["force[1]", "force[2]"]}, "body_fmu.force names 2 variables; it must name 3"),
        ({"position": ""}, "body_fmu.position is empty; a body needs it"),
        ({"parameters": {"weight": 3.0}}, "has no parameter 'weight'"),
        ({"parameters": {"inertia": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]}}, "'inertia' of 10 entries"),
        ({"parameters": {}}, r"the FMU starts with velocity \(0, 0, 0\) m/s, but body.velocity is \(0.005, 0, 0\) m/s"),
        ({"parameters": {"mass": -1.0}}, "fails to start: fmi2ExitInitializationMode returns 3"),
        ({"sha256": "0" * 64}, "but the scenario was made with 000000000000…"),
        ({"sha256": "no hash"}, "body_fmu.sha256 is 'no hash'"),
        ({"path": "/nowhere/body.fmu"}, "cannot be read: No such file or directory; correct body_fmu.path"),
        ({"path": "/"}, "cannot be read: Is a directory"),
        ({"path": __file__}, "is not a zip file or is damaged"),
    ],
)
def test_a_section_that_does_not_fit_the_fmu_is_reported(good, section, sentence):
    with pytest.raises(InputError, match=sentence) as said:
        set_up(good, **section)
    assert len(sentences(str(said.value))) == 1
    assert said.value.key


def test_an_array_of_the_wrong_size_is_reported(tmp_path):
    fmu = models.c_body(3, tmp_path)
    wrong = changed(
        fmu, tmp_path / "wrong.fmu", description={'start="0 0 0"><Dimension start="3"/>': 'start="0 0"><Dimension start="2"/>'}
    )
    with pytest.raises(InputError, match=r"'force' of the FMU own body has 2 entries; it must have 3; set body_fmu.force"):
        set_up(wrong)


def test_a_link_is_not_unpacked(good, tmp_path):
    fmu = changed(good, tmp_path / "link.fmu")
    link = zipfile.ZipInfo("resources")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(fmu, "a") as file:
        file.writestr(link, "/etc")
    with pytest.raises(InputError, match="leads outside of it"):
        freefloat(fmu)


def test_an_archive_that_is_larger_than_it_says_is_refused(good, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match="is larger than 2 GiB unpacked"):
        freefloat(changed(good, tmp_path / "large.fmu", {"resources/zeros": bytes(2 << 20)}))
    # The same with a false size in its directory.
    fmu = tmp_path / "lie.fmu"
    with zipfile.ZipFile(fmu, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros", bytes(2 << 20))
    content = bytearray(fmu.read_bytes())
    at = content.index(b"PK\x01\x02") + 24  # uncompressed size in the central directory
    content[at : at + 4] = struct.pack("<I", 100)
    fmu.write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged|larger than it says"):
        archive.unpack(fmu, tmp_path / "out", "body_fmu")


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_refused(good, tmp_path, data):
    """Never another error, whatever bytes a file has: it is read before it is trusted."""
    content = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = tmp_path / "damaged.fmu"
    damaged.write_bytes(content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content)
    try:
        description.read(damaged, "body_fmu")
        archive.unpack(damaged, tmp_path / "out", "body_fmu")
    except InputError as said:
        assert len(sentences(str(said))) == 1
    assert {each.name for each in Path(tmp_path).iterdir()} <= {"damaged.fmu", "out"}


@given(st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_description_is_read_or_refused(good, tmp_path, data):
    text = bytearray(zipfile.ZipFile(good).read("modelDescription.xml"))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=8))
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        file.writestr("modelDescription.xml", bytes(text))
    damaged = tmp_path / "damaged.fmu"
    damaged.write_bytes(memory.getvalue())
    try:
        description.read(damaged, "body_fmu")
    except InputError as said:
        assert len(sentences(str(said))) == 1


def test_what_an_fmu_says_is_quoted(tmp_path):
    """hilt's own export, which logs what is wrong: a value out of range."""
    system, values, name = job.find("freefloat", "wall", [])
    export.export(system, values, name, tmp_path / "own.fmu")
    names = {"force": ["wall.stiffness"], "position": ["X_WBcm.p[1]"], "velocity": ["V_WBcm.v[1]"]}
    section = {"path": str(tmp_path / "own.fmu"), **names, "parameters": {"wall.stiffness": -1.0}}
    system, values, _ = job.find("freefloat", "wall", [("body_fmu", section)])
    with pytest.raises(InputError, match=r"does not take 'wall.stiffness' and says 'wall.stiffness"):
        system.set_up(values)


def test_a_bad_fmu_leaves_nothing_behind(tmp_path):
    """Exit code 2, and no recording."""
    with pytest.raises(InputError):
        job.run(*freefloat(models.c_body(2, tmp_path), parameters={}), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
