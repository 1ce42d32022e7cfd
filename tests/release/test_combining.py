"""Releases of one table as one: which are, which are not, and when intervals are estimates."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hushtable as ht
from hushtable.errors import OptionError, QueryError, ReleaseError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.query.law import NoiseSum
from hushtable.release.combining import planned_from
from hushtable.schema import Schema

TOWN: dict[str, Any] = {
    "name": "town",
    "budget": "90",
    "attribute": [
        {"name": "age", "kind": "ordinal", "range": [0, 7]},
        {"name": "sex", "kind": "nominal", "values": ["f", "m"]},
    ],
}


class Owner:
    """A table, and releases of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, 0
        lines = [f"{i % 8},{'fm'[i % 3 == 0]},p{i % 90}\n" for i in range(300)]
        (folder / "town.csv").write_text("age,sex,who\n" + "".join(lines))

    def publish(self, schema: dict[str, Any] = TOWN, **options: Any) -> ht.Release:
        self.made += 1
        call: dict[str, Any] = {"epsilon": "1", "mechanism": "basic", "snapshot": "2026-10"}
        call |= {"ledger": self.folder / f"{schema.get('dataset', schema['name'])}.ledger"}
        out = self.folder / f"{self.made}.release"
        table = Schema.from_dict(schema)
        return ht.publish(self.folder / "town.csv", table, out=out, **{**call, **options})


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(tmp_path)


def rewritten(release: ht.Release, **entries: Any) -> ht.Release:
    """The same release with other words in its manifest."""
    file = release.folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))
    return ht.open(release.folder)


# ── what is promised ─────────────────────────────────────────────────────────────────────────────


def test_two_releases_of_one_snapshot_answer_more_closely_than_each(owner: Owner) -> None:
    one, other = owner.publish(), owner.publish(epsilon="0.5", mechanism="privelet")
    both = ht.combine(one, ht.open(other.folder))
    assert (both.why_estimate, both.estimate, both.private) == ("", False, True)
    assert both.epsilon == Fraction(3, 2) and both.schema == one.schema
    assert both.delta == pytest.approx(sum(r.manifest["privacy"]["delta"] for r in (one, other)))
    for where in (None, "age < 3", "sex = 'f' AND age = 2"):
        answers = [release.count(where) for release in (one, other)]
        precision = [1 / answer.law.variance for answer in answers]
        expected = sum(w * a.value for w, a in zip(precision, answers, strict=True))
        found = both.count(where)
        assert found.value == pytest.approx(expected / sum(precision))
        assert found.stderr**2 == pytest.approx(1 / sum(precision))
        assert not found.estimate and found.stderr < min(answer.stderr for answer in answers)
    assert "average of 2 releases" in found.note and "ε = 1.5" in found.note
    assert repr(both) == "<2 releases of 'town' combined, ε = 1.5>"


def test_every_kind_of_question_may_be_asked(owner: Owner) -> None:
    both = ht.combine(owner.publish(), owner.publish(), owner.publish(mechanism="marginals"))
    for answer in (
        both.sum("age"),
        both.mean("age"),
        both.quantile("age"),
        both.share("sex = 'f'"),
    ):
        assert not answer.estimate and answer.interval()[0] <= answer.value <= answer.interval()[1]
    table = both.sql("SELECT sex, COUNT(*), AVG(age) FROM town GROUP BY sex")
    assert len(table) == 2 and not table.estimate
    assert len(both.table("age", "sex")) == 16
    with pytest.raises(QueryError, match="no table 'twon'"):
        both.sql("SELECT COUNT(*) FROM twon")


def test_answers_of_two_months_differ_by_the_noise_of_both(owner: Owner) -> None:
    march, april = owner.publish(snapshot="2026-03"), owner.publish(snapshot="2026-04")
    change = april.count("age < 3") - march.count("age < 3")
    assert change.law.variance == pytest.approx(2 * march.count("age < 3").law.variance)
    assert not change.estimate


def test_answers_that_share_a_release_are_no_strangers(owner: Owner) -> None:
    one, other, third = owner.publish(), owner.publish(), owner.publish()
    both = ht.combine(one, other)
    assert isinstance((both.count() + third.count()).law, NoiseSum)
    for release in (one, ht.open(other.folder), ht.combine(other, third)):
        shared = both.count() + release.count()
        assert not isinstance(shared.law, NoiseSum)
        halves = both.count().law.half_width(0.95) + release.count().law.half_width(0.95)
        assert shared.law.half_width(0.95) > halves


