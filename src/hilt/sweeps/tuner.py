"""A process that runs trials of a study: what to tune comes as JSON on stdin; if it fails, a sentence on stderr says why."""

import json
import subprocess
import sys
from typing import Any

from hilt.core.faults import InputError
from hilt.host import child

BAD_INPUT = 2


class Helpers:
    """Further processes that share one storage; they end with the command that started them."""

    def __init__(self, orders: list[dict[str, Any]]) -> None:
        self._running: list[subprocess.Popen[str]] = []
        for order in orders:
            process = subprocess.Popen(
                child.command("hilt.sweeps.tuner"),
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
            )
            self._running.append(process)
            assert process.stdin is not None
            process.stdin.write(json.dumps(order))
            process.stdin.close()
            process.stdin = None  # so that communicate does not flush it

    def __enter__(self) -> "Helpers":
        return self

    def wait(self) -> list[str]:
        """Wait for all of them; return what the failed ones say. The trials that they finished are on the storage."""
        outputs = [(process, process.communicate()[1].strip()) for process in self._running]
        return [
            text.splitlines()[-1] if text else f"it ended with code {process.returncode}"
            for process, text in outputs
            if process.returncode
        ]

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
                process.communicate()


def search_of(order: dict[str, Any]) -> Any:
    """Return the search that plain JSON describes."""
    from hilt import job
    from hilt.sweeps import engines, tune
    from hilt.sweeps.batch import Batch

    system, values, name = job.find(order["target"], order["scenario"], order["settings"])
    batch = Batch(system, name, values, engines.named(order["engine"]), order["seeds"])
    vary = tuple(tune.varied(system, values, text) for text in order["vary"])
    return tune.Search(batch, vary, tune.objective(system, order["objective"]))


def main() -> None:
    from hilt.sweeps import study

    order = json.load(sys.stdin)
    try:
        search = search_of(order)
        search.run(study.opened(search, study.storage_of(order["storage"]), order["study"], order["number"]), order["trials"])
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
