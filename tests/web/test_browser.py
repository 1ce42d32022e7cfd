"""The page in a real browser: what a person sees, clicks and hears.

`make pictures` keeps the pictures that these tests take for the docs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.web import Settings, owner, site
from hushtable.web.shelf import Shelf
from hushtable.web.wording import ESTIMATE
from tests.web.browsers import running
from tests.web.serving import limits
from tests.web.serving import running as running_site
from tests.web.shared_releases import UNSEEN, town_rows, town_schema

WIDE, TALL = {"width": 1200, "height": 900}, {"width": 1200, "height": 1500}
PHONE = {"width": 390, "height": 844}
IMPACTS = ("critical", "serious", "moderate", "minor")
"""Of what axe-core finds, the worst first."""
PATIENCE = 600_000
"""Milliseconds: a busy machine is no failure."""


@dataclass
class Visit:
    """A page of the browser, the server's address, and what the page complained about."""

    page: Any
    address: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)

    def wait_for_chart(self) -> None:
        self.page.wait_for_selector("#chart[data-drawn] svg")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def address(shelf_folder: Path, small_tables: ht.Release) -> Iterator[str]:
    """The server, with a release of a few tables beside the others."""
    folders = [*sorted(shelf_folder.glob("*.release")), small_tables.folder]
    with running_site(site(Shelf.of_releases(folders), Settings(limits()))) as found:
        yield found


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[..., Visit]]:
    """A way to open pages: `visit("/town", viewport=PHONE, color_scheme="dark")`."""
    contexts = []
    visits = []

    def go(path: str, **options: Any) -> Visit:
        context = browser.new_context(**{"viewport": WIDE, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        seen = Visit(context.new_page(), address)
        seen.page.on("console", lambda m: seen.complaints.append(f"{m.type}: {m.text}"))
        seen.page.on("pageerror", lambda error: seen.complaints.append(f"error: {error}"))
        visits.append(seen)
        seen.open(path)
        return seen

    yield go
    for context in contexts:
        context.close()
    refused = "the server responded with a status of 400"
    wrong = [c for v in visits for c in v.complaints if c.startswith("error") and refused not in c]
    assert not wrong, "the page must run under its own policy, without an error"


@pytest.fixture
def take(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    """Take a picture of a page."""
    folder = Path(request.config.getoption("--pictures") or tmp_path)

    def picture(seen: Visit, name: str, whole: bool = False) -> None:
        path = folder / f"{name}.png"
        seen.page.screenshot(path=path, full_page=whole)
        assert path.stat().st_size > 5_000

    return picture


def click_bar(seen: Visit, place: int) -> None:
    """Click a bar where it begins, far from its error bar, which may cover its middle.

    Bars come first: the ends of error bars, which follow, are rectangles too.
    """
    bar = seen.page.locator("#chart svg .mark-rect.role-mark path").nth(place)
    bar.click(position={"x": 4, "y": 8})


def test_the_first_page_draws_the_counts(visit: Any, take: Any) -> None:
    seen = visit("/town")
    seen.wait_for_chart()
    assert seen.page.locator("#chart svg path").count() > 3
    assert seen.page.locator("#rows tbody tr").count() == 100
    take(seen, "explore")


@pytest.mark.thorough
def test_choosing_an_attribute_answers_at_once(visit: Any) -> None:
    seen = visit("/town")
    seen.wait_for_chart()
    seen.page.select_option("#by", "sex")
    seen.page.wait_for_selector("#rows tbody tr:nth-child(2):last-child")
    assert "by=sex" in seen.page.url
    assert seen.page.evaluate("document.activeElement.id") == "by"
    seen.page.go_back()
    seen.page.wait_for_selector("#rows tbody tr:nth-child(100)")


def test_a_click_on_a_bar_looks_inside_it(visit: Any, take: Any) -> None:
    seen = visit("/town?by=job")
    seen.wait_for_chart()
    click_bar(seen, 1)
    seen.page.click("#menu a:has-text('Look inside')")
    seen.page.wait_for_selector(".chips >> text=Outdoors")
    assert seen.page.locator("#rows tbody th").all_inner_texts() == ["Farm", "Sea"]
    seen.wait_for_chart()
    take(seen, "explore-inside")
    seen.page.click(".chips a:has-text('all of job')")
    seen.page.wait_for_selector("#rows tbody >> text=Office")
    assert not seen.page.locator(".chips").count()


@pytest.mark.thorough
def test_a_click_on_a_bar_splits_it_by_another_attribute(visit: Any) -> None:
    seen = visit("/town?by=sex")
    seen.wait_for_chart()
    click_bar(seen, 0)
    seen.page.click("#menu a:has-text('by job')")
    seen.page.wait_for_selector("#rows >> text=Outdoors")
    assert "is.sex=F" in seen.page.url and "by=job" in seen.page.url


@pytest.mark.thorough
def test_two_attributes_make_a_heat_map(visit: Any, take: Any) -> None:
    seen = visit("/village?by=age&at=10&and=job&and_at=each")
    seen.wait_for_chart()
    cells = seen.page.locator("#chart svg .mark-rect.role-mark path")
    shades = cells.evaluate_all("cells => cells.map(cell => Number(cell.getAttribute('opacity')))")
    assert len(shades) == 60 and set(shades) == {0.2, 1}
    take(seen, "explore-two")


@pytest.mark.thorough
def test_a_difference_is_judged_in_words(visit: Any, take: Any) -> None:
    seen = visit("/town?by=sex")
    seen.page.select_option("#a", "M")
    seen.page.select_option("#b", "F")
    seen.page.click("#compare button")
    seen.page.wait_for_selector("#difference >> text=larger than the noise")
    take(seen, "explore-difference")


@pytest.mark.thorough
def test_filters_and_simultaneous_intervals(visit: Any) -> None:
    seen = visit("/town?by=sex")
    bar = seen.page.locator("#rows tbody td").nth(1)
    alone = bar.inner_text()
    seen.page.check("#together")
    seen.page.wait_for_url(lambda url: "together=on" in url)
    seen.page.wait_for_selector("main:not([aria-busy])")
    assert float(bar.inner_text().replace(",", "")) > float(alone.replace(",", ""))
    seen.page.click("summary:has-text('age')")
    seen.page.fill("[name='from.age']", "90")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector(".chips >> text=90 or more")


@pytest.mark.thorough
def test_sql_can_be_changed(visit: Any) -> None:
    seen = visit("/town?by=sex")
    seen.page.fill("#sql", "SELECT COUNT(*), AVG(age) FROM town WHERE sex = 'F'")
    seen.page.click("#sqlform button")
    seen.page.wait_for_selector(".number >> nth=1")
    assert "sql=SELECT" in seen.page.url


@pytest.mark.thorough
def test_tables_sort_by_their_numbers(visit: Any) -> None:
    seen = visit("/town?by=job&at=each")
    seen.page.click("#rows thead button:has-text('count')")
    cells = seen.page.locator("#rows tbody td:nth-child(2)").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.value))"
    )
    assert cells == sorted(cells, reverse=True)
    assert seen.page.locator("#rows th[aria-sort=descending]").count() == 1


