"""A small census of twenty-one occupations: for the demo, the tutorial and tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.generators.made_up import BLOCK, MadeUpTable, check_seed
from hushtable.schema import Edges, Hierarchy, IntegerRange, Schema, nominal, ordinal

# group → occupation → (weight among the employed, median income in thousands)
_OCCUPATIONS: dict[str, dict[str, tuple[float, float]]] = {
    "Managers": {"Executives": (2, 95), "Shop managers": (4, 52), "Farm managers": (1, 44)},
    "Professionals": {
        "Engineers": (4, 68),
        "Teachers": (6, 48),
        "Doctors": (1.5, 105),
        "Nurses": (4, 46),
        "Lawyers": (1, 92),
    },
    "Clerks": {"Secretaries": (5, 33), "Bank clerks": (3, 38), "Call centre": (2, 26)},
    "Services": {"Cooks": (5, 23), "Sales": (9, 27), "Carers": (6, 24), "Guards": (2, 28)},
    "Trades": {"Builders": (6, 34), "Electricians": (3, 42), "Mechanics": (4, 36)},
    "None": {"Students": (0, 6), "Retired": (0, 21), "Not working": (0, 10)},
}

_INCOME_EDGES = (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100, 120, 150, 200, 300)


def census_schema(*, name: str = "census", budget: str = "3") -> Schema:
    """A public description of the generated census: age, sex, occupation and income."""
    tree = {group: list(jobs) for group, jobs in _OCCUPATIONS.items()}
    return Schema(
        name=name,
        budget=Fraction(budget),
        attributes=(
            ordinal("age", IntegerRange(0, 99)),
            nominal("sex", Hierarchy.flat(["F", "M"])),
            nominal("occupation", Hierarchy.from_tree(tree)),
            ordinal("income", Edges(_INCOME_EDGES)),
        ),
    )


def census_table(rows: int = 500_000, *, seed: int = 1) -> MadeUpTable:
    """The same kind of people as `census`, in any number: block by block."""
    check_seed(seed)
    return MadeUpTable(
        census_schema(), rows, lambda k: _people(BLOCK, np.random.default_rng([seed, 1, k]))
    )


def census(rows: int, *, seed: int = 1) -> pa.Table:
    """People with an age, a sex, an occupation that fits the age and an income that fits both."""
    return _people(rows, np.random.default_rng(seed))


def _people(rows: int, random: np.random.Generator) -> pa.Table:
    age = _ages(rows, random)
    sex = random.random(rows) < 0.49 + 0.003 * (50 - age) / 10
    jobs = [job for group in _OCCUPATIONS.values() for job in group]
    job = _jobs(age, random, jobs)
    medians = np.array([median for group in _OCCUPATIONS.values() for _, median in group.values()])
    experience = 1 + 0.012 * np.clip(age - 25, 0, 30)
    income = medians[job] * experience * np.exp(random.normal(0, 0.45, rows))
    income[age < 15] = 0
    return pa.table(
        {
            "age": age.astype(np.int32),
            "sex": _labels(sex.astype(np.int8), ["F", "M"]),
            "occupation": _labels(job.astype(np.int8), jobs),
            "income": np.round(income, 1),
        }
    )


def _ages(rows: int, random: np.random.Generator) -> NDArray[np.int64]:
    """A population that shrinks with age, with a bulge of people born after a war."""
    ages = np.arange(100)
    weights = 1 / (1 + np.exp((ages - 78) / 7)) * (1 + 0.35 * np.exp(-(((ages - 57) / 8) ** 2)))
    return random.choice(ages, rows, p=weights / weights.sum())


def _jobs(
    age: NDArray[np.int64], random: np.random.Generator, jobs: list[str]
) -> NDArray[np.int64]:
    weights = np.array([weight for group in _OCCUPATIONS.values() for weight, _ in group.values()])
    job = random.choice(len(jobs), len(age), p=weights / weights.sum())
    draw = random.random(len(age))
    job[(age < 16) | ((age < 26) & (draw < 0.85 - 0.07 * (age - 16)))] = jobs.index("Students")
    job[(age >= 16) & (draw > 0.9) & (age < 65)] = jobs.index("Not working")
    job[(age >= 60) & (draw < (age - 58) / 10)] = jobs.index("Retired")
    return job


def _labels(codes: NDArray[np.int8], labels: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels)).cast(pa.string())
