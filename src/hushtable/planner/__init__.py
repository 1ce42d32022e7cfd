"""The planner: the error of every mechanism, before any budget is spent."""

from hushtable.planner.plan import Forecast, Plan, plan
from hushtable.planner.workload import Workload

__all__ = ["Forecast", "Plan", "Workload", "plan"]