@pytest.mark.thorough
def test_a_refusal_says_what_can_be_asked(visit: Any, take: Any) -> None:
    seen = visit("/wide?by=age&and=job")
    seen.page.wait_for_selector("text=This release cannot answer that.")
    take(seen, "explore-refused")
    seen.page.click("text=Answer it by a model instead")
    seen.page.wait_for_selector("figcaption >> text=Estimate.")


@pytest.mark.thorough
@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_charts_are_taken_along_as_pictures(visit: Any, ending: str, start: bytes) -> None:
    seen = visit("/town?by=sex")
    seen.wait_for_chart()
    with seen.page.expect_download() as saved:
        seen.page.click(f"[data-image={ending}]")
    assert Path(saved.value.path()).read_bytes().startswith(start)


@pytest.mark.thorough
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_pictures_carry_what_their_numbers_are_not(visit: Any, viewport: Any) -> None:
    """Whole, also where the chart is narrow."""
    seen = visit("/wide?by=sex&and=job&estimate=on", viewport=viewport)
    seen.wait_for_chart()
    with seen.page.expect_download() as saved:
        seen.page.click("[data-image=svg]")
    assert f">{ESTIMATE}<" in Path(saved.value.path()).read_text()


@pytest.mark.thorough
def test_downloads_and_json_of_the_page_open(visit: Any, town: ht.Release) -> None:
    seen = visit("/town?by=sex")
    with seen.page.expect_download() as saved:
        seen.page.click("a:has-text('CSV')")
    assert Path(saved.value.path()).read_text().startswith('"sex","count"')
    with seen.page.expect_navigation():
        seen.page.click("a:has-text('JSON')")
    told = json.loads(seen.page.inner_text("body"))
    assert [row["value"] for row in told["rows"]] == town.table("sex").values.tolist()


@pytest.mark.thorough
def test_it_works_at_the_width_of_a_phone(visit: Any, take: Any) -> None:
    seen = visit("/town?by=job", viewport=PHONE)
    seen.wait_for_chart()
    wide = seen.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]
    take(seen, "explore-phone")


@pytest.mark.thorough
def test_it_is_dark_where_the_reader_wants_that(visit: Any, take: Any) -> None:
    seen = visit("/town?by=job", color_scheme="dark")
    seen.wait_for_chart()
    ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, ground[4:-1].split(","))) < 200
    take(seen, "explore-dark")


def test_labels_of_a_hostile_release_stay_text(visit: Any) -> None:
    seen = visit("/hostile")
    seen.wait_for_chart()
    assert not seen.page.locator("main img, main b, main i").count()
    assert r"a\u202eb" in seen.page.inner_text("#rows")
    click_bar(seen, 3)
    seen.page.click("#menu a:has-text('by select')")
    seen.page.wait_for_selector("#rows >> text=y")
    assert UNSEEN in seen.page.evaluate("[...new URLSearchParams(location.search).values()]")


