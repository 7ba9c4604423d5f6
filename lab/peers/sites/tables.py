"""A counter in DynamoDB, a row for each item, and fanin: on one engine, fed by our own queue."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from fanin.aws.dynamodb.meter import Meter
from fanin.cost.meter import UsageMeter
from fanin.cost.sizes import size_of
from fanin.item_results.objects import Listed
from fanin.item_results.s3 import BucketObjects
from fanin.tracker import OpenBatch
from lab.peers.delivering import Delivering
from lab.peers.log import Log
from lab.peers.sites.acking import (
    BATCH,
    BUCKET,
    COUNTER,
    ROWS,
    TENANT,
    client_of,
    fanin_tracker,
    with_objects,
)
from tests.contract.tables import create_tables

CHECK_SECONDS = 1.0
LONGER = 9
"""A wait in times of the look before it: a look takes the engine's time, at most a tenth of it in all."""
PUT_AT_ONCE = 25


@dataclass
class TableSite:
    """Rows in DynamoDB. The requests of publishing and counting are those of this process."""

    queue: Delivering
    endpoint: str
    peak: int = 0
    kept: int = 0

    def __post_init__(self) -> None:
        self.client, self.uncounted = client_of(self.endpoint), client_of(self.endpoint)
        self.meter, self.units = Meter().attach(self.client), UsageMeter().attach(self.client)
        self.queue.config["dynamodb"] = self.endpoint
        self.create()

    def create(self) -> None:
        """Create the table, empty."""
        _dropped(self.uncounted, ROWS)
        self.uncounted.create_table(
            TableName=ROWS,
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
            ],
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )

    def publish(self) -> None:
        row = {"pk": {"S": BATCH}, "sk": {"N": "0"}, COUNTER: {"N": str(self.queue.case.items)}}
        self.client.put_item(TableName=ROWS, Item=row)
        self.queue.fill()

    def start(self) -> subprocess.Popen[Any]:
        return self.queue.start()

    def sample(self) -> None:
        self.kept = self.stored()
        self.peak = max(self.peak, self.kept)

    def stored(self) -> int:
        """Return the bytes of all rows."""
        return _stored(self.uncounted, ROWS)

    def facts(self) -> dict[str, float]:
        ours = {"requests": self.meter.totals["requests"], **self.units.usage.units}
        workers = self.queue.totals()
        sums = {kind: ours.get(kind, 0) + workers.get(kind, 0) for kind in ours.keys() | workers.keys()}
        return {**sums, "peak_bytes": self.peak, "kept_bytes": self.kept}


@dataclass
class RowsSite(TableSite):
    """A row for each item, and one process that looks for rows that are not done: once a second at most."""

    found: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    def publish(self) -> None:
        items = range(self.queue.case.items)
        for first in range(0, len(items), PUT_AT_ONCE):
            puts = [
                {"PutRequest": {"Item": {**_key(item), "state": {"S": "todo"}}}}
                for item in items[first : first + PUT_AT_ONCE]
            ]
            self.client.batch_write_item(RequestItems={ROWS: puts})
        self.queue.fill()
        threading.Thread(target=self.check, daemon=True).start()

    def sample(self) -> None:
        """Look at the rows once they are all done: a scan of them takes the engine's time."""
        if self.found.is_set() and not self.kept:
            super().sample()

    def check(self) -> None:
        """Report the end when no row is left to do, unless the run is over."""
        while not self.stopped.is_set():
            began = time.monotonic()
            if not self.is_pending():
                Log(self.queue.log).end(0)
                self.found.set()
                return
            self.stopped.wait(max(CHECK_SECONDS, LONGER * (time.monotonic() - began)))

    def facts(self) -> dict[str, float]:
        self.stopped.set()
        return super().facts()

    def is_pending(self) -> bool:
        """Return whether a row is not done: pages are read up to the first that has one."""
        pages = self.client.get_paginator("query").paginate(
            TableName=ROWS,
            Select="COUNT",
            ConsistentRead=True,
            KeyConditionExpression="pk = :batch",
            FilterExpression="#state <> :done",
            ExpressionAttributeNames={"#state": "state"},
            ExpressionAttributeValues={":batch": {"S": BATCH}, ":done": {"S": "done"}},
        )
        return any(page["Count"] for page in pages)


@dataclass
class FaninSite(TableSite):
    """A batch of fanin. The production tables; its streams and functions are not run."""

    def create(self) -> None:
        for name in ("Batches", "Pages"):
            _dropped(self.uncounted, name)
        create_tables(self.uncounted)
        self.objects = client_of(self.endpoint, "s3")
        self.units.attach(self.objects)
        self.uncounted_objects = client_of(self.endpoint, "s3")
        if self.queue.case.results:
            self._empty_bucket()

    def publish(self) -> None:
        tracker = fanin_tracker(self.client, self.objects)
        batch = tracker.open(TENANT, OpenBatch(results=bool(self.queue.case.results))).batch_id
        group = tracker.add(TENANT, batch, self.queue.case.items).groups[0].id
        tracker.close(TENANT, batch, "publisher")
        self.queue.config |= {"batch": batch, "group": group}
        self.queue.fill()

    def stored(self) -> int:
        rows = _stored(self.uncounted, "Batches") + _stored(self.uncounted, "Pages")
        return rows + (sum(each.size for each in self._objects()) if self.queue.case.results else 0)

    def facts(self) -> dict[str, float]:
        return with_objects(super().facts())

    def _objects(self) -> list[Listed]:
        """Return all objects of the bucket, by a client that is not metered."""
        return [each for some in BucketObjects(self.uncounted_objects, BUCKET).names("") for each in some]

    def _empty_bucket(self) -> None:
        if BUCKET in [each["Name"] for each in self.uncounted_objects.list_buckets()["Buckets"]]:
            while not BucketObjects(self.uncounted_objects, BUCKET).remove(""):
                pass
        else:
            self.uncounted_objects.create_bucket(Bucket=BUCKET)


def _key(item: int) -> dict[str, Any]:
    return {"pk": {"S": BATCH}, "sk": {"N": str(item)}}


def _stored(client: Any, table: str) -> int:
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return sum(size_of(row) for page in pages for row in page["Items"])


def _dropped(client: Any, table: str) -> None:
    if table in client.list_tables()["TableNames"]:
        client.delete_table(TableName=table)
