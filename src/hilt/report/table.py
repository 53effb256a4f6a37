"""A table in HTML."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 1, *, titled: bool = True) -> str:
    """Return a table; columns from `numbers` on are aligned right. Cells are already HTML."""
    mark = [' class="n"' if i >= numbers else "" for i in range(len(head))]
    lines = ["<table>"]
    if titled:
        lines[0] += "<tr>" + "".join(f"<th{m}>{h}</th>" for m, h in zip(mark, head, strict=True)) + "</tr>"
    lines += ["<tr>" + "".join(f"<td{m}>{c}</td>" for m, c in zip(mark, row, strict=True)) + "</tr>" for row in rows]
    return "\n".join(lines) + "</table>"
