"""What `hush mechanisms` lists of every mechanism is what it accepts; a new one joins by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Hush, hush

import hushtable as ht
from hushtable.errors import OptionError
from hushtable.families import FAMILIES, MECHANISMS, Family, about, find_mechanism
from hushtable.families.about import About, Setting
from hushtable.generators import census, census_schema

__all__ = ["hush"]

ROOT = Path(__file__).parent.parent.parent
ABOUT = ht.mechanisms()
SCHEMA = census_schema()
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)
every_setting = pytest.mark.parametrize(
    ("mechanism", "setting"),
    [(name, setting) for name, told in ABOUT.items() for setting in told.settings],
    ids=lambda value: value if isinstance(value, str) else value.name,
)


def check(mechanism: str, settings: dict[str, str]) -> None:
    find_mechanism(mechanism).check(SCHEMA, epsilon=Fraction(1), settings=settings)


@every_mechanism
def test_every_mechanism_says_what_it_is_for_and_has_a_page(mechanism: str) -> None:
    told = ABOUT[mechanism]
    assert find_mechanism(mechanism).name == told.name == mechanism
    assert told.releases and told.good_for and told.limits
    assert told.intervals.startswith(("promises", "estimates"))
    title = (ROOT / told.page_path).read_text(encoding="utf-8").partition("\n")[0]
    assert mechanism in re.findall(r"[\w+*-]+", title.replace("\\", ""))


@every_setting
def test_a_setting_is_accepted_by_its_default_and_its_example(
    mechanism: str, setting: Setting[Any]
) -> None:
    assert setting.meaning and setting.takes and setting.example
    assert setting.default is not None or setting.otherwise
    check(mechanism, setting.example_settings)
    if setting.default is not None:
        assert setting.example != setting.default
        *_, name = setting.example_settings
        check(mechanism, {**setting.example_settings, name: setting.default})


@every_mechanism
def test_a_setting_that_is_not_listed_is_refused_with_those_that_are(mechanism: str) -> None:
    with pytest.raises(OptionError) as refused:
        check(mechanism, {"frobnicate": "1"})
    line = str(refused.value)
    for setting in ABOUT[mechanism].settings:
        *_, name = setting.example_settings
        assert name in line
    assert "hush mechanisms " + mechanism.split("*")[0] in line.replace("'", "")


@pytest.mark.thorough
@every_mechanism
def test_intervals_are_what_a_release_calls_them(mechanism: str, tmp_path: Path) -> None:
    small = replace(SCHEMA, attributes=SCHEMA.attributes[:2])
    pq.write_table(census(200), tmp_path / "census.parquet")
    release = ht.publish(
        tmp_path / "census.parquet",
        small,
        epsilon="1",
        out=tmp_path / "census.release",
        mechanism=mechanism,
        ledger=tmp_path / "census.ledger",
    )
    assert release.estimate == ABOUT[mechanism].intervals.startswith("estimates")


@pytest.mark.parametrize(
    ("setting", "good", "bad"),
    [
        (about.whole("n", "", least=0, most=9), {"0": 0, " 9 ": 9}, "10 -1 1.5 x ٣ 1_0"),
        (about.whole("n", ""), {"1": 1}, "0 " + "9" * 20),
        (about.number("x", "", least=0.5, most=2), {"0.5": 0.5, "2": 2.0}, "0.4 nan inf x"),
        (about.exact("e", "", below=1), {"0.1": Fraction(1, 10)}, "0 1 -1 x nan"),
        (about.exact("e", "", zero=True), {"0": Fraction(0), "2": Fraction(2)}, "-1 x"),
        (about.choice("c", "", "one", "two"), {"two": "two"}, "three One 0"),
    ],
    ids=lambda value: value.takes if isinstance(value, Setting) else "",
)
def test_kinds_of_settings(setting: Setting[Any], good: dict[str, Any], bad: str) -> None:
    for text, value in good.items():
        assert setting.value(text) == setting.given({setting.name: text}) == value
    assert setting.given({}) is None
    for text in (*bad.split(), ""):
        with pytest.raises(OptionError) as refused:
            setting.value(text)
        assert str(refused.value) == f"{setting.name} must be {setting.takes}"


def test_a_family_is_listed_because_it_is_registered(
    monkeypatch: pytest.MonkeyPatch, hush: Hush
) -> None:
    toy: Any = ModuleType("hushtable.families.toy.about")
    size = about.whole("size", "how large", default="3", example="4")
    toy.ABOUT = (About("toy", "toys", "play", "promises", "toy", settings=(size,)),)
    monkeypatch.setitem(sys.modules, toy.__name__, toy)
    monkeypatch.setitem(FAMILIES, "toy", Family({"toy": "toy"}, ()))
    monkeypatch.setitem(MECHANISMS, "toy", "toy")
    assert "play" in hush("mechanisms").out
    shown = hush("mechanisms", "toy").out
    assert "--set size=4" in shown and "how large" in shown and "docs/mechanisms/toy.md" in shown


class TestTheCommand:
    def test_it_lists_all(self, hush: Hush) -> None:
        shown = hush("mechanisms")
        assert shown.code == 0
        for told in ABOUT.values():
            assert told.name in shown.out and told.good_for in shown.out
        listed = hush("mechanisms", "--json").json["mechanisms"]
        assert [entry["mechanism"] for entry in listed] == list(MECHANISMS)

    @every_mechanism
    def test_it_shows_one(self, hush: Hush, mechanism: str) -> None:
        told, shown = ABOUT[mechanism], hush("mechanisms", mechanism).out
        for words in (told.good_for, told.page_path, told.paper, *told.limits):
            assert words in shown
        for setting in told.settings:
            default = setting.default if setting.default is not None else setting.otherwise
            for words in (setting.name, setting.meaning, setting.takes, default, setting.example):
                assert words in shown
        assert hush("mechanisms", mechanism, "--json").json == told.to_dict()

    @pytest.mark.parametrize(
        ("name", "words"), [("Privlet", "did you mean privelet"), ("zzz", "there are basic, ")]
    )
    def test_a_name_that_is_none_is_one_line(self, hush: Hush, name: str, words: str) -> None:
        refused = hush("mechanisms", name)
        assert refused.code == 2 and refused.err.count("\n") == 1 and words in refused.err

    def test_it_loads_nothing_that_publishes(self) -> None:
        """Neither noise nor counting, nor what compiles: it starts like an analyst's command."""
        code = (
            "import sys; sys.argv = ['hush', 'mechanisms']\n"
            "from hushtable.cli.main import run\n"
            "try: run()\n"
            "finally: print(*sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
        loaded = set(done.stdout.splitlines()[-1].split())
        assert "hushtable.families.sparse.about" in loaded
        heavy = {"numba", "duckdb", "ibis", "sqlite3", "fcntl"}
        heavy |= {"hushtable.kernel.curator", "hushtable.kernel.counting", "hushtable.kernel.noise"}
        assert not loaded & heavy

    def test_a_wrong_setting_points_to_it(self, hush: Hush, tmp_path: Path) -> None:
        SCHEMA.save(tmp_path / "census.toml")
        pq.write_table(census(20), tmp_path / "census.parquet")
        asked = ["publish", tmp_path / "census.parquet", "-s", tmp_path / "census.toml", "-e", "1"]
        asked += ["-o", tmp_path / "out", "-m", "privelet*", "--set", "identty=age"]
        refused = hush(*asked)
        assert refused.code == 2 and refused.err == (
            "hush: privelet* has no setting 'identty'; it has identity;"
            " see hush mechanisms 'privelet*'\n"
        )
        assert not (tmp_path / "census.toml.ledger").exists()
