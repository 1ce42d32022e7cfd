"""The page of a release, as HTML: what it says, what it escapes, where its links lead."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow.csv
import pyarrow.parquet
import pytest

import hushtable as ht
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.schema.schema import CountColumn, Unit
from hushtable.web.exchange import Asked, Reply
from hushtable.web.page import download_csv, download_parquet, page, refusal
from hushtable.web.rendering import at_most
from hushtable.web.wording import ESTIMATE, NOT_PRIVATE, alike
from tests.web.shared_releases import HOSTILE, publish_town, town_schema

ALLOWED = {"application/json", "module"}
BOTH = [NOT_PRIVATE, ESTIMATE]


class Tags(HTMLParser):
    """Every element with its attributes, and all the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def asked(query: str = "") -> Asked:
    parameters = tuple(parse_qsl(query, keep_blank_values=True))
    return Asked("page", "", "town", parameters, "/root")


def shown(reply: Reply) -> Tags:
    return Tags(reply.body.decode())


def chart_of(reply: Reply) -> dict:
    block = re.search(r'id="chart-data">(.*?)</script>', reply.body.decode(), re.DOTALL)
    assert block is not None
    return json.loads(block[1])


def test_the_page_shows_the_answer_as_sql_gives_it(town: ht.Release) -> None:
    reply = page(town, asked("by=sex"))
    table = town.sql("SELECT sex, COUNT(*) FROM town GROUP BY sex")
    rows = chart_of(reply)["spec"]["data"]["values"]
    assert reply.status == 200
    assert [row["value"] for row in rows] == table.values.tolist()
    assert [row["lower"] for row in rows] == table.bounds[0].tolist()


def test_the_page_tells_who_is_protected_and_how_well(town: ht.Release) -> None:
    text = shown(page(town, asked())).text
    assert town.manifest["privacy"]["guarantee"] in text
    assert "ε = 1" in text


def test_a_release_of_tests_says_so_on_its_page(tmp_path: Path, town: ht.Release) -> None:
    made_up = publish_town(tmp_path, entropy=SeededEntropy(1))
    assert "Not private." in shown(page(made_up, asked())).text
    assert "Not private." not in shown(page(town, asked())).text


def test_estimates_are_called_so_on_chart_and_table(tmp_path: Path, town: ht.Release) -> None:
    small = publish_town(tmp_path, mechanism="marginals", settings={"tables": "age+sex,job"})
    text = shown(page(small, asked("by=sex&and=job&estimate=on"))).text
    assert "estimate:" in text and "Estimate." in text
    assert "Estimate." not in shown(page(town, asked("by=sex"))).text


def test_pictures_say_themselves_what_their_numbers_are_not(tmp_path: Path) -> None:
    """Whoever gets a chart without its page must see it too."""
    told = {"mechanism": "marginals", "settings": {"tables": "age+sex,job"}}
    small = publish_town(tmp_path, entropy=SeededEntropy(1), **told)
    for query, marks in (("by=sex", [NOT_PRIVATE]), ("by=sex&and=job&estimate=on", BOTH)):
        title = chart_of(page(small, asked(query)))["spec"]["title"]
        subtitle = title["subtitle"]
        assert [subtitle] if isinstance(subtitle, str) else subtitle == marks
    several = asked("estimate=on&sql=SELECT sex, job, COUNT(*), SUM(age) FROM town GROUP BY 1, 2")
    spec = chart_of(page(small, several))["spec"]
    assert [panel["title"]["subtitle"][:2] for panel in spec["hconcat"]] == [BOTH, BOTH]


def test_charts_of_sure_and_private_numbers_carry_no_warning(town: ht.Release) -> None:
    assert "subtitle" not in chart_of(page(town, asked("by=sex")))["spec"]["title"]


def test_a_mean_is_pale_where_it_may_be_nearly_anything(tmp_path: Path) -> None:
    """Zero has nothing to do with it: no mean of ages is near it."""
    made_up = publish_town(tmp_path, entropy=SeededEntropy(1), epsilon="0.2")
    few = " WHERE age IN (20, 90) AND pay >= 50 AND job = 'Diver'"
    for where, noise in (("", [False, False]), (few, [True, True])):
        sql = f"SELECT sex, AVG(age) FROM town{where} GROUP BY sex"
        reply = page(made_up, Asked("page", "", "town", (("sql", sql),)))
        rows = chart_of(reply)["spec"]["data"]["values"]
        assert [row["noise"] for row in rows] == noise
        pale = [cell for cell in shown(reply).all("td") if "noise" in (cell["class"] or "").split()]
        assert len(pale) == sum(noise)
        assert "covers over half of all declared values" in shown(reply).text


