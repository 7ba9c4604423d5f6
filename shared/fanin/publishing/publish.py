"""Publishes a source: row k is item k of one batch, and a message, alone or in a chunk.

Open, add and send part by part, close last: so a batch that is OPEN has rows that may not have been sent. The
idempotency keys are derived from the rows, so a run that is repeated finds its batch and its items.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any
from urllib.parse import quote

from fanin.client.batch import Batch
from fanin.client.fanin import Fanin
from fanin.client.items import Items
from fanin.client.tracing import carried_of
from fanin.errors import AccessDenied, BatchEnded, Conflict, FaninError, InvalidRequest, KeyReused
from fanin.publishing.caps import UNCAPPED, Caps
from fanin.publishing.items import Row
from fanin.publishing.message_groups import message_group
from fanin.publishing.row_sources.source import Source, SourceChanged
from fanin.publishing.rows import Survey, include, parts, survey
from fanin.publishing.sender import Sender
from fanin.tracker import GroupId, State
from fanin.tracker.rules.model import ENOUGH

logger = logging.getLogger("fanin")
SOURCE, DIGEST = "source", "digest"
"""Labels of a batch whose source may not change between two runs: its name, and the digest of its rows."""
LABEL_LENGTH = 256


class Again(StrEnum):
    """Which items of a closed batch are sent again."""

    OUTSTANDING = "outstanding"
    FAILED = "failed"


class AlreadyPublished(Conflict):
    """No row is left to send: an earlier run sent all and closed *batch_id*, or enough of them are done."""

    def __init__(self, detail: str, batch_id: str) -> None:
        super().__init__(detail)
        self.batch_id = batch_id


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """What to publish, and where: *chunk* rows in a message (None: one), about *rate* messages a second.

    *group*: the message group; None: the batch. *caps*: on its rows and their cost. *may_be_empty*: whether a
    source without rows is published, as a batch that completes at once. *options*: of the batch, as
    ``Fanin.open`` takes them; those of a run that is repeated are the same.
    """

    source: Source
    queue_url: str
    user_key: str
    chunk: int | None = None
    rate: float | None = None
    again: Again | None = None
    group: str | None = None
    caps: Caps = UNCAPPED
    may_be_empty: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.group is not None:
            message_group(self.group)

    def checked(self, found: Survey) -> Survey:
        """Return *found*; raise InvalidRequest for a source that passes a cap, or has no rows."""
        if not found.rows and not self.may_be_empty:
            raise InvalidRequest(
                f"{self.source.name} has no rows, and its batch would complete at once; if that is meant,"
                " give --allow-empty",
                field="file",
            )
        self.caps.check(found.rows, found.size, self.chunk)
        return found

    def key(self, digest: str) -> str:
        """Return the idempotency key: of the rows, the user key and the name of the queue."""
        queue = self.queue_url.rpartition("/")[2]
        return hashlib.sha256("\n".join((digest, self.user_key, queue)).encode()).hexdigest()

    def labels(self, digest: str) -> dict[str, str]:
        """Return what names the source and its rows, if another run has to go on with the same."""
        source = quote(self.source.name, safe="/:")[-LABEL_LENGTH:]
        return {SOURCE: source, DIGEST: digest} if self.source.is_kept else {}


def publish(
    fanin: Fanin,
    sender: Sender,
    request: PublishRequest,
    report: Callable[[int, int], object],
    warn: Callable[[str], object] = logger.warning,
) -> Batch:
    """Publish *request* and return its batch; *report* is called with the items sent and all rows, often.

    *warn*: called with a line about each other batch of the user key that is OPEN. Raises AlreadyPublished
    for a batch that succeeded, or has had enough, and for a closed one unless ``again`` says what to send;
    Conflict for one that has ended otherwise; SourceChanged; InvalidRequest for a source that is refused.
    """
    found = request.checked(survey(request.source, lambda rows: report(0, rows)))
    sender.report = lambda: report(sender.items, found.rows)
    sender.report()
    key = request.key(found.digest)
    batch = _opened(fanin, request, f"publish-{key}", request.labels(found.digest))
    status = batch.status()
    sender.carried = carried_of(status)
    _check(batch.id, status.state, request)
    _warn_of_others(fanin, batch.id, request.user_key, warn)
    is_open = status.state is State.OPEN
    wanted = partial(_wanted, fanin, None if is_open else request.again, status.total)
    for number, part in enumerate(_same(found, request.source)):
        items = _added(batch, len(part), f"publish-{key}-{number}")
        sender.send(_rows(items, part, wanted(items)))
    if is_open:
        batch.close()
    return batch


def _added(batch: Batch, count: int, key: str) -> Items:
    """Add items and return them. Raises AlreadyPublished if enough of those before have succeeded."""
    try:
        return batch.add(count, key=key)
    except BatchEnded as ended:
        if ended.result != ENOUGH:
            raise
        over = f"batch {batch.id} is {ended.state} ({ENOUGH}): enough rows are done; no other one is sent"
        raise AlreadyPublished(over, batch.id) from ended


def _opened(fanin: Fanin, request: PublishRequest, key: str, labels: Mapping[str, str]) -> Batch:
    """Open the batch of *request*, or return the one of an earlier run.

    Raises Conflict if that has ended, or a live one publishes other rows of the source.
    """
    _refuse_changed(fanin, request, labels)
    try:
        return fanin.open(request.user_key, key=key, labels=labels, **request.options)
    except KeyReused as error:
        raise KeyReused(f"{error}; another --user-key is another key") from error
    except BatchEnded as ended:
        outcome = ended.result if ended.reason is None else f"{ended.result}: {ended.reason}"
        found = f"batch {ended.batch_id} is {ended.state} ({outcome})"
        if ended.result in ("succeeded", ENOUGH):
            which = "all" if ended.result == "succeeded" else "enough"
            sentence = f"{found}: {which} rows of {request.source.name} are done; nothing was sent"
            raise AlreadyPublished(sentence, ended.batch_id) from ended
        which = "" if ended.state == State.COMPLETE else ", items='unfinished'"
        raise Conflict(
            f"{found}; nothing was sent: do what is not done with fanin.reopen({ended.batch_id!r}{which})"
            " (docs/repair.md), or name another --user-key to send all rows again"
        ) from ended


def _refuse_changed(fanin: Fanin, request: PublishRequest, wanted: Mapping[str, str]) -> None:
    """Raise SourceChanged if other rows of the source are being published under this user key."""
    if not wanted:
        return
    try:
        others = [each for each in fanin.batches(request.user_key, State.OPEN) if SOURCE in each.labels]
    except AccessDenied:
        return
    for other in others:
        if other.labels[SOURCE] == wanted[SOURCE] and other.labels.get(DIGEST) != wanted[DIGEST]:
            raise SourceChanged(
                f"{request.source.name} was changed since batch {other.batch_id}, which is OPEN, was begun;"
                " nothing was sent: put the earlier version back, or cancel the batch with:"
                f" fanin cancel {other.batch_id}"
            )


def _check(batch_id: str, state: State, request: PublishRequest) -> None:
    """Raise AlreadyPublished for a closed batch unless *request* says what to send again."""
    if state is State.CLOSED and request.again is None:
        raise AlreadyPublished(
            f"batch {batch_id} is CLOSED: all rows of {request.source.name} were sent before, and none now;"
            " to send some again, give --again outstanding or --again failed",
            batch_id,
        )


def _warn_of_others(fanin: Fanin, batch_id: str, user_key: str, warn: Callable[[str], object]) -> None:
    """Report the other open batches of the user key; none if the caller may not list batches."""
    try:
        others = [each.batch_id for each in fanin.batches(user_key, State.OPEN) if each.batch_id != batch_id]
    except FaninError:
        return
    for other in others:
        warn(
            f"batch {other} of this user key is still OPEN, from other rows or another queue: publish those"
            f" again to go on, or cancel it with: fanin cancel {other}"
        )


def _same(found: Survey, source: Source) -> Iterator[list[str]]:
    """Yield the parts of the source. Raises SourceChanged at its end if it has other rows than *found*."""
    digest = hashlib.sha256()
    for part in parts(source):
        for row in part:
            include(digest, row)
        yield part
    if digest.hexdigest() != found.digest:
        raise SourceChanged(f"{source.name} was changed while it was read; its batch stays OPEN, cancel it")


def _wanted(fanin: Fanin, again: Again | None, total: int, items: Items) -> Sequence[Items]:
    """Return the items to send: those that were not added before, and of the others what *again* says."""
    if _start(items) >= total:
        return [items]
    if again is not Again.FAILED:
        return fanin.outstanding_of(items)
    outstanding = {index for part in fanin.outstanding_of(items) for index in part.indexes}
    unsuccessful = [index for part in fanin.outstanding_of(items, failed=True) for index in part.indexes]
    return [items[index : index + 1] for index in unsuccessful if index not in outstanding]


def _rows(items: Items, part: Sequence[str], wanted: Sequence[Items]) -> Iterator[Row]:
    start = _start(items)
    for some in wanted:
        for index in some.indexes:
            yield Row(1, start + index, items[index], part[index])


def _start(items: Items) -> int:
    """Return the position of the first item in the batch."""
    group = GroupId.decode(items.group_id)
    return group.start if group else 0
