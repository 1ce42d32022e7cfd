"""`hush evaluate` and `hush audit`: what they print, refuse and return."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hushtable.errors import OptionError
from hushtable.evaluation.evaluate import OWNER_ONLY
from hushtable.families import MECHANISMS, find_mechanism
from hushtable.kernel.curator import Curator
from hushtable.kernel.privacy.noises import DiscreteLaplace

from .conftest import Hush


def test_evaluate_prints_a_table_under_its_warning(hush: Hush, shared: Path) -> None:
    data, release = shared / "census.parquet", shared / "census.release"
    done = hush("evaluate", data, release, "--workload", "marginals:1", "--intervals", "20")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith(OWNER_ONLY)
    assert "census by basic, ε = 1: all 142 queries of marginals:1, 3,000 rows" in done.out
    assert done.out.count("by coverage") == 5 == done.out.count("by selectivity")


def test_evaluate_speaks_json_and_draws(hush: Hush, shared: Path, tmp_path: Path) -> None:
    data, release, plot = shared / "census.parquet", shared / "census.release", tmp_path / "e.png"
    options = ["--queries", "300", "--intervals", "20", "--plot", plot, "--json"]
    told = hush("evaluate", data, release, *options).json
    assert told["owner_only"] == OWNER_ONLY and told["sampled"] and told["queries"] <= 300
    assert told["rows"] == 3000 and told["plot"] == str(plot) and plot.stat().st_size > 10_000
    first = told["errors"][0]
    assert first["group"] == "all" and 0.3 < first["rmse"] / first["forecast_rmse"] < 3


def test_evaluate_says_what_it_wrote_and_asks_about_another_table(
    hush: Hush, shared: Path, tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    plot, wrong = tmp_path / "e.svg", tmp_path / "wrong.parquet"
    pq.write_table(pa.concat_tables([pq.read_table(shared / "census.parquet")] * 20), wrong)
    done = hush("evaluate", wrong, shared / "census.release", "-w", "total", "--plot", plot)
    assert done.code == 0 and done.out.endswith(f"published?\nwrote {plot}\n") and plot.is_file()
    assert "the one query of total, 60,000 rows" in done.out
    pq.write_table(pq.read_table(wrong)[:0], tmp_path / "empty.parquet")
    done = hush("evaluate", tmp_path / "empty.parquet", shared / "census.release", "-w", "total")
    assert "the one query of total, 0 rows" in done.out and done.out.count(" – ") == 3


def test_a_csv_table_is_read_as_publish_reads_it(hush: Hush, shared: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(shared / "census.parquet").to_pandas()
    table.to_csv(tmp_path / "census.csv", index=False, sep=";")
    found = [
        hush("evaluate", data, shared / "census.release", "-w", "total", "--json", *more).json
        for data, *more in (
            (shared / "census.parquet",),
            (tmp_path / "census.csv", "--csv-delimiter", ";"),
        )
    ]
    assert found[0]["errors"] == found[1]["errors"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-w", "everything"], "there is no workload 'everything'"),
        (["--queries", "0"], "queries must be"),
        (["-w", "marginals:0"], "k is from 1 to 4"),
        (["--plot", "errors.pdf"], "must end in .png or .svg"),
        (["--plot", ""], "the plot has no file name"),
        (["--plot", "."], "the plot has no file name"),
        (["--confidence", "2"], "confidence must lie"),
        (["--csv-delimiter", "ab"], "delimiter"),
    ],
)
def test_a_refused_evaluation_is_one_line(
    hush: Hush, shared: Path, options: list[str], says: str
) -> None:
    refused = hush("evaluate", shared / "census.parquet", shared / "census.release", *options)
    assert refused.code == 2 and refused.out == ""
    assert says in refused.err and refused.err.count("\n") == 1


def test_a_table_without_the_columns_is_refused_without_a_value(
    hush: Hush, shared: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.csv").write_text("secret\n4242\n")
    refused = hush("evaluate", tmp_path / "other.csv", shared / "census.release")
    assert refused.code == 2 and refused.err.count("\n") == 1 and "4242" not in refused.err
    swapped = hush("evaluate", shared / "census.release", tmp_path / "other.csv")
    assert swapped.code == 2 and "the table comes first" in swapped.err
    missing = hush("evaluate", tmp_path / "none.csv", shared / "census.release")
    assert missing.code == 2 and "there is no file" in missing.err


SCHEMA = """
name = "tiny"
budget = "1"
[[attribute]]
name = "sex"
kind = "nominal"
values = ["F", "M"]
"""


def test_audit_prints_writes_and_passes(hush: Hush, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(SCHEMA)
    report = tmp_path / "audit.md"
    options = [
        "--schema",
        tmp_path / "tiny.toml",
        "--runs",
        "100",
        "--releases",
        "5",
        "--seed",
        "1",
    ]
    done = hush("audit", "basic", *options, "-o", report, "--json")
    assert done.code == 0 and done.err == ""
    assert done.json["holds"] is True and done.json["report"] == str(report)
    assert done.json["largest_loss"] == 1 and len(done.json["findings"]) == 2
    assert done.json["noise"] and all(law["problem"] is None for law in done.json["noise"])
    assert "# Privacy audit of `basic`" in report.read_text(encoding="utf-8")
    refused = hush("audit", "basic", *options, "-o", report)
    assert refused.code == 2 and "is there already" in refused.err


@pytest.mark.thorough
@pytest.mark.usefixtures("fewer_draws")
def test_every_mechanism_in_one_table(
    hush: Hush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that no such schema is for is left out, with the reason."""
    some = {name: MECHANISMS[name] for name in ("basic", "filter", "sketch")}
    monkeypatch.setattr("hushtable.families.MECHANISMS", some)

    def refuse(*_: Any, **__: Any) -> None:
        raise OptionError("not for me")

    monkeypatch.setattr(type(find_mechanism("sketch")), "check", refuse)
    report = tmp_path / "all.md"
    options = ["--schema", "other", "--runs", "100", "--releases", "5", "--seed", "1"]
    done = hush("audit", *options, "-o", report)
    assert done.code == 0, done.err
    page = report.read_text(encoding="utf-8")
    for name in ("basic", "filter"):
        assert f" {name} " in done.out and f"\n## `{name}`\n" in page
    assert "sketch left out: not for me" in done.out and "VIOLATION" not in done.out
    assert page.startswith("# Privacy audits at ε = 1\n") and page.count("What was tried") == 1
    told = hush("audit", *options, "--json").json
    assert told["holds"] and [one["mechanism"] for one in told["audits"]] == ["basic", "filter"]
    assert told["left_out"] == {"sketch": "not for me"}
    refused = hush("audit", "basic", "sketch", *options)
    assert refused.code == 2 and "not for me" in refused.err


