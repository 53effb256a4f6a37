"""Optuna's studies on any of its storages: in memory, a file, a database, a Redis server or a gRPC proxy."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hilt.core.faults import InputError, shortened
from hilt.sweeps.tune import Search

if TYPE_CHECKING:
    from optuna import Study

SEED = 1  # of the sampler of the first process
EXAMPLES = "tuning.log, sqlite:///tuning.db, postgresql://user@host/base, redis://host:6379 or grpc://host:13000"


def quiet_optuna() -> Any:
    """Return the package, with its own log lines switched off."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise InputError("tuning needs optuna, which is not installed; install it with pip install 'hilt[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def storage_of(url: str | None) -> Any:
    """Open a storage. A path is a journal, which several processes on one machine or a network drive can share; any scheme not
    named here is a database of SQLAlchemy."""
    optuna = quiet_optuna()
    if url is None:
        return optuna.storages.InMemoryStorage()
    try:
        if "://" not in url:
            return _journal(optuna, Path(url))
        parts = urlsplit(url)
        if parts.scheme in ("redis", "rediss"):
            return optuna.storages.JournalStorage(optuna.storages.journal.JournalRedisBackend(url))
        if parts.scheme == "grpc":
            return optuna.storages.GrpcStorageProxy(host=parts.hostname or "localhost", port=parts.port or 13000)
        return optuna.storages.RDBStorage(url)
    except InputError:
        raise
    except Exception as error:  # missing drivers, servers that do not answer: each raises its own errors
        why = shortened(" ".join(str(error).split()) or type(error).__name__)
        raise InputError(f"the storage {shortened(url)!r} cannot be used: {why}; give one such as {EXAMPLES}") from None


def _journal(optuna: Any, path: Path) -> Any:
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"the storage {str(path)!r} is not a file in an existing folder; give one such as {EXAMPLES}")
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))


def opened(search: Search, storage: Any, name: str, number: int = 0) -> "Study":
    """Create a study, or continue one that was made for the same scenario, keys, objective and seeds.

    The first trial of a new one is the unchanged scenario, if it is within the ranges.
    """
    optuna = quiet_optuna()
    sampler = optuna.samplers.TPESampler(seed=SEED + number)
    direction = "maximize" if search.objective.largest else "minimize"
    try:
        study = optuna.create_study(storage=storage, sampler=sampler, study_name=name, direction=direction, load_if_exists=True)
        _check_same(search, study)
    except InputError:
        raise
    except Exception as error:
        why = shortened(" ".join(str(error).split()) or type(error).__name__)
        raise InputError(f"the study {shortened(name)!r} cannot be opened: {why}; check --storage") from None
    _check_same(search, study)
    found: Study = study
    return found


def _check_same(search: Search, study: "Study") -> None:
    from hilt.sweeps.space import value_of

    wanted = json.dumps(search.identity, sort_keys=True)
    found = study.user_attrs.get("hilt")
    if found is None and not study.trials:
        study.set_user_attr("hilt", wanted)
        first: dict[str, Any] = {}
        for each in search.varied:
            first |= each.placed(value_of(search.batch.base, each.key))
        if len(first) == len(search.varied):
            study.enqueue_trial(first)
    elif found != wanted:
        raise InputError(
            f"the study {study.study_name!r} on this storage is for another scenario, other keys, seeds or another objective; "
            "give another name with --study"
        )
