"""The demo's access to the deployment beside the tracker's API: queues, worker, index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from examples.catalog.output.progress import Counters
from examples.catalog.system import bundles
from examples.catalog.system.batch_api import BatchApi, Call
from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions

SOURCES = ("DemoQueueUrl", "RegistrationsQueueUrl", "GrouperQueueUrl", "BundlesQueueUrl")
RUN_ROWS = "run#"
"""The prefix of the workers' own rows; every other row of the index is a package."""


@dataclass(frozen=True, slots=True)
class Row:
    """A package's row: its key; when its message was sent and worked on, in ms since 1970."""

    key: str
    sent_at: int
    processed_at: int


class Deployed:
    """The demo's parts of the stack that *run* has deployed, and the batch API that it calls."""

    def __init__(self, run: LocalRun, batch_api: BatchApi) -> None:
        self._batch_api = batch_api
        self.outputs = run.outputs
        self.sqs = run.client("sqs")
        self._functions = run.client("lambda")
        self._tables = run.client("dynamodb")

    def fail_on_purpose(self, percent: int, seed: int) -> None:
        """Make the worker fail *percent* of the items once, chosen by *seed*."""
        chaos = {"CHAOS_FAIL_PERCENT": str(percent), "CHAOS_SEED": str(seed)}
        functions.configure(self._functions, ["worker"], chaos)

    def bundle(self, sections: Iterable[str]) -> None:
        """Make the worker send packages of *sections* to the batch API."""
        settings = bundles.settings(sections, self._batch_api.url)
        functions.configure(self._functions, bundles.HANDLERS, settings)

    def queue(self, sections: Iterable[str]) -> None:
        """Make the worker add jobs for packages of *sections*."""
        settings = {"QUEUED_SECTIONS": ",".join(sorted(sections))}
        functions.configure(self._functions, ["worker"], settings)

    def jobs_done(self) -> int:
        """Return the number of jobs whose outcome is stored."""
        pages = self._tables.get_paginator("scan").paginate(
            TableName=self.outputs["DemoOutcomesTable"], Select="COUNT", ConsistentRead=True
        )
        return sum(page["Count"] for page in pages)

    def calls(self) -> list[Call]:
        """Return the calls of the batch API so far."""
        return self._batch_api.book()

    def depth(self) -> tuple[int, int]:
        """Return the numbers of visible and of in-flight messages of the work queue."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self._attributes(self.outputs["DemoQueueUrl"], *names)
        return int(found[names[0]]), int(found[names[1]])

    def dead_letter_messages(self) -> int:
        """Return the dead-letter messages of items, tasks and bundles."""
        return sum(self._depth(self.outputs[name]) for name in SOURCES)

    def counters(self, batch_id: str) -> Counters:
        """Return the workers' counters for a batch so far."""
        key = {"pk": {"S": f"{RUN_ROWS}{batch_id}"}}
        found = self._tables.get_item(TableName=self.outputs["DemoIndexTable"], Key=key).get("Item", {})
        return counters_of({name: float(value["N"]) for name, value in found.items() if "N" in value})

    def rows(self) -> list[Row]:
        """Return the whole index."""
        pages = self._tables.get_paginator("scan").paginate(
            TableName=self.outputs["DemoIndexTable"],
            ProjectionExpression="pk, sentAt, processedAt",
            ConsistentRead=True,
        )
        found = (item for page in pages for item in page["Items"])
        return [
            Row(item["pk"]["S"], int(item["sentAt"]["N"]), int(item["processedAt"]["N"]))
            for item in found
            if not item["pk"]["S"].startswith(RUN_ROWS)
        ]

    def _depth(self, source: str) -> int:
        """Return the attributes of the queue at the URL *source*."""
        policy = self._attributes(source, "RedrivePolicy")["RedrivePolicy"]
        name = json.loads(policy)["deadLetterTargetArn"].rpartition(":")[2]
        url = self.sqs.get_queue_url(QueueName=name)["QueueUrl"]
        return int(self._attributes(url, "ApproximateNumberOfMessages")["ApproximateNumberOfMessages"])

    def _attributes(self, url: str, *names: str) -> dict[str, str]:
        return dict(self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names))["Attributes"])


def counters_of(amounts: Mapping[str, float]) -> Counters:
    """Return the counters in a worker's row."""
    return Counters(
        deliveries=int(amounts.get("deliveries", 0)),
        faults=int(amounts.get("faults", 0)),
        acks=int(amounts.get("acks", 0)),
        repeats=int(amounts.get("repeats", 0)),
        registrations=int(amounts.get("registrations", 0)),
        jobs=int(amounts.get("jobs", 0)),
        write_units=amounts.get("writeUnits", 0.0),
        ack_units=amounts.get("ackUnits", 0.0),
    )
