"""A report says what a release is and tells, in one file that runs nothing."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.web import report as reports
from hushtable.web.wording import ESTIMATE, NOT_PRIVATE
from tests.shared_mechanisms import Recipe, recipes, settings_of
from tests.shared_sizes import some_of
from tests.web.shared_releases import HOSTILE, PEOPLE

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SVG = "data:image/svg+xml;base64,"


class Page(HTMLParser):
    """What a browser would find in a report."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(self.source)
        self.images = [attributes for tag, attributes in self.tags if tag == "img"]
        self.drawings = [
            base64.b64decode(str(image["src"]).removeprefix(SVG)).decode() for image in self.images
        ]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def captions(self) -> list[str]:
        found = re.findall("<figcaption>(.*?)</figcaption>", self.source, re.DOTALL)
        return [" ".join(re.sub("<[^>]*>", "", one).split()) for one in found]


def reported(release: ht.Release, folder: Path) -> Page:
    release.report(folder / "report.html")
    return Page(folder / "report.html")


def small_release(folder: Path, recipe: Recipe = ("basic",), **options: Any) -> ht.Release:
    attributes = [
        {"name": "age", "kind": "ordinal", "range": [0, 7]},
        {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
    ]
    schema = ht.Schema.from_dict({"name": "small", "budget": "9", "attribute": attributes})
    rows = pa.table({"age": [i % 8 for i in range(400)], "sex": ["F", "M"] * 200})
    return ht.publish(
        rows,
        schema,
        epsilon="2",
        mechanism=recipe[0],
        settings=settings_of(recipe),
        out=folder / "small.release",
        ledger=folder / "small.ledger",
        **options,
    )


def test_it_says_what_is_guaranteed_and_what_there_is(town: ht.Release, tmp_path: Path) -> None:
    page = reported(town, tmp_path)
    for said in (
        "if any one person, who has one row, were left out",
        town.manifest["privacy"]["guarantee"],
        "ε = 1",
        "Office",
        "hush query town.release",
        "hush explore town.release",
        "Mean of age",
    ):
        assert said in page.text
    titles = re.findall("<h3><bdi>(.*?)</bdi></h3>", page.source)
    assert titles[:4] == ["age", "sex", "job", "pay"] and "sex and job" in titles
    assert len(page.images) == len(titles) == len(page.captions)


def test_its_numbers_are_those_of_the_release(town: ht.Release, tmp_path: Path) -> None:
    page = reported(town, tmp_path)
    total = town.count()
    assert f"{total.value:,}" in page.text and abs(float(total.value) - PEOPLE) < 2_000
    women, men = (row["value"] for row in town.table("sex"))
    alt = next(str(image["alt"]) for image in page.images if "by sex," in str(image["alt"]))
    assert f"Largest: M, {men:,} ±" in alt and f"Smallest: F, {women:,} ±" in alt


def test_nothing_in_it_runs_or_is_loaded(hostile: ht.Release, tmp_path: Path) -> None:
    page = reported(hostile, tmp_path)
    assert "<script" not in page.source and "<img src=x" not in page.source
    known = (
        "html head meta title style body main header section h1 h2 h3 p strong em sup bdi span div"
    )
    known += " dl dt dd ul li table thead tbody tr th td figure img figcaption details summary"
    assert {tag for tag, _ in page.tags} <= {*known.split(), "pre", "code"}
    names = {name for _, attributes in page.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("href", "style")}
    assert all(str(image["src"]).startswith(SVG) for image in page.images)
    policy = [a for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert [one["content"] for one in policy] == [POLICY]


def test_hostile_labels_are_text_in_pages_and_drawings(hostile: ht.Release, tmp_path: Path) -> None:
    page = reported(hostile, tmp_path)
    for label in (*HOSTILE, r"a\u202eb\x1b[31m"):
        assert label in page.text
    assert "\u202e" not in page.source and "\x1b" not in page.source
    assert page.drawings
    for drawing in page.drawings:
        tree = ElementTree.fromstring(drawing)  # well-formed, so that nothing ended an element
        kinds = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert kinds <= {
            "svg",
            "style",
            "g",
            "path",
            "line",
            "text",
            "rect",
            "defs",
            "clipPath",
        } | {
            "linearGradient",
            "stop",
        }
        names = {name for element in tree.iter() for name in element.attrib}
        assert not {name for name in names if name.startswith("on") or name.endswith("href")}
        assert "\u202e" not in drawing and "\x1b" not in drawing
    assert any(
        "</script>" in (text or "") for text in ElementTree.fromstring(page.drawings[0]).itertext()
    )


@pytest.mark.parametrize(
    "recipe", some_of(recipes(every=False), recipes(every=False)[::3]), ids="-".join
)
def test_every_mechanism_has_a_report(recipe: Recipe, tmp_path: Path) -> None:
    release = small_release(tmp_path, recipe)
    page = reported(release, tmp_path)
    assert len(page.images) == 3  # each attribute, and both together
    names = ("by age,", "by sex,", "by age and sex,")
    tables = (release.table("age"), release.table("sex"), release.table("age", "sex"))
    for name, table, caption, image, drawing in zip(
        names, tables, page.captions, page.images, page.drawings, strict=True
    ):
        assert name in str(image["alt"])
        assert ("Estimate." in caption) == table.estimate == (ESTIMATE in drawing)
        assert "Not private" not in caption + drawing


def test_what_is_not_private_says_so_on_every_chart(tmp_path: Path) -> None:
    release = small_release(tmp_path, entropy=SeededEntropy(1))
    assert not release.private
    page = reported(release, tmp_path)
    assert page.captions and all("Not private." in caption for caption in page.captions)
    assert all(NOT_PRIVATE in drawing for drawing in page.drawings)
    assert "protects nobody" in page.text and "almost the same" not in page.text


def test_the_same_release_gives_the_same_bytes(town: ht.Release, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        ht.open(town.folder).report(tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_many_values_are_cut_to_the_largest_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "MOST_BARS", 3)
    monkeypatch.setattr(reports, "LARGEST", 2)
    monkeypatch.setattr(reports, "MOST_CHARTS", 1)
    labels = [f"v{i}" for i in range(5)]
    attributes = [
        {"name": "code", "kind": "nominal", "values": labels},
        {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
    ]
    schema = ht.Schema.from_dict({"name": "many", "budget": "9", "attribute": attributes})
    rows = {"code": [label for i, label in enumerate(labels) for _ in range(200 * i)]}
    rows["sex"] = ["F"] * len(rows["code"])
    out, ledger = tmp_path / "m.release", tmp_path / "m.ledger"
    release = ht.publish(
        pa.table(rows), schema, epsilon="2", mechanism="basic", out=out, ledger=ledger
    )
    page = reported(release, tmp_path)
    (caption,) = page.captions
    assert "the 2 largest of 5" in caption and "all at once" in caption
    assert "1 more attributes are not drawn" in page.text
    listed = re.findall('<th scope="row"><bdi>(v.)</bdi></th><td class="n"', page.source)
    assert listed == ["v4", "v3"]


def test_the_command_writes_a_new_file_alone(
    town: ht.Release, tmp_path: Path, run_hush: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, _ = run_hush("report", str(town.folder), "-o", "r.html", "--json")
    told = json.loads(out)
    assert code == 0 and told["file"] == "r.html" and told["charts"] == 4
    before = (tmp_path / "r.html").read_bytes()
    assert told["bytes"] == len(before)
    code, _, problem = run_hush("report", str(town.folder), "-o", "r.html")
    assert code == 2 and "is there already" in problem and problem.count("\n") == 1
    assert (tmp_path / "r.html").read_bytes() == before
    code, _, problem = run_hush("report", str(town.folder), "-o", "r.pdf")
    assert code == 2 and "must end in .html" in problem


def test_without_the_extra_one_line_says_what_to_install(
    town: ht.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(OptionError, match=r"pip install 'hushtable\[web\]'"):
        town.report(tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()
