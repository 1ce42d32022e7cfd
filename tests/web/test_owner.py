"""The owner's page tells what was spent and what would come of more, and changes nothing."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import psutil
import pyarrow as pa
import pytest
from starlette.applications import Starlette

import hushtable as ht
from hushtable.errors import HushError
from hushtable.query.answer import show_number
from hushtable.web import owner
from hushtable.web.owner import (
    command_of,
    epsilons,
    forecast,
    forecast_beside,
    history_rows,
    ledger_state,
)

TOML = """
name = "small"
budget = "3"
people = 400

[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 7]

[[attribute]]
name = "sex"
kind = "nominal"
values = ["F", "M"]
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """A schema on which 1/2 and then 1 was spent, in a folder with an odd name."""
    folder = tmp_path / "it's; a $HOME"
    folder.mkdir()
    file = folder / "small.toml"
    file.write_text(TOML, encoding="utf-8")
    rows = pa.table({"age": [i % 8 for i in range(400)], "sex": ["F", "M"] * 200})
    for number, epsilon in enumerate(("0.5", "1")):
        out = folder / f"{number}.release"
        ht.publish(rows, file, epsilon=epsilon, mechanism="basic", out=out)
    return file


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Client:
    """Asks a site without any network."""

    def __init__(self, schema: Path) -> None:
        self._site = Starlette(routes=owner.owner_routes(schema))

    def ask(self, method: str, path: str) -> httpx.Response:
        async def answer() -> httpx.Response:
            transport = httpx.ASGITransport(self._site)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as site:
                return await site.request(method, path)

        return asyncio.run(answer())

    def get(self, path: str) -> httpx.Response:
        return self.ask("GET", path)

    def post(self, path: str) -> httpx.Response:
        return self.ask("POST", path)


def client(schema: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The page; forecasts are made in this process, which is quicker."""

    async def at_once(*asked: Any, longest: float = 0.0) -> dict[str, Any]:
        return forecast(*asked)

    monkeypatch.setattr(owner, "forecast_beside", at_once)
    return Client(schema)


def test_the_history_is_that_of_the_ledger(schema: Path) -> None:
    state = ledger_state(ht.Schema.load(schema))
    rows = history_rows(state)
    assert [(row["epsilon"], row["before"], row["after"], row["left"]) for row in rows] == [
        ("0.5", 0.0, 0.5, "2.5"),
        ("1", 0.5, 1.5, "1.5"),
    ]
    assert [row["release"] for row in rows] == ["0.release", "1.release"]
    bars = owner.history_spec(state)["data"]["values"]
    assert [(bar["lower"], bar["upper"]) for bar in bars] == [(0, 0.5), (0.5, 1.5), (1.5, 3)]


def test_looking_and_planning_write_nothing(
    schema: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(schema.parent), everything(state_folder)
    assert any(name.endswith(".ledger") for name in before[0])
    page = client(schema, monkeypatch)
    assert page.get("/-/owner").status_code == 200
    assert page.get("/-/owner/plan.json?epsilon=1&workload=everyday").status_code == 200
    assert (everything(schema.parent), everything(state_folder)) == before
    assert page.post("/-/owner").status_code == page.post("/-/owner/plan.json").status_code == 405


def test_a_schema_that_spent_nothing_gets_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new.toml"
    file.write_text(TOML, encoding="utf-8")
    text = client(file, monkeypatch).get("/-/owner").text
    assert "Nothing was spent yet" in text
    assert [path.name for path in tmp_path.iterdir()] == ["new.toml"]


def test_the_forecast_is_that_of_a_plan(schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "/-/owner/plan.json?epsilon=1&workload=marginals:1&people=500"
    found = client(schema, monkeypatch).get(asked).json()
    plan = ht.plan(ht.Schema.load(schema), epsilon="1", workload="marginals:1", people=500)
    assert plan.recommended is not None
    assert found["recommended"] == plan.recommended.mechanism
    told = [(one["mechanism"], one["stderr"]) for one in found["mechanisms"]]
    listed = [*plan.forecasts, *plan.summaries]
    assert told == [(f.mechanism, show_number(f.rmse, f.rmse / 100)) for f in listed]


def test_what_would_be_noise_is_refused_in_words(schema: Path) -> None:
    found = forecast(str(schema), None, "0.001", "everyday", 10)
    plan = ht.plan(ht.Schema.load(schema), epsilon="0.001", people=10)
    assert found["refused"] == plan.why_not() and "would be noise" in found["refused"]
    assert found["recommended"] is None and found["command"] is None


def test_the_command_is_what_a_shell_takes(schema: Path) -> None:
    plan = ht.plan(ht.Schema.load(schema), epsilon="0.1", workload="marginals:1", people=900)
    words = shlex.split(command_of(plan, schema, Path("my ledger")))
    given = dict(zip(words[3::2], words[4::2], strict=True))
    assert words[:3] == ["hush", "publish", "DATA"]
    assert given == {
        "--schema": str(schema),
        "--epsilon": "0.1",
        "--ledger": "my ledger",
        "--workload": "marginals:1",
        "--people": "900",
        "-o": "small.release",
    }


def test_a_process_of_its_own_forecasts_the_same(schema: Path) -> None:
    asked = (str(schema), None, "0.5", "marginals:1", 10_000)
    assert asyncio.run(forecast_beside(*asked, longest=600.0)) == json.loads(
        json.dumps(forecast(*asked))
    )


def test_a_forecast_that_takes_too_long_is_ended(schema: Path) -> None:
    asked = (str(schema), None, "0.5", "marginals:1", 10_000)
    before = set(psutil.Process().children())
    found = asyncio.run(forecast_beside(*asked, longest=1e-6))
    assert "takes longer" in found["error"]
    left = set(psutil.Process().children()) - before
    assert not psutil.wait_procs(left, timeout=600)[1]


def test_bad_fields_are_one_line(schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = client(schema, monkeypatch)
    for query in ("epsilon=x", "epsilon=1&people=-3", "epsilon=1&workload=/etc/passwd"):
        answer = page.get(f"/-/owner/plan.json?{query}")
        assert answer.status_code == 400 and list(answer.json()) == ["error"]


def test_the_slider_ends_at_what_is_left(schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = client(schema, monkeypatch).get("/-/owner").text
    found = re.search('id="epsilons">(.*?)</script>', text)
    assert found is not None
    values = [Fraction(value) for value in json.loads(found[1])]
    assert values == sorted(set(values)) and values[-1] == Fraction(3, 2) and values[0] > 0
    assert epsilons(Fraction(1))[-2:] == ["0.7", "1"]


def test_the_page_has_no_script_or_style_of_its_own(
    schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = client(schema, monkeypatch).get("/-/owner").text
    scripts = re.findall("<script([^>]*)>", text)
    assert all(" src=" in one or "application/json" in one for one in scripts)
    assert "<style" not in text and " style=" not in text and " onclick" not in text


def test_a_ledger_of_others_is_refused(schema: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(TOML.replace("small", "other"), encoding="utf-8")
    with pytest.raises(HushError, match="another dataset"):
        ledger_state(ht.Schema.load(other), schema.parent / "small.toml.ledger")
