"""Where commands print: results on stdout, what goes on meanwhile on stderr."""

from rich.console import Console

console = Console()
status = Console(stderr=True)
