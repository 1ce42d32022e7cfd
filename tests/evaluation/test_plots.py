"""Pictures of experiments: the right means, drawn to a file, with a library loaded only then."""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib.image
import pyarrow as pa
import pytest
from matplotlib.axes import Axes

from hushtable.errors import OptionError
from hushtable.evaluation import plots
from hushtable.evaluation.plots import draw_lines

RESULTS = pa.table(
    {
        "mechanism": ["basic", "basic", "basic", "privelet", "new"] * 2,
        "group": ["all"] * 5 + ["coverage"] * 5,
        "epsilon": [1.0, 1.0, 0.5, 0.5, 1.0] * 2,
        "error": [2.0, 4.0, 10.0, 5.0, 7.0, 9.0, 9.0, 9.0, 9.0, 9.0],
    }
)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[float], list[float]]]:
    """What is drawn, as it is drawn."""
    drawn: list[tuple[str, list[float], list[float]]] = []
    plot = Axes.plot

    def noted(axes: Axes, x: list[float], y: list[float], **style: object) -> object:
        drawn.append((str(style["label"]), list(x), list(y)))
        return plot(axes, x, y, **style)

    monkeypatch.setattr(Axes, "plot", noted)
    return drawn


def test_a_line_is_the_mean_over_repetitions(
    tmp_path: Path, lines: list[tuple[str, list[float], list[float]]]
) -> None:
    draw_lines(RESULTS, tmp_path / "a.png", x="epsilon", y="error", where={"group": "all"})
    assert sorted(lines) == [
        ("basic", [0.5, 1.0], [10.0, 3.0]),
        ("new", [1.0], [7.0]),
        ("privelet", [0.5], [5.0]),
    ]
    height, width, _ = matplotlib.image.imread(tmp_path / "a.png").shape
    assert width > height > 300


def test_panels_share_the_look_of_a_mechanism(
    tmp_path: Path, lines: list[tuple[str, list[float], list[float]]]
) -> None:
    options = {"x": "epsilon", "y": "error", "title": "Errors", "log": "y"}
    draw_lines(RESULTS, tmp_path / "a.png", panels="group", **options)
    assert [label for label, *_ in lines] == ["basic", "new", "privelet"] * 2
    styles = plots._styles(["basic", "new", "new", "newer"])
    assert styles["basic"][0] == plots._styles(["other", "basic"])["basic"][0]
    assert len({colour for colour, _ in styles.values()}) == 3


def test_several_columns_can_make_a_line(
    tmp_path: Path, lines: list[tuple[str, list[float], list[float]]]
) -> None:
    by = ("mechanism", "group")
    draw_lines(RESULTS, tmp_path / "a.png", x="epsilon", y="error", by=by)
    assert ("basic, coverage", [0.5, 1.0], [9.0, 9.0]) in lines


def test_what_is_not_there_is_not_drawn(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no column 'colour'"):
        draw_lines(RESULTS, tmp_path / "a.png", x="colour", y="error")
    with pytest.raises(OptionError, match="no results"):
        draw_lines(RESULTS, tmp_path / "a.png", x="epsilon", y="error", where={"group": "none"})
    assert not list(tmp_path.iterdir())


def test_the_drawing_library_is_loaded_only_to_draw() -> None:
    tree = ast.parse(Path(plots.__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert not any("matplotlib" in str(name) for name in imported)
