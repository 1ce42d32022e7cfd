"""Mechanisms tried on public rows: measured beside forecasts, and never on the private table."""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.shared_sizes import some_of

import hushtable as ht
from hushtable.errors import DataError, HushError, OptionError, QueryError
from hushtable.evaluation import proxy as trying
from hushtable.evaluation.proxy import ProxyPlan, Trial, plan_on_proxy
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.evaluation.stand_in import read_stand_in
from hushtable.families import MECHANISMS
from hushtable.schema import Schema

AGE = {"name": "age", "kind": "ordinal", "range": [0, 7]}
JOB = {"name": "job", "kind": "nominal", "values": ["boss", "clerk", "miner"]}
SEX = {"name": "sex", "kind": "nominal", "values": ["f", "m"]}


def schema_of(*attributes: dict[str, Any], **options: Any) -> Schema:
    return Schema.from_dict(
        {"name": "town", "budget": "50", "attribute": list(attributes), **options}
    )


TOWN = schema_of(AGE, JOB, SEX)


def people(rows: int = 400, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    jobs = random.choice(["boss", "clerk", "miner"], rows, p=[0.1, 0.6, 0.3])
    ages = np.clip(random.normal(4, 2, rows), 0, 7).astype(int)
    sexes = np.where((jobs == "miner") | (random.random(rows) < 0.3), "m", "f")
    return pa.table({"age": ages, "job": jobs, "sex": sexes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A public table, and a private one that nothing was published from yet."""
    pq.write_table(people(seed=1), tmp_path / "public.parquet")
    pq.write_table(people(seed=2), tmp_path / "private.parquet")
    return tmp_path


FEW = ("basic", "marginals", "privelet*", "filter-priority", "sketch", "privbayes", "kdtree")


def try_few(patch: pytest.MonkeyPatch, *names: str) -> None:
    patch.setattr(trying, "QUESTIONS", 60)
    patch.setattr(trying, "MECHANISMS", {name: MECHANISMS[name] for name in names})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few questions, and one mechanism of every kind; whoever needs all says so."""
    try_few(monkeypatch, *FEW)


@pytest.fixture
def two_mechanisms(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose errors are known exactly, and one whose errors only trials tell."""
    try_few(monkeypatch, "basic", "privbayes")


@cache
def tried_once() -> ProxyPlan:
    """What several tests look at and none changes."""
    with pytest.MonkeyPatch.context() as patch:
        try_few(patch, *FEW)
        return plan_on_proxy(TOWN, epsilon="1", proxy=people(seed=1), public=True, runs=1)


def tried(folder: Path, **options: Any) -> ProxyPlan:
    call: dict[str, Any] = {"proxy": folder / "public.parquet", "public": True, "runs": 2}
    return plan_on_proxy(TOWN, epsilon="1", **{**call, **options})


def published(folder: Path, schema: Schema = TOWN, **options: Any) -> ht.Release:
    call: dict[str, Any] = {"data": folder / "private.parquet", "schema": schema, "epsilon": "1"}
    call |= {"out": folder / "town.release", "ledger": folder / "town.ledger"}
    return ht.publish(**{**call, **options})


# ── what is measured ─────────────────────────────────────────────────────────────────────────────


def test_every_mechanism_is_tried_or_says_why_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "MECHANISMS", MECHANISMS)
    told: list[tuple[int, int]] = []
    found = tried(folder, progress=lambda done, total: told.append((done, total)))
    assert sorted(t.mechanism for t in (*found.trials, *found.refused)) == sorted(MECHANISMS)
    assert {"privbayes", "ispe", "kdtree", "privelet*", "sketch", "filter"} <= {
        trial.mechanism for trial in found.trials
    }
    assert [trial.error for trial in found.trials] == sorted(trial.error for trial in found.trials)
    assert all(len(trial.errors) == 2 and trial.problem is None for trial in found.trials)
    number = len(MECHANISMS)
    assert told == [(done, number) for done in range(number + 1)]
    exact = {forecast.mechanism: forecast for forecast in found.plan.forecasts}
    for trial in found.trials:
        assert trial.forecast is exact.get(trial.mechanism)
        if trial.forecast:
            assert trial.parameters == trial.forecast.parameters
            assert trial.useful_from == trial.forecast.useful_from


def test_the_same_stand_in_gives_the_same_figures(folder: Path) -> None:
    one, other = (tried(folder, runs=1).to_dict() for _ in range(2))
    for told in (one, other):
        for trial in told["measured"]:
            trial.pop("seconds")
    assert one == other


@pytest.mark.usefixtures("two_mechanisms")
def test_errors_are_those_of_the_workload_against_the_stand_ins_own_counts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With answers that are off by a known amount, every figure can be worked out by hand."""
    off = iter([3.0, 4.0] * len(MECHANISMS))
    rows = people(seed=1).to_pandas()

    def ask(release: ht.Release, asked: Any) -> tuple[Any, Any]:
        truth = [
            _truth(rows, s, e) for s, e in zip(asked.ranges.starts, asked.ranges.stops, strict=True)
        ]
        return np.array(truth) + next(off), None

    monkeypatch.setattr(trying, "ask_release", ask)
    found = tried(folder, workload="marginals:1 + 2*marginals:2 + total")
    for trial in found.trials:
        assert trial.errors == (3.0, 4.0)
        assert trial.rmse == trial.measured == pytest.approx(math.sqrt((9 + 16) / 2))
        assert trial.by_attributes == pytest.approx({1: math.sqrt(12.5), 2: math.sqrt(12.5)})


def _truth(rows: pd.DataFrame, starts: Any, stops: Any) -> int:
    codes = {
        "age": rows["age"],
        "job": rows["job"].map({"boss": 0, "clerk": 1, "miner": 2}),
        "sex": rows["sex"].map({"f": 0, "m": 1}),
    }
    inside = np.ones(len(rows), bool)
    for name, low, high in zip(codes, starts, stops, strict=True):
        inside &= ((codes[name] >= low) & (codes[name] < high)).to_numpy()
    return int(inside.sum())


@pytest.mark.usefixtures("two_mechanisms")
def test_weights_and_numbers_of_attributes_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(release: ht.Release, asked: Any) -> tuple[Any, Any]:
        named = (asked.ranges.stops - asked.ranges.starts < TOWN.shape).sum(axis=1)
        rows = people(seed=1).to_pandas()
        truth = [
            _truth(rows, s, e) for s, e in zip(asked.ranges.starts, asked.ranges.stops, strict=True)
        ]
        return np.array(truth) + np.array([100.0, 1.0, 2.0])[named], None

    monkeypatch.setattr(trying, "ask_release", ask)
    found = tried(folder, workload="marginals:1 + 3*marginals:2", runs=1)
    for trial in found.trials:
        assert trial.by_attributes == pytest.approx({1: 1.0, 2: 2.0})
        assert trial.rmse == pytest.approx(math.sqrt((1 + 3 * 4) / 4))


@pytest.mark.usefixtures("two_mechanisms")
def test_exact_mechanisms_measure_as_forecast(folder: Path) -> None:
    """Of 20 runs of seeded noise on the cells, each an independent draw."""
    found = tried(folder, workload="identity", runs=20)
    basic = next(trial for trial in found.trials if trial.mechanism == "basic")
    assert basic.forecast is not None
    assert basic.rmse == pytest.approx(basic.forecast.rmse, rel=0.1)


@pytest.mark.usefixtures("two_mechanisms")
def test_what_data_depend_on_is_useful_by_its_measured_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = people(seed=1).to_pandas()

    def ask(release: ht.Release, asked: Any) -> tuple[Any, Any]:
        truth = [
            _truth(rows, s, e) for s, e in zip(asked.ranges.starts, asked.ranges.stops, strict=True)
        ]
        return np.array(truth) + 5.0, None

    monkeypatch.setattr(trying, "ask_release", ask)
    found = tried(folder, workload="identity", runs=1)
    useful = {t.mechanism: t.useful_from for t in found.trials}
    assert useful["privbayes"] == pytest.approx(5.0 * TOWN.cells)
    assert useful["basic"] == found.plan.forecasts[0].useful_from != useful["privbayes"]


def test_a_mechanism_that_takes_long_is_run_less_often(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "PATIENCE", 0.0)
    assert {len(trial.errors) for trial in tried(folder, runs=5).trials} == {1}


def test_what_fails_is_listed_with_its_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = trying.ask_release

    def ask(release: ht.Release, asked: Any) -> tuple[Any, Any]:
        if release.mechanism == "kdtree":
            raise QueryError("beyond its tables")
        if release.mechanism == "sketch":
            raise MemoryError
        if release.mechanism == "privelet*":
            raise OSError(28, "No space left on device", "/somewhere/private")
        return real(release, asked)

    monkeypatch.setattr(trying, "ask_release", ask)
    found = tried(folder, runs=1)
    refused = {trial.mechanism: trial.problem for trial in found.refused}
    assert refused == {
        "kdtree": "beyond its tables",
        "sketch": "there was not enough memory",
        "privelet*": "No space left on device",
    }
    assert found.to_dict()["not_tried"] == refused


def test_large_domains_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is exact need not be tried, what lays out cells must not, and models go on."""
    long = {"kind": "ordinal", "range": [0, 2999]}
    wide = schema_of(
        *({"name": f"a{i}", **long} for i in range(2)),
        *({**SEX, "name": f"b{i}"} for i in range(5)),
    )
    random = np.random.default_rng(1)
    table = pa.table({
        **{f"a{i}": random.integers(0, 3000, 300) for i in range(2)},
        **{f"b{i}": random.choice(["f", "m"], 300) for i in range(5)},
    })  # fmt: skip
    try_few(monkeypatch, "basic", "marginals", "privelet*", "privbayes")
    found = plan_on_proxy(
        wide, epsilon="1", proxy=table, public=True, runs=1, workload="marginals:1"
    )
    known = {trial.mechanism: trial for trial in found.trials}
    assert known["basic"].errors == () and known["basic"].rmse == known["basic"].forecast.rmse
    assert known["marginals"].errors and known["privbayes"].errors
    assert any("basic" in note and "exactly" in note for note in found.notes)
    refused = {trial.mechanism: trial.problem for trial in found.refused}
    assert "at most" in refused["privelet*"]


def test_what_lays_out_no_cells_is_tried_on_large_domains(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "MECHANISMS", {"ispe": "regions", "privtree": "splits"})
    axes = [{"name": name, "kind": "ordinal", "range": [0, 2**20 - 1]} for name in "xy"]
    table = pa.table({name: np.arange(300) ** 2 for name in "xy"})
    found = plan_on_proxy(schema_of(*axes), epsilon="1", proxy=table, public=True, runs=1)
    (trial,) = found.trials
    assert trial.mechanism == "privtree" and trial.errors
    (refused,) = found.refused
    assert "lays out all" in str(refused.problem)


@pytest.mark.parametrize("runs", [0, -1, 101, 1.5, True])
def test_runs_are_a_whole_number(folder: Path, runs: Any) -> None:
    with pytest.raises(OptionError, match="runs"):
        tried(folder, runs=runs)


# ── what may stand in ────────────────────────────────────────────────────────────────────────────


def test_a_table_needs_the_owners_word(folder: Path) -> None:
    for table in (folder / "public.parquet", people(), people().to_pandas()):
        with pytest.raises(OptionError, match="--public"):
            read_stand_in(table, TOWN)
        assert read_stand_in(table, TOWN, public=True).rows == 400


def ways(folder: Path) -> dict[str, Any]:
    private = folder / "private.parquet"
    (folder / "link.parquet").symlink_to(private)
    os.link(private, folder / "hard.parquet")
    (folder / "again").symlink_to(folder)
    return {
        "itself": private,
        "as text": str(private),
        "link": folder / "link.parquet",
        "hard link": folder / "hard.parquet",
        "through a folder": folder / "again" / "private.parquet",
        "glob": f"{folder}/pr*.parquet",
        "all": f"{folder}/*.parquet",
        "list": [folder / "public.parquet", folder / "hard.parquet"],
        "tuple": (str(folder / "link.parquet"),),
    }


WAYS = ["itself", "as text", "link", "hard link", "through a folder", "glob", "all", "list"]


@pytest.mark.parametrize("way", [*WAYS, "tuple"])
def test_the_table_to_be_published_is_no_proxy(folder: Path, way: str) -> None:
    given = ways(folder)[way]
    for public in (True, False):
        with pytest.raises(OptionError, match="about to be published"):
            published(folder, proxy=given, public=public)
    # As the private table, the same paths meet a proxy that is one of their files.
    with pytest.raises(OptionError, match="about to be published"):
        published(folder, data=given, proxy=folder / "private.parquet", public=True)
    assert not (folder / "town.ledger").exists() and not (folder / "town.release").exists()


@pytest.mark.parametrize("way", some_of([*WAYS, "tuple"], ["itself", "hard link", "glob", "list"]))
def test_a_file_that_was_published_from_is_no_proxy(folder: Path, way: str) -> None:
    published(folder, mechanism="basic")
    with pytest.raises(OptionError, match="'town' was published from"):
        tried(folder, proxy=ways(folder)[way])
    other = folder / "elsewhere" / "other.parquet"
    other.parent.mkdir()
    pq.write_table(people(seed=3), other)
    with pytest.raises(OptionError, match="'town' was published from"):
        proxy = ways_again(folder)[way]
        published(folder, data=other, proxy=proxy, public=True, out=folder / "b.release")


def ways_again(folder: Path) -> dict[str, Any]:
    for name in ("link.parquet", "hard.parquet", "again"):
        (folder / name).unlink()
    return ways(folder)


def test_nothing_of_a_private_file_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hushtable.evaluation.stand_in.code_table", _never)
    monkeypatch.setattr("builtins.open", _never)
    with pytest.raises(OptionError, match="about to be published"):
        read_stand_in(folder / "private.parquet", TOWN, private=folder / "private.parquet")


def _never(*arguments: Any, **options: Any) -> Any:
    raise AssertionError("the private table was read")


def test_a_table_in_memory_is_not_its_own_proxy(folder: Path) -> None:
    import ibis

    frame, arrow = people().to_pandas(), people()
    counted = ibis.duckdb.connect()
    counted.con.register("arrow", people())
    counted.con.execute("CREATE TABLE people AS SELECT * FROM arrow")
    for data, proxy in (
        (frame, frame),
        (arrow, arrow),
        (counted.table("people"), counted.table("people")),
    ):
        with pytest.raises(OptionError, match="about to be published"):
            published(folder, data=data, proxy=proxy, public=True)
    assert read_stand_in(counted.table("people"), TOWN, public=True, private=frame).rows == 400


def test_files_of_unknown_stores_are_not_read(folder: Path) -> None:
    with pytest.raises(DataError, match="files are read from"):
        tried(folder, proxy="ftp://example.org/private.parquet")


@pytest.mark.parametrize(
    "table",
    [
        people().drop_columns(["job"]),
        pa.table({"age": [99], "job": ["secret"], "sex": ["?"]}),
        people().slice(0, 0),
    ],
    ids=["a column is missing", "no value fits", "empty"],
)
def test_a_proxy_that_does_not_fit_is_refused_in_one_line(table: pa.Table) -> None:
    strict = schema_of(*({**a, "outside": "drop"} for a in (AGE, JOB, SEX)))
    with pytest.raises(DataError) as refused:
        read_stand_in(table, strict, public=True)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value) and "99" not in str(refused.value)


def test_a_release_needs_no_word_but_one_without_privacy_does(folder: Path) -> None:
    private = published(folder, mechanism="basic")
    assert read_stand_in(private, TOWN).rows == private.number_of_rows()
    assert read_stand_in(str(private.folder), TOWN, people=70).rows == 70
    seeded = published(
        folder, mechanism="basic", out=folder / "seeded.release", entropy=SeededEntropy(1)
    )
    with pytest.raises(OptionError, match="--public"):
        read_stand_in(seeded.folder, TOWN)
    assert read_stand_in(seeded.folder, TOWN, public=True).rows > 0


def test_a_folder_that_is_no_release_is_refused(folder: Path) -> None:
    with pytest.raises(HushError):
        read_stand_in(folder, TOWN, public=True)


def test_drawn_rows_are_nobodys(folder: Path) -> None:
    """A release has no ids; its rows stand for people of a table that has them all the same."""
    release = published(folder, mechanism="basic")
    with_ids = schema_of(AGE, JOB, unit={"column": "id", "max_rows": 3})
    assert read_stand_in(release, with_ids, people=50).rows == 50


def test_drawn_rows_are_those_of_the_release(folder: Path) -> None:
    release = published(folder, mechanism="basic", epsilon="20")
    drawn = read_stand_in(release, TOWN, people=1000).held("counts")
    dense = np.zeros(TOWN.cells)
    dense[drawn.codes] = drawn.counts
    expected = np.maximum(release.cells().reshape(-1), 0)
    assert np.abs(dense / 1000 - expected / expected.sum()).max() < 0.01


@pytest.mark.usefixtures("two_mechanisms")
@pytest.mark.parametrize("mechanism", ["privbayes", "basic"])
def test_what_made_the_rows_is_said_to_be_favoured(folder: Path, mechanism: str) -> None:
    release = published(folder, mechanism=mechanism)
    found = tried(folder, proxy=release, public=False, runs=1)
    assert any(f"release of {mechanism}, which favours" in note for note in found.notes)
    assert not any("favours" in note for note in tried_once().notes)


# ── what is chosen ───────────────────────────────────────────────────────────────────────────────


def with_errors(found: ProxyPlan, **errors: float) -> ProxyPlan:
    """The same plan, as if these mechanisms alone had been tried, with these errors."""
    known = {trial.mechanism: trial for trial in found.trials}
    names = {name.replace("_", "-"): error for name, error in errors.items()}
    trials = [replace(known[name], errors=(error,)) for name, error in names.items()]
    return replace(found, trials=tuple(sorted(trials, key=lambda trial: trial.rmse)))


def test_the_least_measured_error_wins() -> None:
    found = tried_once()
    for best in ("basic", "privbayes", "kdtree", "marginals"):
        errors = {"basic": 5.0, "privbayes": 6.0, "kdtree": 7.0, "marginals": 8.0, best: 1.0}
        chosen = with_errors(found, **errors).recommended
        assert chosen is not None and chosen.mechanism == best


def test_summaries_are_chosen_only_where_the_plan_may_choose_them(folder: Path) -> None:
    found = with_errors(tried_once(), filter_priority=1.0, sketch=2.0, basic=3.0)
    assert found.recommended is not None and found.recommended.mechanism == "basic"
    assert any("filter-priority, sketch" in note for note in found.notes)
    declared = tried(folder, runs=1, people=400, typical=10.0)
    summary = next(one for one in declared.plan.summaries if one.mechanism == "filter-priority")
    quiet = with_errors(declared, filter_priority=1.0, basic=3.0)
    allowed = any(one is summary for one in declared.plan.able)
    chosen = "filter-priority" if allowed else "basic"
    assert quiet.best is not None and quiet.best.mechanism == chosen


def test_what_would_be_mostly_noise_is_not_recommended(folder: Path) -> None:
    found = tried(folder, runs=1, people=400)
    best = found.best
    assert best is not None and found.recommended is best
    noisy = replace(found, trials=tuple(replace(t, useful_from=401.0) for t in found.trials))
    assert noisy.best is not None and noisy.recommended is None
    assert "with 400 people most answers would be noise" in noisy.why_not()
    assert noisy.to_dict()["recommended"] is None and "noise" in noisy.to_dict()["why_not"]


@pytest.mark.usefixtures("two_mechanisms")
def test_other_numbers_of_rows_are_told(folder: Path) -> None:
    assert any("400 rows" in note for note in tried(folder, runs=1, people=1000).notes)
    assert not any("400 rows" in note for note in tried(folder, runs=1, people=500).notes)


def test_auto_publishes_the_winner_and_the_manifest_says_on_what(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_win(monkeypatch, "kdtree")
    steps: list[str] = []
    release = published(folder, proxy=folder / "public.parquet", public=True, progress=steps.append)
    assert steps[:2] == ["try", "count"]
    assert release.mechanism == "kdtree" and release.manifest["asked"] == "auto"
    told = ht.open(release.folder).manifest["plan"]
    assert told["recommended"]["mechanism"] == "kdtree" and told["recommended"]["rmse"] == 0.5
    assert len(told["recommended"]["runs"]) == 3 and told["others"]["basic"] > 0
    checksum = hashlib.sha256((folder / "public.parquet").read_bytes()).hexdigest()
    expected = {"kind": "file", "name": "public.parquet", "files": 1, "rows": 400}
    assert {**expected, "sha256": checksum}.items() <= told["proxy"].items()
    assert str(folder) not in json.dumps(release.manifest)


def _let_win(monkeypatch: pytest.MonkeyPatch, mechanism: str) -> None:
    real = trying._measured

    def measured(offer: Trial, *rest: Any) -> Trial:
        found = real(offer, *rest)
        won = replace(found, errors=(0.5,) * 3, by_attributes={})
        return won if offer.mechanism == mechanism else found

    monkeypatch.setattr(trying, "_measured", measured)


@pytest.mark.usefixtures("two_mechanisms")
def test_the_manifest_names_a_release_that_stood_in(folder: Path) -> None:
    earlier = published(folder, mechanism="basic")
    later = published(folder, proxy=earlier.folder, out=folder / "later.release")
    told = later.manifest["plan"]["proxy"]
    checksum = hashlib.sha256((earlier.folder / "manifest.json").read_bytes()).hexdigest()
    assert told["manifest"] == checksum and told["dataset"] == "town"
    assert told["reservation"] == earlier.manifest["reservation"]
    assert (told["kind"], told["name"]) == ("release", "town.release")
    assert later.manifest["plan"]["notes"]


@pytest.mark.usefixtures("two_mechanisms")
def test_a_name_that_no_file_should_have_does_not_spoil_a_manifest(folder: Path) -> None:
    odd = folder / "a\udc80\u202e\n.csv"
    people().to_pandas().to_csv(folder / "b.csv", index=False)
    (folder / "b.csv").rename(odd)
    release = published(folder, proxy=odd, public=True)
    assert ht.open(release.folder).manifest["plan"]["proxy"]["kind"] == "file"


@pytest.mark.usefixtures("two_mechanisms")
def test_the_choice_does_not_depend_on_the_private_table(folder: Path) -> None:
    plans = []
    for seed in (2, 3):
        pq.write_table(people(rows=50 * seed, seed=seed), folder / "private.parquet")
        out = folder / f"{seed}.release"
        release = published(folder, out=out, proxy=folder / "public.parquet", public=True)
        plans.append(release.manifest["plan"])
    assert plans[0] == plans[1]


@pytest.mark.usefixtures("two_mechanisms")
def test_auto_refuses_noise_also_with_a_proxy(folder: Path) -> None:
    few = schema_of(AGE, JOB, SEX, people=1)
    with pytest.raises(OptionError, match="most answers would be noise"):
        published(folder, few, proxy=folder / "public.parquet", public=True)
    assert not (folder / "town.ledger").exists()


@pytest.mark.parametrize(
    "options, match",
    [
        ({"mechanism": "basic", "proxy": "x.csv"}, "proxy is for 'auto'"),
        ({"public": True}, "no proxy"),
        ({"proxy": "nowhere.csv", "public": True}, "no file"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    folder: Path, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(HushError, match=match):
        published(folder, **options)
    assert not (folder / "town.ledger").exists()


def test_what_cannot_be_paid_is_refused_before_anything_is_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "plan_on_proxy", _never)
    for options in ({"epsilon": "51"}, {"out": folder / "nowhere" / "r"}):
        with pytest.raises(HushError):
            published(folder, proxy=folder / "public.parquet", public=True, **options)


@pytest.mark.usefixtures("two_mechanisms")
def test_it_is_part_of_the_package(folder: Path) -> None:
    found = ht.plan_on_proxy(
        TOWN, epsilon="1", proxy=folder / "public.parquet", public=True, runs=1
    )
    assert isinstance(found, ht.ProxyPlan)
    assert found.recommended is not None and found.recommended.mechanism in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
