"""Acks that go to logs in S3, for ``bulk_ack``, in place of the tables.

A thousand acks of a delivery are an object for each of their batches, JSON lines of ranges, in its folder:
``PREFIX/batch_id=.../<milliseconds>-<uuid>.jsonl.gz``. No object is written twice, so the order in which
deliveries of a message end does not matter: in a log, a success beats a failure.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import uuid4

from fanin.client.items import Items
from fanin.client.transports.transport import Acks
from fanin.errors import InvalidRequest
from fanin.tracker import Ack, Outcome, State, Verdict

if TYPE_CHECKING:
    from fanin.client.transports.reports import AckReport

S3 = "s3://"
Put = Callable[[str, bytes], object]
"""Stores an object. Raises StoreUnavailable if it may not be stored."""


@dataclass(frozen=True, slots=True)
class LoggedAcks:
    """The calls of a consumer whose acks are logged by *put*; it reads from *transport*."""

    transport: Acks
    put: Put

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:  # noqa: ARG002  # the port has it
        """Log *acks*; each is ``accepted``, because ``bulk_ack`` gives the verdicts.

        Raises InvalidRequest for an ack with a result.
        """
        if any(ack.result is not None for ack in acks):
            raise InvalidRequest("a log of acks keeps no results", field="result")
        for batch_id, some in groupby(sorted(acks, key=_place), key=attrgetter("batch_id")):
            name = f"batch_id={batch_id}/{time.time_ns() // 1_000_000}-{uuid4()}.jsonl.gz"
            self.put(name, gzip.compress("".join(lines_of(some)).encode(), mtime=0))
        return _all_accepted(acks)

    def verdicts(self, acks: Sequence[Ack]) -> AckReport:
        """Return the verdicts of the tables, which do not know the log."""
        return self.transport.verdicts(acks)

    def outstanding_of(
        self, batch_id: str, group_id: str, first: int, last: int, failed: bool = False
    ) -> tuple[Items, ...]:
        """Return what is outstanding in the tables."""
        return self.transport.outstanding_of(batch_id, group_id, first, last, failed)

    def state_of(self, batch_id: str) -> State | None:
        """Return the state of a batch."""
        return self.transport.state_of(batch_id)


def logging_to(transport: Acks, log: str | None, results: bool) -> Acks:
    """Return the transport of a consumer with the option *log*. Raises InvalidRequest.

    *log*: a prefix of S3; None to ack on *transport*.
    """
    if log is None:
        return transport
    bucket, _, prefix = log.removeprefix(S3).partition("/") if isinstance(log, str) else ("", "", "")
    if not bucket or not log.startswith(S3):
        raise InvalidRequest(f"log is s3://BUCKET/PREFIX, not {log!r}", field="log")
    if results:
        raise InvalidRequest("log has no results: leave one of log and results out", field="log")
    folder = f"{prefix.rstrip('/')}/".lstrip("/")

    def put(name: str, body: bytes) -> None:
        from fanin.aws import clients  # noqa: PLC0415  # botocore takes 0.2 s
        from fanin.aws.calls import send  # noqa: PLC0415  # see above

        send(clients.s3().put_object, {"Bucket": bucket, "Key": folder + name, "Body": body})

    return LoggedAcks(transport, put)


def lines_of(acks: Iterable[Ack]) -> Iterator[str]:
    """Yield the lines of *acks* of a batch, in the order of their items; neighbours that are alike are one.

    The batch is in the name of the folder.
    """
    held, first, last = "", 0, -1
    for ack in acks:
        kind = _kind(ack.group_id, ack.outcome, ack.reason)
        if kind == held and ack.first <= last + 1:
            last = max(last, ack.last)
            continue
        if held:
            yield f'{{"first": {first}, "last": {last}, {held}}}\n'
        held, first, last = kind, ack.first, ack.last
    if held:
        yield f'{{"first": {first}, "last": {last}, {held}}}\n'


@lru_cache(maxsize=128)
def _kind(group_id: str, outcome: Outcome, reason: str | None) -> str:
    """Return the columns of a row beside the range, as JSON without its braces."""
    failure = {"outcome": outcome} if outcome is Outcome.FAILURE else {}
    return json.dumps({"group_id": group_id, **failure, **({"reason": reason} if reason else {})})[1:-1]


def _place(ack: Ack) -> tuple[str, str, int]:
    return ack.batch_id, ack.group_id, ack.first


def _all_accepted(acks: Sequence[Ack]) -> AckReport:
    """Return the report in which each of *acks* is accepted."""
    from fanin.client.transports.reports import AckReport, ItemVerdict, RangeVerdict  # noqa: PLC0415  # see acked

    items = [ack for ack in acks if ack.size == 1]
    ranges = [ack for ack in acks if ack.size > 1]
    return AckReport(
        tuple(ItemVerdict(f"{ack.batch_id}:{ack.group_id}:{ack.first}", Verdict.ACCEPTED) for ack in items),
        ranges=tuple(
            RangeVerdict(ack.batch_id, ack.group_id, ack.first, ack.last, {Verdict.ACCEPTED: ack.size})
            for ack in ranges
        ),
    )
