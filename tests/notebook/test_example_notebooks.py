"""The notebooks of examples/ run from top to bottom, and keep no output."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.fixture(autouse=True)
def as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files go to a folder of the test; figures are closed, and Altair draws as before."""
    import altair
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    pyplot.switch_backend("agg")
    before = altair.renderers.active
    yield
    altair.renderers.enable(before)
    pyplot.close("all")


def cells_of(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def run_cell(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; what its last expression is, if it is one."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # type: ignore[attr-defined]


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["explore-a-release", "publish-a-table"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_no_output(path: Path) -> None:
    cells = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert cells
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(path: Path) -> None:
    names: dict[str, Any] = {}
    shown = []
    for cell in cells_of(path):
        if cell["cell_type"] == "code":
            code = "".join(cell["source"])
            value = run_cell(code, names)
            if hasattr(value, "_repr_html_") and not code.endswith(";"):
                shown.append(value._repr_html_())
    assert len(shown) >= 4 and all(shown)


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_jupyter(path: Path, tmp_path: Path) -> None:
    """In a kernel of its own, where engines behave in another way than elsewhere."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries of Jupyter about each other
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        resources = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, timeout=300, resources=resources).execute()
    kinds = [
        set(output.get("data", {}))
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    assert sum("text/html" in kind for kind in kinds) >= 4
    assert sum("image/png" in kind for kind in kinds) >= 2
