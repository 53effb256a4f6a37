"""The report: one HTML file that needs nothing else."""

import html
import json
from collections.abc import Iterable
from pathlib import Path

import hilt
from hilt.core.faults import InputError
from hilt.job import Result
from hilt.report import delays, long, plain, timing, who, words
from hilt.report.figure import Picture
from hilt.report.table import table as table

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1b1f24;max-width:1500px;margin:0 auto;padding:24px;background:#fff}
h1{font-size:26px;margin:0}h2{font-size:18px;margin:28px 0 8px}p.sub{color:#57606a;margin:4px 0 16px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:4px 14px 4px 0;text-align:left;border-bottom:1px solid #e4e8ec;vertical-align:top}
td.n,th.n{text-align:right}.made{color:#c0392b}.fault{background:#fdecea;border-left:5px solid #c0392b;padding:10px 14px;margin:14px 0}
.advice{background:#eef5fb;border-left:5px solid #1f6fb2;padding:10px 14px;margin:14px 0}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(600px,1fr));gap:22px}figure{margin:0}figure img{width:100%;height:auto}
figcaption{color:#57606a;font-size:14px}.two{display:flex;gap:48px;flex-wrap:wrap}pre{background:#f6f8fa;padding:12px;overflow:auto;font-size:12px;max-height:420px}
.yes{color:#1a7f37;font-weight:600}.no{color:#c0392b;font-weight:600}
"""


def figures(pictures: Iterable[Picture]) -> str:
    blocks = [
        f'<figure><h2>{html.escape(p.title)}</h2><img alt="{html.escape(p.title)}" src="{p.svg()}">'
        f"<figcaption>{html.escape(p.caption)}</figcaption></figure>"
        for p in pictures
    ]
    return f'<div class="grid">{"".join(blocks)}</div>'


def document(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>{body}'
        f'<p class="sub">hilt {hilt.__version__}</p></body></html>\n'
    )


def _ledger(result: Result) -> str:
    rows = []
    for line in result.ledger["rows"]:
        made = line["port"] != "environment" and line["net_J"] > 1e-6 * result.ledger["exchanged_J"]
        net = words.si(line["net_J"], "J")
        rows.append(
            (
                html.escape(line["meaning"]),
                words.si(line["in_J"], "J"),
                words.si(line["out_J"], "J"),
                f'<span class="made">{net}</span>' if made else net,
            )
        )
    rows.append(
        ("<b>sum = change of the stored energy</b>", "", "", f"<b>{words.si(result.ledger['stored_change_J'], 'J')}</b>")
    )
    share = abs(result.ledger["residual_J"]) / max(result.ledger["exchanged_J"], 1e-300)
    closes = f"<p class='sub'>The sum closes to {share:.1e} of the energy exchanged.</p>"
    return "<h2>Energy ledger</h2>" + table(("port", "in", "out", "net"), rows) + closes + _beside(result)


def _beside(result: Result) -> str:
    rows = [
        (html.escape(line["meaning"]), *(words.si(line[key], "J") for key in ("in_J", "out_J", "net_J")))
        for line in result.ledger["beside"]
    ]
    return "<h2>Beside the balance</h2>" + table(("port", "in", "out", "net"), rows) if rows else ""


def render(result: Result) -> str:
    """The page of one run."""
    own = result.system.part("views.report") or plain
    title = f"{result.system.name} · {result.name}"
    parts = [f"<h1>{html.escape(title)}</h1><p class='sub'>{html.escape(result.scenario.summary)}</p>"]
    if result.fault is not None:
        parts.append(f"<div class='fault'><b>Fault.</b> {html.escape(result.fault.sentence)}</div>")
    advice = own.advice(result) if result.survey is None else [long.sentence(result)]
    parts += [f"<div class='advice'>{sentence}</div>" for sentence in advice]
    if result.beside is None and result.survey is None and result.system.part("analysis.beside"):
        parts.append(
            "<p class='sub'>Comparisons that need simulation were not computed for this page; hilt show --advice adds them.</p>"
        )
    shown = [
        (html.escape(result.system.metric_words.get(name, name)), html.escape(words.metric(name, v)))
        for name, v in result.metrics.items()
    ]
    parts.append(f"<div class='two'><div><h2>Metrics</h2>{table(('', 'value'), shown)}</div><div>{_ledger(result)}</div></div>")
    parts.append(delays.section(result))
    parts.append(timing.section(result))
    parts.append(who.section(result))
    parts.append(figures(own.pictures(result) if result.survey is None else long.pictures(result)))
    parts.append(f"<h2>Scenario</h2><p class='sub'>hash {result.scenario.hash()}, SI units</p>")
    parts.append(f"<pre>{html.escape(json.dumps(result.scenario.model_dump(mode='json'), indent=1))}</pre>")
    return document(title, "".join(parts))


def write(result: Result) -> Path:
    """Write the report beside the recording."""
    assert result.recording is not None
    return _write(result.recording.with_suffix(".html"), render(result))


def write_again(result: Result) -> Path:
    """Write the report of a recording. One that was written after it and says something else is kept: this goes beside it."""
    assert result.recording is not None
    path, text = result.recording.with_suffix(".html"), render(result)
    if path.is_file() and path.stat().st_mtime >= result.recording.stat().st_mtime:
        if path.read_text(encoding="utf-8") == text:
            return path
        path = path.with_name(f"{path.stem}-shown.html")
    return _write(path, text)


def _write(path: Path, text: str) -> Path:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the report {path} cannot be written: {error.strerror}; make room and run hilt show again") from None
    return path
