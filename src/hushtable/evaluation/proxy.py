"""Plans by trial: every mechanism on a public stand-in, measured beside what can be forecast.

The errors of adaptive mechanisms and of models depend on the data. They can be tried for nothing on
rows that are public and like the private ones; noise that can be replayed will do, for nothing of
it is published. All are asked the same questions of the workload, and compared with the stand-in's
own counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, available_memory
from hushtable.errors import HushError, OptionError
from hushtable.evaluation.evaluate import ask_release
from hushtable.evaluation.experiment import Key, Progress, task_entropy
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.stand_in import StandIn, read_stand_in
from hushtable.evaluation.truth import TrueTable
from hushtable.evaluation.workload_queries import QueryList, list_queries
from hushtable.families import FAMILIES, LAID_OUT, MECHANISMS, find_mechanism
from hushtable.families.forecast import (
    MOST_NAMED,
    Forecast,
    SummaryForecast,
    mean_error,
    typical_ratio,
)
from hushtable.kernel.counting import CsvFormat
from hushtable.kernel.counting.readers.paths import table_in
from hushtable.kernel.privacy.loss import EpsilonLike
from hushtable.planner import Plan, plan
from hushtable.schema import Schema
from hushtable.scratch import spill_folder
from hushtable.workload import DEFAULT, Workload

QUESTIONS = 1_000
RUNS = 3
MOST_RUNS = 100

MOST_CELLS = 2**22
"""Of domains for adaptive mechanisms that lay out all cells several times."""

PATIENCE = 60.0
"""Of a mechanism that has taken so many seconds, no further run is begun."""

# Seconds of publishing beyond which what has an exact forecast is not tried.
_DEAR = 5.0
_SEED = 1


@dataclass(frozen=True, eq=False)
class Trial:
    """A mechanism on the stand-in: its errors, or why it was not tried."""

    mechanism: str
    parameters: dict[str, str]
    forecast: Forecast | SummaryForecast | None
    """What the plan says of it, where it says anything."""
    errors: tuple[float, ...] = ()
    """The root mean square error of each run."""
    by_attributes: dict[int, float] = field(default_factory=dict)
    """The error of questions that name one, two, three, and four or more attributes."""
    useful_from: float = math.inf
    """As of a `Forecast`: exact where there is one, else by the measured errors."""
    seconds: float = 0.0
    """Of a run: publishing, and asking all questions."""
    problem: str | None = None

    @property
    def measured(self) -> float | None:
        """The root mean square error over all runs."""
        return math.sqrt(float(np.mean(np.square(self.errors)))) if self.errors else None

    @property
    def rmse(self) -> float:
        """As measured, or exactly known where trying was too dear."""
        if self.measured is not None:
            return self.measured
        if isinstance(self.forecast, Forecast) and self.problem is None:
            return self.forecast.rmse
        return math.inf

    @property
    def error(self) -> float:
        """What mechanisms are compared by, as of a `Forecast`."""
        if self.measured is None and isinstance(self.forecast, Forecast) and self.problem is None:
            return self.forecast.error
        return mean_error(self.rmse, self.by_attributes)

    def to_dict(self) -> dict[str, Any]:
        """For machines; the same again for the same stand-in."""
        told: dict[str, Any] = {"mechanism": self.mechanism, "parameters": self.parameters}
        if self.problem is not None:
            told["problem"] = self.problem
        if self.rmse < math.inf:
            told |= {"error": self.error, "rmse": self.rmse, "runs": list(self.errors)}
            told["forecast"] = None if self.forecast is None else self.forecast.rmse
            told["by_attributes"] = {str(k): error for k, error in self.by_attributes.items()}
            told["useful_from"] = self.useful_from
        return told


@dataclass(frozen=True, eq=False)
class ProxyPlan:
    """A plan, and what its mechanisms did on a public stand-in."""

    plan: Plan
    stand_in: StandIn
    trials: tuple[Trial, ...]
    """Those of which an error is known, the best first."""
    refused: tuple[Trial, ...]
    """The others, each with its problem."""
    questions: int

    @property
    def best(self) -> Trial | None:
        """The mechanism with the least error, of those that may be recommended."""
        return next(filter(self._may_be_chosen, self.trials), None)

    @property
    def recommended(self) -> Trial | None:
        """The best one, unless its answers would be mostly noise for the declared people."""
        best = self.best
        return None if best is None or self.plan.is_noise(best) else best

    def _may_be_chosen(self, trial: Trial) -> bool:
        """What has a forecast as the plan says; of the others, no summary of a sparse table."""
        if trial.forecast is not None:
            return any(trial.forecast is able for able in self.plan.able)
        return FAMILIES[MECHANISMS[trial.mechanism]].forecasts != "declared"

    def why_not(self) -> str:
        """Why nothing is recommended, and what would help."""
        if self.best is None or self.plan.people is None:
            return self.plan.why_not()
        return self.plan.why_noise(self.best, self.plan.people)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before believing the figures."""
        found, rows, people = [], self.stand_in.rows, self.plan.people
        if (made := self.stand_in.favours) is not None:
            kind = f"{made} and mechanisms like it"
            found.append(f"The rows were drawn from a release of {made}, which favours {kind}.")
        if (warning := self.stand_in.warning) is not None:
            found.append(f"{warning[0].upper()}{warning[1:]}.")
        if people is not None and not people / 2 <= rows <= 2 * people:
            found.append(
                f"The proxy has {rows:,} rows, the table about {people:,}: noise stays the same,"
                " but what models and adaptive mechanisms miss grows with the rows."
            )
        if untried := [trial.mechanism for trial in self.trials if not trial.errors]:
            found.append(f"Too large to try, but known exactly: {', '.join(untried)}.")
        if passed := [t.mechanism for t in takewhile(lambda t: t is not self.best, self.trials)]:
            found.append(
                f"Never chosen by auto: {', '.join(passed)}. It must fit the memory, and a summary"
                " of a sparse table a bounded size, little noise and a declared number of people."
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, and what was measured."""
        return self.plan.to_dict() | self.figures()

    def figures(self) -> dict[str, Any]:
        """What was measured, and what follows."""
        best = self.recommended
        return {
            "recommended": best.mechanism if best else None,
            "why_not": None if best else self.why_not(),
            "proxy": self.stand_in.told,
            "questions": self.questions,
            "measured": [trial.to_dict() | {"seconds": trial.seconds} for trial in self.trials],
            "not_tried": {trial.mechanism: trial.problem for trial in self.refused},
            "notes": list(self.notes),
        }

    def record(self, best: Trial) -> dict[str, Any]:
        """What a manifest says of the plan: it follows from what is public."""
        forecast = {} if best.forecast is None else best.forecast.to_dict()
        return {
            "workload": self.plan.workload.name,
            "people": self.plan.people,
            "recommended": {**forecast, **best.to_dict()},
            "others": {trial.mechanism: trial.error for trial in self.trials if trial is not best},
            "proxy": {**self.stand_in.told, "questions": self.questions},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        best = self.recommended
        if best is None:
            return self.why_not()
        return f"{best.mechanism}: a standard error of {best.rmse:.3g} on {self.stand_in.title}"


def plan_on_proxy(
    schema: Schema,
    *,
    epsilon: EpsilonLike,
    proxy: Any,
    public: bool = False,
    private: Any = None,
    workload: str | Workload = DEFAULT,
    people: int | None = None,
    typical: float = 1.0,
    budgets: bool = False,
    runs: int = RUNS,
    proxy_table: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> ProxyPlan:
    """Try every mechanism on public rows that are like the private ones. Spends nothing.

    `proxy` is a release of this dataset or another, whose rows are drawn, or with `public=True` a
    table in any form that `publish` takes. `private` is the table that is to be published, which
    is never read: a proxy that is one of its files is refused, and so is any file that a private
    table was published from. The other parameters are those of `plan`, `proxy_table` and `csv`
    those of `publish`; `progress` is told how many mechanisms are done, and of how many.
    """
    proxy = table_in(proxy, proxy_table)
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        raise OptionError(f"runs must be a whole number from 1 to {MOST_RUNS}")
    found = plan(
        schema, epsilon=epsilon, workload=workload, people=people, typical=typical, budgets=budgets
    )
    stand_in = read_stand_in(
        proxy, schema, public=public, people=found.people, csv=csv, private=private
    )
    asked = _Asked.of(found, stand_in)
    trials = [_tried(offer, asked, runs) for offer in _watched(list(_offers(found)), progress)]
    known = sorted((trial for trial in trials if trial.rmse < math.inf), key=lambda t: t.error)
    refused = tuple(trial for trial in trials if trial.rmse == math.inf)
    return ProxyPlan(found, stand_in, tuple(known), refused, len(asked.questions))


def _watched(offers: list[Trial], progress: Progress | None) -> Iterator[Trial]:
    """The offers one by one, and word of how many are done."""
    tell = progress or (lambda done, total: None)
    for done, offer in enumerate(offers):
        tell(done, len(offers))
        yield offer
    tell(len(offers), len(offers))


def _offers(found: Plan) -> Iterator[Trial]:
    """Every mechanism: as the plan would publish it, or with its own defaults."""
    planned: dict[str, Forecast | SummaryForecast] = {}
    forecasts: list[Forecast | SummaryForecast] = [*found.forecasts, *found.summaries]
    for forecast in sorted(forecasts, key=lambda one: one.error):
        planned.setdefault(forecast.mechanism, forecast)
    for name in MECHANISMS:
        known = planned.get(name)
        useful = known.useful_from if isinstance(known, Forecast) else math.inf
        yield Trial(name, known.parameters if known else {}, known, useful_from=useful)


@dataclass(frozen=True, repr=False)
class _Asked:
    """Questions of a plan's workload, and the true answers of a stand-in."""

    plan: Plan
    stand_in: StandIn
    questions: QueryList
    truth: NDArray[np.int64]

    @classmethod
    def of(cls, found: Plan, stand_in: StandIn) -> _Asked:
        questions = list_queries(found.workload, QUESTIONS)
        truth = TrueTable.of(stand_in.columns).answers(questions.ranges, questions.unions)
        return cls(found, stand_in, questions, truth)

    def squares(self, trial: Trial, run: int) -> Floats:
        """The square error of every question, of a release with noise of this run's own."""
        schema, epsilon = self.plan.schema, self.plan.epsilon
        key: Key = {"mechanism": trial.mechanism, "repetition": run}
        with spill_folder() as folder:
            release = experiment_release(
                self.stand_in.held(find_mechanism(trial.mechanism).needs),
                schema,
                folder / "tried.release",
                mechanism=trial.mechanism,
                epsilon=epsilon,
                settings=trial.parameters,
                entropy=task_entropy(key, seed=_SEED),
            )
            values, _ = ask_release(release, self.questions)
        return np.asarray(np.square(values - self.truth))

    def mean(self, squares: Floats) -> float:
        """The mean over the workload."""
        return float(np.average(squares, weights=self.questions.weights))

    def by_attributes(self, squares: Floats) -> dict[int, float]:
        """The error of questions by how many attributes they name; the total names none."""
        named, weights = np.minimum(self.questions.named, MOST_NAMED), self.questions.weights
        return {
            number: math.sqrt(float(np.average(squares[these], weights=weights[these])))
            for number in np.unique(named[named > 0]).tolist()
            for these in [named == number]
        }

    def useful_from(self, squares: Floats) -> float:
        """As forecasts have it: if people were spread evenly, and errors were those measured."""
        share = self.questions.coverage(self.plan.schema.shape)
        return typical_ratio(np.sqrt(squares), share, self.questions.weights)


def _tried(offer: Trial, asked: _Asked, runs: int) -> Trial:
    """A mechanism with its errors, or with what keeps it from being tried."""
    try:
        _check(offer, asked.plan)
        return offer if _is_dear(offer) else _measured(offer, asked, runs)
    except HushError as problem:
        return replace(offer, problem=str(problem))
    except MemoryError:
        return replace(offer, problem="there was not enough memory")
    except OSError as problem:
        return replace(offer, problem=problem.strerror or "its release could not be written")


def _check(offer: Trial, found: Plan) -> None:
    """Refuse what cannot be published, and what would take too long to be tried."""
    recipe, schema = find_mechanism(offer.mechanism), found.schema
    recipe.check(schema, epsilon=found.epsilon, settings=offer.parameters)
    if offer.mechanism in LAID_OUT and schema.cells > MOST_CELLS:
        raise OptionError(f"tried on at most {MOST_CELLS:,} cells; there are {schema.cells:,}")


def _is_dear(offer: Trial) -> bool:
    """Whether trying takes much, and would tell nothing that the forecast does not."""
    if not isinstance(offer.forecast, Forecast):
        return False
    needs = offer.forecast.resources
    return needs.seconds > _DEAR or needs.memory > available_memory() / 2


def _measured(offer: Trial, asked: _Asked, runs: int) -> Trial:
    squares: list[Floats] = []
    begun = time.monotonic()
    while len(squares) < runs and (not squares or time.monotonic() - begun < PATIENCE):
        squares.append(asked.squares(offer, len(squares)))
    seconds = (time.monotonic() - begun) / len(squares)
    means = np.mean(squares, axis=0)
    return replace(
        offer,
        errors=tuple(math.sqrt(asked.mean(run)) for run in squares),
        by_attributes=asked.by_attributes(means),
        useful_from=asked.useful_from(means)
        if offer.useful_from == math.inf
        else offer.useful_from,
        seconds=seconds,
    )
