"""Answers to aggregates: sums, means, shares, quantiles, spreads, each with its error bar."""

from hushtable.query.statistics.answers import Question, grouped, statistic
from hushtable.query.statistics.grouped import RowLaw

__all__ = ["Question", "RowLaw", "grouped", "statistic"]
