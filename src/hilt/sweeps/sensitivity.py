"""Sobol indices: which uncertain value makes a metric vary, over stated uncertainties.

The first-order index of a key is the share of a metric's variance that disappears when that key is known exactly, the total
index the share that remains as long as only that key is unknown; their difference is due to interactions with other keys.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import unknown

SAMPLES = 64  # a power of two; runs: this times the keys and two more
RESAMPLES = 200  # for the confidence of an index
MOST_SAMPLES = 2**16
SEED = 1


@dataclass(frozen=True)
class Uncertain:
    """What is known about a value: as a text, and as its quantile function."""

    text: str
    ppf: Callable[[np.ndarray], np.ndarray]


def within(value: float, share: float = 0.1) -> Uncertain:
    """Return a value that is uniformly distributed within ± a share."""
    return Uncertain(f"± {100 * share:g} %", lambda q: value * (1.0 - share + 2.0 * share * np.asarray(q)))


@dataclass(frozen=True)
class Indices:
    """The indices of one metric; `why` gives the reason if there are none."""

    metric: str
    first: dict[str, float]
    total: dict[str, float]
    error: dict[str, float]  # of the total index: half of its 95 % interval
    middle: tuple[float, float]  # 5 % and 95 % quantiles of the runs
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        if self.why:
            return {"reason": self.why}
        return {"first": self.first, "total": self.total, "total_error": self.error, "range_90": list(self.middle)}


@dataclass(frozen=True)
class Sensitivity:
    """The uncertainties, and the indices of each metric."""

    uncertain: dict[str, str]
    samples: int
    metrics: tuple[Indices, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "uncertain": self.uncertain,
            "samples": self.samples,
            "metrics": {each.metric: each.as_json() for each in self.metrics},
        }

    @property
    def sentence(self) -> str:
        """What to measure more accurately: the key with the largest total index."""
        shares: dict[str, list[str]] = {}
        for each in self.metrics:
            if each.total:
                key, share = max(each.total.items(), key=lambda item: item[1])
                shares.setdefault(key, []).append(f"{100 * min(share, 1.0):.0f} % of the variance of {each.metric}")
        keys = [f"{key} ({', '.join(parts)})" for key, parts in shares.items()]
        return f"For a better prediction, measure {' and '.join(keys)} more accurately." if keys else ""


def check(samples: int) -> None:
    if samples < 2 or samples > MOST_SAMPLES or samples & (samples - 1):
        raise InputError(f"--samples is {samples}; it must be a power of 2 from 2 to {MOST_SAMPLES}; give 64, 128 or 256")


def indices(batch: Batch, uncertain: Mapping[str, Uncertain], metrics: list[str], samples: int = SAMPLES) -> Sensitivity:
    """Run the scenario at the points of a Sobol design; with one seed, so that the variance has no random part."""
    from scipy.stats import sobol_indices

    check(samples)
    keys, texts = tuple(uncertain), {key: each.text for key, each in uncertain.items()}
    seen: list[np.ndarray] = []

    def results(x: np.ndarray) -> np.ndarray:
        columns = batch.columns(keys, x.T.tolist())
        for name in metrics:
            if name not in columns:
                raise unknown(batch.system, name, [each for each in columns if each not in ("ticks", "fault")])
        seen.append(np.array([columns[name][:: batch.seeds] for name in metrics], float))
        # Metrics with NaN or Inf are left out below. Tiled twice, since scipy treats one metric of one key as a scalar.
        return np.tile(np.nan_to_num(seen[-1], nan=0.0, posinf=0.0, neginf=0.0), (2, 1))

    with warnings.catch_warnings():  # a metric that does not vary at all is reported below
        warnings.simplefilter("ignore")
        found = sobol_indices(func=results, n=samples, dists=list(uncertain.values()), rng=np.random.default_rng(SEED))
        with _seeded():
            spread = found.bootstrap(confidence_level=0.95, n_resamples=RESAMPLES).total_order.confidence_interval
    whole, plain = np.concatenate(seen, axis=1), np.concatenate(seen[:2], axis=1)
    tables = (found.first_order, found.total_order, 0.5 * (spread.high - spread.low))
    made = []
    for n, name in enumerate(metrics):
        if why := _why_none(whole[n]):
            made.append(Indices(name, {}, {}, {}, (np.nan, np.nan), why))
            continue
        first, total, error = (dict(zip(keys, np.reshape(each, (-1, len(keys)))[n].tolist(), strict=True)) for each in tables)
        low, high = np.percentile(plain[n], [5.0, 95.0])
        made.append(Indices(name, first, total, error, (float(low), float(high))))
    return Sensitivity(texts, samples, tuple(made))


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """Make every run use the same draws: SciPy's bootstrap of the indices takes no generator and uses NumPy's global one."""
    kept = np.random.get_state()
    np.random.seed(SEED)
    try:
        yield
    finally:
        np.random.set_state(kept)


def _why_none(values: np.ndarray) -> str:
    if missing := int(np.count_nonzero(~np.isfinite(values))):
        return f"{missing} of {len(values)} runs have no such value"
    spread = float(np.ptp(values))
    return "it does not vary" if spread <= 1e-12 * max(1.0, float(np.abs(values).max())) else ""
