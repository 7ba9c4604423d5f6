"""What is read at the end of a soak: batches, events, tables, dead-letter queues, metrics."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from tests.soak.wire.client import Client

EVENTS_MOST = 10_000
READERS = 4
Row = Mapping[str, Any]


def batches(api: Client, ids: Sequence[str]) -> dict[str, Row | None]:
    """Return each batch as the API shows it; None for one that is gone."""
    with ThreadPoolExecutor(READERS) as readers:
        return dict(zip(ids, readers.map(lambda each: batch(api, each), ids), strict=True))


def batch(api: Client, name: str) -> Row | None:
    for _ in range(5):
        answer = api.pool.request("GET", f"{api.url}/v1/batches/{name}")
        if answer.status in (200, 404):
            break
        time.sleep(0.5)
    found: Row | None = json.loads(answer.data) if answer.status == 200 else None
    return found


def failures(api: Client, batch: str) -> set[str]:
    """Return the ids of the items in the list of failures, all its pages."""
    found: set[str] = set()
    cursor = ""
    while True:
        page = api.get(f"/v1/batches/{batch}/failures{cursor}")
        for each in page["ranges"]:
            found |= {f"{batch}:{each['groupId']}:{at}" for at in range(each["from"], each["to"] + 1)}
        if not page.get("cursor"):
            return found
        cursor = f"?cursor={page['cursor']}"


def rows(run: LocalRun, output: str) -> list[Row]:
    """Return all rows of a table, their texts and numbers alone."""
    pages = run.client("dynamodb").get_paginator("scan").paginate(TableName=run.outputs[output])
    return [decoded(row) for page in pages for row in page["Items"]]


def decoded(row: Mapping[str, Any]) -> Row:
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


def dead_letter_messages(run: LocalRun) -> dict[str, list[str]]:
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


def metrics(run: LocalRun, since: float) -> Counter[str]:
    """Return the sum of each metric over the logs of all functions; *since*: seconds since 1970."""
    logs = run.client("logs")
    found: Counter[str] = Counter()
    now_ms = time.time_ns() // 1_000_000
    for function in functions.by_handler(run.client("lambda")).values():
        group = function["LoggingConfig"]["LogGroup"]
        with suppress(logs.exceptions.ResourceNotFoundException):  # it was never invoked
            found.update(summed(lines(logs, group, int(since * 1000), now_ms)))
    return found


def lines(logs: Any, group: str, begin_ms: int, end_ms: int) -> Iterator[str]:
    """Yield the metric lines of a log group from *begin_ms* to *end_ms*.

    The emulator leaves out what is beyond EVENTS_MOST, without a token of a next page.
    """
    answer = logs.filter_log_events(
        logGroupName=group, filterPattern='"_aws"', startTime=begin_ms, endTime=end_ms
    )
    if len(answer["events"]) < EVENTS_MOST or begin_ms == end_ms:
        yield from (event["message"] for event in answer["events"])
        return
    middle = (begin_ms + end_ms) // 2
    yield from lines(logs, group, begin_ms, middle)
    yield from lines(logs, group, middle + 1, end_ms)


def summed(lines: Iterable[str]) -> Counter[str]:
    """Return the sum of each metric in EMF lines."""
    found: Counter[str] = Counter()
    for line in lines:
        if line.startswith('{"_aws"'):
            document = json.loads(line)
            for metric in document["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
                found[metric["Name"]] += int(sum(document[metric["Name"]]))
    return found
