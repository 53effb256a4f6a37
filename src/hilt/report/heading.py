"""The head of a report: which scenario and what was changed in it, when, on what, and the command that runs it again."""

import html
from datetime import datetime

from hilt.job import Result
from hilt.report.overrides import Override, command, overrides

SHOWN = 4  # overrides in the title; all of them are listed with the scenario


def title(result: Result) -> str:
    """Return plain text, for the window."""
    return f"{result.system.name} · {result.name}" if result.name else result.system.name


def section(result: Result) -> str:
    """Return HTML."""
    changed = overrides(result.system, result.name, result.scenario)
    return (
        f"<h1>{html.escape(title(result))}{_changed(changed)}</h1><p class='sub'>{html.escape(result.scenario.summary)}</p>"
        f"<p class='made'>{' · '.join(_made(result))}</p>"
    )


def comparison(results: dict[str, Result]) -> str:
    """Return HTML for the head of several runs: what is changed in all of them, and what differs."""
    first = next(iter(results.values()))
    each = [overrides(run.system, run.name, run.scenario) for run in results.values()]
    common = [one for one in each[0] if all(one in other for other in each[1:])]
    differ = dict.fromkeys(one.key for several in each for one in several if one not in common)
    over = f"{', '.join(differ)}: {', '.join(results)}" if differ else ", ".join(results)
    return (
        f"<h1>{html.escape(title(first))}{_changed(common)}</h1><p class='sub'>{html.escape(first.scenario.summary)}</p>"
        f"<p class='made'>{' · '.join([html.escape(over), *_when(first)])}</p>"
    )


def _changed(changed: list[Override]) -> str:
    if not changed:
        return ""
    parts = [f"{each.key} = {each.shown}" for each in changed[:SHOWN]]
    if len(changed) > SHOWN:
        parts.append(f"and {len(changed) - SHOWN} more")
    return f" <span class='changed'>with {html.escape(', '.join(parts))}</span>"


def _made(result: Result) -> list[str]:
    """Return date, rig and command, as far as they are known."""
    parts = _when(result)
    if (typed := _command(result)) != "":
        parts.append(f"<code>{html.escape(typed)}</code>")
    return parts


def _when(result: Result) -> list[str]:
    origin = result.origin or {}
    parts = [_date(origin["made"])] if "made" in origin else []
    return [*parts, html.escape(origin["rig"][:200])] if "rig" in origin else parts


def _date(made: str) -> str:
    try:
        when = datetime.fromisoformat(made)
    except ValueError:  # a stranger's recording
        return html.escape(made[:40])
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def _command(result: Result) -> str:
    if result.timing is not None and (result.origin or {}).get("rig", "").partition(":")[0].endswith("devices"):
        return ""  # some of its values come from the rig
    return command(result.system, result.name, result.scenario)
