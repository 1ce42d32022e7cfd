"""A survey of sixteen questions: the kind of wide table that people have, for the tutorial."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

from hushtable.arrays import Floats, Integers
from hushtable.generators.made_up import BLOCK, Conditional, MadeUpTable, check_seed, decoder_of
from hushtable.schema import Edges, Hierarchy, IntegerRange, Labels, Schema, nominal, ordinal

_REGIONS = {
    "North": ["Coast", "Lakes", "Moors"],
    "South": ["Downs", "Harbour", "Vale", "Weald"],
    "East": ["Fens", "Broads", "Plain"],
    "West": ["Hills", "Valleys", "Marches", "Islands"],
}
_SECTORS = {
    "Making": ["Farming", "Industry", "Building"],
    "Private services": ["Trade", "Transport", "Hotels", "Finance", "Computing"],
    "Public services": ["Schools", "Health care", "Offices", "Police"],
    "None": ["Not at work"],
}
_INCOME = (0, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 100, 130, 180, 300)
_WORK = ["Employed", "Self-employed", "Looking for work", "Student", "Retired", "At home"]


def survey_schema(*, name: str = "survey", budget: str = "3") -> Schema:
    """A public description of the survey: sixteen attributes, 3·10¹³ cells."""
    flat, ordered = Hierarchy.flat, Labels
    return Schema(
        name=name,
        budget=Fraction(budget),
        attributes=(
            ordinal("age", IntegerRange(18, 90)),
            nominal("sex", flat(["F", "M"])),
            nominal("region", Hierarchy.from_tree(_REGIONS)),
            ordinal("settlement", ordered(("Village", "Town", "City"))),
            ordinal(
                "education",
                ordered(("None", "Primary", "Secondary", "Vocational", "Bachelor", "Master")),
            ),
            nominal("marital", flat(["Single", "Married", "Divorced", "Widowed"])),
            ordinal("children", IntegerRange(0, 5)),
            nominal("work", flat(_WORK)),
            nominal("sector", Hierarchy.from_tree(_SECTORS)),
            ordinal("income", Edges(_INCOME)),
            nominal("home", flat(["Owned", "Rented", "Free"])),
            ordinal("rooms", IntegerRange(1, 8)),
            nominal("transport", flat(["Car", "Bus", "Train", "Bicycle", "On foot"])),
            ordinal("internet", ordered(("Never", "Rarely", "Weekly", "Daily"))),
            ordinal("health", ordered(("Very bad", "Bad", "Fair", "Good", "Very good"))),
            ordinal("satisfaction", IntegerRange(0, 10)),
        ),
    )


def survey(rows: int = 100_000, *, seed: int = 1) -> MadeUpTable:
    """People whose answers depend on each other, in any number: block by block."""
    check_seed(seed)
    schema = survey_schema()
    decode, place = decoder_of(schema), schema.index("income")

    def block(k: int) -> pa.Table:
        codes, earned = _answers(np.random.default_rng([seed, 1, k]))
        return decode(codes).set_column(place, "income", pa.array(earned))

    return MadeUpTable(schema, rows, block)


def _answers(random: np.random.Generator) -> tuple[tuple[Integers, ...], Floats]:
    """The codes of a block of people, question by question, and what they earn, in thousands."""
    ages = np.arange(18, 91)
    bulge = 1 + 0.35 * np.exp(-(((ages - 57) / 8) ** 2))
    age = _drawn(_law(bulge / (1 + np.exp((ages - 78) / 7))), random)
    years = age + 18.0
    sex = _drawn(_law(np.array([0.51, 0.49])), random)
    region = _drawn(_law(np.array([5, 2, 1, 6, 9, 4, 3, 2, 2, 4, 3, 2, 1, 0.5])), random)
    settlement = _near(np.where(region % 4 == 0, 1.6, 0.9), 0.8, 3, random)
    education = _near(3.6 - 0.025 * (years - 30) + 0.4 * (settlement - 1), 1.2, 6, random)
    stage = np.digitize(years, [26, 40, 67])
    marital = _given(
        [[92, 7, 1, 0.1], [42, 50, 8, 0.5], [18, 62, 17, 3], [7, 58, 10, 25]], stage, random
    )
    children = _near(np.where(marital == 0, -0.6, 1.5) * (stage > 0), 1.1, 6, random)
    work = _given(
        [[40, 3, 8, 46, 0, 3], [74, 10, 7, 4, 0, 5], [68, 14, 6, 0.5, 5, 6.5], [3, 2, 0, 0, 93, 2]],
        stage,
        random,
    )
    at_work = work < 2
    level = np.digitize(education, [3, 4])
    sector = _given(
        [
            [9, 18, 14, 20, 10, 12, 2, 1, 2, 6, 4, 2, 0],
            [4, 16, 12, 15, 8, 5, 6, 5, 6, 10, 9, 4, 0],
            [1, 8, 3, 6, 3, 2, 13, 14, 18, 14, 15, 3, 0],
        ],
        level,
        random,
    )
    sector = np.where(at_work, sector, 12)
    pay = np.where(at_work, 3.05 + 0.2 * education + 0.006 * np.minimum(years - 25, 30), 2.5)
    pay = pay + 0.25 * np.isin(sector, (6, 7)) - 0.1 * (sex == 0)
    earned = np.minimum(np.round(np.exp(pay + random.normal(0, 0.42, BLOCK)), 1), _INCOME[-1])
    income = np.minimum(np.digitize(earned, _INCOME), len(_INCOME) - 1) - 1
    wealth = (income > 8).astype(np.int64) + (stage > 1)
    home = _given([[20, 72, 8], [45, 50, 5], [74, 22, 4]], wealth, random)
    rooms = _near(1.6 + 0.6 * children + 0.8 * (home == 0) + 0.1 * income, 1.0, 8, random)
    transport = _given(
        [[74, 10, 2, 6, 8], [60, 15, 8, 9, 8], [28, 27, 20, 14, 11]], settlement, random
    )
    internet = _near(3.6 - 0.035 * np.maximum(years - 45, 0) + 0.1 * education, 0.7, 4, random)
    health = _near(4.2 - 0.03 * (years - 25) + 0.06 * income, 0.9, 5, random)
    happy = 4.2 + 0.8 * health + 0.08 * income - 1.5 * (work == 2) + 0.5 * (marital == 1)
    satisfaction = _near(happy, 1.6, 11, random)
    person = (age, sex, region, settlement, education, marital, children)
    living = (work, sector, income, home, rooms, transport, internet, health, satisfaction)
    return person + living, earned


def _law(weights: Floats) -> Conditional:
    return Conditional(weights.reshape(1, -1))


def _drawn(law: Conditional, random: np.random.Generator) -> Integers:
    return law.draw(np.zeros(BLOCK, np.int64), random)


def _given(weights: list[list[float]], law: Integers, random: np.random.Generator) -> Integers:
    """A code for each person, by the row of weights that the person's group has."""
    return Conditional(np.array(weights, np.float64)).draw(law.astype(np.int64), random)


def _near(middle: Floats, spread: float, size: int, random: np.random.Generator) -> Integers:
    """A code for each person about where the person's middle is."""
    drawn = np.rint(middle + spread * random.standard_normal(BLOCK))
    return np.asarray(np.clip(drawn, 0, size - 1), np.int64)
