"""Every message that docs/troubleshooting.md explains is one that hilt can print."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE.partition("## Slow")[0], re.M)


@pytest.fixture(scope="module")
def said():
    """Every string in the sources; of those with values in them, the pieces between the values."""
    paths = [path for path in (ROOT / "src").rglob("*.py") if "node_modules" not in path.parts]
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text())))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def test_there_are_messages():
    assert len(MESSAGES) >= 20


@pytest.mark.parametrize("message", MESSAGES)
def test_hilt_can_print_it(message, said):
    pieces = [piece.strip() for piece in message.split("…") if len(piece.strip()) > 1]
    assert max(map(len, pieces)) >= 10, "too little to recognise"
    for piece in pieces:
        assert any(piece in text for text in said), f"hilt never prints {piece!r}"
