"""What is read at the end of a soak: batches, events, tables, dead-letter queues, metrics."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from benchmarks.races import Api
from fanin.local import LocalRun, functions

LATE_LINES_SECONDS = 2.0
READERS = 4
UNKNOWN = "00000000-0000-4000-8000-00000000dead"
LOGGING = ["/v1/batches", f"/v1/batches/{UNKNOWN}/items", "/v1/queues/soak/jobs", "/v1/tasks"]
"""Routes whose functions count what the ledger counts."""
Row = Mapping[str, Any]


def batches(api: Api, ids: Sequence[str]) -> dict[str, Row | None]:
    """Return each batch as the API shows it; None for one that is gone."""
    with ThreadPoolExecutor(READERS) as readers:
        return dict(zip(ids, readers.map(lambda each: batch(api, each), ids), strict=True))


def batch(api: Api, name: str) -> Row | None:
    for _ in range(5):
        answer = api.pool.request("GET", f"{api.url}/v1/batches/{name}")
        if answer.status in (200, 404):
            break
        time.sleep(0.5)
    found: Row | None = json.loads(answer.data) if answer.status == 200 else None
    return found


def rows(run: LocalRun, output: str) -> list[Row]:
    """Return all rows of a table, their texts and numbers alone."""
    pages = run.client("dynamodb").get_paginator("scan").paginate(TableName=run.outputs[output])
    return [plain(row) for page in pages for row in page["Items"]]


def plain(row: Mapping[str, Any]) -> Row:
    return {name: next(iter(value.values())) for name, value in row.items() if value.keys() & {"S", "N"}}


def messages(run: LocalRun, url: str) -> dict[str, str]:
    """Return the bodies of the visible messages of a queue by their ids; they stay on it."""
    sqs = run.client("sqs")
    found: dict[str, str] = {}
    while True:
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=0, VisibilityTimeout=60
        )
        fresh = {each["MessageId"]: each["Body"] for each in answer.get("Messages", [])}
        if not fresh.keys() - found.keys():
            return found
        found |= fresh


def dead_letters(run: LocalRun) -> dict[str, list[str]]:
    """Return the dead-letter messages of all queues, by the names of the dead-letter queues."""
    sqs = run.client("sqs")
    urls = {url.rpartition("/")[2]: url for url in sqs.list_queues().get("QueueUrls", [])}
    dead = {name for url in urls.values() if (name := dead_letter_queue_of(sqs, url))}
    return {name: list(messages(run, urls[name]).values()) for name in sorted(dead & urls.keys())}


def dead_letter_queue_of(sqs: Any, url: str) -> str | None:
    """Return the name of the dead-letter queue of a queue."""
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"]).get("Attributes", {})
    arn: str = json.loads(found.get("RedrivePolicy") or "{}").get("deadLetterTargetArn", "")
    return arn.rpartition(":")[2] or None


def metrics(run: LocalRun, api: Api) -> Counter[str]:
    """Return the sum of each metric over the logs of all functions."""
    with ThreadPoolExecutor(READERS) as callers:
        list(callers.map(lambda path: refused(api, path), LOGGING * READERS * 2))
    time.sleep(LATE_LINES_SECONDS)
    logs = run.client("logs")
    found: Counter[str] = Counter()
    for function in functions.by_handler(run.client("lambda")).values():
        group = function["LoggingConfig"]["LogGroup"]
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        with suppress(logs.exceptions.ResourceNotFoundException):  # it was never invoked
            found.update(summed(event["message"] for page in pages for event in page["events"]))
    return found


def refused(api: Api, path: str) -> None:
    """Send a request that changes nothing: the emulator reads a late line with the next invocation."""
    headers = {"Content-Type": "application/json"}
    api.pool.request("POST", api.url + path, body=b'{"none": 1}', headers=headers)


def summed(lines: Iterable[str]) -> Counter[str]:
    """Return the sum of each metric in EMF lines."""
    found: Counter[str] = Counter()
    for line in lines:
        if line.startswith('{"_aws"'):
            document = json.loads(line)
            for metric in document["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
                found[metric["Name"]] += int(sum(document[metric["Name"]]))
    return found
