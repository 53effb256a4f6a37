"""How hilt starts a process of its own.

`python -m` would import from the working folder first, which may belong to anybody: a file numpy.py there would run in the
loop's recorder. With -P it does not.
"""

import sys


def command(module: str, *arguments: str) -> list[str]:
    """The command line of one of our modules."""
    return [sys.executable, "-P", "-m", module, *arguments]
