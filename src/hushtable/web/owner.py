"""The owner's page, on the owner's machine alone: what was spent, and what a release would give.

It reads a schema and its ledger, forecasts by plans, and shows the command to publish. It reads no
table, writes nothing and publishes nothing. `hush explore --schema` mounts it; no server for others
imports this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hushtable.errors import HushError, OptionError
from hushtable.families.forecast import Forecast, SummaryForecast, about
from hushtable.kernel.privacy.dataset_ledger import check_first, ledger_path, pins_of
from hushtable.kernel.privacy.history import LedgerState
from hushtable.kernel.privacy.ledger import Ledger
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.planner import Plan, plan
from hushtable.planner.chart import plan_spec
from hushtable.query.answer import show_number
from hushtable.query.chart import ERROR, VALUE, Spec, titled, tooltips
from hushtable.schema import Schema
from hushtable.text import plain
from hushtable.web.rendering import render
from hushtable.workload import DEFAULT

WORKLOADS = (DEFAULT, "marginals:1", "marginals:2", "ranges", "prefixes", "identity", "total")
LONGEST = 60.0
"""Seconds that a forecast may take."""

_STEPS = ("1", "1.5", "2", "3", "5", "7")


def owner_routes(
    schema: str | Path,
    ledger: str | Path | None = None,
    allow_paths: Sequence[str | Path] = (),
) -> list[Route]:
    """The routes of the owner's page for a schema; a file that cannot be read is refused now."""
    allowed = tuple(map(str, allow_paths))
    page = _Page(Path(schema), None if ledger is None else Path(ledger), allowed)
    described = Schema.load(page.schema, allow_paths=allowed)
    ledger_state(described, ledger)
    return [Route("/-/owner", page.show), Route("/-/owner/plan.json", page.plan)]


# ── what was spent ───────────────────────────────────────────────────────────────────────────────


def ledger_state(schema: Schema, ledger: str | Path | None = None) -> LedgerState:
    """What was spent on a schema's dataset; nothing is made or changed."""
    place = ledger_path(schema, ledger)
    if not place.exists():
        check_first(schema, place)  # it may be elsewhere
        return LedgerState(budget=schema.budget, spent=Fraction(0), entries=(), **pins_of(schema))
    state = Ledger.read(place)
    if state.dataset != schema.dataset_name:
        raise OptionError(f"{place} is the ledger of another dataset than {schema.dataset_name}")
    return state


def history_rows(state: LedgerState) -> list[dict[str, Any]]:
    """Each spending, and what was spent before and after it; what was given back spent nothing."""
    rows, spent = [], Fraction(0)
    for number, entry in enumerate(state.entries, 1):
        before = spent
        spent += 0 if entry.status == "void" else entry.epsilon
        rows.append(
            {
                "number": number,
                "time": entry.time,
                "table": entry.table or "–",
                "mechanism": entry.mechanism,
                "epsilon": format_epsilon(entry.epsilon),
                "status": entry.status,
                "release": os.path.basename(entry.out),
                "before": float(before),
                "after": float(spent),
                "left": format_epsilon(state.budget - spent),
            }
        )
    return rows


def history_spec(state: LedgerState) -> Spec:
    """What was spent, one after the other, on the way to the budget."""
    values = [
        {
            "group": plain(f"{row['number']} · {row['time'][:10]} · {row['release']}"),
            "lower": row["before"],
            "upper": row["after"],
            "shown": row["epsilon"],
            "interval": f"{row['before']:g} to {row['after']:g}",
        }
        for row in history_rows(state)
    ]
    values.append(
        {
            "group": "left",
            "lower": float(state.spent),
            "upper": float(state.budget),
            "shown": format_epsilon(state.left),
            "interval": f"{float(state.spent):g} to {float(state.budget):g}",
        }
    )
    colour = {"condition": {"test": "datum.group === 'left'", "value": "#c8ced4"}, "value": VALUE}
    spent = {"field": "lower", "type": "quantitative", "title": "ε spent in all"}
    return {
        "title": titled(plain(f"Budget of {state.dataset}: ε = {format_epsilon(state.budget)}")),
        "data": {"values": values},
        "width": 460,
        "height": {"step": 22},
        "layer": [
            {
                "mark": {"type": "bar"},
                "encoding": {
                    "y": {"field": "group", "type": "ordinal", "sort": None, "title": None},
                    "x": spent | {"scale": {"domainMin": 0}},
                    "x2": {"field": "upper"},
                    "color": colour,
                    "tooltip": tooltips("release", "ε"),
                },
            },
            {
                "mark": {"type": "rule", "aria": False, "color": ERROR, "strokeDash": [4, 3]},
                "encoding": {"x": {"datum": float(state.budget)}},
            },
        ],
    }


# ── what a release would give ────────────────────────────────────────────────────────────────────


def epsilons(most: Fraction) -> list[str]:
    """Round values from a thousandth of the most that can be spent up to all of it."""
    found, power = [], Decimal("1e-6")
    while Fraction(power) <= most:
        found += [str((power * Decimal(step)).normalize()) for step in _STEPS]
        power *= 10
    kept = [format_epsilon(Fraction(one)) for one in found if most / 1000 <= Fraction(one) < most]
    return [*kept, format_epsilon(most)]


