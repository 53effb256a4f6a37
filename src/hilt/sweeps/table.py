"""The table of a sweep on disk: a folder with `sweep.json` and, in `table/`, one Parquet file for each chunk of scenarios.

    sweep.json                    system, scenario, axes, metrics, versions, chunk size, and the hash of all that
    table/chunk-000000.parquet    scenario number, a column for each key of the axes, a column for each metric

A chunk is written completely or not at all, so a sweep that was killed continues with the missing chunks. `table/` holds
nothing but Parquet files of one schema: pandas, polars and DuckDB read it directly.
"""

import errno
import functools
import hashlib
import importlib
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hilt
from hilt.core import registry
from hilt.core.faults import InputError
from hilt.core.system import System
from hilt.sweeps.columns import Columns
from hilt.sweeps.space import Axis, Space, restored, unit_of

FORMAT = 1
NUMBER = "scenario"  # the first column
FILE, CHUNKS = "sweep.json", "table"
_HASH, _NAMES, _VALUES = b"hilt.sweep", b"hilt.names", b"hilt.values"  # metadata of a file
_ENDING = ("ticks", "fault")  # how a run ended: in every table
_LAST = 10**9  # the error of a list comes after its entries


def library(name: str, extra: str = "sweep") -> Any:
    """Import an optional library; a missing one gives one sentence."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise InputError(
            f"sweeps need {package}, which is not installed; install it with pip install 'hilt[{extra}]'"
        ) from None


@dataclass(frozen=True)
class Plan:
    """What a table contains. Two plans with the same hash give the same bytes."""

    space: Space
    metrics: tuple[str, ...] | None  # None: all
    chunk: int
    arithmetic: str = "cpu"  # a GPU rounds differently: a table has numbers of one kind

    @property
    def count(self) -> int:
        """Number of chunks."""
        return -(-self.space.count // self.chunk)

    def numbers(self, k: int) -> np.ndarray:
        return np.arange(k * self.chunk, min((k + 1) * self.chunk, self.space.count))

    @functools.cached_property
    def as_json(self) -> dict[str, Any]:
        """The whole plan with its hash: the content of `sweep.json`."""
        space = self.space
        content = {
            "format": FORMAT,
            "system": space.system.name,
            "scenario": space.name,
            "tree": space.tree,
            "axes": [
                {"keys": list(axis.keys), "log": axis.log, "drawn": axis.drawn, "points": [list(each) for each in axis.points]}
                for axis in space.axes
            ],
            "metrics": self.metrics and list(self.metrics),
            "chunk": self.chunk,
            "arithmetic": self.arithmetic,
            "versions": {"hilt": hilt.__version__, "numpy": np.__version__, "python": platform.python_version()},
        }
        return {**content, "hash": _hash(content)}


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def read_plan(folder: Path, system: System | None = None) -> tuple[Plan, str]:
    """Read the plan of a folder and the hash stored with it. A system that is not registered has to be given."""
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        axes = tuple(
            Axis(tuple(each["keys"]), tuple(map(tuple, each["points"])), each["log"], each["drawn"]) for each in content["axes"]
        )
        metrics, chunk = content["metrics"], int(content["chunk"])
        name, tree = content["scenario"], dict(content["tree"])
        arithmetic, written = str(content["arithmetic"]), str(content["hash"])
        fine = _hash({key: value for key, value in content.items() if key != "hash"}) == written and chunk > 0
    except OSError as error:
        raise InputError(f"{folder} holds no sweep: {path} cannot be read: {error.strerror}; choose another folder") from None
    except (ValueError, KeyError, TypeError):
        fine = False
    if not fine:
        raise InputError(f"{path} is damaged; its sweep cannot be continued: start it again in another folder")
    found = system or registry.system(str(content["system"]))
    space = restored(found, name, tree, axes)
    return Plan(space, tuple(metrics) if metrics else None, chunk, arithmetic), written


class Table:
    """The table of a sweep in a folder, to write and to read."""

    def __init__(self, folder: Path, plan: Plan, written: str | None = None) -> None:
        self.folder, self.plan = folder, plan
        self.hash = written or plan.as_json["hash"]

    @classmethod
    def open(cls, folder: str | os.PathLike[str], system: System | None = None) -> "Table":
        """Open an existing table.

        >>> Table.open("runs/docking-table1-sweep-20260101-120000").frame()
        """
        library("pyarrow.parquet")
        return cls(Path(folder), *read_plan(Path(folder), system))

    @property
    def space(self) -> Space:
        return self.plan.space

    @property
    def chunks(self) -> Path:
        """The folder of the Parquet files."""
        return self.folder / CHUNKS

    def exists(self) -> bool:
        return (self.folder / FILE).exists()

    def begin(self, resume: bool) -> None:
        """Make the folder, or check that it holds this sweep."""
        path = self.folder / FILE
        self.check(resume)
        if not self.exists():
            with self._writing(path):
                self.chunks.mkdir(parents=True, exist_ok=True)
                _write_whole(path, json.dumps(self.plan.as_json, default=str).encode())
        for draft in self.chunks.glob(".*.draft"):  # of a sweep that was killed
            draft.unlink(missing_ok=True)

    def undo(self) -> None:
        """Remove the files of a sweep that never computed anything; other files in the folder stay."""
        (self.folder / FILE).unlink(missing_ok=True)
        with suppress(OSError):
            self.chunks.rmdir()
            self.folder.rmdir()

    def check(self, resume: bool) -> None:
        """Refuse a folder that holds another sweep, without writing."""
        library("pyarrow.parquet")
        if not self.exists():
            return
        if not resume:
            raise InputError(
                f"{self.folder} holds a sweep already; continue it with --resume, or choose another folder with --out"
            )
        _, written = read_plan(self.folder, self.space.system)
        if written != self.plan.as_json["hash"]:
            raise InputError(
                f"{self.folder} holds another sweep: scenario, axes, metrics, chunk size or versions differ; continue it with "
                f"hilt sweep --resume {self.folder}, or choose another folder with --out"
            )

    def path(self, k: int) -> Path:
        return self.chunks / f"chunk-{k:06d}.parquet"

    def written(self) -> list[int]:
        return [k for k in range(self.plan.count) if self.path(k).exists()]

    def write(self, numbers: np.ndarray, results: Columns) -> None:
        """Write a chunk with its results, completely or not at all."""
        k = int(numbers[0]) // self.plan.chunk
        assert np.array_equal(numbers, self.plan.numbers(k))
        wanted = {name: each for name, each in results.items() if chosen(name, self.plan.metrics)}
        ordered = sorted(wanted, key=lambda name: place(self.space.system, name))
        columns = {NUMBER: numbers, **self.space.columns(numbers), **{name: wanted[name] for name in ordered}}
        self._store(k, _arrow(columns))

    def _store(self, k: int, table: Any) -> None:
        parquet = library("pyarrow.parquet")
        pyarrow = library("pyarrow")
        sink = pyarrow.BufferOutputStream()
        metadata = {_HASH: self.hash.encode(), _NAMES: _names_digest(table.schema), _VALUES: _values_digest(table)}
        table = table.replace_schema_metadata(metadata)
        parquet.write_table(table, sink, write_page_checksum=True)
        with self._writing(self.path(k)):
            _write_whole(self.path(k), sink.getvalue())

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            why = "the disk is full" if full else str(error.strerror)
            kept = len(self.written())
            rest = f"; {kept} of {self.plan.count} chunks are written and complete; {resume_words(self.folder)}" if kept else ""
            raise InputError(f"cannot write {path}: {why}; make room or choose another folder with --out{rest}") from None

    def read(self, k: int, names: Sequence[str] | None = None) -> Any:
        """Read a chunk as an Arrow table, or only some of its columns."""
        pyarrow, parquet = library("pyarrow"), library("pyarrow.parquet")
        path = self.path(k)
        try:
            wanted = None if names is None else [NUMBER, *names]
            found = parquet.read_table(path, columns=wanted, page_checksum_verification=True, partitioning=None)
            metadata = found.schema.metadata or {}
            whole = found.schema if names is None else parquet.read_schema(path)
            fine = metadata.get(_HASH) == self.hash.encode() and metadata.get(_NAMES) == _names_digest(whole)
            fine = fine and np.array_equal(found[NUMBER].to_numpy(), self.plan.numbers(k))
            fine = fine and (names is not None or metadata.get(_VALUES) == _values_digest(found))
        except (OSError, pyarrow.ArrowException, KeyError, ValueError):
            fine = False
        if not fine:
            raise InputError(
                f"{path} is damaged or belongs to another sweep; {resume_words(self.folder)}, "
                "which computes only that chunk again"
            )
        return found

    def finish(self) -> None:
        """Give all chunks the same columns, since a reader assumes those of the first file for all."""
        parquet = library("pyarrow.parquet")
        schemas = {k: parquet.read_schema(self.path(k)).remove_metadata() for k in self.written()}
        if len(set(map(str, schemas.values()))) < 2:
            return
        whole = _united(self.space, schemas.values())
        for k, schema in schemas.items():
            if schema != whole:
                self._store(k, _fitted(self.read(k), whole))

    def arrow(self, names: Sequence[str] | None = None) -> Any:
        """Return all chunks in the order of the scenarios' numbers; with `names` only these columns."""
        pyarrow = library("pyarrow")
        parts = [self.read(k, names) for k in self.written()]
        if not parts:
            raise InputError(f"{self.folder} holds no chunk yet; {resume_words(self.folder)}")
        whole = _united(self.space, [part.schema.remove_metadata() for part in parts])
        return pyarrow.concat_tables([_fitted(part, whole) for part in parts])

    def columns(self, names: Sequence[str] | None = None) -> Columns:
        """Return the table as arrays by name; NaN where a run has no value."""
        found = self.arrow(names)
        return {name: as_numpy(column) for name, column in zip(found.column_names, found.columns, strict=True)}

    def names(self, chunks: Sequence[int] | None = None) -> list[str]:
        """Return the names of the result columns, in all chunks or in some."""
        parquet = library("pyarrow.parquet")
        schemas = [parquet.read_schema(self.path(k)).remove_metadata() for k in (self.written() if chunks is None else chunks)]
        return [name for name in _united(self.space, schemas).names if name not in (NUMBER, *self.space.keys)]

    def frame(self) -> Any:
        """Return a pandas table with a line for each scenario. Values are in SI; `attrs["units"]` has the units of the keys."""
        library("pandas", "data")
        found = self.arrow().to_pandas()
        found.attrs["units"] = {key: unit_of(self.space.system, key) for key in self.space.keys}
        return found.set_index(NUMBER)

    def array(self) -> Any:
        """Return an xarray dataset: a variable for each result, a dimension for each axis."""
        xarray = library("xarray", "data")
        if len(self.written()) < self.plan.count:
            raise InputError(
                f"{self.folder} holds {len(self.written())} of {self.plan.count} chunks; {resume_words(self.folder)}, "
                "or use frame()"
            )
        columns, axes = self.columns(), self.space.axes
        names = [axis.keys[0] if len(axis.keys) == 1 else "draw" for axis in axes]
        coordinates: dict[str, Any] = {}
        for name, axis in zip(names, axes, strict=True):
            for key in axis.keys:
                coordinates[key] = (name, axis.column(key), {"units": unit_of(self.space.system, key)})
        results = {name: (names, columns[name].reshape(self.space.shape)) for name in self.names()}
        return xarray.Dataset(results, coordinates)


