"""`hush reproduce`: measured once, drawn, judged; a run that was stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hushtable.errors import DataError, OptionError
from hushtable.evaluation.experiment import Task
from hushtable_papers import FIGURES, Figure, Scope, reproduce
from hushtable_papers.claims import Claim, Look, NotMeasuredError, Results
from hushtable_papers.figure import Plot
from hushtable_papers.real_tables import adult
from hushtable_papers.reproducing import READERS, REAL_TABLES

Hush = Callable[..., tuple[int, str, str]]


class Fake:
    """A small figure that notes what it does."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.runs: list[int] = []
        self.stop_at = stop_at

    def figure(self) -> Figure:
        return Figure(
            "fake", "A fake | figure", self.tasks, [Written("error", "", "number")], CLAIMS
        )

    def tasks(self, scope: Scope) -> list[Task]:
        return [self.task(n, scope) for n in range(scope.size(2, 12))]

    def task(self, number: int, scope: Scope) -> Task:
        def measure() -> Iterable[dict[str, Any]]:
            if number == self.stop_at:
                raise KeyboardInterrupt
            self.runs.append(number)
            return [{"error": number * 0.5}]

        return Task({"rows": scope.size(10, 1000), "number": number, "note": None}, measure)


class Written(Plot):
    """A plot that is a line of text."""

    def draw(self, results: pa.Table, folder: Path) -> Path:
        path = folder / f"{self.name}.png"
        path.write_text(f"{results.num_rows} rows")
        return path


def nobody_looks(results: Results) -> Look:
    raise NotMeasuredError("nobody looked")


def largest(results: Results) -> float:
    return float(results.runs("error").max())


CLAIMS = (
    Claim("It grows", lambda results: Look(f"to {largest(results):g}", largest(results) > 0)),
    Claim(
        "It is |small|\nvery",
        lambda results: Look(f"{largest(results):g} [nan]", largest(results) < 0.1),
        "it is large",
    ),
    Claim("It is blue", nobody_looks),
)


def test_a_verdict_has_the_sizes_the_statements_and_the_plots(tmp_path: Path) -> None:
    done = reproduce(Fake().figure(), tmp_path)
    assert done.verdict == tmp_path / "fake" / "verdict.md"
    text = done.verdict.read_text(encoding="utf-8")
    assert text.startswith("# A fake | figure\n\n`hush reproduce fake`. The full size.\n")
    assert "* rows: 1,000\n* number: 0 … 11 (12 values)\n* note: none\n" in text
    assert "| It grows | to 5.5 | yes |  |\n" in text
    assert r"| It is \|small\| very | 5.5 [nan] | no | it is large |" in text
    assert "| It is blue |  | cannot tell | nobody looked |" in text
    assert text.endswith("\n![error](error.png)\n") and str(tmp_path) not in text
    assert [statement.holds for statement in done.statements] == [True, False, None]
    assert done.plots == (tmp_path / "fake" / "error.png",)
    assert done.plots[0].read_text() == "12 rows"
    assert not list((tmp_path / "fake").glob(".*"))


def test_a_quick_run_judges_nothing(tmp_path: Path) -> None:
    done = reproduce(Fake().figure(), tmp_path, Scope(quick=True))
    assert [statement.holds for statement in done.statements] == [None, None, None]
    told = [statement.why for statement in done.statements]
    assert told == [
        "a quick run: here it would hold",
        "a quick run: here it would not hold",
        "nobody looked",
    ]
    assert "`hush reproduce fake --quick`. A quick run" in done.verdict.read_text(encoding="utf-8")


