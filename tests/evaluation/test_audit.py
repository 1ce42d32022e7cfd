"""Audits: what they say of sound mechanisms, and that they find mistakes put in on purpose."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats
from tests.shared_sizes import some_of

from hushtable.auditing import noise_law
from hushtable.auditing.audit import Audit, audit
from hushtable.auditing.clopper_pearson import largest_chance, smallest_chance
from hushtable.auditing.likelihood import Contest, _missing, weigh
from hushtable.auditing.lower_bound import Event, Runs, bound_from, choose_events
from hushtable.auditing.privacy_check import check_mechanism, recipe_of
from hushtable.auditing.schemas import BUILT_IN, built_in, small_enough
from hushtable.auditing.small_tables import Holdings, possible_rows
from hushtable.auditing.transcript import ChoiceDraw, LaplaceDraw, SummaryDraw
from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import MECHANISMS
from hushtable.families.linear.ask.basic import Basic
from hushtable.kernel.curator import Curator, network_scores
from hushtable.kernel.maps.rules import Filter, Kept, Threshold
from hushtable.kernel.noise import bulk
from hushtable.kernel.privacy.loss import NEIGHBOURS, Neighbours
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.schema import IntegerRange, Labels, Schema, Unit, ordinal

RUNS = 100


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """How well the law of the noise is seen is tested elsewhere."""
    monkeypatch.setattr(noise_law, "FAST_DRAWS", 1 << 14)
    monkeypatch.setattr(noise_law, "SLOW_DRAWS", 200)


def audited(mechanism: Any = "basic", schema: Any = "other", **options: Any) -> Audit:
    settings = {"runs": RUNS, "releases": 2, "entropy": SeededEntropy(3), **options}
    return audit(mechanism, [schema], **settings)


# ── sound mechanisms ─────────────────────────────────────────────────────────────────────────────


def test_a_sound_mechanism_passes_and_its_loss_is_seen() -> None:
    found = audited(runs=400)
    assert found.holds and found.caught_by == () and found.largest_loss == 1
    assert 0.1 < found.largest_bound < 1
    assert [f.neighbours for f in found.findings] == ["add-remove", "replace-one"]
    assert all(f.exact is not None and f.exact.tight and f.bound for f in found.findings)
    assert "no loss above ε = 1 found" in repr(found)


def test_audits_with_a_seed_are_repeatable() -> None:
    first, again, other = (audited(runs=100, entropy=SeededEntropy(seed)) for seed in (3, 3, 4))
    assert first.to_dict() == again.to_dict() != other.to_dict()


def test_without_a_seed_noise_is_the_system_s(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    known = bulk.EntropyNoise.__init__

    def told(self: Any, entropy: Any = None) -> None:
        asked.append(entropy)
        known(self, entropy)

    monkeypatch.setattr(bulk.EntropyNoise, "__init__", told)
    found = audited(entropy=None, runs=100)
    runs = [entropy for entropy in asked if entropy is None]
    assert found.holds and len(runs) >= 4 * 100  # a source of its own for every run


# Settings under which a summary leaves something out, and a network is chosen.
SETTINGS: dict[str, dict[str, str]] = {
    "privelet": {},
    "filter": {"theta": "2"},
    "priority": {"size": "1"},
    "privbayes": {"rows": "100", "beta": "0.5"},
}


# One of every family.
FEW = ("basic", "filter", "sketch", "marginals", "privbayes", "ispe")


@pytest.mark.parametrize("mechanism", some_of(MECHANISMS, FEW))
def test_every_mechanism_passes(mechanism: str) -> None:
    schema = "bits" if mechanism == "privbayes" else "other"
    settings = SETTINGS.get(mechanism, {})
    # Variants of its own are asked as well; tests/trust tries all of them on more tables.
    found = audited(mechanism, schema, settings=settings, runs=100)
    assert found.holds and 0 < found.largest_loss <= 1
    assert found.settings == settings and found.noise and found.coverage


class Late(Basic):
    """Takes another path than usual after a while, whatever the table and the answers."""

    asked: ClassVar[int]

    def measure(self, curator: Curator, schema: Any, *, epsilon: Any, settings: Any) -> Any:
        type(self).asked += 1
        late = type(self).asked > 700
        more = [curator.noisy_total(epsilon=epsilon / 2)] if late else []
        made = super().measure(curator, schema, epsilon=epsilon / 2, settings=settings)
        return made, [one.values for one in more]


def test_a_path_that_is_not_the_usual_one_is_no_evidence() -> None:
    """A ratio by what is usually asked must be one function of what is seen, on both tables."""
    schema = built_in("other")
    recipe, needs = recipe_of(Late("late"), schema.schema, Fraction(1), {})
    tables: Any = ((), (("a",),))
    Late.asked = 0
    contest = Contest(recipe, needs, schema.schema, Fraction(1), Holdings(schema.schema), tables)
    contest.prepare(lambda: bulk.EntropyNoise(SeededEntropy(1)))
    assert contest.fixed is not None
    for table in (0, 1):
        Late.asked = 695
        runs = [contest.run(table, bulk.EntropyNoise(SeededEntropy(i))) for i in range(10)]
        assert [abs(ratio) for ratio, _ in runs[:5]] == [0.5] * 5
        assert all(ratio == 0 and math.isnan(value) for ratio, value in runs[5:])


@pytest.mark.parametrize("score", ["R", "I", "F"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_half_of_what_a_score_may_change_would_show_in_a_crowd(
    score: str, neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of two people are far from the bounds of scores; those of many are not."""
    bits = built_in("bits")
    schema = replace(bits.schema, neighbours=neighbours)
    settings = {"rows": "100", "beta": "0.9", "theta": "0.001", "degree": "1", "score": score}
    options: dict[str, Any] = {"epsilon": "1", "settings": settings, "paths": 1}
    options |= {"rows": (), "holdings": Holdings(schema)}
    crowds = bits.crowds(neighbours)
    assert len(crowds) == 3 and built_in("grid").crowds(neighbours) == []
    options["more"] = crowds
    sound = check_mechanism("privbayes", schema, **options)
    assert sound.holds and sound.pairs == 3 and sound.worst > Fraction(1, 2)
    scores = network_scores.CandidateScores
    for name in ("entering", "moving"):
        bound = getattr(scores, name).fget
        monkeypatch.setattr(scores, name, property(lambda self, bound=bound: bound(self) // 2))
    wrong = check_mechanism("privbayes", schema, **options)
    assert not wrong.holds and wrong.worst > 1


def one_range(name: str, most: int, rows: int = 0) -> Schema:
    unit = Unit("who", rows) if rows else None
    return Schema(name, Fraction(1), (ordinal("a", IntegerRange(0, most)),), unit=unit)


def test_two_schemas_of_one_name_are_told_apart_or_refused() -> None:
    """Tables are counted once for each schema, which is known by its name."""
    for other in (one_range("p", 3), one_range("p", 1, rows=2)):
        with pytest.raises(OptionError, match="two schemas are named 'p'"):
            audit("basic", [one_range("p", 1, rows=1), other], runs=100, releases=0)
    twice = audit("basic", [one_range("p", 1), one_range("p", 1)], runs=100, releases=0)
    assert twice.holds and len(twice.findings) == 2
    own = audit("basic", one_range("range", 3), runs=100, releases=0)
    assert own.holds and own.findings[0].schema.schema.cells == 4


def test_schemas_must_be_schemas() -> None:
    assert len(audit("basic", "other", runs=100, releases=0).findings) == 2
    bad: Any
    for bad in ([None], [1], []):
        with pytest.raises(OptionError, match="schema"):
            audit("basic", bad, runs=100)


def test_many_attributes_have_too_many_kinds_of_rows_to_list() -> None:
    bits = tuple(ordinal(f"a{i}", IntegerRange(0, 1)) for i in range(10))
    small = small_enough(Schema("wide", Fraction(1), bits))
    assert small.kinds == 6**10 and len(set(small.rows)) == 8
    assert small == small_enough(Schema("wide", Fraction(1), bits))


def test_one_lower_bound_for_each_relation_or_for_every_schema() -> None:
    few_runs: dict[str, Any] = {"runs": 100, "releases": 0}
    schemas = ["other", "range"]
    few = audit("basic", schemas, **few_runs, entropy=SeededEntropy(1))
    assert len(few.findings) == 4 and sum(f.bound is not None for f in few.findings) == 2
    all_of_them = audit("basic", schemas, **few_runs, nightly=True, entropy=SeededEntropy(1))
    assert all(f.bound is not None for f in all_of_them.findings)
    bounds = [f.bound for f in few.findings if f.bound]
    assert all(bound.confidence == 1 - 0.001 / 2 for bound in bounds)  # the 0.1 % is shared


# ── mistakes ─────────────────────────────────────────────────────────────────────────────────────


def a_fortieth_of_the_scale(patch: pytest.MonkeyPatch) -> None:
    price = Curator._price

    def cheaper(self: Curator, *arguments: Any, **changes: Any) -> tuple[Fraction, DiscreteLaplace]:
        amount, noise = price(self, *arguments, **changes)
        return amount, noise.times(Fraction(1, 40))

    patch.setattr(Curator, "_price", cheaper)


def test_too_small_a_scale_is_seen_by_both_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    a_fortieth_of_the_scale(monkeypatch)
    found = audited()
    assert not found.holds and found.caught_by == ("exact check", "lower bound")
    assert found.largest_loss == 40 and 1 < found.largest_bound < 40
    assert "VIOLATION" in repr(found)


def noise_of_a_fortieth(self: Any, values: Any, scale: Fraction) -> Fraction:
    bulk.add_laplace(values, scale / 40, self._entropy)
    return Fraction(0)


def noise_in_steps_of_two(self: Any, values: Any, scale: Fraction) -> Fraction:
    drawn = np.zeros_like(values)
    bulk.add_laplace(drawn, scale / 2, self._entropy)
    values += 2 * drawn
    return Fraction(0)


def no_noise(self: Any, values: Any, scale: Fraction) -> Fraction:
    return Fraction(0)


@pytest.mark.parametrize("sampler", [noise_of_a_fortieth, noise_in_steps_of_two, no_noise])
def test_noise_that_is_not_what_it_says_is_seen_by_experiment(
    sampler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact check believes the scale that noise was asked for."""
    monkeypatch.setattr(bulk.EntropyNoise, "add_laplace", sampler)
    found = audited()
    assert found.caught_by == ("law of the noise", "lower bound") and found.largest_loss == 1
    if sampler is noise_in_steps_of_two:
        events = [f.bound.event for f in found.findings if f.bound]
        assert any("odd" in event or "even" in event for event in events)


def test_noise_that_is_always_the_same_is_seen_by_experiment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = bulk.EntropyNoise.__init__
    monkeypatch.setattr(
        bulk.EntropyNoise, "__init__", lambda self, _=None: known(self, SeededEntropy(1))
    )
    assert audited().caught_by == ("law of the noise", "lower bound")


class Telling(Basic):
    """Says how many cells are occupied, for nothing."""

    def measure(self, curator: Curator, schema: Any, **options: Any) -> Any:
        content = super().measure(curator, schema, **options)
        content.parameters["occupied"] = len(vars(curator)["_Curator__held"].data.codes)
        return content


class Greedy(Basic):
    """Asks for all of its ε and then for more."""

    def measure(self, curator: Curator, schema: Any, **options: Any) -> Any:
        content = super().measure(curator, schema, **options)
        curator.noisy_total(epsilon="0.1")
        return content


def test_a_mechanism_of_one_s_own_that_looks_at_the_data_is_seen_by_both() -> None:
    found = audited(Telling("telling"), runs=100)
    assert found.mechanism == "telling"
    assert found.caught_by == ("exact check", "lower bound")
    assert "depends on more than the noisy answers" in found.to_markdown()


def test_one_that_asks_for_more_than_its_epsilon_is_told() -> None:
    found = audited(Greedy("greedy"), runs=100)
    assert found.caught_by == ("exact check",)
    assert all(f.exact is None and f.refusal for f in found.findings)
    assert "the curator refused it" in found.to_markdown()


# ── reports ──────────────────────────────────────────────────────────────────────────────────────


def test_a_report_says_what_was_tried_and_what_that_means() -> None:
    found = audited(settings={}, epsilon="0.5", runs=100)
    text = found.to_markdown()
    assert "# Privacy audit of `basic` at ε = 0.5" in text
    assert "| other | add-remove | 3 | 4 of 4 | 20 | 0.5 | 2 × 100 |" in text
    assert "`other`: 3 cells, 4 of 4 kinds of rows" in text
    assert "together at 99.9 %" in text and "one audit of 1,000" in text
    told = json.loads(json.dumps(found.to_dict()))
    assert told["epsilon"] == "0.5" and told["holds"] is True
    assert told["findings"][0]["exact"]["tight"] is True
    assert told["findings"][0]["lower_bound"]["runs"] == 50


def test_a_schema_of_one_s_own_is_cut_down_to_what_can_be_done() -> None:
    axes = (ordinal("x", IntegerRange(0, 99)), ordinal("y", Labels(("a", "b"))))
    small = small_enough(Schema("mine", Fraction(1), axes))
    assert (len(small.rows), small.kinds) == (8, 104 * 4)
    assert set(small.rows) <= set(possible_rows(small.schema))
    assert "200 cells, 8 of 416 kinds of rows" in small.words
    person = small_enough(Schema("mine", Fraction(1), axes, unit=Unit("id", 50)))
    assert person.schema.unit == Unit("id", 2) and len(person.rows) == 3
    large = Schema("large", Fraction(1), (ordinal("x", IntegerRange(0, 4096)),))
    with pytest.raises(OptionError, match="at most 4,096 cells"):
        small_enough(large)


def test_every_built_in_schema_is_small_and_its_rows_are_possible() -> None:
    for name in BUILT_IN:
        small = built_in(name)
        assert small.schema.cells <= 32 and 2 <= len(small.rows) <= small.kinds
        known = set(possible_rows(small.schema))
        assert sum(row in known for row in small.rows) >= len(small.rows) - 1  # 9 is beyond a range
    with pytest.raises(OptionError, match="no built-in schema 'none'; there are range, other"):
        built_in("none")


def test_schemas_that_a_mechanism_does_not_take_are_left_out_or_refused() -> None:
    class Picky(Basic):
        def check(self, schema: Schema, **options: Any) -> None:
            if schema.name != "other":
                raise OptionError("only 'other' will do")

    found = audit(Picky(), runs=100, entropy=SeededEntropy(1))
    assert {f.schema.name for f in found.findings} == {"other"}
    assert set(found.left_out) == set(BUILT_IN) - {"other"}
    assert "`two` left out: only 'other' will do" in found.to_markdown()
    with pytest.raises(OptionError, match="only 'other' will do"):
        audit(Picky(), ["two"], runs=100)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mechanism": "auto"}, "auto is no mechanism"),
        ({"mechanism": "magic"}, "no mechanism 'magic'"),
        ({"runs": 99}, "runs must be a whole number from 100"),
        ({"settings": {"x": 1}}, "no setting 'x'"),
        ({"epsilon": "0"}, "above zero"),
        ({"schema": "nowhere"}, "no built-in schema"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        audited(**options)


# ── the statistics ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (1, 10), (10, 10), (37, 400), (999, 1000)])
@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_chances_are_those_of_clopper_and_pearson(hits: int, runs: int, alpha: float) -> None:
    low = stats.beta.ppf(alpha, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - alpha, hits + 1, runs - hits) if hits < runs else 1.0
    assert smallest_chance(hits, runs, alpha) == pytest.approx(low, rel=1e-9)
    assert largest_chance(hits, runs, alpha) == pytest.approx(high, rel=1e-9)


def laplace_runs(epsilon: float, value: int, runs: int, seed: int) -> Iterator[float]:
    """Stated ratios, for ε = 1, of a count of 0 or 1 with noise of scale 1/ε."""
    noise = stats.dlaplace.rvs(epsilon, size=runs, random_state=seed)
    for seen in (value + noise).tolist():
        yield float(abs(seen - 1) - abs(seen))


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_a_bound_lies_below_what_is_lost_and_not_far_below(epsilon: float) -> None:
    samples = []
    for value in (0, 1):
        ratio = np.array(list(laplace_runs(epsilon, value, 20_000, seed=value)))
        samples.append(Runs(ratio, np.zeros(20_000)))
    bound = bound_from(samples[0], samples[1], confidence=0.999)
    assert 0.85 * epsilon < bound.epsilon <= epsilon
    assert bound.runs == 10_000 and "log-likelihood ratio" in bound.event


@pytest.mark.parametrize(
    ("values", "others", "kind"),
    [
        ([2.0, 4.0], [2.0, 4.0, 3.0, 5.0], "odd"),
        ([np.nan, 1.0], [1.0], "missing"),
        ([1.0, 3.0, 5.0], [-1.0, 3.0, 5.0], "at most -1"),
    ],
)
def test_values_are_looked_at_too(values: list[float], others: list[float], kind: str) -> None:
    """Ratios alone do not show low bits, signs and what is never left out."""
    ratio = np.zeros(1200)
    first, second = (Runs(ratio, np.resize(v, 1200)) for v in (values, others))
    bound = bound_from(first, second, confidence=0.999)
    assert bound.epsilon > 1 and bound.event == f"first value that differs {kind}"


def test_equal_runs_show_no_loss() -> None:
    same = Runs(np.linspace(-1, 1, 1000), np.arange(1000.0) % 7)
    assert bound_from(same, same, confidence=0.999).epsilon == 0


def test_impossible_transcripts_show_a_large_loss() -> None:
    first = Runs(np.full(1000, np.inf), np.full(1000, np.nan))
    second = Runs(np.full(1000, -np.inf), np.full(1000, np.nan))
    assert bound_from(first, second, confidence=0.999).epsilon > 3.9


def test_events_are_chosen_on_the_half_that_does_not_test_them() -> None:
    """Luck in the first half must not show: there, one event is perfect; then it never comes."""
    lucky = np.concatenate([np.ones(500), np.zeros(500)])
    first, second = Runs(lucky, np.zeros(1000)), Runs(-lucky, np.zeros(1000))
    chosen = choose_events(first.part(slice(500)), second.part(slice(500)))
    assert (Event("ratio", "at least", 1.0), 0) in chosen
    assert bound_from(first, second, confidence=0.999).epsilon == 0


def chances(value: int, scale: float, reach: int) -> dict[int, float]:
    alpha = math.exp(-1 / scale)
    base = (1 - alpha) / (1 + alpha)
    return {seen: base * alpha ** abs(seen - value) for seen in range(-reach, reach + 1)}


def test_ratios_are_those_of_the_probabilities() -> None:
    exact, other, noisy = (np.array(v) for v in ([1, 4], [2, 4], [3, 9]))
    ratio, value = weigh([LaplaceDraw(exact, Fraction(2), noisy)], [exact], [other])
    before, after = (chances(value, 2.0, 50)[3] for value in (1, 2))
    assert ratio == pytest.approx(math.log(before / after)) and value == 3
    mine, theirs = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(1, 2))
    ratio, value = weigh([ChoiceDraw(mine, 1)], [mine], [theirs])
    p, q = (math.exp(e[1]) / sum(map(math.exp, e)) for e in (mine, theirs))
    assert ratio == pytest.approx(math.log(p / q)) and math.isnan(value)


@pytest.mark.parametrize(
    "rule", [Filter(3), Filter(2, two_sided=False), Threshold(6), Threshold(6, 3)]
)
def test_ratios_of_summaries_are_those_of_the_probabilities(rule: Any) -> None:
    """Kept or missing: the chances on the other table follow from those on the one, and add up."""
    scale, tau = Fraction(3), float(getattr(rule, "tau", 0))
    exact, other = np.array([0, 1]), np.array([0, 2])
    one_sided = isinstance(rule, Filter) and not rule.two_sided
    total = 0.0
    for seen, chance in chances(1, 3.0, 400).items():
        size = seen if one_sided else abs(seen)
        stays = (size >= rule.theta) * (min(size / tau, 1.0) if tau else 1.0)
        kept = Kept(np.array([1]), np.array([seen]), tau)
        ratio, _ = weigh([SummaryDraw(exact, rule, scale, kept)], [exact], [other])
        total += chance * stays * math.exp(-ratio)
    nothing = Kept(np.zeros(0, np.int64), np.zeros(0, np.int64), tau)
    ratio, _ = weigh([SummaryDraw(exact, rule, scale, nothing)], [exact], [other])
    missing = _missing(1, 3.0, rule.theta, tau, not one_sided)
    assert 0 < missing < 1
    assert total + missing * math.exp(-ratio) == pytest.approx(1, abs=1e-9)


def test_a_run_that_drew_for_other_things_tells_nothing() -> None:
    none = np.zeros(2, np.int64)
    draw = LaplaceDraw(none, Fraction(1), none)
    three, choice = np.arange(3), (Fraction(1), Fraction(2))
    for first, second in (([], []), ([three], [-three]), ([choice], [choice[::-1]])):
        ratio, value = weigh([draw], first, second)
        assert ratio == 0 and math.isnan(value)
