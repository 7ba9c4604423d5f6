"""Sends items with their rows: the public face of the packing and sending of this room."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from functools import partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from fanin.arguments import kind_of, text, text_or_none, whole
from fanin.aws.messaging.queue_urls import checked_queue, queue_url
from fanin.client.argument_checks.checking import listed_ids
from fanin.client.items import Items
from fanin.client.tracing import Carried, sending
from fanin.errors import InvalidRequest
from fanin.pacing import THREADS, each_in_threads, each_in_turn, waits
from fanin.publishing.message_groups import message_group
from fanin.publishing.packing import BATCH_BYTES, ENVELOPE_BYTES, Message, batches, carrying, pack_of
from fanin.publishing.row_sources.lines import sendable
from fanin.publishing.sending import SendFailed, Sleep
from fanin.publishing.sending import send as sent
from fanin.tracker import GroupId, ItemId
from fanin.tracker.reads.window import WINDOW_MAX
from fanin.user_functions import synchronous

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

TRACE = "_X_AMZN_TRACE_ID"
"""The variable in which Lambda has the trace of an invocation."""
ROW_BYTES = BATCH_BYTES - ENVELOPE_BYTES
MISSING = object()
_LENT: list[Any] = []


class Row(NamedTuple):
    """A row to send; *position* is its item's in the batch."""

    copy: int
    position: int
    item_id: str
    record: str


def send(
    queue: str,
    items: Iterable[str | ItemId],
    rows: Iterable[Any],
    *,
    chunk: int | None = None,
    group: str | None = None,
    trace: str | None = None,
    client: SQSClient | None = None,
    sleep: Sleep = time.sleep,
) -> int:
    """Send each of *items* with its row, a JSON value, to an SQS queue; return the number of messages.

    A message is ``{"itemId": ..., "record": row, "sentAt": ms}``; with *chunk*, that many neighbours are one.
    *queue*: its URL or name. *group*: the message group; by default the batch. *trace*: the header of an
    X-Ray trace, in a function of Lambda by default its own. *client*: of boto3. In a process that records no
    spans, the messages of ``batch.add(...)``, or of a slice of it, carry the trace context of its open.
    Raises SendFailed for what SQS keeps refusing, once all others are sent, and InvalidRequest for a row that
    cannot be sent, or if there are not as many rows as items; those before it may be sent then.
    """
    checked_queue(queue), synchronous(sleep, "sleep")
    _check_client(client)
    messages = _messages(items, rows, None if chunk is None else whole(chunk, "chunk", 1, WINDOW_MAX))
    named = None if group is None else message_group(text(group, "a message group", "group"))
    more = _system(text_or_none(trace, "a trace", "trace"))
    begun = chain([*islice(messages, 1)], messages)  # a bad first row is refused before a client is made
    client = client or _client()
    url = queue_url(client, queue)
    carried = items.carried if isinstance(items, Items) else ()
    return _all_sent(partial(_send, client, url, sleep, named, more), url, begun, carried)


def _messages(items: Iterable[str | ItemId], rows: Iterable[Any], chunk: int | None) -> Iterator[Message]:
    """Return the messages of *items* with their rows, each of one item or of *chunk* neighbours."""
    listed = listed_ids(items, "send")
    _check_rows(items, rows)
    pack, found = pack_of(chunk), _rows(map(str, listed), rows)
    return (message for _, near in groupby(found, key=_group_of) for message in pack(near))


def _check_client(client: Any) -> None:
    if client is not None and not callable(getattr(client, "send_message_batch", None)):
        raise InvalidRequest(f"client is a boto3 client of SQS, not {kind_of(client)}", field="client")


def _all_sent(
    send_one: Callable[[list[Message]], SendFailed | None],
    url: str,
    messages: Iterator[Message],
    carried: Carried,
) -> int:
    """Send *messages*, those of a FIFO queue in order; return how many there were. Raises SendFailed.

    *carried*: their trace context, where no span is recorded.
    """
    each = each_in_turn if url.endswith(".fifo") else each_in_threads
    with sending(url) as traced:
        requests = batches(carrying(messages, traced.carried or carried))
        count, failures = 0, list[SendFailed]()
        while some := [*islice(requests, THREADS)]:
            failures += [failure for failure in each(send_one, some) if failure is not None]
            count += sum(map(len, some))
        traced.note({"messaging.batch.message_count": count})
        if failures:
            raise SendFailed(
                str(failures[0]), [message for failure in failures for message in failure.messages]
            )
    return count


def _send(
    client: SQSClient, url: str, sleep: Sleep, group: str | None, more: dict[str, Any], batch: list[Message]
) -> SendFailed | None:
    """Send *batch*; return what failed."""
    try:
        sent(client, url, batch, waits(random.Random()), sleep, group, more)
    except SendFailed as failure:
        return failure
    return None


def _check_rows(items: Iterable[Any], rows: Iterable[Any]) -> None:
    """Raise InvalidRequest for a single text or object as rows, and for lists that differ in length."""
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes, Mapping)):
        raise InvalidRequest(f"rows is a list of one for each item, not {kind_of(rows)}", field="rows")
    if isinstance(items, Sized) and isinstance(rows, Sized) and len(items) != len(rows):
        raise InvalidRequest(f"there are {len(rows):,} rows for {len(items):,} items", field="rows")


def _rows(items: Iterator[str], rows: Iterable[Any]) -> Iterator[Row]:
    """Yield the rows of *items*. Raises InvalidRequest."""
    values = iter(rows)
    for number, item_id in enumerate(items):
        value = next(values, MISSING)
        if value is MISSING:
            raise InvalidRequest(f"there are {number:,} rows and more items", field="rows")
        yield Row(1, _position(item_id), item_id, _record(value, number))
    if next(values, MISSING) is not MISSING:
        raise InvalidRequest("there are more rows than items", field="rows")


def _record(value: Any, number: int) -> str:
    """Return a row as JSON."""
    try:
        record = sendable(json.dumps(value, ensure_ascii=False, allow_nan=False))
        size = len(record.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"row {number} is no JSON value: {error}", field="rows") from error
    if size > ROW_BYTES:
        raise InvalidRequest(f"row {number} has {size:,} bytes; SQS takes {ROW_BYTES:,}", field="rows")
    return record


def _position(item_id: str) -> int:
    """Return the position of an item in its batch."""
    item = ItemId.parse(item_id, "items")
    group = GroupId.decode(item.group_id)
    return item.index + (group.start if group else 0)


def _group_of(row: Row) -> str:
    return row.item_id.rpartition(":")[0]


def _system(trace: str | None) -> dict[str, Any]:
    """Return the system attributes of each message."""
    header = trace or os.environ.get(TRACE)
    attributes = {"AWSTraceHeader": {"DataType": "String", "StringValue": header}}
    return {"MessageSystemAttributes": attributes} if header else {}


@contextmanager
def lent_client(client: Any) -> Iterator[None]:
    """Within the block, send by *client* what is sent without one: for tests."""
    _LENT.append(client)
    try:
        yield
    finally:
        _LENT.remove(client)


def _client() -> SQSClient:
    if _LENT:
        lent: SQSClient = _LENT[-1]
        return lent
    from fanin.aws import clients  # noqa: PLC0415  # importing botocore takes 0.2 s

    return clients.sqs()