def test_one_number_says_that_it_is_noise(tmp_path: Path) -> None:
    made_up = publish_town(tmp_path, entropy=SeededEntropy(1), epsilon="0.2")
    nobody = "is.sex=F&from.age=3&to.age=3&is.job=Diver&from.pay=50"
    assert "Mostly noise" in shown(page(made_up, asked(f"by=-&{nobody}"))).text
    assert "Mostly noise" not in shown(page(made_up, asked("by=-&is.sex=F"))).text


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({}, "if any one row of the table were left out."),
        ({"neighbours": "replace-one"}, "if any one row of the table were replaced by another."),
        ({"unit": Unit("id", 4)}, "if any one person, with at most 4 rows, were left out."),
        ({"unit": Unit("id", 1)}, "if any one person, with at most 1 row, were left out."),
        ({"counts": CountColumn("n")}, "if any one of the people counted were left out."),
        ({"dataset": "d"}, "if any one person, who has one row, were left out."),
    ],
    ids=str,
)
def test_the_first_sentence_says_whom_the_noise_protects(
    town: ht.Release, chosen: dict[str, Any], said: str
) -> None:
    schema = replace(town_schema(), **chosen)
    assert f"almost the same {alike(schema)}." == f"almost the same {said}"
    first = shown(page(town, asked())).text
    assert f"so that they would look almost the same {alike(town.schema)}." in first


@pytest.mark.parametrize("query", ["", "by=select", "and=select", "show=share", "is.select=x"])
def test_nothing_that_a_label_says_becomes_markup(hostile: ht.Release, query: str) -> None:
    reply = page(hostile, asked(query))
    tags = shown(reply)
    assert reply.status == 200
    assert not tags.all("img") and not tags.all("b") and not tags.all("i")
    assert all(script.get("type") in ALLOWED for script in tags.all("script"))
    assert "alert(1)</script>" not in reply.body.decode()
    assert not any(key.startswith("on") for _, attributes in tags.found for key in attributes)
    assert not any("style" in attributes for _, attributes in tags.found)  # by the page's policy
    assert "49" not in tags.text.partition("as SQL")[0].partition("it's")[2][:6]


def test_what_would_stay_unseen_is_shown_but_fields_keep_it(hostile: ht.Release) -> None:
    tags = shown(page(hostile, asked()))
    assert r"a\u202eb\x1b[31m" in tags.text
    assert "a\u202eb\x1b[31m" in [option.get("value") for option in tags.all("option")]


def test_every_link_of_a_page_leads_to_a_page(town: ht.Release, hostile: ht.Release) -> None:
    for release in (town, hostile):
        links = {
            link["href"] or ""
            for query in ("", "by=job&is.sex=F" if release is town else "")
            for link in shown(page(release, asked(query))).all("a")
        }
        inside = [link for link in links if link.startswith("/root/town?")]
        assert len(inside) > 3
        for link in inside:
            assert page(release, asked(urlsplit(link).query)).status == 200


def test_a_click_looks_inside_a_group_and_the_way_back_is_there(town: ht.Release) -> None:
    first = shown(page(town, asked("by=job")))
    inside = next(a["href"] or "" for a in first.all("a") if "is.job=Outdoors" in (a["href"] or ""))
    reply = page(town, asked(urlsplit(inside).query))
    assert [row["group"] for row in chart_of(reply)["spec"]["data"]["values"]] == ["Farm", "Sea"]
    deeper = next(
        a["href"] or "" for a in shown(reply).all("a") if "is.job=Sea" in (a["href"] or "")
    )
    last = page(town, asked(urlsplit(deeper).query))
    values = chart_of(last)["spec"]["data"]["values"]
    assert [row["group"] for row in values] == ["Sailor", "Diver"]
    up = [a["href"] for a in shown(last).all("a") if "is.job=Outdoors" in (a["href"] or "")]
    assert up


def test_a_refusal_is_said_in_words_with_what_can_be_asked(tmp_path: Path) -> None:
    pairs = publish_town(tmp_path, mechanism="marginals", settings={"tables": "age+sex,job"})
    reply = page(pairs, asked("by=age&and=job"))
    tags = shown(reply)
    assert reply.status == 400
    assert "This release cannot answer that." in tags.text
    assert "age × sex" in tags.text
    assert "Answer it by a model instead" in tags.text
    assert not re.search("--[a-z]|=True|Python", tags.text.partition("The question")[0])
    model = next(a["href"] or "" for a in tags.all("a") if "estimate=on" in (a["href"] or ""))
    assert page(pairs, asked(urlsplit(model).query)).status == 200


