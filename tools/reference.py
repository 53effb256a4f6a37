"""docs/api.md: what `import hilt` offers, from its signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import hilt

GROUPS = {
    "Functions": (
        "run",
        "compare",
        "sweep",
        "map",
        "margin",
        "check",
        "scenario",
        "load",
        "system",
        "list_systems",
        "method",
        "register",
        "jit",
    ),
    "What they give": ("Run", "Comparison", "Sweep", "Map", "Margin", "Scenario"),
    "Systems of your own": ("System", "Block", "StageKind", "stage", "Section"),
    "Warnings and errors": ("InputError", "FaultWarning", "PluginWarning"),
}
INNER = ("without_rows", "result", "noise_key", "canonical", "inputs", "kinds", "set_up")  # for the rooms below the front door


def page(generated: str) -> str:
    missing = set(hilt.__all__) - {name for names in GROUPS.values() for name in names}
    if missing:
        raise SystemExit(f"tools/reference.py: no group for {', '.join(sorted(missing))}")
    lines = ["# Python reference", "", generated]
    lines += ["How the parts are used together: [Python](python.md), [extending](extending.md).", ""]
    for group, names in GROUPS.items():
        lines += [f"## {group}", ""]
        for name in names:
            lines += _entry(f"hilt.{name}", getattr(hilt, name), "###")
    return "\n".join(lines).rstrip() + "\n"


def _entry(title: str, found: Any, level: str) -> Iterator[str]:
    yield from (f"{level} {title}", "")
    signature = _signature(title, found)
    if signature and not (inspect.isclass(found) and issubclass(found, Exception)):
        yield from ("```text", signature, "```", "")
    yield from _markdown(inspect.getdoc(found) or "")
    if inspect.isclass(found):
        yield from _members(found)


def _signature(title: str, found: Any) -> str:
    if inspect.isclass(found) and not hasattr(found, "__dataclass_fields__"):
        return ""  # created by hilt, not by its users
    try:
        found = inspect.signature(found)
    except (TypeError, ValueError):
        return ""
    parts = [_argument(each) for each in found.parameters.values()]
    kinds = [each.kind for each in found.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    whole = f"{title}({', '.join(parts)})"
    return whole if len(whole) <= 100 else f"{title}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _argument(found: inspect.Parameter) -> str:
    """Return an argument as in the source: no module prefixes, and … for defaults that are not readable."""
    text = re.sub(r" = (<.*|dtype.*)$", " = …", str(found).replace("str | os.PathLike[str]", "Path"))
    text = re.sub(r" = $", ' = ""', text.replace("'", ""))
    return re.sub(r"\b(?:collections\.abc|typing|pathlib|(?:hilt(?:\.\w+)+))\.(?=[A-Z])", "", text)


def _markdown(text: str) -> Iterator[str]:
    """Yield a docstring as Markdown: prompts become blocks of code."""
    inside = False
    for line in text.splitlines():
        prompt = line.lstrip().startswith((">>>", "..."))
        if prompt and not inside:
            yield "```pycon"
        elif inside and not line.strip():
            yield "```"
        inside = prompt or (inside and bool(line.strip()))
        yield re.sub(r"\s+# ", "  # ", line) if inside else line  # comments spaced like the formatter does
    if inside:
        yield "```"
    yield ""


def _members(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        if (
            (name.startswith("_") and name != "__getitem__")
            or name in INNER
            or name in getattr(kind, "__dataclass_fields__", ())
        ):
            continue
        member = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(member, property) and member.__doc__:
            yield f"- `.{name}`: {_first(member)}"
        elif inspect.isfunction(member) and member.__doc__:
            shown = "[name]" if name == "__getitem__" else f".{name}({_arguments(member)})"
            yield f"- `{shown}`: {_first(member)}"
    yield ""


def _arguments(member: Any) -> str:
    return ", ".join(str(each).partition(":")[0] for each in list(inspect.signature(member).parameters.values())[1:])


def _first(member: Any) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((inspect.getdoc(member) or "").partition("\n\n")[0].split())
