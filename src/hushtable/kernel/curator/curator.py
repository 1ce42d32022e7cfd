"""The curator: the only thing that holds true data, and the only thing that answers about it.

Every question names its ε. The curator checks the question, charges ε, draws noise scaled to what
one person can change, and answers; a question that cannot be paid is refused with nothing drawn.
What is done with the answers is post-processing and cannot weaken the guarantee.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from hushtable.errors import BudgetError, OptionError
from hushtable.kernel.curator.closed_list import (
    check_partition,
    check_ranges,
    check_score,
    check_sketch,
    check_summary,
    check_transform,
)
from hushtable.kernel.curator.dense import add_noise, regions_eta
from hushtable.kernel.curator.holding import (
    Holding,
    dense_counts,
    part_counts,
    projected,
    split_data,
)
from hushtable.kernel.curator.measurement import Decisions, Measurement, Selection
from hushtable.kernel.curator.network_scores import CandidateScores
from hushtable.kernel.curator.partition import Partition, Regions, View, Whole, check_views
from hushtable.kernel.curator.scores import Score
from hushtable.kernel.curator.select import Memory, score_values
from hushtable.kernel.curator.shared_ranges import SharedRanges, ranges_eta
from hushtable.kernel.curator.sparse_summary import (
    ROOM,
    NoisySummary,
    held_places_eta,
    sketched,
    sparse_counts,
    summarise,
)
from hushtable.kernel.curator.splitting import Pace, check_growth, decisions_eta, grown
from hushtable.kernel.maps import Product
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import Rule
from hushtable.kernel.maps.splits import Splits
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import (
    ETA_LIMIT,
    EpsilonLike,
    Exposure,
    check_scale,
    parse_epsilon,
)
from hushtable.kernel.privacy.noises import DiscreteLaplace

if TYPE_CHECKING:
    from hushtable.kernel.noise.bulk import Noise


class EtaSum:
    """How far all the draws so far may be, together, from the ideal law."""

    def __init__(self) -> None:
        self.eta = Fraction(0)
        self._lock = threading.Lock()

    def add(self, eta: Fraction) -> None:
        with self._lock:
            self.eta += eta
        if self.eta > ETA_LIMIT:
            raise BudgetError("so many draws that the samplers' precision no longer suffices")


class _Sealed:
    """True data that does not print: not in a repr, nor in a listing of variables."""

    __slots__ = ("data", "memory")

    def __init__(self, data: Holding) -> None:
        self.data = data
        self.memory: Memory = {}


class Curator:
    """Holds true data; answers questions about it with noise, each for its ε."""

    def __init__(
        self,
        data: Holding,
        *,
        exposure: Exposure,
        account: Account,
        noise: Noise,
        eta_sum: EtaSum | None = None,
    ) -> None:
        self.__held = _Sealed(data)
        self._exposure = exposure
        self._account = account
        self._noise = noise
        self._eta_sum = eta_sum or EtaSum()

    def __repr__(self) -> str:
        return f"<Curator of a domain of shape {self.shape}, ε left: {float(self.left):g}>"

    def __reduce__(self) -> NoReturn:
        # A copy would take the data elsewhere, and its account would be spent twice.
        raise TypeError("a curator holds true data: it cannot be copied or pickled")

    @property
    def shape(self) -> tuple[int, ...]:
        """The domain: how many codes each attribute has."""
        return self.__held.data.shape

    @property
    def left(self) -> Fraction:
        """The largest ε that would still be accepted."""
        return self._account.left

    @property
    def spent(self) -> Fraction:
        """The ε charged so far."""
        return self._account.spent

    @property
    def eta(self) -> Fraction:
        """How far all draws so far may be from the ideal law: of public numbers and the questions.

        Parts of a table that was split have one sum.
        """
        return self._eta_sum.eta

    @property
    def private(self) -> bool:
        """Whether nobody can know its noise: false for an experiment's injected randomness."""
        return self._noise.private

    def noisy_counts(self, partition: Partition, *, epsilon: EpsilonLike) -> Measurement:
        """The count of every part, empty ones included.

        A row that appears changes one count by one; a row that moves changes two, where there are
        two.
        """
        self._check_partition(partition)
        amount, noise = self._price(epsilon, entering=1, moving=min(2, partition.parts))
        self._account.charge(amount)
        values = part_counts(self.__held.data, partition)
        eta = self._noise.add_laplace(values, noise.scale)
        if isinstance(partition, Regions):
            most = max(partition.parts, math.prod(partition.shape))
            eta = regions_eta(most, amount, self._exposure)
        self._eta_sum.add(eta)
        return Measurement(values, noise, amount, {"parts": partition.parts})

    def noisy_total(self, *, epsilon: EpsilonLike) -> Measurement:
        """The number of rows that count, as a measurement of one value."""
        return self.noisy_counts(Whole(self.shape), epsilon=epsilon)

    def noisy_coefficients(self, transform: Product, *, epsilon: EpsilonLike) -> Measurement:
        """Every coefficient of a product of transforms of the dense matrix of counts.

        The measurement's noise is that of a coefficient whose factor is one.
        """
        check_transform(transform)
        self._check_shape(transform.shape)
        amount, noise = self._price(epsilon, entering=transform.entering, moving=transform.moving)
        check_scale(noise.scale * max(factor for _, factor in transform.blocks()))
        self._account.charge(amount)
        values = dense_counts(self.__held.data, transform.coefficient_shape)
        transform.forward_within(values)
        self._eta_sum.add(add_noise(values, transform, noise.scale, self._noise))
        return Measurement(values, noise, amount, {"transform": transform.to_dict()})

    def noisy_summary(
        self, structure: Structure, rule: Rule, *, epsilon: EpsilonLike, rooted: bool = False
    ) -> NoisySummary:
        """What a rule keeps of every place of a structure, empty ones included, with noise.

        `rooted` drops dyadic nodes with a missing ancestor before anything is sampled.
        """
        check_summary(structure, rule)
        self._check_shape(structure.shape)
        if rooted and structure.on != "dyadic":
            raise OptionError("only nodes of dyadic ranges have ancestors")
        amount, noise = self._price(epsilon, entering=structure.entering, moving=structure.moving)
        check_scale(noise.scale * ROOM)
        data = sparse_counts(self.__held.data)
        self._account.charge(amount)
        kept, eta = summarise(data, structure, rule, noise.scale, self._noise, rooted=rooted)
        self._eta_sum.add(eta + held_places_eta(structure, noise.scale, self._exposure))
        return NoisySummary(kept, noise, amount, {"on": structure.on, **rule.to_dict()})

    def noisy_sketch(self, sketch: Sketch, *, epsilon: EpsilonLike) -> Measurement:
        """Every bucket of a count sketch."""
        check_sketch(sketch)
        self._check_shape(sketch.shape)
        amount, noise = self._price(epsilon, entering=sketch.entering, moving=sketch.moving)
        data = sparse_counts(self.__held.data)
        self._account.charge(amount)
        values = sketched(data, sketch)
        self._eta_sum.add(self._noise.add_laplace(values, noise.scale))
        return Measurement(values, noise, amount, sketch.to_dict())

    def noisy_splits(
        self, splits: Splits, *, theta: int, most: int, epsilon: EpsilonLike
    ) -> Decisions:
        """Which boxes of a public tree are split: those that seem to hold more than `theta` rows.

        Every box of more than one cell that is visited is decided by noise, empty ones included.
        There are at most `most` boxes.
        """
        check_growth(splits, self.shape, theta, most)
        amount = parse_epsilon(epsilon)
        pace = Pace.of(amount, splits.fanout, self._exposure)
        data = sparse_counts(self.__held.data)
        self._account.charge(amount)
        decisions = grown(data, splits, pace, theta=theta, most=most, noise=self._noise)
        self._eta_sum.add(decisions_eta(most, pace))
        return Decisions(decisions, pace.scale, pace.step, amount)

    def noisy_ranges(
        self, partition: Partition, ranges: SharedRanges, *, epsilon: EpsilonLike
    ) -> Measurement:
        """The counts of ranges of parts that may overlap, each for its share of ε.

        The measurement's noise is that of a range whose share is the whole.
        """
        self._check_partition(partition)
        check_ranges(ranges, partition.parts)
        amount, noise = self._price(epsilon, entering=1, moving=2)
        blocks = [(where, noise.scale * factor) for where, factor in ranges.blocks()]
        check_scale(max(scale for _, scale in blocks))
        self._account.charge(amount)
        values = ranges.sums(part_counts(self.__held.data, partition))
        for where, scale in blocks:
            drawn = values[where]
            self._noise.add_laplace(drawn, scale)
            values[where] = drawn
        self._eta_sum.add(ranges_eta([scale for _, scale in blocks]))
        return Measurement(values, noise, amount, {"ranges": len(values)})

    def select(self, score: Score | CandidateScores, *, epsilon: EpsilonLike) -> Selection:
        """Choose a candidate with probability ∝ exp(ε·score / 2Δ): the exponential mechanism."""
        check_score(score)
        self._check_shape(
            score.shape if isinstance(score, CandidateScores) else score.partition.shape
        )
        amount = parse_epsilon(epsilon)
        doubled = self._exposure.scale(amount, entering=2 * score.entering, moving=2 * score.moving)
        self._account.charge(amount)
        values = score_values(self.__held.data, score, self.__held.memory)
        choice, eta = self._noise.choose([value / doubled for value in values])
        self._eta_sum.add(eta)
        return Selection(choice, amount, score.to_dict())

    def split(self, partition: Partition) -> tuple[Curator, ...]:
        """One curator per part. Together they cost the most expensive of them under add-remove,
        and the two most expensive under replace-one, where a person can move between parts."""
        self._check_partition(partition)
        accounts = self._account.split(partition.parts, self._exposure.neighbours)
        parts = split_data(self.__held.data, partition)
        return tuple(
            Curator(
                part,
                exposure=self._exposure,
                account=account,
                noise=self._noise,
                eta_sum=self._eta_sum,
            )
            for part, account in zip(parts, accounts, strict=True)
        )

    def project(self, views: Sequence[View]) -> Curator:
        """A curator of some attributes alone, each at a level, that spends from the same account.

        Every row becomes one row, so a person changes no more rows than before, and whatever is
        asked of the new curator costs what its price says.
        """
        chosen = tuple(views)
        check_views(self.shape, chosen)
        if not chosen or len({view.axis for view in chosen}) < len(chosen):
            raise OptionError("a projection has one attribute or more, each once")
        return Curator(
            projected(self.__held.data, chosen),
            exposure=self._exposure,
            account=self._account,
            noise=self._noise,
            eta_sum=self._eta_sum,
        )

    def _price(
        self, epsilon: EpsilonLike, *, entering: int, moving: int
    ) -> tuple[Fraction, DiscreteLaplace]:
        """ε as an exact number, and the noise that makes one person's change cost that much."""
        amount = parse_epsilon(epsilon)
        return amount, self._exposure.noise(amount, entering=entering, moving=moving)

    def _check_partition(self, partition: Partition) -> None:
        check_partition(partition)
        self._check_shape(partition.shape)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.shape:
            raise OptionError(f"made for a domain of shape {shape}; this one is {self.shape}")
