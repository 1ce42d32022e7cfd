"""The example notebooks as a reader sees them: run in a kernel, and drawn by a plain page.

The page is ours, not Jupyter's: cells in order, Markdown, code, and the outputs that the kernel
gave, HTML before pictures before text. `make pictures` keeps what is taken of it for the docs.
"""

from __future__ import annotations

import html
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.web.browsers import running

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
HEIGHT = 2400
"""Pictures end with the last output that ends above this."""
ENDS = "[...document.querySelectorAll('.output')].map(one => one.getBoundingClientRect().bottom)"

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 52em; margin: 1.5em auto; color: #222; }
pre { font: 13px/1.4 ui-monospace, monospace; margin: 0; white-space: pre-wrap; }
.code { background: #f5f5f5; border: 1px solid #ddd; padding: 0.6em 0.8em; margin: 0.8em 0 0.4em; }
.output { margin: 0.4em 0 1em 0.8em; overflow: hidden; }
img { max-width: 100%; }
.output td, .output th { padding: 0.1em 0.6em; }
"""


def executed(path: Path, folder: Path) -> list[dict[str, Any]]:
    """The cells of a notebook with the outputs of a kernel of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries of Jupyter about each other
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        resources = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=600, resources=resources).execute()
        cells: list[dict[str, Any]] = json.loads(nbformat.writes(notebook))["cells"]
    return cells


def page_of(cells: list[dict[str, Any]]) -> str:
    """A plain page of cells and their outputs, without scripts."""
    from markdown_it import MarkdownIt

    parts = []
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(MarkdownIt().render(source))
            continue
        parts.append(f'<div class="code"><pre>{html.escape(source)}</pre></div>')
        parts += [f'<div class="output">{shown}</div>' for shown in map(output, cell["outputs"])]
    body = "\n".join(parts)
    return f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style><body>{body}</body>'


def output(given: dict[str, Any]) -> str:
    """One output: as HTML, which needs no script, as a picture or as text."""
    data = given.get("data", {})
    text = "".join(data.get("text/html", ""))
    if text and "<script" not in text:
        return text
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    svg = "".join(data.get("image/svg+xml", ""))
    return (
        svg or f"<pre>{html.escape(''.join(data.get('text/plain', given.get('text', ''))))}</pre>"
    )


def test_outputs_are_shown_as_what_they_are() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A *title*"]},
        {
            "cell_type": "code",
            "source": ["1 < 2"],
            "outputs": [
                {"data": {"text/html": ["<b>yes</b>"], "text/plain": ["no"]}},
                {"data": {"text/html": ["<script>1</script>"], "image/png": ["aGk="]}},
                {"text": ["a < b"]},
            ],
        },
    ]
    page = page_of(cells)
    assert "<h1>A <em>title</em></h1>" in page and "1 &lt; 2" in page
    assert "<b>yes</b>" in page and "a &lt; b" in page
    assert "data:image/png;base64,aGk=" in page and "<script" not in page


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_looks_as_it_should(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its outputs are drawn, nothing is wider than the page, and no error is shown."""
    folder = Path(request.config.getoption("--pictures") or tmp_path)
    content = page_of(executed(path, tmp_path))
    with running() as browser:
        page = browser.new_page(viewport={"width": 900, "height": HEIGHT})
        page.set_content(content)
        assert page.locator(".output table").count() >= 2
        assert page.locator(".output img, .output svg").count() >= 2
        assert page.evaluate("document.documentElement.scrollWidth") <= 900
        assert not re.search("Traceback|Error:", page.inner_text("body"))
        ends = [end for end in page.evaluate(ENDS) if end < HEIGHT]
        picture = folder / f"notebook-{path.stem}.png"
        page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": 900, "height": max(ends) + 8})
    assert picture.stat().st_size > 20_000