@pytest.mark.parametrize("query", ["by=nothing", "sql=SELEC", "sql=SELECT 1; DROP", "show=mean"])
def test_a_bad_question_gets_a_page_that_says_why(town: ht.Release, query: str) -> None:
    reply = page(town, asked(query))
    assert reply.status == 400
    assert "This release cannot answer that." in shown(reply).text


def test_too_many_rows_are_refused_in_words_for_people(town: ht.Release) -> None:
    question = Asked("page", "", "town", (("by", "age"), ("at", "each"), ("and", "job")), rows=50)
    text = shown(page(town, question)).text
    assert "Choose fewer attributes or wider groups" in text
    assert not re.search("--[a-z]|row_cap|hush query", text)


def test_two_rows_compared(town: ht.Release) -> None:
    more = shown(page(town, asked("by=sex&a=M&b=F"))).text
    assert "larger than the noise" in more and "Yes." in more
    same = shown(page(town, asked("by=sex&a=M&b=M"))).text
    assert "Yes." not in same


def test_a_comparison_of_estimates_says_so(tmp_path: Path) -> None:
    apart = publish_town(tmp_path, mechanism="marginals", settings={"tables": "sex,job"})
    text = shown(page(apart, asked("by=job&at=each&a=Diver&b=Clerk&is.sex=F&estimate=on"))).text
    assert "(estimate)" in text
    text = shown(page(apart, asked("by=job&at=each&a=Diver&b=Clerk&estimate=on"))).text
    assert "(estimate)" not in text


def test_downloads_have_the_whole_table(town: ht.Release) -> None:
    question = asked("by=age&and=job")
    expected = town.sql("SELECT age, LEVEL(job, 1), COUNT(*) FROM town GROUP BY 1, 2").to_arrow()
    parquet = pyarrow.parquet.read_table(io.BytesIO(download_parquet(town, question).body))
    csv = pyarrow.csv.read_csv(io.BytesIO(download_csv(town, question).body))
    assert parquet.equals(expected)
    assert csv.column_names == expected.column_names and len(csv) == len(expected)


def test_several_aggregates_of_sql_stand_side_by_side(town: ht.Release) -> None:
    sql = "sql=SELECT sex, COUNT(*), AVG(age) FROM town GROUP BY sex"
    reply = page(town, asked(sql))
    assert len(chart_of(reply)["spec"]["hconcat"]) == 2
    assert chart_of(reply)["menus"] is None


@pytest.mark.parametrize("question", ["by=sex&show=mean&of=age", "sql=SELECT SUM(age) FROM town"])
def test_sums_and_means_say_to_what_values_are_clipped(town: ht.Release, question: str) -> None:
    assert "age is clipped to 0 … 99" in shown(page(town, asked(question))).text
    assert "clipped" not in shown(page(town, asked("by=sex"))).text


def test_a_line_of_python_gives_the_same(town: ht.Release) -> None:
    text = shown(page(town, asked("by=sex&together=on&confidence=0.9"))).text
    line = re.search(r"ht\.open\('town\.release'\)\.sql\((.*)\)\n?", text)
    assert line is not None
    table = eval(f"town.sql({line[1]})", {"town": town})  # what a person would paste
    assert table.simultaneous and table.confidence == 0.9
    assert table.values.tolist() == town.table("sex").values.tolist()


def test_many_rows_are_listed_in_part_and_not_drawn(town: ht.Release) -> None:
    question = "sql=SELECT age, job, sex, pay, COUNT(*) FROM town GROUP BY 1, 2, 3, 4"
    reply = page(town, asked(question))
    text = shown(reply).text
    assert "more rows are in the download" in text and "too many rows for a chart" in text
    assert len(reply.body) < 2_000_000


def test_a_refusal_page_escapes_its_line() -> None:
    reply = refusal(asked(), HOSTILE[0], 503)
    assert reply.status == 503
    assert not shown(reply).all("script")


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (2.93e-30, "3·10<sup>−30</sup>"),
        (9.01e-10, "1·10<sup>−9</sup>"),
        (2.0**-4, "7·10<sup>−2</sup>"),
        (0.0, "0·10<sup>0</sup>"),
    ],
)
def test_a_bound_is_rounded_upwards(bound: float, text: str) -> None:
    assert at_most(bound) == text
