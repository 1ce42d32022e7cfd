"""Parcels: what tasks send each other through a shuffle, sealed so that no two evaluations mix.

Spark may compute a task again: after a failure, when a machine with its results is lost, or just
because it is slow. What is computed again may differ, if the table changes meanwhile or draws
random numbers, so that rows could be counted twice, or not at all. So every run of a task draws a
token. It marks its parcels with it, and sends a seal to every bucket: its token, and a view, which
is a digest of all the seals that it has received itself. A task that finds two tokens of one task,
a bucket without the seal of a task, or two views, says that what it received is torn; so does
the owner, at the end of the chain. If all agree, then every result was made of one run of every
task, each of which saw the same runs before it.

Executors run this; it is sent to them by value and imports nothing of ours.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

FIELDS = "bucket int, task int, token binary, view binary, note string, payload binary"
"""Of a parcel, as Spark writes types. A seal has a view, and an excuse of a task has a note."""

TORN = "torn"
GONE = "gone"
"""What a task says that was to count rows which were kept, and found others in their place."""
_FEW, _MOST = 64, 2**20  # parcels in a batch, and their bytes


class Receiver:
    """Takes the parcels of one reading, hands on what they hold, and judges their seals."""

    def __init__(self, parts: int | None = None) -> None:
        """Of all that was sent, to the last of so many buckets, or of some buckets alone."""
        self._parts = parts
        self.note: str | None = None
        self._seals: set[tuple[int, bytes, bytes]] = set()
        self._marks: set[tuple[int, bytes]] = set()
        self._buckets: set[int] = set()
        self._number = 0

    def payloads(self, batches: Iterator[Any]) -> Iterator[bytes]:
        """What the parcels of some batches hold."""
        for batch in batches:
            yield from self.received(*(column.to_pylist() for column in batch.columns))

    def received(self, *columns: list[Any]) -> Iterator[bytes]:
        """What the parcels hold of which these are the columns."""
        for bucket, task, token, view, note, payload in zip(*columns, strict=True):
            self._buckets.add(bucket)
            self._marks.add((task, bytes(token)))
            if note is not None:
                self.note = note if self.note in (None, TORN) else self.note
            elif view is not None:
                self._seals.add((task, bytes(token), bytes(view)))
                self._number += 1
            else:
                yield bytes(payload)

    def view(self) -> bytes:
        """A digest of the seals of everything that was received."""
        self._judge()
        digest = hashlib.sha256()
        for task, token, view in sorted(self._seals):
            digest.update(task.to_bytes(8, "big") + token + view)
        return digest.digest()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was received, not even a seal."""
        return not self._buckets

    @property
    def seen(self) -> bytes:
        """The view of those who sent this; empty where nobody did."""
        return next((view for _, _, view in self._seals), b"")

    def _judge(self) -> None:
        tasks = {task for task, _, _ in self._seals}
        whole = (
            len(self._seals) == len(tasks)
            and len({view for _, _, view in self._seals}) <= 1
            and self._marks == {(task, token) for task, token, _ in self._seals}
            and self._number == len(tasks) * len(self._buckets)
            and (self._parts is None or not tasks or len(self._buckets) == self._parts)
        )
        if not whole and self.note is None:
            self.note = TORN


class Sender:
    """Makes the parcels of one run of a task."""

    def __init__(self, task: int, buckets: int) -> None:
        self.task, self._buckets = task, buckets
        self._token = secrets.token_bytes(16)

    def parcels(self, sent: Iterable[tuple[int, bytes]]) -> Iterator[Any]:
        """Some rows for some buckets, a few parcels in a batch."""
        buckets: list[int] = []
        payloads: list[bytes] = []
        for bucket, payload in sent:
            buckets.append(bucket)
            payloads.append(payload)
            if sum(map(len, payloads)) > _MOST or len(payloads) == _FEW:
                yield self._batch(buckets, None, None, payloads)
                buckets, payloads = [], []
        if buckets:
            yield self._batch(buckets, None, None, payloads)

    def parcel(self, bucket: int, payload: bytes) -> Any:
        """Some rows for a bucket."""
        return self._batch([bucket], None, None, [payload])

    def seals(self, view: bytes) -> Any:
        """The seal of this run for every bucket, which is sent when all is read."""
        return self._batch(range(self._buckets), view, None, None)

    def excuse(self, note: str) -> Any:
        """Why this run sends nothing else."""
        return self._batch([0], None, note, None)

    def _batch(self, buckets: Any, view: Any, note: Any, payloads: Any) -> Any:
        import pyarrow as pa

        number = len(buckets)
        columns = [
            pa.array(buckets, pa.int32()),
            pa.array([self.task] * number, pa.int32()),
            pa.array([self._token] * number, pa.binary()),
            pa.array([view] * number, pa.binary()),
            pa.array([note] * number, pa.string()),
            pa.array(payloads or [None] * number, pa.binary()),
        ]
        names = ["bucket", "task", "token", "view", "note", "payload"]
        return pa.RecordBatch.from_arrays(columns, names=names)
