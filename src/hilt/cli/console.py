"""Where commands print: results on stdout, progress on stderr."""

from rich.console import Console

console = Console()
status = Console(stderr=True)
