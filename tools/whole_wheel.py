"""Hatch's build hook: refuse to pack a wheel without the cockpit's page, which would install but show nothing."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = ("index.html", "cockpit.js", "cockpit.css", "LICENSES.txt")


class WholeWheel(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Check that the page is built; an editable install does not need it, because it uses the page once it is built."""
        static = Path(self.root, "src", "hilt", "cockpit", "static")
        missing = [name for name in PAGE if not (static / name).is_file()]
        if version != "editable" and missing:
            sys.exit(f"hilt wheel: the cockpit's page is not built ({', '.join(missing)} missing); run: make wheel")
