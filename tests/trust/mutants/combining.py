"""Releases that are answered as one: what is promised of their averages."""

from __future__ import annotations

from .mutant import Mutant
from .suites import AVERAGING, COMBINING

_SHARES = (f"{AVERAGING}::test_an_average_weighs_by_the_inverse_variances",)
_RATIOS = (f"{AVERAGING}::test_the_error_of_a_ratio_is_that_of_its_own_noise",)
_ESTIMATES = (f"{AVERAGING}::test_releases_that_may_differ_give_estimates_alone",)
_DOUBTS = (f"{COMBINING}::test_what_a_law_does_not_tell_makes_an_estimate",)
_PLANNED = (f"{COMBINING}::test_a_release_that_was_planned_from_the_other_is_no_stranger",)

COMBINED = [
    Mutant(
        "releases that count alike, however noisy",
        "query/averaging.py",
        "return list(precision / precision.sum(axis=0))",
        "return list(np.full_like(precision, 1 / len(precision)))",
        _SHARES,
    ),
    Mutant(
        "the law of an average without its shares",
        "query/averaging.py",
        "part = law.times(share)",
        "part = law",
        _SHARES,
    ),
    Mutant(
        "a ratio of averages that each have shares of their own",
        "query/statistics/ratio.py",
        "found = settled(self.reader, self._difference(self.ratio.top.middle, middle))",
        "found = self.reader",
        _RATIOS,
    ),
    Mutant(
        "a promise where releases may differ",
        "query/averaging.py",
        "return noise if exact else AveragedLaw(((1.0, noise),))",
        "return noise",
        _ESTIMATES,
    ),
    Mutant(
        "noise that two answers share, taken for that of strangers",
        "query/answer.py",
        "return self.draws.isdisjoint(other.draws)",
        "return self.draws != other.draws",
        (f"{COMBINING}::test_answers_that_share_a_release_are_no_strangers",),
    ),
    Mutant(
        "a promise without a declared snapshot",
        "release/combining.py",
        "if not all(release.snapshot for release in releases):",
        "if not any(release.snapshot for release in releases):",
        _DOUBTS,
    ),
    Mutant(
        "a promise of rows that were chosen by chance",
        "release/combining.py",
        "if releases[0].schema.unit is not None:",
        "if releases[0].schema.unit is None and not releases[0].snapshot:",
        (f"{COMBINING}::test_rows_of_a_person_are_chosen_anew_for_every_release",),
    ),
    Mutant(
        "a promise of errors that are more than noise",
        "release/combining.py",
        "if not is_exact(release.reader):",
        "if release.reader.estimate:",
        _DOUBTS,
    ),
    Mutant(
        "plans that go back to another release by way of a third",
        "release/combining.py",
        'return [str(proxy.get("reservation")), *map(str, before)]',
        'return [str(proxy.get("reservation"))]',
        _PLANNED,
    ),
    Mutant(
        "two snapshots averaged",
        "release/combining.py",
        "if first and second and first != second:",
        "if first and second and first == second + second:",
        (f"{COMBINING}::test_releases_of_different_things_are_refused",),
    ),
    Mutant(
        "one release counted twice",
        "release/combining.py",
        'if one.manifest["arrays"] == other.manifest["arrays"] or _are_one(one, other):',
        "if one is other:",
        (f"{COMBINING}::test_one_release_is_not_two",),
    ),
]
