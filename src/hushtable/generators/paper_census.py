"""Censuses like those of the Privelet paper (§8.1, Table 3): Brazil and the United States.

The domain sizes and the levels of the hierarchies are the paper's; the people are made up. Age
follows a population pyramid, work follows age and sex, pay follows the occupation, the age and the
sex, and is skewed; people round their pay, and the highest code holds all who earn more.

| paper | here |
|---|---|
| Age 101 (Brazil), 96 (US) | `age`, whole years from 0 |
| Gender 2, hierarchy of 2 levels | `gender` |
| Occupation 512 (511), 3 levels | `occupation`: 24 groups of 6 to 36 occupations |
| Income 1001 (1020) | `income`, from 0 |
| n = 10 million (8 million) | the default of `rows` |
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.generators.made_up import BLOCK, Codes, Conditional, MadeUpTable, table_of_codes
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

FEMALE, MALE = 0, 1


@dataclass(frozen=True)
class Country:
    """What differs between the two censuses."""

    name: str
    oldest: int
    highest_income: int
    farm_jobs: int
    farm_work: float
    """The weight of farming among the groups of occupations."""
    young: float
    """How much smaller the population is with each year of age."""
    frail: float
    """The age that half of those who reach adulthood reach."""
    typical_income: float
    inequality: float


BRAZIL = Country("brazil", 100, 1000, 33, 16.0, 0.016, 72.0, 75.0, 0.85)
US = Country("us", 95, 1019, 32, 2.0, 0.003, 80.0, 240.0, 0.65)

# group: (occupations, weight, share of women, pay relative to the typical)
_GROUPS: dict[str, tuple[int, float, float, float]] = {
    "Managers": (30, 8.0, 0.38, 2.4),
    "Engineers and scientists": (34, 5.0, 0.25, 2.2),
    "Health professionals": (24, 4.5, 0.72, 2.3),
    "Teachers": (22, 6.0, 0.72, 1.3),
    "Lawyers and social scientists": (18, 2.5, 0.5, 2.1),
    "Artists and media": (18, 1.5, 0.48, 1.2),
    "Technicians": (34, 5.0, 0.35, 1.3),
    "Clerks": (26, 12.0, 0.72, 0.95),
    "Sales": (20, 11.0, 0.5, 0.85),
    "Protective services": (12, 3.0, 0.15, 1.2),
    "Food services": (16, 6.0, 0.6, 0.55),
    "Household services": (18, 8.0, 0.88, 0.5),
    "Health support": (12, 3.0, 0.85, 0.7),
    "Cleaning": (10, 5.0, 0.6, 0.55),
    "Farming and fishing": (0, 0.0, 0.22, 0.5),  # the country's own
    "Construction": (36, 8.0, 0.04, 0.8),
    "Mechanics": (28, 4.5, 0.04, 0.95),
    "Metal and machines": (32, 5.0, 0.12, 0.9),
    "Textiles, food and wood": (32, 5.0, 0.5, 0.65),
    "Plant operators": (22, 4.0, 0.2, 0.85),
    "Drivers": (15, 5.0, 0.06, 0.85),
    "Labourers": (8, 4.0, 0.25, 0.5),
    "Armed forces": (6, 0.8, 0.12, 1.1),
}
# Out of work: (pay relative to the typical, share without any)
_OTHERS: dict[str, tuple[float, float]] = {
    "Small children": (0.0, 1.0),
    "Pupils and students": (0.15, 0.8),
    "Homemakers": (0.12, 0.7),
    "Unemployed": (0.2, 0.5),
    "Retired": (0.65, 0.05),
    "Living on property": (1.8, 0.0),
}
_NO_PAY_AT_WORK = 0.015
_ROUNDED = 0.3
_WOMENS_PAY = 0.82


def brazil(rows: int = 10_000_000, *, seed: int = 1) -> MadeUpTable:
    """Brazil-like people: 101 ages × 2 × 512 occupations × 1001 incomes."""
    return _census(BRAZIL, rows, seed)


def us(rows: int = 8_000_000, *, seed: int = 1) -> MadeUpTable:
    """US-like people: 96 ages × 2 × 511 occupations × 1020 incomes."""
    return _census(US, rows, seed)


def _census(country: Country, rows: int, seed: int) -> MadeUpTable:
    ages = Conditional(_age_weights(country)[None])
    women = _share_of_women(country)
    work = _work_weights(country)
    occupations = Conditional(work.reshape(-1, work.shape[-1]))
    pay, unpaid = _pay_by_occupation(country)

    def draw(random: np.random.Generator) -> Codes:
        age = ages.draw(np.zeros(BLOCK, np.int64), random)
        gender = np.where(random.random(BLOCK) < women[age], FEMALE, MALE)
        job = occupations.draw(age * 2 + gender, random)
        typical = country.typical_income * pay[job] * _career(age)
        typical *= np.where(gender == FEMALE, _WOMENS_PAY, 1.0)
        income = typical * np.exp(random.normal(0.0, country.inequality, BLOCK))
        income = np.where(random.random(BLOCK) < _ROUNDED, np.round(income, -1), income)
        income = np.where(random.random(BLOCK) < unpaid[job], 0.0, income)
        return age, gender, job, np.minimum(income, country.highest_income).astype(np.int64)

    return table_of_codes(_schema(country), rows, draw, seed=seed)


def _schema(country: Country) -> Schema:
    tree = {group: [f"{group} {i + 1}" for i in range(jobs)] for group, jobs, *_ in _work(country)}
    tree["Not at work"] = list(_OTHERS)
    return Schema(
        name=country.name,
        budget=Fraction(10),
        attributes=(
            ordinal("age", IntegerRange(0, country.oldest)),
            nominal("gender", Hierarchy.flat(["female", "male"])),
            nominal("occupation", Hierarchy.from_tree(tree)),
            ordinal("income", IntegerRange(0, country.highest_income)),
        ),
    )


def _work(country: Country) -> list[tuple[str, int, float, float, float]]:
    """The groups of occupations of a country: how many, weight, share of women, pay."""
    own = {"Farming and fishing": (country.farm_jobs, country.farm_work)}
    return [
        (group, *own.get(group, (jobs, weight)), women, pay)
        for group, (jobs, weight, women, pay) in _GROUPS.items()
    ]


def _age_weights(country: Country) -> NDArray[np.float64]:
    ages = np.arange(country.oldest + 1)
    alive = 1 / (1 + np.exp((ages - country.frail) / 6.5))
    bulge = 1 + 0.3 * np.exp(-(((ages - 45) / 9) ** 2))
    return np.asarray(np.exp(-country.young * ages) * alive * bulge)


def _share_of_women(country: Country) -> NDArray[np.float64]:
    ages = np.arange(country.oldest + 1)
    return 0.488 + 0.2 * np.clip((ages - 40) / 60, 0, 1) ** 2


def _work_weights(country: Country) -> NDArray[np.float64]:
    """The probability of every occupation, by age and gender."""
    ages = np.arange(country.oldest + 1)[:, None]
    small = (ages < 6).astype(float)
    learning = (1 - small) / (1 + np.exp((ages - 20.5) / 2.2))
    retired = (1 - small) / (1 + np.exp((64 - ages) / 3.5))
    free = np.clip(1 - small - learning - retired, 0, 1)
    at_work = free * np.array([0.66, 0.9])
    home = free * np.array([0.26, 0.02])
    idle, rich = free * 0.065, free * 0.015
    parts = (small, learning, home, idle, retired, rich)
    others = np.stack([np.broadcast_to(part, at_work.shape) for part in parts], axis=-1)
    jobs = _job_weights(country)
    jobs *= (at_work / jobs.sum(axis=-1))[..., None]
    return np.concatenate([jobs, others], axis=-1)


def _job_weights(country: Country) -> NDArray[np.float64]:
    """How common each occupation is among those at work, by age and gender, up to a factor.

    Some occupations of a group are far more common than others, and better pay comes with age.
    """
    ages = np.arange(country.oldest + 1)
    columns = []
    for _, jobs, weight, women, pay in _work(country):
        common = 1 / np.arange(1, jobs + 1) ** 0.8
        by_age = pay ** ((ages - 40) / 60)
        by_gender = np.array([women, 1 - women])
        share = weight * common / common.sum()
        columns.append(by_age[:, None, None] * by_gender[None, :, None] * share)
    return np.concatenate(columns, axis=-1)


def _pay_by_occupation(country: Country) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each occupation's typical pay, and the share of its people who have none."""
    at_work = [pay * np.linspace(0.8, 1.4, jobs) for _, jobs, _, _, pay in _work(country)]
    pay = np.concatenate([*at_work, [pay for pay, _ in _OTHERS.values()]])
    unpaid = np.full(len(pay), _NO_PAY_AT_WORK)
    unpaid[-len(_OTHERS) :] = [none for _, none in _OTHERS.values()]
    return pay, unpaid


def _career(age: NDArray[np.int64]) -> NDArray[np.float64]:
    """Pay begins at fourteen, rises until fifty and falls after."""
    return np.where(age < 14, 0.0, np.exp(-(((age - 50) / 36) ** 2)))
