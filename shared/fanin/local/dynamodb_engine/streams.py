"""The emulator's stream of a table, and the feed that brings the records of the engine's streams to it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from ministack.core.concurrency import esm_wake
from ministack.services import dynamodb

from fanin.local.dynamodb_engine.engine import STREAMS, Engine
from fanin.local.emulator_process.connection import ACCOUNT, REGION
from fanin.local.errors import LocalRunError

logger = logging.getLogger("fanin.local")

POLL_SECONDS = 0.2
NAMES = frozenset({"INSERT", "MODIFY", "REMOVE"})
EXPIRY = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
"""Who removed an item whose time to live is over: Developer Guide, "DynamoDB Streams and Time to Live"."""


class Records:
    """The records of the stream *arn* of *table*."""

    def __init__(self, table: str, arn: str) -> None:
        self.table, self.arn = table, arn

    def append(self, record: Mapping[str, Any], expired: bool = False) -> None:
        """Add *record*, as the engine has it or as :meth:`change` made it."""
        identity = {"userIdentity": EXPIRY} if expired else {}
        kept = {**record, "awsRegion": REGION, "eventSourceARN": self.arn, **identity}
        records = dynamodb._stream_records.get_scoped(ACCOUNT, REGION, self.table)
        if records is None:
            dynamodb._stream_records.set_scoped(ACCOUNT, REGION, self.table, [kept])
        else:
            records.append(kept)
        esm_wake.set()

    def change(self, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the record of a change from *old* to *new*, of which one may be None."""
        table = dynamodb._tables.get_scoped(ACCOUNT, REGION, self.table)
        event = "REMOVE" if new is None else "INSERT" if old is None else "MODIFY"
        view = table["StreamSpecification"].get("StreamViewType", "NEW_AND_OLD_IMAGES")
        found: dict[str, Any] = dynamodb._build_change_record(table, event, old, new, view)
        return found


class StreamFeed:
    """Copies the stream *arn* of the engine to *records*, in its order, and marks what expired.

    *view*: the ``StreamViewType``.
    """

    def __init__(self, engine: Engine, arn: str, view: str, records: Records) -> None:
        self.engine, self.arn, self.records = engine, arn, records
        self._has_old_images = "OLD" in view
        self.stopped = threading.Event()
        self._last: dict[str, str] = {}
        self._expired: list[str] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Copy in a thread until ``stopped`` is set."""
        threading.Thread(target=self._follow, daemon=True, name=f"stream of {self.records.table}").start()

    def expire(self, request: Mapping[str, Any]) -> None:
        """Send *request*, a ``DeleteItem`` that returns what it deletes, whose record is one of an expiry."""
        # No record is read between the deletion and its note.
        with self._lock:
            deleted = self.engine.ask("DeleteItem", request).get("Attributes")
            if deleted:
                self._expired.append(self._identity(deleted, request["Key"]))

    def copy(self) -> None:
        """Append the new records to those of the emulator."""
        with self._lock:
            for record in self._new():
                if not _is_unchanged(record):
                    name = record["eventName"] if record["eventName"] in NAMES else "REMOVE"
                    self.records.append({**record, "eventName": name}, self._is_expiry(record))

    def _follow(self) -> None:
        while not self.stopped.wait(POLL_SECONDS):
            try:
                self.copy()
            except LocalRunError as error:
                logger.warning("the stream of %s was not read: %s", self.records.table, error)

    def _is_expiry(self, record: Mapping[str, Any]) -> bool:
        """Return whether *record* is of an item that expired; each deletion has one."""
        if record["eventName"] not in NAMES or "userIdentity" in record:
            return True
        change = record["dynamodb"]
        found = self._identity(change.get("OldImage", {}), change["Keys"])
        if record["eventName"] != "REMOVE" or found not in self._expired:
            return False
        self._expired.remove(found)
        return True

    def _new(self) -> Iterator[dict[str, Any]]:
        """Yield the records after the last one of each shard.

        An iterator is not kept: some engines refuse that of an empty stream once it has a record.
        """
        described = self._ask("DescribeStream", StreamArn=self.arn)["StreamDescription"]
        for shard in (each["ShardId"] for each in described["Shards"]):
            start = {"ShardIteratorType": "TRIM_HORIZON"}
            if shard in self._last:
                start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._last[shard]}
            page = self._ask("GetShardIterator", StreamArn=self.arn, ShardId=shard, **start)
            iterator = page["ShardIterator"]
            while iterator:
                page = self._ask("GetRecords", ShardIterator=iterator)
                iterator = page.get("NextShardIterator") if page["Records"] else None
                for record in page["Records"]:
                    self._last[shard] = record["dynamodb"]["SequenceNumber"]
                    yield record

    def _ask(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.engine.ask(operation, request, STREAMS)

    def _identity(self, image: Mapping[str, Any], key: Mapping[str, Any]) -> str:
        """Return the identity of a deletion: the item, or its key if the stream has no more."""
        return json.dumps(image if self._has_old_images else key, sort_keys=True)


def _is_unchanged(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is of a write that changed nothing, for which DynamoDB writes none."""
    old, new = (record["dynamodb"].get(image) for image in ("OldImage", "NewImage"))
    return old is not None and old == new
