"""The compiler's cache: found again while the reachable sources are unchanged, never stale, never another user's."""

import ast
import os
import tempfile
from pathlib import Path

import pytest

from hilt.compiled import private, reach
from tests.another_user import US, call
from tests.compiled.apart import python

pytestmark = pytest.mark.long

ALL = sorted(reach.PACKAGE.rglob("*.py"))


def by_syntax(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)


def test_imports_by_pattern_are_those_of_the_syntax_tree():
    for path in ALL:
        assert set(by_syntax(path)) <= set(reach.imports(path.read_text())), path


def names(path):
    return {str(source.relative_to(reach.PACKAGE)) for source in reach.sources(reach.PACKAGE / path)}


def test_a_system_reaches_its_stages_and_no_report():
    found = names("systems/docking/docking.py")
    assert {"core/guard.py", "maths/so3.py", "systems/docking/identify.py", "systems/docking/twin/contact.py"} <= found
    assert not any(name.split("/")[0] in ("report", "cockpit", "cli", "live", "device", "record") for name in found)


MODULES = {
    "inner.py": "from hilt.compiled import jit\n\n@jit\ndef inner():\n    return {}\n",
    "outer.py": "from hilt.compiled import jit\nfrom inner import inner\n\n@jit\ndef outer():\n    return inner()\n",
    "other.py": "x = {}\n",
}


def run_outer(folder, cache, **environment):
    """What outer() returns, and whether its code came out of the cache."""
    program = "import outer; print(outer.outer(), sum(outer.outer.stats.cache_hits.values()))"
    (value, hits), said = python("-c", program, cache=cache, folder=folder, **environment)
    return int(value), int(hits), said


@pytest.fixture
def program(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / name).write_text(text.format(1))
    return folder


def test_code_is_compiled_again_when_a_callee_changes_and_only_then(program, tmp_path):
    cache = tmp_path / "cache"
    assert run_outer(program, cache)[:2] == (1, 0)
    (program / "other.py").write_text("x = 2\n")
    assert run_outer(program, cache)[:2] == (1, 1)
    (program / "inner.py").write_text(MODULES["inner.py"].format(2))
    assert run_outer(program, cache)[:2] == (2, 0)
    (program / "inner.py").write_text(MODULES["inner.py"].format(1))
    assert run_outer(program, cache)[:2] == (1, 1)


LOADED = """
import builtins, importlib.util, sys
name = sys.argv[1]
spec = importlib.util.spec_from_file_location(name, "inner.py")
inner = importlib.util.module_from_spec(spec)
if name != "nameless":
    sys.modules[name] = inner
spec.loader.exec_module(inner)
builtins.given = inner.inner
from outer import outer
print(inner.inner(), outer(), sum(inner.inner.stats.cache_hits.values()))
"""


def test_a_file_may_be_loaded_under_any_name_and_its_code_is_found_under_the_same(program, tmp_path):
    """Cached code imports its module by name: an unknown name must not end this process."""
    (program / "outer.py").write_text(
        MODULES["outer.py"].replace("from inner import inner", "import builtins; inner = builtins.given")
    )
    (program / "load.py").write_text(LOADED)
    found = {}
    for name in ("nameless", "invented", "nameless", "invented", "inner"):
        said, _ = python("load.py", name, cache=tmp_path / "cache", folder=program)
        values = [int(each) for each in said]
        assert values[:2] == [1, 1]
        found.setdefault(name, []).append(values[2])
    assert found == {"nameless": [0, 0], "invented": [0, 1], "inner": [0]}


def test_a_folder_that_others_can_write_is_no_cache(program, tmp_path):
    cache = tmp_path / "cache"
    assert run_outer(program, cache)[1] == 0
    (cache / "hilt").chmod(0o777)
    _, hits, said = run_outer(program, cache)
    assert hits == 0
    assert said.startswith("hilt: compiled code is not kept")
    assert "can be written to by others" in said
    assert len(said.splitlines()) == 1


def test_no_folder_means_no_cache_and_nothing_is_left_elsewhere(program, tmp_path):
    (tmp_path / "file").write_text("")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    value, hits, said = run_outer(program, tmp_path / "file", TMPDIR=str(temporary))
    assert (value, hits) == (1, 0)
    assert "compiled code is not kept" in said
    assert list(temporary.iterdir()) == []


def test_a_private_folder_is_owned_and_closed(tmp_path):
    mine = tmp_path / "mine"
    assert private.make(mine) == ""
    assert mine.stat().st_mode & 0o777 == 0o700
    mine.chmod(0o770)
    assert "others" in private.objection(mine)
    open_parent = tmp_path / "open"
    open_parent.mkdir()
    open_parent.chmod(0o777)
    assert "others" in private.make(open_parent / "inside")
    link = tmp_path / "link"
    link.symlink_to("/tmp")
    assert private.objection(link) != ""


@pytest.mark.root
def test_a_strangers_folder_is_refused(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o755)
    os.chown(theirs, 12345, 12345)
    assert "another user" in private.make(theirs)
    inside = theirs / "inside"
    inside.mkdir(mode=0o700)
    assert "another user" in private.objection(inside)


@pytest.mark.root
def test_a_parent_that_a_group_of_several_can_write_is_refused():
    """A member of the group can put another folder in place of ours; a group is ours alone only if it has our name."""
    with tempfile.TemporaryDirectory() as name:  # not in pytest's own folders, which another user cannot enter
        parent = Path(name)
        (parent / "inside").mkdir(mode=0o700)
        for path in (parent, parent / "inside"):
            os.chown(path, US, US)
        for mode, expected in ((0o775, f"{parent} can be written to by others"), (0o755, "")):
            parent.chmod(mode)
            assert call(US, private.objection, parent / "inside") == expected


def test_threads_that_write_the_same_source_at_once_do_not_hinder_each_other(tmp_path):
    program = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from hilt import compiled

together = Barrier(8)

def keep(number):
    together.wait()
    return compiled.keep_source("same", f"{number:04d}", "x = 1\\n" * 20_000).read_text().count("x")

with ThreadPoolExecutor(8) as pool:
    for number in range(20):
        assert set(pool.map(lambda _: keep(number), range(8))) == {20_000}
"""
    python("-c", program, cache=tmp_path)
