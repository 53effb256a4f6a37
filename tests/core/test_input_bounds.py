"""Input is bounded in length, in depth, and in the values of each key. Every error is one short sentence."""

import copy
import os

import pytest

from hilt import job
from hilt.core import registry, scenario, toml
from hilt.core.faults import InputError
from hilt.core.units import LONGEST, to_si
from hilt.device import rigfile
from tests.patience import within

SYSTEMS = registry.systems()
TREES = {name: scenario.read_toml(system.scenario_files[system.default_scenario]) for name, system in SYSTEMS.items()}


def refusal(call, *arguments):
    with pytest.raises(InputError) as error:
        call(*arguments)
    return readable(str(error.value))


def readable(text):
    """One short sentence, or all errors at once, one per line."""
    first, *others = text.splitlines()
    assert not others or first.endswith(" values are wrong or missing:")
    assert all(len(line) < 500 for line in (first, *others))
    return text


def build(name, *settings):
    tree = copy.deepcopy(TREES[name])
    scenario.apply_settings(tree, settings)
    return scenario.build(SYSTEMS[name].scenario, tree)


def numbers(schema, name="", root=None):
    """Every number of a JSON schema, with its name."""
    root = root or schema
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    types = schema.get("type", [])
    if (
        {"number", "integer"} & set([types] if isinstance(types, str) else types)
        and "enum" not in schema
        and "const" not in schema
    ):
        yield name, schema
    for key, part in schema.get("properties", {}).items():
        yield from numbers(part, f"{name}.{key}", root)
    items = [schema["items"]] if isinstance(schema.get("items"), dict) else []
    for part in [*schema.get("prefixItems", ()), *schema.get("anyOf", ()), *items]:
        yield from numbers(part, name, root)


def bounded(schema):
    """A range, and not just "greater than 0", which would accept 1e-300: its quotients overflow."""
    below = {"minimum", "exclusiveMinimum", "ge"} & schema.keys()
    above_zero = schema["type"] != "integer" and schema.get("gt", schema.get("exclusiveMinimum")) == 0
    return below and not above_zero and {"maximum", "exclusiveMaximum", "le", "lt"} & schema.keys()


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_number_of_a_scenario_has_bounds_in_the_schema(name):
    found = list(numbers(SYSTEMS[name].scenario.model_json_schema()))
    assert len(found) > 40
    for key, schema in found:
        assert bounded(schema), key


def test_every_number_of_a_rig_has_bounds_in_the_schema():
    drivers = [registry.load(group, name) for group in ("robots", "sensors") for name in registry.names(group)]
    for model in (rigfile.RigFile, *drivers):
        for key, schema in numbers(model.model_json_schema()):
            assert bounded(schema), key


@pytest.mark.parametrize("value", ["1e300", "-1e300", "9" * 400, "-" + "9" * 400, "1e999", "'1e300'", "9" * 999])
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_key_takes_an_absurdly_large_number(name, value):
    for key in dict(scenario.keys(SYSTEMS[name].scenario)):
        if key not in ("summary", "operator.joystick"):  # texts
            refusal(build, name, f"{key}={value}")


@pytest.mark.parametrize("mass", [1e-3, 1e6])
@pytest.mark.parametrize("stiffness", [1.0, 1e9])
def test_what_machines_and_satellites_have_is_allowed(mass, stiffness):
    values = build("docking", f"servicer.mass={mass}", f"target.mass={mass}", f"contact.stiffness={stiffness}")
    assert (values.servicer.mass, values.contact.stiffness) == (mass, stiffness)
    assert build("freefloat", f"body.mass={mass}", f"wall.stiffness={stiffness}", "wall.gap=1").wall.stiffness == stiffness


def test_a_bound_is_reported_with_its_unit():
    assert refusal(build, "freefloat", "body.mass=1e300") == "body.mass is 1e+300 kg; it must be at most 1e+12 kg; change it"
    assert refusal(build, "freefloat", "body.mass=1e-300 kg").endswith("it must be greater than 0 kg; change it")
    assert refusal(build, "freefloat", "body.mass=1e-20 t").endswith("it must be at least 1e-09 kg; change it")
    filtered = ("force_filter.kind=butterworth", "force_filter.cutoff=1e-30")  # an optional key
    assert refusal(build, "docking", *filtered).endswith("it must be at least 1e-06 Hz; change it")
    assert refusal(build, "freefloat", "body.position=[-1e20, 0, 0]").endswith("it must be at least -1e+12 m; change it")


