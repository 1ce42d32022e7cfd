"""Made-up tables: the papers' shapes, the same rows however they are written, plausible people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from tests.shared_sizes import some_of

from hushtable.errors import OptionError
from hushtable.generators import (
    GENERATORS,
    MadeUpTable,
    brazil,
    continuous,
    generate,
    timing,
    unrelated,
    us,
)
from hushtable.generators.made_up import BLOCK, Conditional
from hushtable.kernel.counting import Counts, count_table
from hushtable.schema import Schema

ONE_BY_ONE = ("census", "brazil", "us", "timing", "continuous", "random")
every_generator = pytest.mark.parametrize("name", GENERATORS)


def in_order(counts: Counts) -> tuple[list[int], list[int]]:
    order = np.argsort(counts.codes)
    return counts.codes[order].tolist(), counts.counts[order].tolist()


@pytest.mark.parametrize(
    ("make", "shape"), [(brazil, (101, 2, 512, 1001)), (us, (96, 2, 511, 1020))]
)
def test_the_censuses_have_the_papers_domains(make: object, shape: tuple[int, ...]) -> None:
    schema = make(1).schema  # type: ignore[operator]
    assert schema.shape == shape
    kinds = [attribute.kind for attribute in schema.attributes]
    assert kinds == ["ordinal", "nominal", "nominal", "ordinal"]
    gender, occupation = (schema.attributes[axis].hierarchy for axis in (1, 2))
    # The paper counts levels, the root included.
    assert (gender.height + 1, occupation.height + 1) == (2, 3)
    assert {leaf.depth for leaf in occupation.nodes if leaf.is_leaf} == {2}
    assert len(occupation.level(1)) == 24


def test_the_default_sizes_are_the_papers() -> None:
    assert (brazil().rows, us().rows, timing().rows) == (10_000_000, 8_000_000, 5_000_000)


@pytest.mark.parametrize(("cells", "size"), [(2**22, 45), (2**24, 64), (2**26, 91), (16, 2)])
def test_timing_tables_have_four_equal_axes_and_root_many_groups(cells: int, size: int) -> None:
    schema = timing(10, cells=cells).schema
    assert schema.shape == (size,) * 4
    assert [a.kind for a in schema.attributes] == ["ordinal"] * 2 + ["nominal"] * 2
    for attribute in schema.attributes[2:]:
        assert attribute.hierarchy is not None
        groups = attribute.hierarchy.level(1)
        assert len(groups) == (round(size**0.5) if size > 2 else 2)
        widths = [group.stop - group.start for group in groups]
        assert max(widths) - min(widths) <= 1


def test_timing_rows_are_uniform() -> None:
    counts = timing(4 * BLOCK, cells=256).counts()
    dense = np.zeros(256, int)
    dense[counts.codes] = counts.counts
    assert stats.chisquare(dense).pvalue > 1e-6


@pytest.mark.parametrize("name", some_of(GENERATORS, [*GENERATORS][1::2]))
def test_rows_are_the_same_whatever_the_batches(name: str) -> None:
    made = generate(name, BLOCK + 1500)
    whole = made.table()
    assert whole.num_rows == made.rows == BLOCK + 1500
    for size in (31_013, BLOCK + 1, 10**7):
        batches = list(made.batches(size))
        assert {batch.num_rows for batch in batches[:-1]} <= {size}
        assert pa.concat_tables(batches).equals(whole)


@every_generator
def test_the_seed_and_nothing_else_decides(name: str) -> None:
    first, again, other = (generate(name, 500, seed=seed).table() for seed in (7, 7, 8))
    assert first.equals(again)
    assert not first.equals(other)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_a_longer_table_begins_with_the_shorter_one(name: str) -> None:
    assert generate(name, 2000).table().slice(0, 300).equals(generate(name, 300).table())


@pytest.mark.parametrize("name", some_of(GENERATORS, [*GENERATORS][::2]))
def test_a_file_holds_the_rows_and_the_engine_finds_the_counts(name: str, tmp_path: Path) -> None:
    made = generate(name, 3000)
    told: list[tuple[int, int]] = []
    made.write(tmp_path / "made.parquet", lambda done, total: told.append((done, total)), 1100)
    assert told == [(1100, 3000), (2200, 3000), (3000, 3000)]
    assert [path.name for path in tmp_path.iterdir()] == ["made.parquet"]
    assert pq.read_table(tmp_path / "made.parquet").equals(made.table())
    made.schema.save(tmp_path / "made.toml")
    read = Schema.load(tmp_path / "made.toml")
    assert read == made.schema
    # Every value is one the schema declares: no row is dropped.
    found = count_table(tmp_path / "made.parquet", read)
    assert found.counts.sum() == 3000
    assert in_order(found) == in_order(made.counts())


def test_a_file_that_is_not_whole_is_not_there(tmp_path: Path) -> None:
    def block(k: int) -> pa.Table:
        if k == 2:
            raise OSError
        return timing(10).block(k)

    broken = MadeUpTable(timing(10).schema, 4 * BLOCK, block)
    with pytest.raises(OptionError, match="cannot be written"):
        broken.write(tmp_path / "broken.parquet", size=BLOCK)
    assert not list(tmp_path.iterdir())
    with pytest.raises(OptionError, match="cannot be written"):
        timing(10).write(tmp_path / "nowhere" / "made.parquet")


def test_blocks_differ() -> None:
    made = brazil(2 * BLOCK)
    assert not made.block(0).equals(made.block(1))


def test_a_conditional_law_is_its_weights() -> None:
    class Given(np.random.Generator):
        def random(self, *_: object) -> np.ndarray:  # type: ignore[override]
            return np.array([0.0, 0.2499, 0.25, 0.9999, 0.0, 0.5, 0.75, np.nextafter(1, 0)])

    law = Conditional(np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]]))
    given = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    drawn = law.draw(given, Given(np.random.PCG64(1)))
    assert drawn.tolist()[:7] == [0, 0, 2, 2, 0, 1, 1]
    assert 0 <= drawn[7] <= 2


# ── people ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module", params=[brazil, us], ids=["brazil", "us"])
def people(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    table = request.param(3 * BLOCK).table()
    columns = {name: table[name].to_numpy() for name in ("age", "income")}
    columns["woman"] = table["gender"].to_numpy() == "female"
    columns["group"] = np.array(
        [job.rstrip(" 0123456789") for job in table["occupation"].to_pylist()]
    )
    return columns


def test_people_grow_fewer_with_age_and_women_grow_older(people: dict[str, np.ndarray]) -> None:
    age, woman = people["age"], people["woman"]
    decades = np.bincount(age // 10, minlength=10)
    assert decades[5] > decades[6] > decades[7] > decades[8] > decades[9] > 0
    assert 0.47 < woman[age < 40].mean() < 0.5 < 0.55 < woman[age > 75].mean()


def test_brazil_is_younger_than_the_us() -> None:
    young, old = (make(BLOCK).table()["age"].to_numpy().mean() for make in (brazil, us))
    assert young + 5 < old


def test_pay_rises_with_age_and_falls_at_the_end(people: dict[str, np.ndarray]) -> None:
    age, income = people["age"], people["income"]
    by_age = [income[(age >= low) & (age < low + 10)].mean() for low in (15, 25, 35, 45, 65, 75)]
    assert by_age[0] < by_age[1] < by_age[2] < by_age[3] > by_age[4] > by_age[5]
    assert (income[age < 14] == 0).all()


def test_pay_is_skewed_and_depends_on_occupation_and_gender(people: dict[str, np.ndarray]) -> None:
    income, group, woman = people["income"], people["group"], people["woman"]
    earned = income[income > 0]
    assert earned.mean() > 1.2 * np.median(earned)
    assert np.median(income[group == "Managers"]) > 2.5 * np.median(income[group == "Cleaning"])
    clerks = group == "Clerks"
    assert income[clerks & woman].mean() < 0.9 * income[clerks & ~woman].mean()


def test_work_depends_on_gender_and_age(people: dict[str, np.ndarray]) -> None:
    age, group, woman = people["age"], people["group"], people["woman"]
    assert woman[group == "Construction"].mean() < 0.1
    assert woman[group == "Household services"].mean() > 0.8
    assert (group[age < 6] == "Small children").all()
    assert (group[age > 75] == "Retired").mean() > 0.9
    assert age[group == "Managers"].mean() > age[group == "Cleaning"].mean() + 2


def test_some_occupations_are_far_more_common_than_others(people: dict[str, np.ndarray]) -> None:
    _, sizes = np.unique(people["group"], return_counts=True)
    assert sizes.max() > 10 * np.median(sizes)


def neighbours_alike(made: MadeUpTable) -> float:
    counts = made.counts()
    dense = np.zeros(counts.shape)
    dense.reshape(-1)[counts.codes] = counts.counts
    return float(np.corrcoef(dense[:, :-1].ravel(), dense[:, 1:].ravel())[0, 1])


def test_neighbours_are_alike_in_continuous_data_and_strangers_in_random_data() -> None:
    assert neighbours_alike(continuous(4 * BLOCK, side=32)) > 0.9
    assert abs(neighbours_alike(unrelated(4 * BLOCK, side=32))) < 0.15


# ── asking by name ───────────────────────────────────────────────────────────────────────────────


def test_settings_are_read_as_text() -> None:
    made = generate("sparse-2d", settings={"cells": "400", "density": "0.25", "mean": "10"})
    assert made.schema.shape == (20, 20) and len(made.counts().codes) == 100


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("nowhere", {}, "there is no table 'nowhere'"),
        ("brazil", {"rows": 0}, "rows must be"),
        ("brazil", {"seed": -1}, "seed must be"),
        ("random", {"seed": -1}, "seed must be"),
        ("sparse", {"seed": -1}, "seed must be"),
        ("census", {"seed": True}, "seed must be"),
        ("brazil", {"settings": {"cells": "5"}}, "it has none"),
        ("timing", {"settings": {"cells": "many"}}, "cells must be a whole number"),
        ("timing", {"settings": {"cells": "1"}}, "cells must be"),
        ("continuous", {"settings": {"side": "1"}}, "side must be"),
        ("sparse", {"settings": {"rows": "1"}}, "no setting 'rows'"),
    ],
)
def test_what_cannot_be_made_is_refused(name: str, options: dict, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        generate(name, **options)


def test_a_batch_has_rows() -> None:
    with pytest.raises(OptionError, match="at least one row"):
        next(timing(10).batches(0))
