"""Draw docs/house.svg, the rooms of the package, from the real imports.

Left: the rooms with their number of files; each uses rooms below it. Right: the imports as a matrix; a number is how many files
of the room in the row import from the room in the column. Nothing is above the diagonal, so there are no circular imports.
"""

from collections import Counter
from html import escape
from pathlib import Path

import hilt
from hilt.compiled import reach

ROOT = Path(hilt.__file__).parent
ROWS = (
    ("front", "cockpit", "cli"),
    ("systems",),
    ("live", "stream", "lab"),
    ("sweeps", "device", "fmi"),
    ("report", "reproduce", "scene"),
    ("record", "preflight", "job", "analysis"),
    ("loop", "metrics"),
    ("dynamics", "sense", "command", "plant"),
    ("core", "host"),
    ("maths",),
    ("compiled",),
)
ORDER = [name for names in reversed(ROWS) for name in names]
HOUSE, BOX, STEP, CELL, LABEL, TOP = 560, 42, 50, 22, 74, 90
INK, EDGE, PAPER, ROOM, HIT, WRONG = "#1c2733", "#9aa8b5", "#ffffff", "#eef2f6", "#c9dcf0", "#e08a7d"


def sources() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if "node_modules" not in path.parts and path != ROOT / "__init__.py")


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports() -> Counter[tuple[str, str]]:
    """Count the files of a room that import from another one."""
    found: Counter[tuple[str, str]] = Counter()
    for path in sources():
        used = {room(each) for each in reach.neighbours(path, path.parent) if each != ROOT / "__init__.py"}
        found.update((room(path), other) for other in used - {room(path)})
    return found


def words(name: str) -> str:
    """Return the first line of a room's docstring, up to the colon."""
    path = ROOT / name / "__init__.py"
    first = (path if path.is_file() else ROOT / f"{name}.py").read_text().split('"""')[1].partition("\n")[0]
    return first.partition(":")[0].rstrip(".")


def picture() -> str:
    files = Counter(room(path) for path in sources())
    if missing := set(files) ^ set(ORDER):
        raise SystemExit(f"tools/house.py and the rooms differ in {', '.join(sorted(missing))}")
    width, height = HOUSE + LABEL + CELL * len(ORDER) + 40, max(len(ROWS) * STEP + 30, TOP + CELL * len(ORDER) + 20)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
            *_house(files, (height - len(ROWS) * STEP) / 2),
            *_matrix(imports()),
            "</svg>",
            "",
        ]
    )


def _house(files: Counter[str], top: float) -> list[str]:
    parts = []
    for row, names in enumerate(ROWS):
        width = (HOUSE - 20 - 8 * (len(names) - 1)) / len(names)
        for number, name in enumerate(names):
            x, y = 10 + number * (width + 8), top + row * STEP
            parts.append(
                f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX}" rx="5" fill="{ROOM}" stroke="{EDGE}"/>'
            )
            parts.append(_text(x + width / 2, y + 17, f"{name} · {files[name]}", 13, bold=True))
            parts.append(_text(x + width / 2, y + 33, _fitted(words(name), width), 9.5))
    return parts


def _matrix(found: Counter[tuple[str, str]]) -> list[str]:
    left = HOUSE + LABEL + 10
    parts = [_text(left + CELL * len(ORDER) / 2, 14, "files that import, row from column", 11)]
    for i, name in enumerate(ORDER):
        y = TOP + CELL * i
        parts.append(_text(left - 6, y + 15, name, 11, anchor="end"))
        x = left + CELL * i + 15
        turned = f'transform="rotate(-60 {x} {TOP - 6})"'
        parts.append(f'<text x="{x}" y="{TOP - 6}" font-size="11" fill="{INK}" {turned}>{escape(name)}</text>')
        for j, other in enumerate(ORDER):
            count = found[name, other]
            fill = ROOM if i == j else PAPER if not count else HIT if j < i else WRONG
            parts.append(
                f'<rect x="{left + CELL * j}" y="{y}" width="{CELL}" height="{CELL}" fill="{fill}" stroke="{EDGE}" '
                'stroke-width="0.4"/>'
            )
            if count:
                parts.append(_text(left + CELL * j + CELL / 2, y + 15, str(count), 9))
    return parts


def _fitted(text: str, width: float) -> str:
    most = int(width / 4.9)
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + " …"


def _text(x: float, y: float, text: str, size: float, *, bold: bool = False, anchor: str = "middle") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}"{weight} text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'
