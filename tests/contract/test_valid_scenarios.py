"""Random valid scenarios of every system: every metric has a number or a reason, the ledger closes, loop and replay compute
equal bytes, no set-point is beyond a limit, the twin adds no energy.

40 of each system; `HILT_SCENARIOS=2000` asks for more.
"""

import os

import pytest

from hilt.core.faults import InputError
from tests.contract.valid_laws import examine
from tests.contract.valid_scenarios import GENERATORS, scenario_of
from tests.sentences import sentences

COUNT = int(os.environ.get("HILT_SCENARIOS", "40"))
ONCE_BROKEN = {"payload": (237, 1370)}

pytestmark = pytest.mark.long


@pytest.mark.parametrize("system", GENERATORS)
def test_every_valid_scenario_keeps_every_law(system):
    refused, broken, ended = [], {}, {}
    for number in sorted({*range(COUNT), *ONCE_BROKEN.get(system, ())}):
        try:
            how = examine(system, scenario_of(system, number))
            ended[how] = ended.get(how, 0) + 1
        except InputError as error:
            refused.append(str(error))
        except Exception as error:
            broken[number] = f"{type(error).__name__}: {error}".splitlines()[0]
    print(system, ended, f"{len(refused)} refused")
    assert broken == {}
    assert len(refused) < COUNT / 2, "most draws are meant to be valid"
    assert all(sentences(text) for text in refused)
    assert {"done", "time"} & set(ended), "some of them run to their end"
