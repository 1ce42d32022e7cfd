"""A picture of a plan: the error of small and of large questions, for each mechanism."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from hushtable.evaluation.plots import draw_lines
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.planner import Plan


def draw_plan(plan: Plan, path: Path) -> None:
    """Draw standard error against the cells a question covers."""
    rows = [
        {"mechanism": forecast.mechanism, "cells": sized.cells, "rmse": sized.rmse}
        for forecast in plan.forecasts
        for sized in forecast.by_size
    ]
    draw_lines(
        pa.Table.from_pylist(rows),
        path,
        x="cells",
        y="rmse",
        title=f"{plan.schema.name}: {plan.workload.name} at ε = {format_epsilon(plan.epsilon)}",
        names={"cells": "cells that a question covers", "rmse": "standard error of its count"},
    )
