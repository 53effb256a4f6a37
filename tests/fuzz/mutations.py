"""Mutated input from a seed: typing mistakes, files corrupted by machines, and input nobody would ever write."""

import copy
import datetime
import json
import random
from pathlib import Path
from typing import Any

from hilt.core import registry, scenario
from hilt.core.units import Unit

ROOT = Path(__file__).parents[2]
RIGS = sorted((ROOT / "rigs").glob("*.toml"))
NUMBERS = (
    *(0, -0.0, 1, -1, 2, 3, 0.5, 1e-3, 1e3),
    *(1e-9, 1e9, 1e-12, 1e12, 1e15, -1e9, 1e-15, 1e-18, 1e18, 1e-30),
    *(1e-150, 1e150, 1e-300, 5e-324, 1e300, -1e300, 1.7e308, float("inf"), float("-inf"), float("nan")),
    *(255, 256, 1024, 65536, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**400),
)
TEXTS = (
    *("", " ", "²", "١", "१ s", "３ m", "1e300 kg", "1e-300 m", "9" * 50, "9" * 400, "9" * 5000, "1 foo", "nan", "inf s", "\0"),
    *("1 m/s", "20 ms", "-20 ms", "1 kg*m^2", "1 kg·m²", "1 N/m", "1 m**9", "1 Ym", "1e3 ym", "1 degC", "1 dBm", "1 °", "0 %"),
    *("--1", "1e", ".5 m", "none", "twin", "hertz", "x" * 300, "m" * 120, "../../etc/passwd", "{}", "[]", "true", "1 m\n"),
    *(
        "1\t s",
        "🤖",
        "1 h",
        "3 d",
        "1 year",
        "((((",
        "1 m/m/m/m/m/m/m/m/m",
        "0x10",
        "1_000",
        "a.b",
        "module:Class",
        "os:system",
    ),
    *("127.0.0.1", "rsi", "docking", "aerial"),
)


def deep(levels: int, rng: random.Random) -> Any:
    tree: Any = rng.choice([1, "a", [], {}])
    for _ in range(levels):
        tree = [tree] if rng.random() < 0.5 else {"a": tree}
    return tree


def odd_value(rng: random.Random) -> Any:
    """A value that fits almost nowhere."""
    return rng.choice(
        [
            lambda: rng.choice(NUMBERS),
            lambda: rng.choice(TEXTS),
            lambda: rng.choice([True, False]),
            lambda: [rng.choice(NUMBERS) for _ in range(rng.choice([0, 1, 2, 3, 3, 3, 4, 9, 200]))],
            lambda: {rng.choice(TEXTS): rng.choice(NUMBERS)},
            lambda: deep(rng.choice([1, 3, 11, 13, 40]), rng),
            lambda: datetime.date(1979, 5, 27),
            lambda: [[1.0, 0.0, 0.0], [0.0, rng.choice(NUMBERS), 0.0], [0.0, 0.0, 1.0]],
        ]
    )()


