"""Starts publications, and continues them part by part."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from fanin.errors import BatchEnded, Conflict, FaninError, InvalidRequest, KeyReused, NotFound, StaleWrite
from fanin.s3_publications.dynamodb import DynamoPositions
from fanin.s3_publications.model import PAUSE_SECONDS, Order, Position
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.batch_changes.opening import differences, key_reused
from fanin.tracker.rules.model import REASON_MAX, Batch, BatchKey, State

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from fanin.publishing.row_sources.objects import StoredObject
    from fanin.publishing.sender import Sender
    from fanin.s3_publications.object_created import Created
    from fanin.s3_publications.reading import Part

CALLER = "publications"
"""Who completes a batch that is empty."""
SOURCE_END = 128
"""Characters of a source in a reason that is too long with all of it."""


class StepResult(StrEnum):
    """The result of a message of a publication."""

    ON = "on"
    PUBLISHED = "published"
    STOPPED = "stopped"
    OVERTAKEN = "overtaken"
    STARTED = "started"


@dataclass(frozen=True, slots=True)
class Publications:
    """The publications of a deployment.

    *sender_of*: returns what sends the rows of an order. *send_on*: sends a message to the queue of
    publications, with a delay in seconds. *check*: raises InvalidRequest for an order that may not be
    carried out.
    """

    tracker: Tracker
    positions: DynamoPositions
    client: S3Client
    sender_of: Callable[[Order], Sender]
    send_on: Callable[[str, int], object]
    check: Callable[[Order], object] = lambda order: order

    def start(self, order: Order, spec: OpenBatch, key: str | None) -> tuple[Batch, Position]:
        """Open the batch of *order* with the options *spec*, and send the message that begins to publish it.

        Repeated with the same idempotency *key*, it returns the same batch. Raises InvalidRequest if there is
        no such object, KeyReused if the key was used for another order, and BatchEnded if its batch has
        ended.
        """
        self._check_exists(order, key)
        try:
            return self._start(order, spec, key, Position())
        except KeyReused as error:
            raise self._reused(order, spec, key or "") or error from error

    def _reused(self, order: Order, spec: OpenBatch, key: str) -> KeyReused | None:
        """Return the error that names what differs from the publication under *key*; None if that is gone."""
        store = self.tracker.store
        held = store.named(order.tenant, key)
        batch = None if held is None else store.get(BatchKey(order.tenant, held))
        if batch is None:
            return None
        of_batch = [name for name in differences(batch, spec) if name != "labels"]
        return key_reused(batch, key, order.differences(batch.labels) + of_batch)

    def _check_exists(self, order: Order, key: str | None) -> None:
        """Raise InvalidRequest if there is no object to publish, unless it was published under *key*."""
        from fanin.s3_publications.finding import check_exists  # noqa: PLC0415  # other routes start without it

        try:
            check_exists(self.client, order)
        except InvalidRequest:
            if key is None or self.tracker.store.named(order.tenant, key) is None:
                raise

    def start_created(self, order: Order, created: Created) -> StepResult:
        """Start to publish the object *created*; once, however often its event comes.

        A newer content of the object ends it, and is published by its own event.
        """
        try:
            self._start(order, OpenBatch(user_key=_user_key(order)), created.key(order), created.position)
        except (BatchEnded, KeyReused):
            return StepResult.OVERTAKEN  # KeyReused: the setting has changed since
        return StepResult.STARTED

    def _start(
        self, order: Order, spec: OpenBatch, key: str | None, first: Position
    ) -> tuple[Batch, Position]:
        batch = self.tracker.open(order.tenant, replace(spec, labels=order.labels), key)
        self.positions.create(batch, first)
        position = self.positions.get(batch) or first
        if not position.parts:  # later, a message of its own continues it
            self.send_on(replace(order, batch_id=batch.batch_id).message(), 0)
        return batch, position

    def get(self, tenant: str, batch_id: str) -> tuple[Batch, Position]:
        """Return the batch of a publication, and how far it is. Raises NotFound."""
        batch = self.tracker.get(tenant, batch_id)
        position = self.positions.get(batch)
        if position is None:
            raise NotFound(f"batch {batch_id} is of no publication")
        return batch, position

    def go_on(self, order: Order, has_time: Callable[[], bool]) -> StepResult:
        """Publish part after part while *has_time* returns true, and close the batch after the last one.

        Otherwise, and if the rate asks for a long wait, it sends the message again. What may not be
        published, or cannot be read or sent, another object in place of the first, and rows that pass a cap
        of the batch cancel it with the reason. Raises StaleWrite if another process has continued it, which
        may crash: the message has to come again.
        """
        from fanin.publishing.row_sources.source import NOTHING_SENT, SourceChanged  # noqa: PLC0415  # see _object
        from fanin.publishing.sending import SendRefused  # noqa: PLC0415  # see _object

        try:
            return self._go_on(order, has_time)
        except (InvalidRequest, SendRefused, SourceChanged, KeyReused) as error:
            self._cancel(order, str(error).removesuffix(NOTHING_SENT))
            return StepResult.STOPPED

    def _go_on(self, order: Order, has_time: Callable[[], bool]) -> StepResult:
        from fanin.client.tracing import carried_of  # noqa: PLC0415  # see _object
        from fanin.s3_publications.reading import parts_of  # noqa: PLC0415  # see _object

        try:
            batch, position = self.get(order.tenant, order.batch_id)
        except NotFound:
            return StepResult.STOPPED  # deleted, or expired
        if not batch.is_alive:
            return StepResult.STOPPED
        self.check(order)
        stored, position = self._object(batch, order, position)
        sender = self.sender_of(order)
        sender.carried = carried_of(batch)
        for part in parts_of(stored, position, order.part_rows):
            if not self._publish(batch, order, sender, part, position):
                return StepResult.STOPPED
            position = part.position
            pause = round(sender.pause())
            if not position.is_end and (pause >= PAUSE_SECONDS or not has_time()):
                self.send_on(order.message(), pause)
                return StepResult.ON
        return self._close(order)

    def _object(self, batch: Batch, order: Order, position: Position) -> tuple[StoredObject, Position]:
        """Return the object of a publication, and the position that has its ETag, which is stored once."""
        from fanin.publishing.row_sources.source import SourceChanged  # noqa: PLC0415  # see above
        from fanin.s3_publications.reading import readable, stored_at  # noqa: PLC0415  # the routes start without it

        if not position.parts:
            found, seen = readable(self.client, order), position
            position = replace(seen, size=found.size, etag=found.etag, parts=1)
            if seen.etag and (seen.etag, seen.size) != (position.etag, position.size):
                raise SourceChanged(f"{order.source} was changed before it was read")
            self.positions.advance(batch, seen, position)
        return stored_at(self.client, order, position), position

    def _publish(self, batch: Batch, order: Order, sender: Sender, part: Part, seen: Position) -> bool:
        """Add and send *part*, and store its end; return whether the batch takes it."""
        if part.rows:
            key = f"publication-part-{seen.parts}"
            try:
                added = self.tracker.add(order.tenant, batch.batch_id, len(part.rows), key)
            except (NotFound, Conflict) as error:
                if isinstance(error, StaleWrite | KeyReused):
                    raise
                self._cancel_open(order, error)
                return False
            (group,) = added.groups
            sender.send(part.of_group(batch.batch_id, group.id))
        self.positions.advance(batch, seen, part.position)
        return True

    def _cancel_open(self, order: Order, refusal: FaninError) -> None:
        """Cancel a batch that is still OPEN, because a cap of it refuses the next part."""
        with suppress(NotFound):
            if self.tracker.get(order.tenant, order.batch_id).state is State.OPEN:
                self._cancel(order, f"{order.source} passes a cap of its batch: {refusal}")

    def _close(self, order: Order) -> StepResult:
        try:
            self.tracker.close(order.tenant, order.batch_id, CALLER)
        except Conflict:
            return StepResult.STOPPED
        return StepResult.PUBLISHED

    def _cancel(self, order: Order, reason: str) -> None:
        try:
            self.tracker.cancel(order.tenant, order.batch_id, _shortened(reason, order.source))
        except (NotFound, Conflict):
            return  # it has ended otherwise


def _shortened(reason: str, source: str) -> str:
    """Return *reason* with at most ``REASON_MAX`` characters; a long source loses its begin."""
    if len(reason) > REASON_MAX:
        reason = reason.replace(source, f"...{source[-SOURCE_END:]}")
    return reason[:REASON_MAX]


def _user_key(order: Order) -> str | None:
    """Return the name of the object without folder and suffix; None if it cannot be a user key."""
    from fanin.s3_publications.reading import title_of  # noqa: PLC0415  # see _object

    title = title_of(order.source)
    try:
        return OpenBatch(user_key=title).user_key
    except InvalidRequest:
        return None
