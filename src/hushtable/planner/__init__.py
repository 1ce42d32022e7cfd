"""The planner: the error of every mechanism, before any budget is spent."""

from hushtable.planner.plan import Plan, plan

__all__ = ["Plan", "plan"]
