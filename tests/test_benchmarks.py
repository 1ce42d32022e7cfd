"""The benchmarks run at their quick size and their table says what was measured; no times here."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks import __main__ as whole
from benchmarks import large, peer_scripts, sparse, transforms
from benchmarks.machine import machine, peak_memory
from benchmarks.options import Options
from benchmarks.table import Grid, Row, Section, Target, cells, figure, markdown, show, times
from benchmarks.timing import in_turn

from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.maps import Haar, Identity, Product
from hushtable.kernel.maps.rules import Filter, Held, Kept
from hushtable.kernel.noise.sparse_draws import summarise

ALONE = Options(quick=True, peers=False)


# ── the table ────────────────────────────────────────────────────────────────────────────────────


def test_a_ratio_is_ours_over_theirs() -> None:
    assert Row("w", 3.0, "p", 2.0, "s").ratio == 1.5
    assert Row("w", 3.0, "p", "not installed", "s").ratio is None


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (Target(1.5), True),
        (Target(1.4), False),
        (Target(1.5, "≥"), True),
        (Target(1.6, "≥"), False),
        (Target(3, of="ours"), True),
        (Target(2.9, of="ours"), False),
        (None, None),
    ],
)
def test_a_target_bounds_the_ratio_or_our_figure(target: Target | None, met: bool | None) -> None:
    assert Row("w", 3.0, "p", 2.0, "s", target).met is met


def test_a_target_is_not_judged_without_a_ratio_nor_at_the_quick_size() -> None:
    row = Row("w", 3.0, "p", "not installed", "s", Target(2))
    assert row.met is None
    assert cells(row, judged=True) == ("w", "3", "p", "not installed", "s ↓", "", "≤ 2 ×")
    missed = Row("w", 3.0, "p", 1.0, "values/s", Target(6, "≥"))
    assert cells(missed, judged=True)[4:] == ("values/s ↑", "3 ×", "≥ 6 × ✗")
    assert cells(missed, judged=False)[-1] == "≥ 6 ×"


def test_figures_have_three_digits() -> None:
    assert [figure(x) for x in (0.00123, 45.67, 999.6, 1234.5, 5.43e7, 2e9)] == [
        "0.00123", "45.7", "1,000", "1,230", "54.3 M", "2 G",
    ]  # fmt: skip
    assert [times(x) for x in (14.2, 0.734, 1 / 360.2, None)] == ["14.2 ×", "0.734 ×", "1/360", ""]


def test_the_page_and_the_terminal_show_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row("sort | count", 1.0, "peer", 2.0, "s"), Row("draw", 5e6, "peer", "why", "rows/s")]
    section = Section("Things", rows, [Grid("More", ("a", "b"), (("x", "7"),))])
    page = markdown([section]).splitlines()
    assert page[0] == "## Things"
    assert "| sort \\| count | 1 | peer | 2 | s ↓ | 0.5 × |  |" in page
    assert "| draw | 5 M | peer | why | rows/s ↑ |  |  |" in page
    assert page.index("| x | 7 |") > page.index("More")
    show([section])
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("Things", "sort | count", "0.5 ×", "why", "More"))


def test_the_memory_of_a_child_is_its_own() -> None:
    held = np.ones(500 * 2**20, np.uint8)
    script = "from benchmarks.machine import peak_memory; print(peak_memory())"
    root = Path(__file__).parent.parent
    child = subprocess.run(
        [sys.executable, "-c", script], cwd=root, check=True, capture_output=True
    )
    assert 2**20 < int(child.stdout) < held.nbytes < peak_memory()


def test_the_machine_is_described_without_its_name() -> None:
    text = machine()
    assert "cores" in text and "GiB" in text and f"Python {platform.python_version()}" in text
    assert "/" not in text and (not platform.node() or platform.node() not in text)


# ── timing ───────────────────────────────────────────────────────────────────────────────────────


def test_contestants_take_turns_and_the_best_round_counts() -> None:
    now, calls = [0.0], []
    lasting = {"a": iter((1.0, 5.0, 3.0)), "b": iter((1.0, 2.0, 4.0))}

    def work(name: str) -> Callable[[], None]:
        def run() -> None:
            calls.append(name)
            now[0] += next(lasting[name])

        return run

    best = in_turn(2, {name: work(name) for name in lasting}, clock=lambda: now[0])
    assert calls == ["a", "b"] * 3
    assert best == {"a": 3.0, "b": 2.0}  # the first round, which compiles, is not timed


# ── the same work on both sides ──────────────────────────────────────────────────────────────────


def test_plain_numpy_undoes_what_our_transform_does() -> None:
    product = Product((Identity(3), Haar(4), Haar(8)))
    counts = np.random.default_rng(1).integers(0, 9, product.shape)
    estimates = product.forward(counts.copy()).astype(np.float64)
    transforms._plain_inverse(estimates, 2)
    assert np.array_equal(estimates, counts)


def test_errors_of_summaries_are_those_of_what_was_kept() -> None:
    places, counts = np.arange(0, 2000, 4), np.arange(1, 501)
    held = Held(places, counts, 2000)
    exact = Kept(places, counts, 1)
    off = Kept(places, counts + 7, 1)
    assert sparse._cell_errors(held, exact, places) == 0
    assert sparse._cell_errors(held, off, places) == 7
    assert sparse._cell_errors(held, off, places + 1) == 0
    assert sparse._range_error(held, exact) == 0
    assert sparse._range_error(held, off) == 35  # five occupied cells in each twenty


def test_a_summary_that_keeps_everything_has_the_error_of_its_noise() -> None:
    held = Held(np.arange(20_000), np.full(20_000, 100), 20_000)
    kept = summarise(held, Filter(1), Fraction(10), SeededEntropy(1))
    assert sparse._cell_errors(held, kept, held.places) == pytest.approx(10, rel=0.06)


@pytest.mark.parametrize("name", [n for n in vars(peer_scripts) if n.startswith(("OPEN", "DIFF"))])
def test_the_scripts_of_peers_are_python_and_tell_json(name: str) -> None:
    script = vars(peer_scripts)[name]
    compile(script, name, "exec")
    assert script.strip().splitlines()[-1].startswith("print(json.dumps(")


# ── the benchmarks ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["counting", "transforms", "grouping", "sparse", "wide"])
def test_a_benchmark_measures_without_peers(name: str) -> None:
    found = import_module(f"benchmarks.{whole.SECTIONS[name]}").section(ALONE)
    assert found.rows
    for row in found.rows:
        assert row.work and row.peer and row.ours >= 0
        assert isinstance(row.theirs, float | int) or row.theirs in ("not asked", "not installed")


def test_every_section_has_a_module() -> None:
    for module in whole.SECTIONS.values():
        assert callable(import_module(f"benchmarks.{module}").section)


@pytest.mark.thorough
def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    out.write_text("an older page", encoding="utf-8")
    whole.main(["--quick", "--no-peers", "--only", " accuracy", "--out", str(out)])
    page = out.read_text(encoding="utf-8")
    made = "Made by `python -m benchmarks --quick --only accuracy --no-peers --out FILE.md` at the"
    assert made in page and "older" not in page
    assert machine() in page and "at the quick size" in page and str(tmp_path) not in page
    assert "not asked" in page and "| auto, 1 × 1-D, ε = 0.1 |" in page
    printed = capsys.readouterr()
    assert "Accuracy" in printed.out and "accuracy …" in printed.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], ""),
        (["--quick", "--only", "noise , sparse,noise"], " --quick --only noise,sparse"),
        (["--adult", ".", "--dpbench", "."], " --dpbench FOLDER --adult FOLDER"),
    ],
)
def test_a_page_names_the_options_and_no_paths(
    arguments: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pages: list[whole.Page] = []

    def measure(names: object, options: object, page: whole.Page) -> list[Section]:
        pages.append(page)
        return []

    monkeypatch.setattr(whole, "measure", measure)
    whole.main([*arguments, "--out", "page.md"])
    assert pages == [whole.Page(Path("page.md"), f"python -m benchmarks{named} --out FILE.md")]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--only", "speed"], "there is no section 'speed'"),
        (["--only", "noise,"], "there is no section ''"),
        (["--out", "page.txt"], "a page ends in .md"),
        (["--out", ""], "a page ends in .md"),
        (["--out", "folder.md"], "is a folder"),
        (["--out", "missing/page.md"], "there is no folder 'missing'"),
        (["--dpbench", "missing"], "--dpbench: there is no folder 'missing'"),
        (["--adult", ""], "--adult: there is no folder ''"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_what_cannot_be_done_is_one_line_before_anything_is_measured(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(whole, "measure", lambda *_: pytest.fail("measured"))
    Path("folder.md").mkdir()
    with pytest.raises(SystemExit) as stopped:
        whole.main(arguments)
    seen = capsys.readouterr()
    assert stopped.value.code == 2 and told in seen.err and seen.err.count("\n") == 1
    assert not seen.out and [path.name for path in Path().iterdir()] == ["folder.md"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (["people", "--rows", "2000", "--kind", "skewed"], "rows kept"),
        (["columns", "--rows", "2000"], "GiB of codes"),
        (["cells", "--cells", "2000", "--mechanism", "filter-priority"], "cells kept"),
    ],
    ids=["people", "columns", "cells"],
)
def test_large_tables_are_measured_in_a_process_of_their_own(
    asked: list[str], shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    large.main(asked)
    (line,) = capfd.readouterr().out.splitlines()
    assert line.startswith("2e+03") and "GiB anonymous" in line and shown in line