def scaled(value: Any, rng: random.Random) -> Any:
    """The same kind of value, many times larger or smaller: mostly allowed, and the hardest for the code that uses it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int) and abs(value) > 1 << 1000:
        return value  # no float can hold it
    if isinstance(value, int | float):
        bigger = value * 10.0 ** rng.uniform(-12, 12) if rng.random() < 0.7 else value * rng.uniform(-3, 3)
        return int(bigger) if isinstance(value, int) and rng.random() < 0.7 else bigger
    if isinstance(value, list) and value:
        place = rng.randrange(len(value))
        return [scaled(each, rng) if rng.random() < 0.3 or at == place else each for at, each in enumerate(value)]
    if isinstance(value, str) and value[:1].isdigit():
        number, space, unit = value.partition(" ")
        try:
            return f"{scaled(float(number), rng)!r}{space}{unit}"
        except ValueError:
            return value
    return value


def within_bounds(unit: Unit, rng: random.Random) -> float:
    return 10.0 ** rng.uniform(-12, 9) if rng.random() < 0.8 else rng.choice([unit.least, unit.most, -unit.most, 0.0])


def fields_of(model: Any, prefix: str = "") -> dict[str, Any]:
    """Every key of a scenario, with its field."""
    found = {}
    for name, field in model.model_fields.items():
        section = scenario.section_of(field.annotation)
        found.update(fields_of(section, f"{prefix}{name}.") if section else {prefix + name: field})
    return found


def known_value(field: Any, rng: random.Random) -> Any:
    """A value that the key could well accept."""
    choices = getattr(field.annotation, "__args__", ())
    if choices and all(isinstance(each, str | int) for each in choices):
        return rng.choice(choices)
    unit = next((each for each in field.metadata if isinstance(each, Unit)), None)
    if unit is not None and rng.random() < 0.6:
        return within_bounds(unit, rng)
    if isinstance(field.default, tuple | float | int) and rng.random() < 0.8:
        return scaled(json.loads(json.dumps(field.default)), rng)
    return rng.choice(NUMBERS)


def paths(tree: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [prefix] if prefix else []
    for key, child in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        found += paths(child, (*prefix, key))
    return found


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def mutate_tree(tree: dict[str, Any], fields: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
        everywhere = paths(tree)
        if not everywhere:
            break
        path = rng.choice(everywhere)
        home, key = _at(tree, path[:-1]), path[-1]
        what = rng.random()
        if what < 0.25:
            home[key] = odd_value(rng)
        elif what < 0.55:
            home[key] = scaled(home[key], rng)
        elif what < 0.60:
            del home[key]
        elif what < 0.65:
            home[key] = copy.deepcopy(_at(tree, rng.choice(everywhere)))
        elif what < 0.70 and isinstance(home, dict):
            home[rng.choice([key + "x", key[:-1], "x", "²", "", "a b", *TEXTS])] = home[key]
        elif fields:
            name = rng.choice([*fields])
            graft(tree, name.split("."), known_value(fields[name], rng) if rng.random() < 0.8 else odd_value(rng))
    return tree


def graft(tree: Any, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {}) if isinstance(tree, dict) else (tree[0] if isinstance(tree, list) and tree else None)
        if tree is None:
            return
    if isinstance(tree, dict):
        tree[keys[-1]] = value


def toml_of(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(str(key), ensure_ascii=False)} = {toml_of(each)}" for key, each in value.items())
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def text_of(tree: dict[str, Any]) -> bytes:
    lines = [f"{json.dumps(str(key), ensure_ascii=False)} = {toml_of(value)}" for key, value in tree.items()]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        at = rng.randrange(len(found) + 1)
        what = rng.randrange(7)
        if what == 0 and found:
            found[at % len(found)] ^= 1 << rng.randrange(8)
        elif what == 1:
            found[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 4, 50])))
        elif what == 2:
            del found[at : at + rng.choice([1, 5, 100, 4000])]
        elif what == 3:
            found[at:at] = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
        elif what == 4:
            found[at:at] = found[max(0, at - rng.choice([3, 30, 300])) : at] * rng.choice([1, 2, 50])
        elif what == 5:
            found[at:at] = rng.choice([b"9" * 400, b"[" * 500, b"{a=" * 200, b"a." * 400, b"\n" * 900, b"e", b"e9", b"-", b"0"])
        else:
            del found[at:]
    return bytes(found)


def setting_lines(tree: dict[str, Any], fields: dict[str, Any], rng: random.Random) -> list[str]:
    """Lines as --set takes them."""
    lines = []
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        if rng.random() < 0.6:
            key = rng.choice([*fields])
            value = known_value(fields[key], rng) if rng.random() < 0.8 else odd_value(rng)
        else:
            path = rng.choice(paths(tree))
            key = ".".join(str(part) for part in path)
            value = scaled(_at(tree, path), rng) if rng.random() < 0.6 else odd_value(rng)
        text = value if isinstance(value, str) and rng.random() < 0.7 else toml_of(value)
        line = f"{key}={text}"
        if rng.random() < 0.1:
            line = mutate_bytes(line.encode("utf-8", "surrogatepass"), rng).decode("utf-8", "replace")
        lines.append(line)
    return lines


def extreme_lines(fields: dict[str, Any], rng: random.Random) -> list[str]:
    """Settings that each key by itself allows, at the ends of its range."""
    lines = []
    for key in rng.sample([*fields], rng.choice([1, 1, 2, 3])):
        field, unit = fields[key], next((each for each in fields[key].metadata if isinstance(each, Unit)), None)
        value: Any = known_value(field, rng)
        if unit is not None:
            value = rng.choice([unit.least, unit.most, -unit.most, 0.0, 1e-29, 10.0 ** rng.uniform(-12, 12)])
        elif isinstance(field.default, tuple) and field.default:
            value = [rng.choice([0.0, 1e12, -1e12, 1e-29, 1.0, each]) for each in json.loads(json.dumps(field.default))]
        lines.append(f"{key}={toml_of(value)}")
    return lines


def shipped(rng: random.Random) -> tuple[Any, str]:
    system = rng.choice([*registry.systems().values()])
    return system, rng.choice([*system.scenario_files])