@pytest.mark.usefixtures("fewer_draws")
def test_what_was_found_is_told_though_it_cannot_be_written(
    hush: Hush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    done = hush(
        "audit", "basic", "-s", "other", "--runs", "100", "--releases", "5", "-o", tmp_path / "a.md"
    )
    assert done.code == 2 and "No loss above ε = 1 found" in done.out
    assert done.err.endswith("cannot be written: No space left on device\n")


@pytest.mark.usefixtures("fewer_draws")
def test_a_violation_is_told_and_ends_with_code_1(
    hush: Hush, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    price = Curator._price

    def halved(self: Curator, *arguments: Any, **changes: Any) -> tuple[Fraction, DiscreteLaplace]:
        amount, noise = price(self, *arguments, **changes)
        return amount, noise.times(Fraction(1, 2))

    monkeypatch.setattr(Curator, "_price", halved)
    (tmp_path / "tiny.toml").write_text(SCHEMA)
    options = [
        "--schema",
        tmp_path / "tiny.toml",
        "--runs",
        "100",
        "--releases",
        "5",
        "--seed",
        "1",
    ]
    found = hush("audit", "basic", *options)
    assert found.code == 1 and "VIOLATION: more than ε = 1 is lost" in found.out
    assert "a loss of 2 for the 1 charged, on {} and {(F)}" in found.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["magic"], "no mechanism 'magic'"),
        (["auto"], "auto is no mechanism"),
        (["basic", "--schema", "nowhere.toml"], "nor one of the built-in schemas range, other"),
        (["basic", "--set", "x"], "key=value"),
        (["basic", "--runs", "3"], "runs must be"),
        (["basic", "privelet", "--set", "a=b"], "--set is for one mechanism"),
        (["--set", "a=b"], "--set is for one mechanism"),
        (["basic", "--epsilon", "-1"], "above zero"),
        (["basic", "-o", "audit.txt"], "must end in .md"),
        (["basic", "-o", "nowhere/audit.md"], "is in a folder that is not there"),
        (["basic", "-o", f"{'a' * 300}.md"], "cannot be written"),
    ],
)
def test_a_refused_audit_is_one_line(hush: Hush, options: list[str], says: str) -> None:
    refused = hush("audit", *options)
    assert refused.code == 2 and refused.out == ""
    assert says in refused.err and refused.err.count("\n") == 1