def command_of(found: Plan, schema: Path, ledger: Path | None, allowed: Sequence[str] = ()) -> str:
    """The command that publishes what is recommended; only the table is left to fill in."""
    words = ["hush", "publish", "DATA", "--schema", str(schema)]
    words += ["--epsilon", format_epsilon(found.epsilon)]
    words += [] if ledger is None else ["--ledger", str(ledger)]
    words += [word for path in allowed for word in ("--allow-path", path)]
    words += [] if found.workload.name == DEFAULT else ["--workload", found.workload.name]
    words += [] if found.people == found.schema.people else ["--people", str(found.people)]
    return shlex.join([*words, "-o", f"{found.schema.name}.release"])


def forecast(
    schema: str,
    ledger: str | None,
    epsilon: str,
    workload: str,
    people: int | None,
    allowed: Sequence[str] = (),
) -> dict[str, Any]:
    """A plan as plain values, its chart and its words; or why there is none."""
    try:
        described = Schema.load(schema, allow_paths=allowed)
        found = plan(described, epsilon=epsilon, workload=workload, people=people)
        best = found.recommended
        useful = found.best
        listed: list[Forecast | SummaryForecast] = [*found.forecasts, *found.summaries]
        return {
            "epsilon": format_epsilon(found.epsilon),
            "recommended": None if best is None else best.mechanism,
            "refused": None if best is not None else found.why_not(),
            "margin": show_number(best.margin(), best.margin() / 100)
            if isinstance(best, Forecast)
            else None,
            "useful_from": None if useful is None else about(useful.useful_from),
            "mechanisms": [
                {
                    "mechanism": one.mechanism,
                    "stderr": show_number(one.rmse, one.rmse / 100),
                    "useful_from": about(one.useful_from),
                }
                for one in listed
            ],
            "spec": plan_spec(found),
            "command": command_of(found, Path(schema), Path(ledger) if ledger else None, allowed)
            if best is not None
            else None,
        }
    except HushError as problem:
        return {"error": str(problem)}


@dataclass(eq=False)
class _Page:
    """Answers of the owner's page; forecasts are made one at a time, in a process of their own."""

    schema: Path
    ledger: Path | None
    allowed: tuple[str, ...] = ()
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _newest: int = 0

    async def show(self, request: Request) -> Response:
        try:
            schema = Schema.load(self.schema, allow_paths=self.allowed)
            state = await asyncio.to_thread(ledger_state, schema, self.ledger)
        except HushError as problem:
            reply = render(
                "refusal.html", status=400, root="", title="No answer", line=str(problem)
            )
            return Response(reply.body, reply.status, media_type=reply.kind)
        reply = render("owner.html", **_facts(schema, state))
        return Response(reply.body, headers={"Cache-Control": "no-store"}, media_type=reply.kind)

    async def plan(self, request: Request) -> Response:
        """The forecast for the fields of the page; older ones that still wait are dropped."""
        asked = request.query_params
        people = asked.get("people", "").strip()
        if people and not people.isdecimal():
            return JSONResponse({"error": "people is a whole number"}, 400)
        self._newest += 1
        number = self._newest
        async with self._turn:
            if number != self._newest:
                return JSONResponse({"error": "a newer question was asked"}, 409)
            found = await self._forecast(
                asked.get("epsilon", "")[:100],
                asked.get("workload", DEFAULT)[:1000],
                int(people[:18]) if people else None,
            )
        return JSONResponse(found, 400 if "error" in found else 200)

    async def _forecast(self, epsilon: str, workload: str, people: int | None) -> dict[str, Any]:
        if workload not in WORKLOADS:
            return {"error": f"workload is one of {', '.join(WORKLOADS)}"}
        ledger = None if self.ledger is None else str(self.ledger)
        asked = (str(self.schema), ledger, epsilon, workload, people, self.allowed)
        return await forecast_beside(*asked)


async def forecast_beside(*asked: Any, longest: float = LONGEST) -> dict[str, Any]:
    """A forecast by a process of its own, which is ended when it takes too long."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "hushtable.web.owner"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        found, _ = await asyncio.wait_for(process.communicate(json.dumps(asked).encode()), longest)
        return dict(json.loads(found))
    except TimeoutError:
        return {"error": f"the forecast takes longer than {longest:g} seconds: try hush plan"}
    except ValueError:
        return {"error": "the forecast came to no end: try hush plan"}
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def _facts(schema: Schema, state: LedgerState) -> dict[str, Any]:
    values = epsilons(state.left if state.left > 0 else state.budget)
    return {
        "root": "",
        "title": f"Owner of {schema.dataset_name}",
        "table": schema.name,
        "dataset": schema.dataset_name,
        "budget": format_epsilon(state.budget),
        "spent": format_epsilon(state.spent),
        "left": format_epsilon(state.left),
        "protects": schema.protects,
        "rows": history_rows(state),
        "people": schema.people,
        "workloads": WORKLOADS,
        "epsilons": values,
        "start": len(values) // 2,
        "spent_all": state.left <= 0,
        "spec": history_spec(state),
    }


if __name__ == "__main__":
    sys.stdout.buffer.write(json.dumps(forecast(*json.load(sys.stdin))).encode())
