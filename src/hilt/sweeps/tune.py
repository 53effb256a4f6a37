"""Tuning: Optuna varies keys of a scenario; the winner is compared with the original on unseen seeds.

A trial is one choice of values, run with every seed; its value is the mean of the objective. Trials with a fault or without a
value are pruned, so that the sampler avoids them. On the seeds of the search the winner looks better than it is: only the
unseen seeds show what was gained.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hilt.core.faults import InputError, shortened
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.report import scenario_text
from hilt.sweeps import beyond, edges
from hilt.sweeps.batch import Batch
from hilt.sweeps.columns import Columns
from hilt.sweeps.space import given_value_of, unit_of
from hilt.sweeps.spec import Range, Words, read

if TYPE_CHECKING:
    import optuna

TOGETHER = 8  # trials run in one batch
MOST_TRIALS = 100_000


@dataclass(frozen=True)
class Varied:
    """A key and what it may be: any number of a range, or one of some values."""

    key: str
    text: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False  # only whole numbers
    values: tuple[Any, ...] = ()  # one of these, if there are any

    def suggest(self, trial: "optuna.Trial") -> Any:
        if self.values:
            return self.values[trial.suggest_categorical(self.key, list(range(len(self.values))))]
        if self.whole:
            return trial.suggest_int(self.key, round(self.low), round(self.high), log=self.log)
        return trial.suggest_float(self.key, self.low, self.high, log=self.log)

    def of(self, params: dict[str, Any]) -> Any:
        """Return the value of this key in a trial."""
        return self.values[params[self.key]] if self.values else params[self.key]

    def placed(self, value: Any) -> dict[str, Any]:
        """Return the scenario's own value as a parameter of a trial; empty if it is outside the range."""
        if self.values:
            return {self.key: self.values.index(value)} if value in self.values else {}
        number = isinstance(value, int | float) and self.low <= value <= self.high
        return {self.key: value} if number else {}


def varied(system: System, base: Scenario, text: str) -> Varied:
    """Read `KEY=SPEC` as given to `--vary`; a range without a count is continuous."""
    key, equals, values = (part.strip() for part in text.partition("="))
    example = "--vary robot.delay='2..40 ms' or --vary compensate.method=pida,twin"
    if not equals or not key or not values:
        raise InputError(f"--vary {shortened(text)!r} is not KEY=SPEC; write it like {example}")
    now = given_value_of(base, key)
    continuous = ".." in values and ":" not in values
    if continuous:
        values = f"{values.removesuffix('log').strip()}:2{' log' if values.endswith('log') else ''}"
    spec = read(key, values)
    if not isinstance(spec, Range | Words):
        raise InputError(f"--vary {shortened(text)!r} is a distribution; give a range or values, such as {example}", key=key)
    found = spec.values(key, unit_of(system, key))
    if continuous:
        whole = isinstance(now, int) and not isinstance(now, bool)
        return Varied(key, text, float(found[0]), float(found[-1]), spec.log, whole)
    return Varied(key, text, values=tuple(found))


@dataclass(frozen=True)
class Objective:
    """A metric, and whether more of it is better; for a list the worst entry, for a ratio the largest error."""

    metric: str
    largest: bool = False

    @property
    def text(self) -> str:
        return f"{self.metric}:{'max' if self.largest else 'min'}"

    def values(self, system: System, columns: Columns) -> np.ndarray:
        """Return one value for each run; NaN for a run that ended with a fault."""
        found = beyond.worst(system, self.metric, columns, lowest=self.largest)
        return np.where((columns["fault"] == 0) & np.isfinite(found), found, np.nan)

    def better(self, one: float, other: float) -> bool:
        return one > other if self.largest else one < other


def objective(system: System, text: str) -> Objective:
    name, colon, direction = (part.strip() for part in text.partition(":"))
    if colon and direction not in ("min", "max"):
        raise InputError(f"--objective {shortened(text)!r} is not METRIC:min or METRIC:max; write it like --objective cof:min")
    beyond.check(system, name)
    return Objective(name, direction == "max")


@dataclass(frozen=True)
class Search:
    """What is tuned, ready to run trials of a study."""

    batch: Batch  # with the seeds of the search
    varied: tuple[Varied, ...]
    objective: Objective

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(each.key for each in self.varied)

    @property
    def identity(self) -> dict[str, Any]:
        """What has to agree for a stored study to be continued."""
        vary = [each.text for each in self.varied]
        seeds = [self.batch.base.seed, self.batch.seeds]
        return {"scenario": self.batch.base.hash(), "vary": vary, "objective": self.objective.text, "seeds": seeds}

    def means(self, points: Sequence[Sequence[Any]]) -> np.ndarray:
        """Return the mean objective of each point over the seeds; NaN if one of them has none."""
        columns = self.batch.columns(self.keys, points)
        return self.objective.values(self.batch.system, columns).reshape(len(points), -1).mean(axis=1)

    def run(self, study: "optuna.Study", trials: int) -> None:
        """Ask the study for some trials at once, run them in one batch, and report their values to it."""
        from optuna.trial import TrialState

        for first in range(0, trials, TOGETHER):
            asked = [study.ask() for _ in range(min(TOGETHER, trials - first))]
            points = [[each.suggest(trial) for each in self.varied] for trial in asked]
            fine = [self.batch.valid(self.keys, point) for point in points]
            runnable = [point for point, valid in zip(points, fine, strict=True) if valid]
            means = iter(self.means(runnable).tolist() if runnable else ())
            for trial, valid in zip(asked, fine, strict=True):
                value = next(means) if valid else np.nan
                if np.isfinite(value):
                    study.tell(trial, value)
                else:
                    study.tell(trial, state=TrialState.PRUNED)

    def compare(self, winner: Scenario, unseen: int) -> "Comparison":
        """Compare a winner with the original scenario, on the same unseen seeds and on those of the search."""
        base, seen = self.batch.base, self.batch.seeds
        runs = [self._over_seeds(each, seen + unseen) for each in (base, winner)]
        before, after = (self.objective.values(self.batch.system, columns) for columns in runs)
        means = float(before[:seen].mean()), float(after[:seen].mean())
        others = {
            name: (float(runs[0][name][seen:].mean()), float(runs[1][name][seen:].mean()))
            for name in edges.metrics(self.batch.system, base)
            if all(name in columns for columns in runs)
        }
        return Comparison(means, before[seen:], after[seen:], (base.seed + seen, base.seed + seen + unseen - 1), others)

    def _over_seeds(self, scenario: Scenario, count: int) -> Columns:
        batch = Batch(self.batch.system, self.batch.name, scenario, self.batch.engine)
        return batch.columns(("seed",), [[self.batch.base.seed + n] for n in range(count)])


