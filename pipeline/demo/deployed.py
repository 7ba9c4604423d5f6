"""What the demo asks of the deployment beside the tracker's API: its queues, its worker, its index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fanin.local import LocalRun, functions
from pipeline.demo import bundles
from pipeline.demo.batch_api import BatchApi
from pipeline.demo.bundles import Bundled
from pipeline.demo.progress import Counters

SOURCES = ("DemoQueueUrl", "GrouperQueueUrl", "BundlesQueueUrl")
RUN_ROWS = "run#"
"""How the keys of the workers' own rows begin; every other row of the index is a package."""


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
        """From now on the worker fails *percent* of the items once, chosen by *seed*."""
        chaos = {"FANIN_CHAOS_FAIL_PERCENT": str(percent), "FANIN_CHAOS_SEED": str(seed)}
        functions.tell(self._functions, ["demo_worker"], chaos)

    def bundle(self, sections: Iterable[str]) -> None:
        """From now on packages of *sections* go to the batch API."""
        told = bundles.settings(sections, self._batch_api.url)
        functions.tell(self._functions, bundles.HANDLERS, told)

    def bundled(self) -> Bundled:
        """What the batch API has done, so far."""
        return Bundled.of(self._batch_api.book())

    def depth(self) -> tuple[int, int]:
        """Messages that wait in the work queue, and those in the hands of a worker or on their way back."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self._attributes(self.outputs["DemoQueueUrl"], *names)
        return int(found[names[0]]), int(found[names[1]])

    def dead_letters(self) -> int:
        """Messages that nobody could work on: of the items, of tasks and of bundles."""
        return sum(self._dead_letters(self.outputs[name]) for name in SOURCES)

    def counters(self, batch_id: str) -> Counters:
        """What the workers counted for a batch, so far."""
        key = {"pk": {"S": f"{RUN_ROWS}{batch_id}"}}
        found = self._tables.get_item(TableName=self.outputs["DemoIndexTable"], Key=key).get("Item", {})
        return counters_of({name: float(value["N"]) for name, value in found.items() if "N" in value})

    def rows(self) -> list[Row]:
        """The whole index."""
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

    def _dead_letters(self, source: str) -> int:
        """Of the queue at the URL *source*."""
        policy = self._attributes(source, "RedrivePolicy")["RedrivePolicy"]
        name = json.loads(policy)["deadLetterTargetArn"].rpartition(":")[2]
        url = self.sqs.get_queue_url(QueueName=name)["QueueUrl"]
        return int(self._attributes(url, "ApproximateNumberOfMessages")["ApproximateNumberOfMessages"])

    def _attributes(self, url: str, *names: str) -> dict[str, str]:
        return dict(self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names))["Attributes"])


def counters_of(amounts: Mapping[str, float]) -> Counters:
    """The counters in the numbers of a worker's row."""
    return Counters(
        deliveries=int(amounts.get("deliveries", 0)),
        faults=int(amounts.get("faults", 0)),
        acks=int(amounts.get("acks", 0)),
        repeats=int(amounts.get("repeats", 0)),
        registrations=int(amounts.get("registrations", 0)),
        write_units=amounts.get("writeUnits", 0.0),
        ack_units=amounts.get("ackUnits", 0.0),
    )
