"""Hooks of the site: add the pages at the repository's root, and check that no page loads anything from the network.

mkdocs calls these functions (`hooks` in mkdocs.yml); an error or a warning ends the build, which is strict.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
AT_ROOT = {"changes.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
# Anything that a browser loads by itself; not a link that a reader may follow.
LOADED = re.compile(
    r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(https?:)?//[^>]*>|url\(["']?(https?:)?//""", re.I
)
DRAWN_BY_A_SERVICE = 'class="mermaid"'  # the theme would fetch the renderer


def on_config(config: Any, **_: Any) -> Any:
    """List the decisions, so that a new one needs no line in the menu."""
    decisions = [f"adr/{path.name}" for path in sorted((ROOT / "docs" / "adr").glob("*.md"))]
    for section in config["nav"]:
        for entries in section.values():
            entries[:] = [{"Decisions": decisions} if entry == {"Decisions": "adr/"} else entry for entry in entries]
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add CHANGELOG and CONTRIBUTING, which are at the root for code hosts, as pages of the site."""
    for page, source in AT_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text().replace("](docs/", "](")))
    return files


def on_post_build(config: Any, **_: Any) -> None:
    """Check that the site is readable in a lab without a network."""
    for path in sorted(Path(config["site_dir"]).rglob("*")):
        if path.suffix not in (".html", ".css"):
            continue
        text = path.read_text()
        found = LOADED.search(text)
        if found or DRAWN_BY_A_SERVICE in text:
            raise PluginError(f"{path.name} loads something from the network: {found[0] if found else DRAWN_BY_A_SERVICE}")
