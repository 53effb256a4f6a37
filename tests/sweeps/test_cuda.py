"""The loop of a sweep compiles for a GPU on a machine without one; a block that cannot run there is refused by name."""

import shutil
import subprocess

import numpy as np
import pytest

from hilt import job
from hilt.compiled.records import shortened
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.maths.delay import CAPACITY
from hilt.sweeps.engines import kernel, named
from hilt.sweeps.packing import Packing
from tests.sweeps.spaces import space

pytestmark = pytest.mark.long


def test_the_whole_loop_becomes_ptx(tmp_path):
    system, values, _ = job.find("docking", "table1", ["compensate.method=none"])
    made = kernel.build(system, system.used_by(values), 32)
    assert made.ptx.count(".entry") == 1
    assert f".entry {made.entry}(" in made.ptx
    assert f".version {kernel.PTX_VERSION}" in made.ptx
    assert f".maxnreg {kernel.REGISTERS}" in made.ptx
    assert ".extern .func" not in made.ptx.replace(".extern .func  (.param .b32 func_retval0) vprintf", "")  # all is inlined
    if assembler := shutil.which("ptxas"):
        (tmp_path / "kernel.ptx").write_text(made.ptx)
        subprocess.run([assembler, "-arch=sm_90", "-o", tmp_path / "kernel.cubin", tmp_path / "kernel.ptx"], check=True)


@pytest.mark.parametrize("name", ["aerial", "payload"])
def test_a_block_that_calls_c_is_refused_by_name(name):
    system, values, _ = job.find(name, None, [])
    with pytest.raises(InputError, match=rf"--engine cuda cannot run {name}: its block \w+ calls a C library"):
        kernel.check(system, system.used_by(values))


def test_without_a_gpu_it_is_one_sentence():
    tried = space("docking", None, {"robot.delay": [0.01, 0.02]})
    with pytest.raises(InputError, match=r"--engine cuda (needs CuPy|finds no GPU)"):
        next(iter(named("cuda").run(tried, [np.arange(2)])))


def test_delay_lines_as_short_as_the_scenarios_allow_change_nothing():
    """The same bytes of everything counted, for methods that look back by different times."""
    tried = space("docking", None, {"robot.delay": [0.002, 0.02, 0.04], "compensate.method": ["pida", "twin"], "seed": [1, 2]})
    system, counter = tried.system, registry.system("docking").metrics
    for group in Packing(tried, counter).pack(np.arange(tried.count)):
        group.complete()
        samples, found = kernel.length(group), []
        assert 45 <= samples < CAPACITY
        run = system.many(group.used, counter.step)
        for length in (CAPACITY, samples):
            kinds = [system.row, *(shortened(kind, length, CAPACITY) for kind in (group.diagram.x, group.diagram.w))]
            m, each, ends = group.m.copy(), group.each.copy(), group.ends.copy()
            run(0, len(m), *(np.zeros(1, kind) for kind in kinds * 2), group.p, group.ticks, m, each, group.q, ends)
            found.append(m.tobytes() + each.tobytes() + ends.tobytes())
        assert found[0] == found[1]