def test_a_stopped_run_goes_on_and_a_finished_one_measures_nothing(tmp_path: Path) -> None:
    fake = Fake(stop_at=5)
    with pytest.raises(KeyboardInterrupt):
        reproduce(fake.figure(), tmp_path)
    assert not (tmp_path / "fake" / "verdict.md").exists()
    fake.stop_at = None
    told: list[tuple[int, int]] = []
    done = reproduce(fake.figure(), tmp_path, progress=lambda *step: told.append(step))
    assert fake.runs == list(range(12)) and told[-1] == (12, 12)
    text = done.verdict.read_text(encoding="utf-8")
    done.verdict.unlink()
    again = reproduce(fake.figure(), tmp_path)
    assert fake.runs == list(range(12)) and again.verdict.read_text(encoding="utf-8") == text


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="cannot be made"):
        reproduce(Fake().figure(), tmp_path / "file")


def test_a_figure_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    scope = Scope(quick=True, data={"adult": tmp_path})
    with pytest.raises(DataError, match=r"adult\.csv"):
        reproduce(FIGURES["privbayes-marginals"], tmp_path / "here", scope)
    assert not list(tmp_path.iterdir())


def test_an_adult_table_that_is_no_text_is_one_clear_line(tmp_path: Path) -> None:
    for content in (b"", b"a;b\n1;2\n3\n", b"\xff\xfe\n"):
        (tmp_path / "adult.csv").write_bytes(content)
        with pytest.raises(DataError, match="cannot be read as CSV"):
            adult(tmp_path)


