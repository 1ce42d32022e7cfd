"""The experiments of the PrivBayes papers: marginals of synthetic rows, and what they can teach.

J. Zhang, G. Cormode, C. Procopiuc, D. Srivastava, X. Xiao. PrivBayes: private data release via
Bayesian networks. SIGMOD 2014; ACM TODS 42(4), 2017. The overview (X. Xiao, 2014) gives the reasons
that are judged here. The table is Adult where it is given, and a generated census otherwise.

| paper | here |
|---|---|
| α-way marginals, average variation distance | `ways`, `distance` |
| NoPrivacy, Majority | trained on real rows, `majority` |
| noise in the whole frequency matrix | `whole table`: `basic`, where the cells can be listed |

Deviations. The classifier is logistic regression, not a support vector machine; `independent` takes
every column as it is, in another order of rows, and `bootstrap` draws rows of the table itself:
neither is private. ε is under add-remove, where the papers replace a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushtable.evaluation.experiment import Key, ResultRow, Task
from hushtable.generators.small_census import census, census_schema
from hushtable.schema import Schema
from hushtable_papers.claims import Claim, Look, NotMeasuredError, Results, below, goes
from hushtable_papers.figure import Figure, Plot, Scope
from hushtable_papers.real_tables import adult
from hushtable_papers.synthetic_rows import (
    CodedTable,
    Columns,
    Marginals,
    Target,
    majority_misclassified,
    misclassified,
    synthetic,
)

EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
WHOLE = "whole table"
MOST_CELLS = 10**6
"""A larger domain is not noised as a whole: that is what PrivBayes is for."""
TESTED = 5
"""One row in so many is kept from training, to test by."""
_SEED = 1


def table(scope: Scope) -> CodedTable:
    """Adult where it is given, otherwise the generated census."""
    if "adult" not in scope.data:
        return CodedTable.of(
            "census", census_schema(), census(scope.size(1_000, 50_000), seed=_SEED)
        )
    schema, rows = adult(scope.data["adult"])
    found = CodedTable.of("adult", schema, rows)
    some = np.random.default_rng(_SEED).permutation(found.rows)
    return found.take(some[: scope.size(1_000, found.rows)])


def epsilons(scope: Scope) -> tuple[str, ...]:
    """Those of the papers; their ends for a quick run."""
    return EPSILONS[:: len(EPSILONS) - 1] if scope.quick else EPSILONS


def targets(schema: Schema) -> list[Target]:
    """What the papers' classifiers tell of Adult; the like for the census."""
    if schema.name == "adult":
        degrees = ("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")
        return [
            Target.of("earns over 50K", schema, "salary-class", ">50K"),
            Target.of("is female", schema, "sex", "Female"),
            Target.of("never married", schema, "marital-status", "Never-married"),
            Target.of("has a degree", schema, "education", *degrees),
        ]
    income, age = schema.index("income"), schema.index("age")
    jobs = ("Students", "Retired", "Not working")
    return [
        Target("earns 40 or more", income, tuple(range(8, schema.shape[income]))),
        Target("is 60 or older", age, tuple(range(60, schema.shape[age]))),
        Target.of("does not work", schema, "occupation", *jobs),
    ]


def _tasks(
    experiment: str,
    methods: dict[str, tuple[str, ...]],
    measure: Callable[[CodedTable, str, str, Key, int], Iterator[ResultRow]],
    known: CodedTable,
    repetitions: int,
) -> list[Task]:
    """A task for each method, ε and repetition; a method without ε has none."""
    tasks = []
    for method, epsilons in methods.items():
        for epsilon in epsilons:
            for repetition in range(repetitions):
                key: Key = {
                    "experiment": experiment,
                    "data": known.name,
                    "rows": known.rows,
                    "method": method,
                    "epsilon": float(epsilon) if epsilon else None,
                    "repetition": repetition,
                    "seed": _SEED,
                }
                run = partial(measure, known, method, epsilon, key, repetition)
                tasks.append(Task(key, run))
    return tasks


# ── marginals ────────────────────────────────────────────────────────────────────────────────────


def marginal_tasks(scope: Scope) -> list[Task]:
    """Distances of the rows of each method, at each ε."""
    known = table(scope)
    true = Marginals(known)
    methods = {"privbayes": epsilons(scope), "independent": ("",), "bootstrap": ("",)}
    if known.schema.cells <= MOST_CELLS:
        methods[WHOLE] = epsilons(scope)
    measure = partial(_distances, true)
    return _tasks("privbayes-marginals", methods, measure, known, scope.size(1, 10))


def _distances(
    true: Marginals, known: CodedTable, method: str, epsilon: str, key: Key, repetition: int
) -> Iterator[ResultRow]:
    rows = _rows(known, method, epsilon, key, repetition)
    for ways, distance in true.distances(rows).items():
        yield {"ways": ways, "distance": distance}


def _rows(known: CodedTable, method: str, epsilon: str, key: Key, repetition: int) -> Columns:
    random = np.random.default_rng([_SEED, repetition])
    if method == "independent":
        return [random.permutation(column) for column in known.columns]
    if method == "bootstrap":
        return known.take(random.integers(0, known.rows, known.rows)).columns
    mechanism = "basic" if method == WHOLE else method
    return synthetic(known, key, mechanism=mechanism, epsilon=epsilon, seed=_SEED + repetition)


