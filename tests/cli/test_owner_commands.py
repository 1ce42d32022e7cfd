"""The data owner's commands: what they print, spend and refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Hush


def publish(own: Path, *more: object) -> list[object]:
    return ["publish", own / "census.parquet", "--schema", own / "census.toml", *more]


def test_publishing_spends_what_it_says_and_names_what_is_left(hush: Hush, own: Path) -> None:
    done = hush(*publish(own, "--epsilon", "0.1", "-o", own / "a.release"))
    assert done.code == 0
    assert "0.1 spent" in done.out and "2.9 of 3 left" in done.out
    books = hush("budget", own / "census.toml", "--json").json
    assert (books["budget"], books["spent"], books["left"]) == ("3", "0.1", "2.9")
    assert [entry["status"] for entry in books["releases"]] == ["published"]


def test_tenths_add_up_exactly_to_the_budget(hush: Hush, own: Path) -> None:
    for i, epsilon in enumerate(["0.1", "0.2", "2.7"]):
        assert hush(*publish(own, "-e", epsilon, "-o", own / f"{i}.release")).code == 0
    assert hush("budget", own / "census.toml", "--json").json["left"] == "0"
    refused = hush(*publish(own, "-e", "0.0001", "-o", own / "more.release"))
    assert refused.code == 2 and "0 is left" in refused.err
    assert not (own / "more.release").exists()


def test_publish_speaks_json(hush: Hush, own: Path) -> None:
    told = hush(*publish(own, "-e", "1", "-o", own / "a.release", "--json")).json
    assert told["mechanism"] == "marginals" and told["left"] == "2" and told["epsilon"] == "1"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-e", "abc"], "positive decimal"),
        (["-e", "0"], "above zero"),
        (["-e", "nan"], "finite"),
        (["-e", "inf"], "finite"),
        (["-e", "-1"], "above zero"),
        (["-e", "99"], "whole budget of 3"),
        (["-e", "1", "--mechanism", "magic"], "no mechanism 'magic'"),
        (["-e", "1", "--set", "x=1"], "'auto' chooses the settings itself"),
        (["-e", "1", "-m", "basic", "--set", "x=1"], "no setting 'x'"),
        (["-e", "1", "-m", "basic", "-w", "ranges"], "workload is for 'auto'"),
        (["-e", "1", "-m", "basic", "--people", "1000"], "people is for 'auto'"),
        (["-e", "1", "--people", "48842"], "round number"),
        (["-e", "1", "--people", "1"], "useful from about"),
        (["-e", "1", "--set", "x"], "key=value"),
        ([], "Missing option '--epsilon'"),
    ],
)
def test_a_refused_publish_is_one_line_and_spends_nothing(
    hush: Hush, own: Path, options: list[str], says: str
) -> None:
    refused = hush(*publish(own, *options, "-o", own / "a.release"))
    assert refused.code == 2 and refused.out == ""
    assert says in refused.err and refused.err.count("\n") == 1
    assert not (own / "a.release").exists()
    assert hush("budget", own / "census.toml", "--json").json["spent"] == "0"


def test_an_existing_release_is_never_overwritten(hush: Hush, own: Path) -> None:
    (own / "a.release").mkdir()
    refused = hush(*publish(own, "-e", "1", "-o", own / "a.release"))
    assert refused.code == 2 and "never overwritten" in refused.err


def test_a_missing_table_or_schema_is_named(hush: Hush, own: Path) -> None:
    options = ["-e", "1", "-o", own / "a.release"]
    refused = hush("publish", own / "no.csv", "--schema", own / "census.toml", *options)
    assert refused.code == 2 and "there is no file" in refused.err
    refused = hush("publish", own / "census.parquet", "--schema", own / "no.toml", *options)
    assert refused.code == 2 and "there is no file" in refused.err


def test_a_budget_without_a_ledger_is_all_left_and_makes_none(hush: Hush, own: Path) -> None:
    assert "0 of 3 spent, 3 left" in hush("budget", own / "census.toml").out
    assert not (own / "census.toml.ledger").exists()


def test_the_budget_can_be_raised_but_not_lowered(hush: Hush, own: Path) -> None:
    hush(*publish(own, "-e", "3", "-o", own / "a.release"))
    assert hush("budget", own / "census.toml", "--raise", "2", "--yes").code == 2
    assert (
        hush("budget", own / "census.toml", "--raise", "3.5", "--yes", "--json").json["left"]
        == "0.5"
    )
    assert hush(*publish(own, "-e", "0.5", "-o", own / "b.release")).code == 0


def test_a_published_release_cannot_be_voided(hush: Hush, own: Path) -> None:
    hush(*publish(own, "-e", "1", "-o", own / "a.release"))
    entry = hush("budget", own / "census.toml", "--json").json["releases"][0]["id"]
    refused = hush("budget", own / "census.toml", "--void", entry)
    assert refused.code == 2 and "stays spent" in refused.err
    assert hush("budget", own / "census.toml", "--json").json["spent"] == "1"


def test_a_second_budget_needs_a_reason(hush: Hush, own: Path) -> None:
    hush(*publish(own, "-e", "1", "-o", own / "a.release"))
    copy = (own / "census.toml").rename(own / "copy.toml")
    for asked in (
        ["budget", copy],
        ["budget", copy, "--raise", "9", "--yes"],
        ["budget", copy, "--restart"],
        ["publish", own / "census.parquet", "-s", copy, "-e", "1", "-o", own / "b.release"],
    ):
        refused = hush(*asked)
        assert refused.code == 2 and str(own / "census.toml.ledger") in refused.err
        assert refused.err.count("\n") == 1 and refused.out == ""
    assert hush("budget", copy, "--new-ledger", "").code == 2
    assert not (own / "copy.toml.ledger").exists()
    begun = hush("budget", copy, "--new-ledger", "people of another town")
    assert begun.code == 0 and "begun: people of another town" in begun.out
    told = hush("budget", copy, "--json").json
    assert (told["why"], told["spent"]) == ("people of another town", "0")
    again = hush("budget", copy, "--new-ledger", "once more")
    assert again.code == 2 and "there is a ledger here" in again.err
    assert hush(*asked).code == 0


def test_a_ledger_that_is_gone_can_be_started_again(hush: Hush, own: Path) -> None:
    hush(*publish(own, "-e", "1", "-o", own / "a.release"))
    (own / "census.toml.ledger").unlink()
    refused = hush("budget", own / "census.toml")
    assert refused.code == 2 and "put it back" in refused.err and "--new-ledger" in refused.err
    begun = hush("budget", own / "census.toml", "--restart", "--json").json
    assert begun["spent"] == "0" and "gone" in begun["why"]
    assert hush("budget", own / "census.toml", "--restart").code == 2


def test_made_up_tables_have_budgets_of_their_own(hush: Hush, tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        table = folder / "census.parquet"
        assert hush("generate", "census", "--rows", "500", "-o", table).code == 0
        options = ["-s", folder / "census.toml", "-e", "1", "-m", "basic", "-o", folder / "r"]
        assert hush("publish", table, *options).code == 0
        assert hush("demo", "-o", folder / "demo", "--rows", "500").code == 0
        books = hush("budget", folder / "demo" / "census.toml")
        assert books.code == 0 and "1 of 3 spent" in books.out and not books.err


def test_a_schema_is_shown_as_it_reads(hush: Hush, own: Path) -> None:
    shown = hush("schema", "check", own / "census.toml")
    assert "79,800 cells" in shown.out and "occupation" in shown.out
    assert hush("schema", "check", own / "census.toml", "--json").json["cells"] == 79_800


def test_a_draft_must_be_reviewed_before_it_publishes(hush: Hush, own: Path) -> None:
    drafted = hush("schema", "draft", own / "census.parquet", "-o", own / "d.toml")
    assert drafted.code == 0 and "looked at the data" in drafted.out
    options = ["--schema", own / "d.toml", "-e", "1", "-m", "basic", "-o", own / "a.release"]
    refused = hush("publish", own / "census.parquet", *options)
    assert refused.code == 2 and "reviewed = true" in refused.err
    text = (own / "d.toml").read_text().replace("reviewed = false", "reviewed = true")
    (own / "d.toml").write_text(text)
    assert hush("publish", own / "census.parquet", *options).code == 0


def test_a_draft_describes_what_it_sees(hush: Hush, own: Path) -> None:
    (own / "t.csv").write_text(
        "id,age,height,town,note\n"
        + "".join(f"{i},{i % 90},{1.5 + i % 40 / 100},{'AB'[i % 2]},n{i}\n" for i in range(2000))
    )
    told = hush("schema", "draft", own / "t.csv", "-o", own / "t.toml", "--json").json
    assert told["attributes"] == ["age", "height", "town"]
    assert set(told["left_out"]) == {"id", "note"}
    schema = hush("schema", "check", own / "t.toml", "--json").json["schema"]
    assert schema["attribute"][0]["range"] == [0, 99]
    assert schema["attribute"][2]["values"] == ["A", "B"]
    assert hush("schema", "draft", own / "t.csv", "-o", own / "t.toml").code == 2  # is there


def test_the_demo_tells_the_story_and_can_be_told_again(hush: Hush, tmp_path: Path) -> None:
    for _ in range(2):
        told = hush("demo", "-o", tmp_path / "demo", "--rows", "3000")
        assert told.code == 0 and "truth inside" in told.out
    assert (tmp_path / "demo" / "census.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "mine").mkdir()
    assert hush("demo", "-o", tmp_path / "mine").code == 2


def test_another_tool_s_schema_is_imported_as_a_draft(hush: Hush, tmp_path: Path) -> None:
    (tmp_path / "domain.json").write_text('{"age": 85, "sex": 2}')
    done = hush("schema", "import", tmp_path / "domain.json", "-o", tmp_path / "d.toml")
    assert done.code == 0 and "reviewed = true" in done.out
    told = hush("schema", "check", tmp_path / "d.toml", "--json").json
    assert told["cells"] == 170 and told["reviewed"] is False
    assert hush("schema", "import", tmp_path / "no.yaml", "-o", tmp_path / "e.toml").code == 2


def test_csv_files_of_other_makes_are_published(hush: Hush, tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(
        'name = "d"\nbudget = "9"\n'
        '[[attribute]]\nname = "größe"\nkind = "ordinal"\nrange = [0, 9]\n'
    )
    (tmp_path / "t.csv").write_bytes("größe:x\n".encode("latin-1") + b"7:a\n" * 500)
    common = ["publish", tmp_path / "t.csv", "-s", tmp_path / "d.toml", "-e", "3"]
    options = ["--csv-encoding", "latin-1", "--csv-delimiter", ":"]
    assert hush(*common, *options, "-o", tmp_path / "d.release").code == 0
    assert hush("query", tmp_path / "d.release", '"größe" = 7', "--json").json["value"] > 400
    refused = hush(*common, "--csv-encoding", "klingon", "-o", tmp_path / "e.release")
    assert refused.code == 2 and "encoding" in refused.err


class TestPlan:
    def test_the_best_comes_first_in_words_and_in_json(self, hush: Hush, shared: Path) -> None:
        asked = ("plan", shared / "census.toml", "--epsilon", "1", "--error", "100")
        told = hush(*asked, "--people", "5000", "--json").json
        errors = [entry["rmse"] for entry in told["mechanisms"]]
        assert (
            errors == sorted(errors) and told["recommended"] == told["mechanisms"][0]["mechanism"]
        )
        assert told["mechanisms"][0]["relative"] == errors[0] / 5000
        assert float(told["mechanisms"][0]["epsilon_for_error"]) > 0
        said = hush(*asked).out
        assert (
            f"Recommended: {told['recommended']}" in said and "A count of 1,000 would be ±" in said
        )
        assert "Twice the ε would make that ±" in said and "± 100 takes ε =" in said
        assert "depends on the data: privelet*" in said and "hush publish DATA" in said

    def test_nothing_is_spent_or_read(self, hush: Hush, shared: Path) -> None:
        before = sorted(path.name for path in shared.iterdir())
        assert hush("plan", shared / "census.toml", "--epsilon", "0.5").code == 0
        assert sorted(path.name for path in shared.iterdir()) == before

    @pytest.mark.parametrize("ending", ["png", "svg"])
    def test_a_picture_of_error_by_size(
        self, hush: Hush, shared: Path, tmp_path: Path, ending: str
    ) -> None:
        picture = tmp_path / f"plan.{ending}"
        asked = ("plan", shared / "census.toml", "-e", "1", "--plot", picture)
        assert hush(*asked).code == 0 and picture.stat().st_size > 5000
        again = hush(*asked)
        assert again.code == 2 and "there already" in again.err

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["-e", "0"], "above zero"),
            (["-e", "1", "-w", "everything"], "there is no workload"),
            (["-e", "1", "--error", "-3"], "above zero"),
            (["-e", "1", "--error", "nan"], "above zero"),
            (["-e", "1", "--people", "0"], "whole number above zero"),
            (["-e", "1", "--plot", "p.pdf"], ".png or .svg"),
            ([], "--epsilon"),
        ],
    )
    def test_bad_options_are_one_line(
        self, hush: Hush, shared: Path, options: list[str], words: str
    ) -> None:
        refused = hush("plan", shared / "census.toml", *options)
        assert refused.code == 2 and words in refused.err and refused.err.count("\n") == 1
