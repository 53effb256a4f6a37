"""Write the generated pages, or check that they are up to date.

docs/signals.md     from the signal table
docs/references.md  from the marks `[Key, eq. n]` in code and tests: equation -> function -> test; a mark without a test fails
docs/scenarios.md   every key of every scenario
docs/api.md         what `import hilt` offers, from its docstrings (reference.py)
docs/house.svg      the rooms and their imports (house.py)
docs/licences.md    licences of the bundled packages and of the dependencies
docs/docking.svg    the README's picture, from the runs that it shows; not checked, since fonts differ between machines
"""

import ast
import json
import re
import sys
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import house
import reference

from hilt.core import outline, registry, signals

ROOT = Path(__file__).resolve().parent.parent
PAPERS = {
    "Cuniato2022": "E. Cuniato, J. Cacace, M. Selvaggio, F. Ruggiero, V. Lippiello: A hardware-in-the-loop simulator for "
    "physical human-aerial manipulator cooperation.",
    "DeStefano2017": "M. De Stefano, R. Balachandran, J. Artigas, C. Secchi: Reproducing Physical Dynamics with "
    "Hardware-in-the-Loop Simulators: A Passive and Explicit Discrete Integrator. ICRA 2017.",
    "He2022": "J. He, M. Shen: Hybrid Force/Velocity Control for Simulating Contact Dynamics of Satellite Robots on a "
    "Hardware-in-the-Loop Simulator. IEEE Access 10, 2022.",
    "Yang2018": "J. Yang, A. Konno, S. Abiko, M. Uchiyama: Hardware-in-the-loop simulation of massive-payload manipulation "
    "on orbit. ROBOMECH Journal 5, 2018.",
}
MARK = re.compile(r"\[([A-Z]\w+\d{4}), ((?:eq|fig)\. \d+(?:, (?:eq|fig)\. \d+)*)\]")
ABOUT_SCENARIOS = """Every key of a scenario file, as the schema checks it. `hilt new SYSTEM` writes a commented file with
the keys that matter, `hilt schema SYSTEM --brief` shows them in the terminal, and `hilt schema SYSTEM` is the JSON schema.

Values are text with a unit (`"20 ms"`) or plain numbers in the unit shown here; *needed* keys have no default. Any key can be
changed on the command line: `--set robot.delay="20 ms"`. How `belief` works: [one tick](loop.md#world-and-belief)."""
GENERATED = "Made by `make docs`; do not edit.\n"