def resume_words(folder: Path) -> str:
    return f"continue with hilt sweep --resume {folder}"


def chosen(name: str, metrics: Sequence[str] | None) -> bool:
    """Whether a column belongs to the requested metrics; how a run ended is always in the table."""
    return metrics is None or name in _ENDING or name in metrics or base_name(name) in metrics


def base_name(name: str) -> str:
    """Return the metric of a column: cov for cov_3 and for cov_error."""
    head, _, tail = name.rpartition("_")
    return head if head and (tail.isdigit() or tail == "error") else name


def place(system: System, name: str) -> tuple[Any, ...]:
    """Return where a column is sorted: by the order of the system's metrics, then by entry, in every chunk alike."""
    words = [*system.metric_words, *_ENDING]
    base = name if name in words else base_name(name)
    tail = name.removeprefix(f"{base}_")
    entry = 0 if base == name else int(tail) if tail.isdigit() else _LAST
    return words.index(base) if base in words else len(words), base, entry


def _united(space: Space, schemas: Any) -> Any:
    """Return the columns of all chunks; one that is a number in some and yes or no in others is a number."""
    pyarrow = library("pyarrow")
    types: dict[str, Any] = {}
    for schema in schemas:
        for field in schema:
            before = types.get(field.name)
            types[field.name] = field.type if before in (None, field.type) else pyarrow.float64()
    fixed = [name for name in (NUMBER, *space.keys) if name in types]
    rest = sorted(types.keys() - set(fixed), key=lambda name: place(space.system, name))
    return pyarrow.schema([(name, types[name]) for name in (*fixed, *rest)])


