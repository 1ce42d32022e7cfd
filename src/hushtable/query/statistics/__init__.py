"""Answers to aggregates: sums, means, shares, quantiles, spreads, each with its error bar."""

from hushtable.query.statistics.answers import Question, statistic

__all__ = ["Question", "statistic"]