def test_the_bound_of_a_count_is_its_own():
    assert refusal(build, "docking", "robot.kind=second-order", "robot.order=7").endswith("it must be at most 6; change it")
    assert refusal(build, "freefloat", "collisions=10001").endswith("it must be at most 10000; change it")
    assert refusal(build, "docking", "frames.shift_after=1000001").endswith("it must be at most 1e+06; change it")


def test_the_time_of_a_tick_is_bounded_whatever_the_scenario():
    """Bounds the work that a tick does once for each cycle of the other robot, or for each tick of the sensor's delay."""
    twin = "compensate.method=twin"
    assert "the delay line holds at most 0.51 s" in refusal(build, "docking", twin, "compensate.sensor_delay=1024")
    assert "the delay line" in refusal(build, "docking", twin, "force_filter.kind=first-order", "force_filter.cutoff=1e-3")
    assert "100 cycles a tick" in refusal(build, "docking", "target_robot.delay=10 ms", "pair.cycle=1 ns")


def test_a_residue_of_rounding_is_no_bad_input():
    assert build("freefloat", "body.position=[1e-17, 0, 0]").body.position[0] == 1e-17


def test_a_quantity_is_short_before_the_unit_parser_sees_it():
    for text in ("9" * 16000, "1 " + "m" * 16000, "1 " + "*".join("m" * 40), "1 m**" + "9" * 60, "1" + " " * 200 + "m"):
        with pytest.raises(ValueError, match=r"\bit"):
            to_si(text, "m")
    assert to_si("1".rjust(LONGEST, "0"), "m") == 1.0


@pytest.mark.parametrize("digit", ["²", "١", "৪", "１", "9" * 30, "-1", "+0", "0x0", "1_0"])
def test_only_digits_count_entries(digit):
    assert "is not an entry" in refusal(build, "freefloat", f"push.{digit}.start=1")
    assert "is not an entry" in refusal(build, "freefloat", f"push.{digit}=1")


@pytest.mark.parametrize("digit", ["²", "١", "１"])
def test_only_digits_are_numbers(digit):
    refusal(build, "freefloat", f"body.mass={digit}")
    refusal(build, "freefloat", f"body.mass='{digit} kg'")


@pytest.mark.parametrize(
    "setting",
    [
        "body.mass=" + "9" * 100_000,
        "body.mass=" + "[" * 3000,
        "body.mass=" + "[" * 3000 + "]" * 3000,
        "body.mass=" + "[" * 400 + "]" * 400,
        "body.mass=" + "{a=" * 300 + "1" + "}" * 300,
        "body.mass='" + "m" * 3000 + "'",
        ".".join("a" * 1500) + "=1",
        "a" * 3000 + "=1",
        "body.ma\nss=1",
        "body.mass=1\nbody.dof=3",
        "push.0.start.x=1",
        "push.0.force.0.x=1",
        "push." + "\n" * 1800 + "=1",
        "push." + "\n" * 1800 + ".start=1",
        "body.mass." + "\n" * 1800 + ".a=1",
        "belief.push." + "\n" * 1800 + ".start=1",
        "body.mass=" + "a.b." * 240,
        "summary=" + "x" * 2000,
    ],
)
def test_an_odd_setting_is_one_short_sentence(setting):
    refusal(build, "freefloat", setting)


def test_settings_are_counted():
    assert "more than 1000 settings" in refusal(build, "freefloat", *(["seed=1"] * 1001))


FILES = {
    "too long": b"#" * 70_000,
    "too long a line": b"a = [" + b"1, " * 1000 + b"]",
    "deep": b"a = " + b"[\n" * 20_000,
    "deeper than a tree": b"a = " + b"[" * 60 + b"]" * 60,
    "a long dotted key": b".".join([b"a"] * 490) + b" = 1",
    "many digits": b"a = " + b"9" * 900,
    "no text": bytes(range(256)),
    "no TOML": b"[a\n",
    "nothing": b"",
    "a number for a system": b"system = 3",
    "a table for a system": b"[system]\na = 1",
    "a system of many characters": b"system = '" + b"x" * 900 + b"'",
}