def _fitted(table: Any, schema: Any) -> Any:
    pyarrow = library("pyarrow")
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pyarrow.nulls(len(table), field.type))
        elif table[field.name].type == pyarrow.bool_() and field.type == pyarrow.float64():
            columns.append(table[field.name].cast(pyarrow.uint8()).cast(field.type))
        else:
            columns.append(table[field.name].cast(field.type))
    return pyarrow.table(columns, schema=schema)


def _arrow(columns: Mapping[str, np.ndarray]) -> Any:
    """NaN is null on disk: a run that has no such value."""
    pyarrow = library("pyarrow")
    arrays = {}
    for name, values in columns.items():
        text = values.dtype.kind in "USO"
        arrays[name] = pyarrow.array(values.tolist() if text else values, from_pandas=values.dtype.kind == "f")
    return pyarrow.table(arrays)


def _names_digest(schema: Any) -> bytes:
    return hashlib.sha256(json.dumps([(field.name, str(field.type)) for field in schema]).encode()).hexdigest().encode()


def _values_digest(table: Any) -> bytes:
    """Digest the values: Parquet's own checksums cover its pages, but not which page belongs to which column."""
    found = hashlib.sha256()
    for column in table.columns:
        found.update(np.ascontiguousarray(as_numpy(column)).tobytes())
    return found.hexdigest().encode()


def as_numpy(column: Any) -> np.ndarray:
    """A column as an array; NaN where it has no value."""
    pyarrow = library("pyarrow")
    if column.null_count and column.type == pyarrow.bool_():  # there is no third truth value
        column = column.cast(pyarrow.uint8()).cast(pyarrow.float64())
    found = column.to_numpy()
    return np.array(found.tolist(), str) if found.dtype.kind == "O" else found


def _write_whole(path: Path, data: Any) -> None:
    """Write through a draft that is on disk before it gets its name: a power cut leaves the complete file, or none."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