# ── what is an estimate, and says so everywhere ──────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"snapshot": None}, "not all releases name the snapshot"),
        ({"mechanism": "threshold"}, "answers of threshold have errors beside noise"),
        ({"mechanism": "privbayes"}, "answers of privbayes have errors beside noise"),
        ({"entropy": SeededEntropy(1)}, "noise was injected"),
    ],
)
def test_what_a_law_does_not_tell_makes_an_estimate(
    owner: Owner, given: dict[str, Any], why: str
) -> None:
    both = ht.combine(owner.publish(), owner.publish(**given))
    assert why in both.why_estimate and both.estimate
    for answer in (both.count(), both.sum("age"), both.mean("age"), both.quantile("age")):
        assert answer.estimate and "estimate" in str(answer) and answer.to_dict()["estimate"]
    table = both.sql("SELECT sex, COUNT(*) FROM town GROUP BY sex")
    assert table.estimate and table.to_dict()["estimate"] and why in table.note
    assert table.to_pandas()["estimate"].all()


def test_rows_of_a_person_are_chosen_anew_for_every_release(owner: Owner) -> None:
    people = {**TOWN, "unit": {"column": "who", "max_rows": 2}}
    both = ht.combine(owner.publish(people), owner.publish(people))
    assert both.why_estimate == "each release chose by chance which rows of a person count"
    assert both.count().estimate


def test_a_release_that_was_planned_from_the_other_is_no_stranger(owner: Owner) -> None:
    first = owner.publish()
    auto: dict[str, Any] = {"mechanism": "auto", "people": 300}
    second = owner.publish(**auto, proxy=first)
    third = owner.publish(**auto, proxy=second)
    fourth = owner.publish()
    ids = [release.manifest["reservation"] for release in (first, second, third)]
    assert [planned_from(r.manifest) for r in (first, second)] == [[], [ids[0]]]
    assert planned_from(third.manifest) == [ids[1], ids[0]]
    planned = "one release was planned from another"
    for release in (second, third):
        assert planned in ht.combine(first, release).why_estimate
        assert planned not in ht.combine(fourth, release).why_estimate


def test_a_plan_that_does_not_say_what_it_goes_back_to_may_go_back_to_anything(
    owner: Owner,
) -> None:
    first, second = owner.publish(), owner.publish()
    older = rewritten(second, plan={"proxy": {"kind": "release", "reservation": "x"}})
    assert planned_from(older.manifest) is None
    assert "not known from which" in ht.combine(first, older).why_estimate


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


def changed(**entries: Any) -> dict[str, Any]:
    return {**TOWN, **entries}


AGES = {"name": "age", "kind": "ordinal", "range": [0, 9]}


@pytest.mark.parametrize(
    ("schema", "options", "line"),
    [
        (TOWN, {"snapshot": "2026-11"}, "two snapshots, '2026-10' and '2026-11'.*a difference"),
        (changed(name="city"), {}, "two tables, 'town' and 'city'"),
        (changed(dataset="all", unit="one row per person"), {}, "two datasets, 'town' and 'all'"),
        (changed(attribute=TOWN["attribute"][:1]), {}, "only one .* has the attribute 'sex'"),
        (changed(attribute=[AGES, TOWN["attribute"][1]]), {}, "the attribute 'age' differs"),
    ],
)
@pytest.mark.filterwarnings("ignore::hushtable.publishing.ChangedSchemaWarning")
def test_releases_of_different_things_are_refused(
    owner: Owner, schema: dict[str, Any], options: dict[str, Any], line: str
) -> None:
    one, other = owner.publish(), owner.publish(schema, **options)
    with pytest.raises(OptionError, match=line):
        ht.combine(one, other)


def test_one_release_is_not_two(owner: Owner) -> None:
    one = owner.publish()
    for again in (one, ht.open(one.folder)):
        with pytest.raises(OptionError, match="named twice"):
            ht.combine(one, again)
    for too_few in ((), (one,), (one, "town.release")):
        with pytest.raises(OptionError, match="two releases or more"):
            ht.combine(*too_few)  # type: ignore[arg-type]


# ── snapshots ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "word", ["", " 2026", "2026 10", "a/b", "x" * 31, "\n", "0123456789abcdef", "D" * 20, 7]
)
def test_a_snapshot_is_a_short_word_and_no_checksum(owner: Owner, word: Any) -> None:
    with pytest.raises(OptionError, match=r"a snapshot is a short word, .* never a checksum"):
        owner.publish(snapshot=word)
    assert not list(owner.folder.glob("*.ledger"))
    release = owner.publish()
    with pytest.raises(ReleaseError, match="'snapshot' in the manifest must be a short word"):
        rewritten(release, snapshot=word)


@pytest.mark.parametrize("word", ["2026-10", "Oktober", "v1.2+3", "20261001"])
def test_a_snapshot_is_told_as_it_was_given(owner: Owner, word: str) -> None:
    release = owner.publish(snapshot=word)
    assert ht.open(release.folder).snapshot == word == release.manifest["snapshot"]
    assert owner.publish(snapshot=None).snapshot is None