@pytest.mark.thorough
def test_all_can_be_done_by_keyboard(visit: Any) -> None:
    seen = visit("/town?by=job")
    seen.wait_for_chart()
    reached = set()
    for _ in range(80):
        seen.page.keyboard.press("Tab")
        reached.add(
            seen.page.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
    assert {"show", "by", "at", "and", "confidence", "together", "sql", "a", "b"} <= reached
    assert {"Skip to the content", "Outdoors", "CSV", "Compare"} <= reached


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        ("/", "light"),
        ("/town?by=job&a=Office&b=Outdoors", "light"),
        ("/town?by=job", "dark"),
        ("/wide?by=age&and=job", "light"),
        ("/village?by=age&at=10&and=job&and_at=each", "light"),
        ("/town?by=age&at=10&and=job&is.sex=F", "dark"),
    ],
)
def test_a_checker_of_accessibility_finds_nothing_serious(
    visit: Any, check_accessibility: Any, path: str, scheme: str
) -> None:
    seen = visit(path, color_scheme=scheme)
    if seen.page.locator("#chart").count():
        seen.wait_for_chart()
    check_accessibility(seen.page, f"{path} ({scheme})")


@pytest.fixture
def check_accessibility(capsys: pytest.CaptureFixture[str]) -> Callable[[Any, str], None]:
    """Nothing may keep people out, as axe-core sees it; what it finds is counted and printed."""
    from axe_playwright_python.sync_playwright import Axe

    def check(page: Any, what: str) -> None:
        response = Axe().run(page).response
        found = [
            (one["impact"], one["id"], one["nodes"][0]["html"]) for one in response["violations"]
        ]
        counts = Counter(impact for impact, _, _ in found)
        told = ", ".join(f"{counts[impact]} {impact}" for impact in IMPACTS)
        with capsys.disabled():
            print(f"\naxe: {what}: {told}; {len(response['passes'])} rules pass")
        assert not [one for one in found if one[0] in IMPACTS[:2]]

    return check


@pytest.mark.thorough
@pytest.mark.accessibility
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_offline_and_keeps_nobody_out(
    browser: Any,
    town: ht.Release,
    tmp_path: Path,
    take: Any,
    check_accessibility: Any,
    scheme: str,
) -> None:
    town.report(tmp_path / "report.html")
    context = browser.new_context(viewport=TALL, color_scheme=scheme, offline=True)
    seen = Visit(context.new_page(), f"file://{tmp_path}")
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.open("/report.html")
    assert seen.page.locator("img").count() >= len(town.schema.attributes)
    loaded = "images => images.every(image => image.complete && image.naturalWidth > 0)"
    assert seen.page.locator("img").evaluate_all(loaded)
    check_accessibility(seen.page, f"a report ({scheme})")
    if scheme == "light":
        take(seen, "report")
    assert not seen.complaints
    context.close()


@pytest.mark.thorough
@pytest.mark.accessibility
def test_the_owner_sees_what_was_spent_and_what_more_would_give(
    browser: Any,
    shelf_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    take: Any,
    check_accessibility: Any,
) -> None:
    monkeypatch.setattr(owner, "forecast_beside", partial(owner.forecast_beside, longest=600.0))
    monkeypatch.chdir(tmp_path)
    town_schema().save("town.toml")
    for name, epsilon in (("town-2023", "1"), ("town-2024", "2.5"), ("town-jobs", "0.5")):
        rows = pa.table(town_rows())
        out = f"{name}.release"
        ht.publish(rows, "town.toml", epsilon=epsilon, mechanism="basic", out=out)
    routes = tuple(owner.owner_routes("town.toml", None))
    shelf = Shelf.of_releases([shelf_folder / "town.release"])
    settings = Settings(limits(), hosts=("127.0.0.1",), token="secret")
    context = browser.new_context(viewport=WIDE)
    context.set_default_timeout(PATIENCE)
    with running_site(site(shelf, settings, routes)) as address:
        seen = Visit(context.new_page(), address)
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("console", lambda m: m.type == "error" and seen.complaints.append(m.text))
        seen.open("/-/owner?token=secret")
        seen.page.wait_for_selector("text=Recommended:")
        seen.page.locator("input[type=range]").press("End")
        seen.page.wait_for_selector("text=Forecast for ε = 5")
        seen.page.wait_for_selector("text=hush publish")
        assert seen.page.locator("[aria-label=Ledger] tbody tr").count() == 3
        check_accessibility(seen.page, "the owner's page")
        take(seen, "explore-owner", whole=True)
    assert not seen.complaints
    context.close()


@pytest.mark.thorough
def test_a_page_without_scripts_still_answers(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{address}/town")
    page.select_option("#by", "sex")
    with page.expect_navigation():
        page.click("form.ask button")
    assert page.locator("#rows tbody tr").count() == 2
    context.close()