@pytest.mark.parametrize("kind", FILES)
def test_an_odd_file_is_one_short_sentence(kind, tmp_path):
    path = tmp_path / "odd.toml"
    path.write_bytes(FILES[kind])
    refusal(job.find, str(path), None, [])
    refusal(rigfile.load, path)


GOOD = SYSTEMS["freefloat"].scenario_files[SYSTEMS["freefloat"].default_scenario]
BOUNDS = {
    "a file": (GOOD.read_text() + 700 * ("#" * 99 + "\n"), "has more than 65536 bytes, which is the limit"),
    "a line": (GOOD.read_text() + "#" * 1001, "a line has 1001 characters; at most 1000 are read"),
    "a depth": (GOOD.read_text() + f"\nsummary = {'[' * 13}{']' * 13}", "more than 12 deep"),
}


@pytest.mark.parametrize("what", BOUNDS)
def test_each_bound_of_a_file_holds_on_its_own(what, tmp_path):
    """A file beyond one of them and harmless otherwise is refused because of it, before its values are read."""
    text, sentence = BOUNDS[what]
    path = tmp_path / "long.toml"
    path.write_text(text)
    assert sentence in refusal(job.find, "freefloat", str(path), [])
    assert sentence in refusal(rigfile.load, path)


def test_a_setting_is_short_before_it_is_read():
    assert build("freefloat", "body.mass=1".ljust(scenario.LONGEST_SETTING)).body.mass == 1.0
    assert "at most 4000 characters are read" in refusal(build, "freefloat", "body.mass=1".ljust(scenario.LONGEST_SETTING + 1))


def test_only_a_plain_file_is_opened(tmp_path):
    pipe, folder = tmp_path / "pipe.toml", tmp_path / "folder.toml"
    os.mkfifo(pipe)  # to open it would wait for ever
    folder.mkdir()
    for path in (pipe, folder, tmp_path / "none.toml", tmp_path / ("x" * 300 + ".toml"), tmp_path / "nul\0.toml"):
        with within():
            refusal(job.find, str(path), None, [])
            refusal(job.find, "docking", str(path), [])
            refusal(rigfile.load, path)


@pytest.mark.parametrize("table", ["robot", "sensor", "lab", "limits", "tool", "scenario", "facility"])
@pytest.mark.parametrize("value", ["'text'", "3", "[1, 2]", "true", "1979-05-27", "[]", "{ a = { a = { a = 1 } } }", "inf"])
def test_a_table_of_a_rig_may_be_anything(table, value, tmp_path):
    path = tmp_path / "odd.toml"
    tree = toml.read(rigfile.Path("rigs/dry-lab.toml"), "rig")
    kept = {key: each for key, each in tree.items() if key != table and key != "summary"}
    path.write_text("".join(f"{key} = {_inline(each)}\n" for key, each in kept.items()) + f"{table} = {value}\n")
    try:
        file = rigfile.load(path)
        job.find("docking", None, file.settings("docking"))
    except InputError as error:
        readable(str(error))


def _inline(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {_inline(each)}' for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return repr(value).lower() if isinstance(value, bool) else repr(value)


def test_a_scenario_of_a_system_in_a_rig_may_be_anything(tmp_path):
    text = rigfile.Path("rigs/dry-lab.toml").read_text()
    for value in ("'text'", "3", "[1]"):
        path = tmp_path / "odd.toml"
        path.write_text(text.partition("[scenario")[0] + f"[scenario]\ndocking = {value}\n")
        try:
            job.find("docking", None, rigfile.load(path).settings("docking"))
        except InputError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_a_recording_holds_can_be_built_again(name):
    """A recording also contains the defaults, and they are checked when it is opened."""
    for shipped in SYSTEMS[name].scenario_files:
        _, values, _ = job.find(name, shipped, [])
        assert scenario.build(SYSTEMS[name].scenario, values.model_dump(mode="json")) == values
        assert values.summary


def test_a_form_full_of_errors_reports_some_of_them():
    from hilt.cockpit import desk

    order = desk.Order(system="freefloat", scenario="paper", settings={f"nonsense{n}": 1 for n in range(2 * desk.MOST_ERRORS)})
    assert len(desk.check(order)) == desk.MOST_ERRORS