def at_every_epsilon(results: pa.Table) -> pa.Table:
    """What has no ε drawn as a line all along: its rows at every ε."""
    private = results.filter(pc.is_valid(results["epsilon"]))
    others = results.filter(pc.is_null(results["epsilon"]))
    place = others.column_names.index("epsilon")
    copies = [
        others.set_column(place, "epsilon", pa.array([epsilon] * others.num_rows, pa.float64()))
        for epsilon in pc.unique(private["epsilon"]).to_pylist()
    ]
    return pa.concat_tables([private, *copies])


def _beats_independent(results: Results) -> Look:
    curve = results.curve("distance", "epsilon", method="privbayes")
    alone, again = (results.runs("distance", method=m) for m in ("independent", "bootstrap"))
    seen = f"{curve.text(4)}; independent {alone.mean():.4f}, bootstrap {again.mean():.4f}"
    if not curve.enough:
        return Look(seen, None)
    pairs = zip(curve.values, curve.runs, strict=True)
    nearer = [value for value, held in pairs if below(held, alone)]
    if not nearer:
        return Look(seen, False, "at no ε", clear=True)
    why = "" if len(nearer) == len(curve.values) else f"from ε = {min(nearer):g} on"
    return Look(seen, max(curve.values) in nearer, why, clear=True)


def _beats_whole(results: Results) -> Look:
    """The overview's reason: noise in small tables does less harm than noise in all cells."""
    if WHOLE not in results.values("method"):
        raise NotMeasuredError("the domain is too large to be noised as a whole")
    ours, whole = (results.curve("distance", "epsilon", method=m) for m in ("privbayes", WHOLE))
    seen = f"{ours.text(4)}; whole table {whole.text(4)}"
    if not ours.enough:
        return Look(seen, None)
    pairs = zip(ours.values, ours.runs, whole.runs, strict=True)
    worse = [f"{value:g}" for value, small, large in pairs if not below(small, large)]
    why = f"not at ε = {', '.join(worse)}" if worse else ""
    return Look(seen, not worse, why, clear=True)


_MARGINALS = (
    Claim(
        "More privacy costs accuracy: the distance falls as ε grows ({ways}-way)",
        goes("distance", "epsilon", "falls", digits=4),
        "not clearly so",
        only={"method": "privbayes"},
        each="ways",
    ),
    Claim(
        "A network tells how attributes depend: nearer than independent columns ({ways}-way)",
        _beats_independent,
        only={"ways": (2, 3)},
        each="ways",
    ),
    Claim(
        "Noise in small tables does less harm than noise in the whole table ({ways}-way)",
        _beats_whole,
        each="ways",
    ),
)


# ── classifiers ──────────────────────────────────────────────────────────────────────────────────


def classifier_tasks(scope: Scope) -> list[Task]:
    """What classifiers tell wrongly that learned from synthetic rows, real ones, and nothing."""
    methods = {"privbayes": epsilons(scope), "real rows": ("",), "majority": ("",)}
    return _tasks("privbayes-classification", methods, _mistakes, table(scope), scope.size(1, 5))


def _mistakes(
    known: CodedTable, method: str, epsilon: str, key: Key, repetition: int
) -> Iterator[ResultRow]:
    order = np.random.default_rng([_SEED, 2, repetition]).permutation(known.rows)
    kept = known.rows // TESTED
    train, test = known.take(order[kept:]), known.take(order[:kept]).columns
    rows = train.columns
    if method == "privbayes":
        rows = _rows(train, method, epsilon, key, repetition)
    for target in targets(known.schema):
        if method == "majority":
            wrong = majority_misclassified(rows, test, target)
        else:
            wrong = misclassified(rows, test, known.schema.shape, target)
        yield {"target": target.name, "misclassified": wrong}


def _beats_guess(results: Results) -> Look:
    curve = results.curve("misclassified", "epsilon", method="privbayes")
    guess, real = (results.runs("misclassified", method=m) for m in ("majority", "real rows"))
    best, epsilon = curve.runs[-1], curve.values[-1]
    seen = (
        f"{best.mean():.3f} at ε = {epsilon:g}, trained on real rows {real.mean():.3f},"
        f" majority {guess.mean():.3f}"
    )
    return Look(seen, below(best, guess), clear=True)


_CLASSIFIERS = (
    Claim(
        "More privacy costs accuracy: fewer mistakes as ε grows ({target})",
        goes("misclassified", "epsilon", "falls", digits=3),
        "not clearly so",
        only={"method": "privbayes"},
        each="target",
    ),
    Claim(
        "Synthetic rows serve to train a classifier: better than the majority ({target})",
        _beats_guess,
        "the network does not lead to it",
        each="target",
    ),
)


FIGURES = (
    Figure(
        "privbayes-marginals",
        "PrivBayes: distances of the marginals of synthetic rows, against ε",
        marginal_tasks,
        [
            Plot(
                "privbayes-marginals",
                "Synthetic rows: mean total variation distance of marginals",
                "epsilon", "distance", panels="ways", shown=at_every_epsilon,
            )
        ],
        _MARGINALS,
        minutes=2,
    ),
    Figure(
        "privbayes-classification",
        "PrivBayes: classifiers that learned from synthetic rows, against ε",
        classifier_tasks,
        [
            Plot(
                "privbayes-classification",
                "Classifiers that learned from synthetic rows, tested on real ones",
                "epsilon", "misclassified", panels="target", log="x", shown=at_every_epsilon,
            )
        ],
        _CLASSIFIERS,
        minutes=2,
    ),
)  # fmt: skip