def signals_page() -> str:
    users = defaultdict(list)
    for name, system in registry.systems().items():
        for signal in system.row.names or ():
            users[signal].append(name)
    lines = [
        "# Signals",
        "",
        GENERATED,
        signals.table.__doc__ or "",
        "",
        "| signal | parts | unit | frame | meaning | systems |",
        "|---|---|---|---|---|---|",
    ]
    for signal in signals.TABLE.values():
        parts = ", ".join(f"`.{part}` [{signals.UNITS_OF_PARTS[part]}]" for part in signal.kind.names or ()) or (
            "1" if signal.size == 1 else f"{signal.size}"
        )
        cells = (f"`{signal.name}`", parts, signal.unit, signal.frame, signal.meaning, ", ".join(users[signal.name]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def scenarios_page() -> str:
    """Return the page with every key of every scenario, section by section."""
    lines = [
        "# Scenario reference",
        "",
        GENERATED,
        ABOUT_SCENARIOS,
        "",
    ]
    for name, system in registry.systems().items():
        lines += [f"## {name}", "", f"{system.summary[:1].upper()}{system.summary[1:]}.", ""]
        sections = defaultdict(list)
        for line in outline.lines(system.scenario):
            sections[line.key.rpartition(".")[0]].append(line)
        for section, keys in sections.items():
            lines += [f"### {name}: {section or 'top level'}", "", "| key | unit | default | meaning |", "|---|---|---|---|"]
            for line in keys:
                default = "*needed*" if line.default == "needed" else f"`{line.default}`" if line.default != "-" else "-"
                lines.append(f"| `{line.key}` | {line.unit} | {default} | {line.meaning.replace('|', chr(92) + '|')} |")
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def marks(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return, for each (key, equation), the functions with the mark."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        for number, line in enumerate(text.splitlines(), 1):
            for key, equations in MARK.findall(line):
                holders = [f for f in functions if f.lineno <= number <= (f.end_lineno or 0)]
                inner = max(holders, key=lambda f: f.lineno).name if holders else path.stem
                place = f"{path.relative_to(ROOT)}: `{inner}`"
                for equation in equations.split(", "):
                    if place not in found[key, equation]:
                        found[key, equation].append(place)
    return found


def references_page() -> str:
    code, tests = marks(ROOT / "src"), marks(ROOT / "tests")
    untested = [
        f"[{key}, {equation}] in {places[0]}" for (key, equation), places in code.items() if (key, equation) not in tests
    ]
    unknown = {key for key, _ in (*code, *tests)} - set(PAPERS)
    if untested or unknown:
        sys.exit("marks without a test or without a paper: " + "; ".join([*untested, *sorted(unknown)]))
    lines = ["# References", "", GENERATED]
    for key, title in PAPERS.items():
        lines += [f"## {key}", "", title, "", "| equation | code | test |", "|---|---|---|"]
        mine = sorted((e for k, e in {**code, **tests} if k == key), key=lambda e: (e.split()[0], int(e.split()[1])))
        for equation in mine:
            lines.append(f"| {equation} | {'<br>'.join(code[key, equation])} | {'<br>'.join(tests[key, equation])} |")
        lines.append("")
    return "\n".join(lines)


def readme_picture() -> None:
    from hilt import job
    from hilt.analysis import beside
    from hilt.report import figure
    from hilt.systems.docking.views.report import comparison_picture

    methods = ("none", "pida", "twin")
    results = {m: job.simulate(*job.find("docking", "table1", [f"compensate.method={m}"])) for m in methods}
    results["none"] = beside.computed(results["none"])  # with the contact in space
    with figure.styled():
        comparison_picture(results).figure.savefig(ROOT / "docs" / "docking.svg", metadata={"Date": None})


def licence_of(package: str) -> str:
    """Return the licence in a package's metadata: an expression, a classifier, or a line of text."""
    about = metadata.metadata(package)
    classified = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or () if each.startswith("License ::")]
    found = about.get("License-Expression") or ", ".join(classified) or (about.get("License") or "").partition("\n")[0]
    if not found:
        sys.exit(f"{package} does not name its licence; look it up before hilt depends on it")
    return found


def licences_page() -> str:
    lock = json.loads((ROOT / "src" / "hilt" / "cockpit" / "page" / "package-lock.json").read_text())
    bundled = {
        path.partition("node_modules/")[2]: each for path, each in lock["packages"].items() if path and not each.get("dev")
    }
    required = sorted({re.split(r"[^\w.-]", each)[0] for each in metadata.requires("hilt") or () if "extra ==" not in each})
    lines = [
        "# Licences",
        "",
        GENERATED,
        "hilt itself: Apache-2.0 (`LICENSE`).",
        "",
        "Bundled into the cockpit's page, and so part of the package; their texts are in `hilt/cockpit/static/LICENSES.txt`:",
        "",
        "| package | version | licence |",
        "|---|---|---|",
        *(f"| {name} | {each['version']} | {each['license']} |" for name, each in sorted(bundled.items())),
        "",
        "Installed as dependencies, not part of the package:",
        "",
        "| package | licence |",
        "|---|---|",
        *(f"| {name} | {licence_of(name)} |" for name in required),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    makers = {"signals": signals_page, "scenarios": scenarios_page, "references": references_page, "licences": licences_page}
    pages = {ROOT / "docs" / f"{name}.md": make() for name, make in makers.items()}
    pages[ROOT / "docs" / "api.md"] = reference.page(GENERATED)
    pages[ROOT / "docs" / "house.svg"] = house.picture()
    if "--check" not in sys.argv:
        readme_picture()
    for path, text in pages.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} is out of date; run make docs and commit it")


if __name__ == "__main__":
    main()