@dataclass(frozen=True)
class Comparison:
    """The objective before and after: its mean on the seeds of the search, and each value on the unseen ones."""

    seen: tuple[float, ...]
    before: np.ndarray
    after: np.ndarray
    seeds: tuple[int, int]
    others: dict[str, tuple[float, float]]  # means of the system's key metrics on the unseen seeds, before and after

    @property
    def means(self) -> tuple[float, float]:
        return float(self.before.mean()), float(self.after.mean())

    @property
    def by_chance(self) -> bool:
        """Whether seeds make any difference."""
        both = np.concatenate([self.before, self.after])
        return bool(np.isnan(both).any() or np.ptp(self.before) > 0.0 or np.ptp(self.after) > 0.0)


@dataclass(frozen=True)
class Tuned:
    """The result of tuning."""

    objective: Objective
    best: dict[str, Any]
    scenario: Scenario
    comparison: Comparison
    trials: int
    given_up: int

    @property
    def better(self) -> bool:
        """Whether the winner is better on unseen seeds; an original that fails there is worse than a winner that does not."""
        before, after = self.comparison.means
        if not np.isfinite(after):
            return False
        return not np.isfinite(before) or self.objective.better(after, before)

    @property
    def sentence(self) -> str:
        (before, after), (first, last) = self.comparison.means, self.comparison.seeds
        name, count = self.objective.metric, len(self.comparison.after)
        wins = sum(
            self.objective.better(b, a) or (np.isnan(a) and not np.isnan(b))
            for a, b in zip(self.comparison.before, self.comparison.after, strict=True)
        )
        where = f"on {count} unseen seeds ({first} to {last})"
        if not self.comparison.by_chance:
            where = "with every seed, because nothing in this scenario is random"
        result = f"{name} {_number(after)} instead of {_number(before)} {where}"
        if self.better:
            won = f"; better with {wins} of them" if self.comparison.by_chance else ""
            return f"Better: {result}{won}."
        return f"Not better: {result}; the gain on the seeds of the search does not hold on others."

    def as_json(self) -> dict[str, Any]:
        return {
            "objective": self.objective.text,
            "best": self.best,
            "better": self.better,
            "seen": {"before": self.comparison.seen[0], "after": self.comparison.seen[1]},
            "unseen": {
                "before": self.comparison.means[0],
                "after": self.comparison.means[1],
                "seeds": list(self.comparison.seeds),
            },
            "metrics": {name: {"before": a, "after": b} for name, (a, b) in self.comparison.others.items()},
            "trials": self.trials,
            "given_up": self.given_up,
            "sentence": self.sentence,
        }

    def text(self, study: str) -> str:
        """Return a scenario file that runs, with the gain in its first lines."""
        changed = ", ".join(f"{key} = {toml_value(value)}" for key, value in self.best.items())
        lines = [
            f"# Tuned by hilt tune, study {study}, {self.trials} trials of {self.objective.text}: {changed}.",
            f"# {self.sentence}",
        ]
        return "\n".join(lines) + "\n" + scenario_text.text(self.scenario)


def toml_value(value: Any) -> str:
    return scenario_text.literal(value)


def _number(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "none (a run ended with a fault)"


def evaluate(search: Search, study: "optuna.Study", unseen: int) -> Tuned:
    """Return the best trial of a study, compared with the original scenario on unseen seeds."""
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
    given_up = sum(trial.state == TrialState.PRUNED for trial in trials)
    if given_up == len(trials):
        raise InputError(
            f"none of {len(trials)} trials has a value of {search.objective.metric}: each is an invalid scenario or has a run "
            "that ended with a fault; narrow --vary or start from another scenario"
        )
    point = [each.of(study.best_trial.params) for each in search.varied]
    best = dict(zip(search.keys, point, strict=True))
    scenario = search.batch.scenario(search.keys, point)
    return Tuned(search.objective, best, scenario, search.compare(scenario, unseen), len(trials), given_up)


def check_trials(trials: int) -> None:
    if not 1 <= trials <= MOST_TRIALS:
        raise InputError(f"--trials is {trials}; it must be from 1 to {MOST_TRIALS}; give a whole number")