class Watched(Mapping[str, Path]):
    """No tables at all; notes those that are asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Path:
        self.asked.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_the_figures_that_are_said_to_read_a_table_do() -> None:
    assert READERS.keys() == REAL_TABLES.keys()
    for name, figure in FIGURES.items():
        watched = Watched()
        figure.tasks(Scope(quick=True, data=watched))
        assert watched.asked == {table for table in READERS if name in READERS[table]}


def test_every_figure_has_a_name_a_title_and_a_quick_size() -> None:
    assert FIGURES.keys() >= {"privelet-brazil", "privelet-us", "privelet-time"}
    for name, figure in FIGURES.items():
        assert name == figure.name and figure.title and figure.minutes > 0
        assert len({task.text for task in figure.tasks(Scope(quick=True))}) > 1


@pytest.fixture
def hush(run_hush: Hush) -> Hush:
    return partial(run_hush, "reproduce")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setitem(FIGURES, "fake", made.figure())
    return made


@pytest.mark.parametrize("words", [(), ("privelet-brazil", "--quick"), ("--help",)])
def test_without_its_package_it_says_how_to_install_it(
    words: tuple[str, ...], run_hush: Hush, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    code, out, err = run_hush("reproduce", *words)
    assert code == 2 and not out
    assert "pip install hushtable-papers" in err and len(err.splitlines()) == 1
    assert run_hush("--help")[0] == 0


def test_alone_it_lists_the_experiments(hush: Hush) -> None:
    code, out, _ = hush()
    assert code == 0 and all(name in out and FIGURES[name].title in out for name in FIGURES)
    listed = json.loads(hush("--json")[1])["experiments"]
    assert [one["name"] for one in listed] == list(FIGURES)
    assert not list(Path().iterdir())


def test_it_tells_the_verdict_and_where_the_plots_are(hush: Hush, fake: Fake) -> None:
    code, out, _ = hush("fake")
    assert code == 0 and "5.5 [nan]" in out and "cannot tell" in out and "it is large" in out
    assert "verdict: reproduce/fake/verdict.md" in out and "reproduce/fake/error.png" in out
    found = json.loads(hush("fake", "--json")[1])["experiments"][0]
    assert [one["holds"] for one in found["statements"]] == [True, False, None]
    assert found["plots"] == ["reproduce/fake/error.png"]
    assert fake.runs == list(range(12))


def test_quick_runs_are_kept_apart(hush: Hush, fake: Fake) -> None:
    assert hush("fake", "fake", "--quick")[0] == 0
    assert fake.runs == [0, 1] and Path("reproduce-quick/fake/verdict.md").is_file()
    assert hush("fake", "--quick", "-o", "here")[0] == 0
    assert Path("here/fake/results.parquet").is_file() and not Path("reproduce").exists()


def test_all_means_each_of_them(hush: Hush, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(FIGURES):
        if name != "fake":
            monkeypatch.delitem(FIGURES, name)
    monkeypatch.setitem(FIGURES, "second", replace(Fake().figure(), name="second"))
    assert hush("--all", "--quick")[0] == 0
    assert {path.name for path in Path("reproduce-quick").iterdir()} == {"fake", "second"}


def test_a_stopped_run_says_that_it_goes_on(hush: Hush, fake: Fake) -> None:
    fake.stop_at = 1
    code, _, err = hush("fake")
    assert code == 130 and err.strip().startswith("hush: stopped: what is done is kept")


def test_real_tables_are_handed_to_the_figure(
    hush: Hush, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Scope] = []

    def tasks(scope: Scope) -> list[Task]:
        seen.append(scope)
        return fake.tasks(scope)

    monkeypatch.setitem(FIGURES, "fake", replace(fake.figure(), tasks=tasks))
    monkeypatch.setitem(READERS, "adult", ("fake",))
    monkeypatch.setitem(REAL_TABLES, "adult", lambda folder: None)
    Path("mine").mkdir()
    assert hush("fake", "--quick", "--data", "adult=mine")[0] == 0
    assert seen == [Scope(quick=True, data={"adult": Path("mine")})]


def test_each_real_table_is_read_by_its_name(hush: Hush) -> None:
    Path("mine").mkdir()
    flows = [f"{100 + place},{101 + place},{place}" for place in range(1, 30)]
    Path("mine/flows.csv").write_text("\n".join(["origin,destination,flow", *flows, ""]))
    assert hush("sparse-origins", "--quick", "--data", "commuting=mine")[0] == 0
    verdict = Path("reproduce-quick/sparse-origins/verdict.md").read_text(encoding="utf-8")
    assert "* cells: 900\n" in verdict


def test_options_without_an_experiment_list_and_say_that_nothing_was_run(hush: Hush) -> None:
    said = "nothing was run: name experiments, or give --all"
    code, out, _ = hush("--quick")
    assert code == 0 and said in out and all(name in out for name in FIGURES)
    assert said in hush("-o", "here")[1] and said not in hush()[1]
    assert not list(Path().iterdir())


def test_the_help_and_the_guide_name_the_readers_of_a_table(hush: Hush) -> None:
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "reproduce.md"
    told = ["".join(hush("--help")[1].split()), guide.read_text(encoding="utf-8")]
    for text in told:
        assert all(name in text for table in READERS for name in (table, *READERS[table]))
        assert "adult.csv" in text and "adult_hierarchy_COLUMN.csv" in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["privelet-brasil"], "did you mean privelet-brazil?"),
        (["privelet-us", "--all"], "not both"),
        (["privelet-us", "--data", "adult"], "name=folder"),
        (["speed"], "no experiment 'speed'; `hush reproduce` lists them"),
        (["privelet-us", "--data", "adult="], "name=folder"),
        (["privelet-us", "--data", "=."], "name=folder"),
        (["privelet-us", "--data", "nosuch=."], "known: adult, commuting"),
        (["--data", "nosuch=."], "no table 'nosuch' is known"),
        (["privelet-us", "--data", "adult=missing"], "no folder 'missing'"),
        (["privelet-us", "ispe-trees", "--data", "adult=."], "is read only by ispe-alpha1, "),
        (["ispe-xi", "--data", "commuting=."], "is read only by sparse-origins"),
        (["sparse-origins", "--quick", "--data", "commuting=."], "must hold one CSV file"),
        (["privelet-time", "ispe-xi", "--quick", "--data", "adult=."], "Adult table is not in"),
        (["privelet-time", "--quick", "-o", ""], "--out takes a folder"),
        (["privelet-time", "--quick", "-o", "file"], "cannot be made"),
    ],
)
def test_what_cannot_be_done_is_one_line(hush: Hush, arguments: list[str], told: str) -> None:
    Path("file").touch()
    code, out, err = hush(*arguments)
    assert code == 2 and told in err and err.count("\n") == 1 and not out
    assert [path.name for path in Path().iterdir()] == ["file"]
