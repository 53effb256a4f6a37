"""One mutated input through the code that a user would run on it: it ends in a result, or in one sentence."""

import contextlib
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from hilt import job
from hilt.cli import main as cli
from hilt.cockpit import desk
from hilt.core import registry, scenario, toml
from hilt.core.faults import InputError
from hilt.device import rigfile, rigtext
from hilt.live import session
from hilt.metrics import delays
from tests.fuzz import mutations as m
from tests.sentences import sentences

desk.RIGS = m.ROOT / "rigs"
TICKS = 300
SHORT = ("--set", "loop.duration=20 ms", "--set", "loop.period=1 ms")


def trial(seed: int, folder: Path, recordings: list[bytes]) -> str:
    """Return the outcome for the input with this seed; anything but an answer or a sentence is raised."""
    rng = random.Random(seed)
    kind = rng.choices([*TRIALS], [weight for _, weight in TRIALS.values()])[0]
    try:
        outcome: str = TRIALS[kind][0](rng, folder, recordings)
    except InputError as error:
        check_sentence(str(error))
        outcome = "sentence"
    return f"{kind}: {outcome}"


def check_sentence(text: str) -> None:
    for each in sentences(text):
        assert each, "an empty sentence"
        assert len(each) < 1200, f"{len(each)} characters: {each[:200]!r}"


def scenario_trial(rng: random.Random, folder: Path, _: Any) -> str:
    system, name = m.shipped(rng)
    tree = m.mutate_tree(toml.read(system.scenario_files[name]), m.fields_of(system.scenario), rng)
    tree.setdefault("system", system.name)
    return compute(*job.find(str(written(folder, m.text_of(tree))), None, []))


def text_trial(rng: random.Random, folder: Path, _: Any) -> str:
    system, name = m.shipped(rng)
    head = f'system = "{system.name}"\n'.encode()
    data = m.mutate_bytes(system.scenario_files[name].read_bytes(), rng)
    return compute(*job.find(str(written(folder, data if b"system" in data else head + data)), None, []))


def settings_trial(rng: random.Random, folder: Path, _: Any) -> str:
    system, name = m.shipped(rng)
    lines = m.setting_lines(toml.read(system.scenario_files[name]), m.fields_of(system.scenario), rng)
    return compute(*job.find(system.name, name, lines))


def extreme_trial(rng: random.Random, folder: Path, _: Any) -> str:
    system, name = m.shipped(rng)
    return compute(*job.find(system.name, name, m.extreme_lines(m.fields_of(system.scenario), rng)))


def rig_trial(rng: random.Random, folder: Path, _: Any) -> str:
    path = rng.choice(m.RIGS)
    if rng.random() < 0.5:
        fields = {f"{key}.{name}": field for key in ("lab", "limits") for name, field in section_fields(key).items()}
        data = m.text_of(m.mutate_tree(toml.read(path), fields, rng))
    else:
        data = m.mutate_bytes(path.read_bytes(), rng)
    path = written(folder, data)
    file = rigfile.load(path)
    with contextlib.suppress(ValueError):  # a rig file that was loaded is text
        rigtext.set_table(data.decode(), "scenario", {"robot.delay": "9 ms"})
    system = rng.choice([*registry.systems()])
    _, values, name = job.find(system, None, file.settings(system))
    if registry.system(system).observe:
        session._check_fits(registry.system(system), values, file)
    return compute(registry.system(system), values, name)


def section_fields(key: str) -> dict[str, Any]:
    return dict(scenario.section_of(rigfile.RigFile.model_fields[key].annotation).model_fields)  # type: ignore[union-attr]


def form_trial(rng: random.Random, folder: Path, _: Any) -> str:
    system, name = m.shipped(rng)
    fields = m.fields_of(system.scenario)
    settings = {}
    for _each in range(rng.choice([1, 2, 5])):
        key = rng.choice([*fields, *m.TEXTS]) if rng.random() < 0.2 else rng.choice([*fields])
        settings[key] = m.known_value(fields[key], rng) if key in fields and rng.random() < 0.5 else plain(m.odd_value(rng))
    body = {"system": system.name, "scenario": name, "settings": settings}
    if rng.random() < 0.3:
        body["rig"] = str(rng.choice([*m.RIGS, "rigs/none.toml", 3, ""]))
    try:
        order = desk.Order.model_validate_json(json.dumps(body))
    except ValidationError:
        return "no order"
    errors = desk.check(order)
    for error in errors:
        check_sentence(error["sentence"])
    return "wrong" if errors else "right"


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def recording_trial(rng: random.Random, folder: Path, recordings: list[bytes]) -> str:
    data = rng.choice(recordings)
    path = folder / "odd.mcap"
    path.write_bytes(m.mutate_bytes(data, rng))
    try:
        return " ".join(str(command(word, str(path), "--json")) for word in ("show", "replay"))
    finally:
        path.unlink()


def command_trial(rng: random.Random, folder: Path, _: Any) -> str:
    """The whole command line, with its files."""
    system, name = m.shipped(rng)
    lines = m.setting_lines(toml.read(system.scenario_files[name]), m.fields_of(system.scenario), rng)
    settings = [part for line in lines for part in ("--set", line.replace("\0", "0"))]
    verb = rng.choice(["run", "run", "seeds", "compare", "bound"])
    out = folder / "out"
    options = {
        "run": ["run", system.name, "--json", "--out", str(out), *settings, *SHORT],
        "seeds": ["run", system.name, "--json", "--seeds", str(rng.choice([2, 0, -1, 10**7, 10**30])), *settings, *SHORT],
        "compare": ["compare", system.name, "--json", "--out", str(out), "--over", "seed=1,2", *settings, *SHORT],
        "bound": ["bound", system.name, "--json", *settings],
    }[verb]
    code = command(*options)
    left = [*out.rglob("*")] if out.exists() else []
    assert code in (0, 1, 3) or not left, f"{left} were left by a refused command"
    for path in sorted(left, reverse=True):
        path.unlink()
    if out.exists():
        out.rmdir()
    return f"{verb} {code}"


def command(*arguments: str) -> int:
    """Run a command in this process, its output captured; return its exit code."""
    out, errors, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["hilt", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.argv = before
    if code == 0:
        json.loads(out.getvalue(), parse_constant=lambda word: (_ for _ in ()).throw(AssertionError(f"{word} in JSON")))
    elif code == 2 and errors.getvalue().startswith("hilt: "):
        check_sentence(errors.getvalue().removeprefix("hilt: ").rstrip("\n"))
    return code


def compute(system: Any, values: Any, name: str) -> str:
    """Run an accepted scenario: set-up, some ticks, metrics, ledger and the files written."""
    values.hash()
    bench = system.set_up(values)
    log = np.zeros(min(bench.ticks, TICKS), system.row)
    count = bench.code.batch(bench.row, bench.x, bench.w, bench.p, log)
    with np.errstate(all="ignore"):
        result = job.finish(system, values, name, log[:count])
    json.dumps(result.as_json(), allow_nan=False)
    delays.table(system, values)
    return "faulted" if result.fault else "ran"


def written(folder: Path, data: bytes) -> Path:
    path = folder / "odd.toml"
    path.write_bytes(data)
    return path


TRIALS = {  # and their share in per cent
    "scenario": (scenario_trial, 25),
    "text": (text_trial, 8),
    "settings": (settings_trial, 22),
    "extreme": (extreme_trial, 20),
    "rig": (rig_trial, 12),
    "form": (form_trial, 4),
    "recording": (recording_trial, 7),
    "command": (command_trial, 2),
}
