"""A meter of what requests are billed: it is attached to clients of DynamoDB, SQS, EventBridge and S3.

DynamoDB's units are those that its answers report (ConsumedCapacity), which the meter requests; the local run
computes them from the rows that it reads and writes. Where an answer reports none, as that of a write whose
condition failed, they are computed by ``fanin.cost.rules`` from the rows of the request and of the answer; a
row that neither has counts as one of up to 1 KB. Requests of SQS are priced as those to standard queues,
those of S3 as of storage class Standard, whose deletes are free.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanin.cost.bill import Bill, Usage
from fanin.cost.rules import (
    TRANSACTION,
    events,
    keyed_read_units,
    queue_requests,
    read_units,
    write_units,
)
from fanin.cost.sizes import Row

Units = dict[str, float]
Params = Mapping[str, Any]
_KEPT = "fanin.cost"
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
_BILLED_REFUSALS = ("ConditionalCheckFailedException", "TransactionCanceledException")
_READS = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"})
_STATEMENTS = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})
"""Requests of PartiQL, of which only what answers report is metered."""
_OBJECT_WRITES = frozenset({"PutObject", "CopyObject", "ListObjects", "ListObjectsV2"})
_OBJECT_READS = frozenset({"GetObject", "HeadObject"})
_TIME_BYTES = 14
"""Bytes that EventBridge counts for the time of an entry that has one ("Amazon EventBridge event size")."""


class UsageMeter:
    """Adds up the billed units of the requests of boto3 clients, as a ``Usage``; it may be shared by threads.

    *takes_reports*: False computes all units of DynamoDB from rows, for an engine whose reports are not those
    of AWS, such as moto. *reported*: units of DynamoDB that answers reported; the others of ``usage`` are
    computed.
    """

    def __init__(self, takes_reports: bool = True) -> None:
        self.takes_reports = takes_reports
        self.reported: Counter[str] = Counter()
        self._units: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """The units until now."""
        with self._lock:
            return Usage(dict(self._units))

    @property
    def dollars(self) -> float:
        """What they cost at list price."""
        return Bill(self.usage).dollars

    def attach(self, *clients: Any) -> UsageMeter:
        """Meter the requests of *clients* from now on. Raises KeyError for another service's client."""
        for client in clients:
            service = client.meta.service_model.service_name
            units_of, events_of = _SERVICES[service], client.meta.events
            name = client.meta.service_model.service_id.hyphenize()
            # A resource of boto3 has rows of Python's types before the one and after the other.
            events_of.register(f"before-parameter-build.{name}", self._ask_for_units)
            events_of.register_first(
                f"after-call.{name}", lambda units_of=units_of, **of: self._answered(units_of, of)
            )
        return self

    def add(self, usage: Usage) -> None:
        """Add units that no client sends: of an API, or of an invocation."""
        with self._lock:
            self._units.update(usage.units)

    def _ask_for_units(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if model.name in _WRITES | _READS | _STATEMENTS:
            params.setdefault("ReturnConsumedCapacity", "TOTAL")
        context[_KEPT] = params

    def _answered(self, units_of: Callable[[str, Params, Params], Units], of: Mapping[str, Any]) -> None:
        asked, parsed = of["context"].get(_KEPT, {}), of["parsed"]
        if not self.takes_reports:
            parsed = {name: value for name, value in parsed.items() if name != "ConsumedCapacity"}
        units = units_of(of["model"].name, asked, parsed)
        with self._lock:
            self._units.update(units)
            if parsed.get("ConsumedCapacity"):
                self.reported.update(units)


def _table_units(operation: str, asked: Params, parsed: Params) -> Units:
    """Return the units of a request of DynamoDB."""
    is_write = operation in _WRITES or (operation in _STATEMENTS and _changes(asked))
    kind = "write_unit" if is_write else "read_unit"
    reports = parsed.get("ConsumedCapacity") or []
    reports = [reports] if isinstance(reports, dict) else reports
    if reports:
        return {kind: sum(report.get("CapacityUnits", 0) for report in reports)}
    if operation in _WRITES:
        return {kind: _write_units(operation, asked, parsed)}
    return {kind: _read_units(operation, asked, parsed)} if operation in _READS else {}


def _changes(asked: Params) -> bool:
    """Return whether a request of PartiQL writes: its statements are all reads or all writes."""
    statements = asked.get("Statements") or asked.get("TransactStatements") or [asked]
    return not str(statements[0].get("Statement", "")).lstrip().upper().startswith("SELECT")


def _write_units(operation: str, asked: Params, parsed: Params) -> float:
    code = parsed.get("Error", {}).get("Code")
    if code not in (None, *_BILLED_REFUSALS):
        return 0
    if operation == "TransactWriteItems":
        return TRANSACTION * _transaction_units(asked, parsed)
    if operation == "BatchWriteItem":
        unprocessed = parsed.get("UnprocessedItems") or {}
        return _batch_write_units(asked["RequestItems"]) - _batch_write_units(unprocessed)
    returned = parsed.get("Attributes")  # an image before the write, or one after it
    return write_units(parsed.get("Item") or returned, asked.get("Item") or returned)


def _transaction_units(asked: Params, parsed: Params) -> float:
    """Return the units of the writes of a transaction, each as if it were alone."""
    actions = [each.get("Put", {}).get("Item") for each in asked.get("TransactItems", ())]
    stored = [each.get("Item") for each in parsed.get("CancellationReasons") or ()] or [None] * len(actions)
    return sum(write_units(before, after) for before, after in zip(stored, actions, strict=True))


def _batch_write_units(tables: Mapping[str, Sequence[Params]]) -> float:
    """Return the units of the writes of a BatchWriteItem, by table."""
    rows = (each.get("PutRequest", {}).get("Item") for writes in tables.values() for each in writes)
    return sum(write_units(None, row) for row in rows)


def _read_units(operation: str, asked: Params, parsed: Params) -> float:
    consistent = bool(asked.get("ConsistentRead"))
    if "Error" in parsed:
        return 0
    if operation in ("Query", "Scan"):
        return read_units(parsed.get("Items", ()), consistent)
    if operation == "BatchGetItem":
        unprocessed = parsed.get("UnprocessedKeys") or {}
        read = parsed["Responses"]
        return sum(
            batch_units(each, read.get(name, ()), len(unprocessed.get(name, {}).get("Keys", ())))
            for name, each in asked.get("RequestItems", {}).items()
        )
    if operation == "TransactGetItems":
        return TRANSACTION * keyed_read_units((each.get("Item") for each in parsed["Responses"]), True)
    return keyed_read_units([parsed.get("Item")], consistent)


def batch_units(asked: Params, rows: Sequence[Row], unprocessed: int = 0) -> float:
    """Return the units of a BatchGetItem for one table: *rows* are stored, *unprocessed* keys unread."""
    missing = [None] * (len(asked["Keys"]) - len(rows) - unprocessed)
    return keyed_read_units([*rows, *missing], bool(asked.get("ConsistentRead")))


def _queue_units(operation: str, asked: Params, parsed: Params) -> Units:
    """Return the requests of one of SQS."""
    carried = {
        "SendMessage": [asked],
        "SendMessageBatch": asked.get("Entries", ()),
        "ReceiveMessage": parsed.get("Messages", ()),
    }.get(operation, ())
    return {"queue_request": queue_requests(sum(map(_message_bytes, carried)))}


def _message_bytes(message: Params) -> int:
    """Return the bytes of a message: its body, and its attributes with their names and types."""
    body = message.get("MessageBody") or message.get("Body") or ""
    attributes = message.get("MessageAttributes") or {}
    texts = (
        (name, each.get("DataType", ""), each.get("StringValue", "")) for name, each in attributes.items()
    )
    binary = sum(len(each.get("BinaryValue", b"")) for each in attributes.values())
    return len(body.encode()) + binary + sum(len(text.encode()) for each in texts for text in each)


def _bus_units(operation: str, asked: Params, parsed: Params) -> Units:
    """Return the events of a request of EventBridge, without those that the bus refused."""
    if operation != "PutEvents" or "Error" in parsed:
        return {}
    pairs = zip(asked["Entries"], parsed["Entries"], strict=True)
    return {"event": sum(events(_entry_bytes(each)) for each, result in pairs if "ErrorCode" not in result)}


def _entry_bytes(entry: Params) -> int:
    texts = (entry.get("Source", ""), entry.get("DetailType", ""), entry.get("Detail", ""))
    texts = (*texts, *entry.get("Resources", ()))
    return (_TIME_BYTES if "Time" in entry else 0) + sum(len(text.encode()) for text in texts)


def _object_units(operation: str, asked: Params, parsed: Params) -> Units:  # noqa: ARG001  # billed alike
    """Return the requests of one of S3: a condition that failed, and an object that is absent, are billed."""
    if operation in _OBJECT_WRITES:
        return {"object_write": 1}
    return {"object_read": 1} if operation in _OBJECT_READS else {}


_SERVICES: Mapping[str, Callable[[str, Params, Params], Units]] = {
    "dynamodb": _table_units,
    "sqs": _queue_units,
    "events": _bus_units,
    "s3": _object_units,
}
