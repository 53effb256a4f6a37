"""How hilt starts its child processes.

`python -m` would import from the working folder first, which may belong to anybody: a file numpy.py there would run in the
loop's recorder. -P prevents this.
"""

import sys


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs one of our modules."""
    return [sys.executable, "-P", "-m", module, *arguments]
