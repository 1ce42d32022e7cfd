"""The planner: the error of every mechanism, before any budget is spent."""

from hushtable.planner.plan import EVERYDAY, Plan, plan

__all__ = ["EVERYDAY", "Plan", "plan"]
