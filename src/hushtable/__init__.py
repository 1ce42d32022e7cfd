"""hushtable publishes tables under differential privacy.

    release = hushtable.publish("census.parquet", schema, epsilon="1", out="census.release")
    release = hushtable.open("census.release")
    release.count("age BETWEEN 20 AND 29")

Names are loaded when first used, so that opening a release never imports what made it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Schema": "hushtable.schema",
    "publish": "hushtable.publishing",
    "curate": "hushtable.publishing",
    "check": "hushtable.checking",
    "CheckReport": "hushtable.checking",
    "mechanisms": "hushtable.families",
    "plan": "hushtable.planner",
    "plan_on_proxy": "hushtable.evaluation.proxy",
    "ProxyPlan": "hushtable.evaluation.proxy",
    "evaluate": "hushtable.evaluation.evaluate",
    "Evaluation": "hushtable.evaluation.evaluate",
    "audit": "hushtable.auditing.audit",
    "Audit": "hushtable.auditing.audit",
    "Plan": "hushtable.planner",
    "open": "hushtable.release",
    "Release": "hushtable.release",
    "combine": "hushtable.release.combining",
    "Combination": "hushtable.release.combining",
    "Answer": "hushtable.query.answer",
    "Synthesizer": "hushtable.synthesizer",
    "CsvFormat": "hushtable.kernel.counting",
    "HushError": "hushtable.errors",
    "NoisyRowsWarning": "hushtable.errors",
}

if TYPE_CHECKING:
    from hushtable import workload
    from hushtable.auditing.audit import Audit, audit
    from hushtable.checking import CheckReport, check
    from hushtable.errors import HushError, NoisyRowsWarning
    from hushtable.evaluation.evaluate import Evaluation, evaluate
    from hushtable.evaluation.proxy import ProxyPlan, plan_on_proxy
    from hushtable.families import mechanisms
    from hushtable.kernel.counting import CsvFormat
    from hushtable.planner import Plan, plan
    from hushtable.publishing import curate, publish
    from hushtable.query.answer import Answer
    from hushtable.release import Release, open
    from hushtable.release.combining import Combination, combine
    from hushtable.schema import Schema
    from hushtable.synthesizer import Synthesizer

__all__ = [
    "Answer",
    "Audit",
    "CheckReport",
    "Combination",
    "CsvFormat",
    "Evaluation",
    "HushError",
    "NoisyRowsWarning",
    "Plan",
    "ProxyPlan",
    "Release",
    "Schema",
    "Synthesizer",
    "audit",
    "check",
    "combine",
    "curate",
    "evaluate",
    "mechanisms",
    "open",
    "plan",
    "plan_on_proxy",
    "publish",
    "workload",
]


def __getattr__(name: str) -> Any:
    if name == "workload":
        return import_module("hushtable.workload")
    if name not in _HOMES:
        raise AttributeError(f"module 'hushtable' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
