"""CPU of writing folded pages through the real store, over canned answers: ``python -m lab.pipeline.pages``.

The job's code for one task, the tracker and botocore run as in production; DynamoDB's answers are made before
they are sent. *full*: no page is stored, and the logs have all items. *rest*: the last 5 % of pages of which
the others are acked. *95 %*: no page is stored, and one item in twenty is not in the logs. *failures*: full
pages of which one item in a hundred failed. *again*: full pages that an earlier run wrote.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from botocore.awsrequest import AWSResponse

from fanin.aws.dynamodb.meter import Meter
from fanin.aws.dynamodb.rows import number, text
from fanin.pacing import each_in_threads
from fanin.tracker import Batch, OpenBatch, PageMasks, Tracker
from fanin.tracker.dynamodb.items import batch_item
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.page import PAGE_BITS_MAX, digits, mask_of
from pipeline.bulk_ack.write import PAGES_A_CALL, Marker, Portion, Target
from pipeline.table_frames.tables import Tables

TENANT = "111122223333"
_regions = itertools.count()
"""A client belongs to a region: each round has a new one, and no meter of another round."""
ROWS = 40_000_000
FULL = mask_of(0, PAGE_BITS_MAX - 1)
PARENT = {"n": number(PAGE_BITS_MAX // 2)} | {f"d{digit}": number(v) for digit, v in digits(FULL >> 512)}
"""A page above the leaves, of which half of the children are full."""
_random = Random(5)
MOST = FULL & ~sum(1 << bit for bit in _random.sample(range(PAGE_BITS_MAX), PAGE_BITS_MAX // 20))
FEW = sum(1 << bit for bit in _random.sample(range(PAGE_BITS_MAX), PAGE_BITS_MAX // 100))
Row = dict[str, Any]
KINDS = ("requests", "write_units")
HEADERS: Any = {"content-type": "application/x-amz-json-1.0"}


@dataclass(frozen=True)
class Case:
    """A kind of page: the bits that the logs have of each, its row as it is *stored* before, and *after*."""

    masks: PageMasks
    stored: Row | None
    after: Row


def _row(bits: int, failed: int = 0, **more: Row) -> Row:
    found = {f"d{digit}": number(value) for digit, value in digits(bits)}
    found |= {f"x{digit}": number(value) for digit, value in digits(failed)}
    return found | {"n": number(bits.bit_count()), "ttl": number(1_800_000_000), **more}


COMPACTED: Row = {"n": number(PAGE_BITS_MAX), "ttl": number(1_800_000_000), "compacted": {"BOOL": True}}
CASES = {
    "full": Case(PageMasks(FULL), None, _row(FULL)),
    "rest": Case(PageMasks(FULL & ~MOST), _row(MOST), _row(FULL)),
    "95 %": Case(PageMasks(MOST), None, _row(MOST)),
    "failures": Case(PageMasks(FULL & ~FEW, FEW), None, _row(FULL, FEW)),
    "again": Case(PageMasks(FULL), COMPACTED, COMPACTED),
}


class Answers:
    """DynamoDB's answers to the requests about the pages of one case, as bytes."""

    def __init__(self, case: Case, batch: Batch) -> None:
        self.case, self.batch = case, json.dumps({"Item": _encoded(batch_item(batch))}).encode()
        units: Row = {"ConsumedCapacity": {"TableName": "pages", "CapacityUnits": 1.0}}
        self.leaf, self.parent = (
            json.dumps(units | {"Attributes": row}).encode() for row in (case.after, PARENT)
        )
        self.units_alone = json.dumps(units).encode()
        self.transaction = json.dumps({"ConsumedCapacity": [units["ConsumedCapacity"]] * 2}).encode()
        self.stored = json.dumps(case.stored)[1:] if case.stored else ""
        self.written: set[str] = set()

    def send(self, request: Any, event_name: str, **_: Any) -> AWSResponse:
        """Return the answer to a request, which is not sent."""
        answer = {
            "GetItem": lambda _: self.batch,
            "UpdateItem": self._update,
            "TransactWriteItems": self._transaction,
            "BatchGetItem": self._read,
        }[event_name.rsplit(".", 1)[-1]]
        return AWSResponse(request.url, 200, HEADERS, _Raw(answer(bytes(request.body))))

    def _update(self, body: bytes) -> bytes:
        if b"ALL_NEW" not in body:
            return self.units_alone
        return self.parent if b"#1#" in body else self.leaf

    def _transaction(self, body: bytes) -> bytes:
        self.written.add(json.loads(body)["TransactItems"][0]["Update"]["Key"]["pk"]["S"])
        return self.transaction

    def _read(self, body: bytes) -> bytes:
        keys = [key["pk"]["S"] for key in json.loads(body)["RequestItems"]["pages"]["Keys"]]
        rows = ", ".join(filter(None, map(self._stored, keys)))
        units = '"ConsumedCapacity": [{"TableName": "pages", "CapacityUnits": 50.0}]'
        return f'{{"Responses": {{"pages": [{rows}]}}, "UnprocessedKeys": {{}}, {units}}}'.encode()

    def _stored(self, key: str) -> str:
        row = json.dumps(PARENT)[1:] if "#1#" in key else self.stored
        row = json.dumps(self.case.after)[1:] if key in self.written else row
        return f'{{"pk": {json.dumps(text(key))}, {row}' if row else ""


class _Raw:
    """A body as urllib3 has it."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.body


def measured(case: Case, pages: int) -> tuple[float, Meter]:
    """Return the CPU seconds of *pages* pages, and the meter of their requests."""
    tables = Tables("batches", "pages", f"eu-west-{next(_regions)}")
    client, source = tables.client, Tracker(MemoryStore())
    batch = source.open(TENANT, OpenBatch())
    source.add(TENANT, batch.batch_id, 2 * pages * PAGE_BITS_MAX)
    answers = Answers(case, source.get(TENANT, batch.batch_id))
    meter = Meter().attach(client)
    answer: Any = answers.send
    client.meta.events.register_last("before-send.dynamodb", answer)
    marker = Marker(Tracker(tables.store, each=each_in_threads), Target(tables, TENANT, "lab"), meter)
    portions = [
        Portion(batch.batch_id, dict.fromkeys(range(at, at + PAGES_A_CALL), case.masks))
        for at in range(0, pages, PAGES_A_CALL)
    ]
    started = time.process_time()
    for row in marker.mark_all(portions):
        assert int(row["accepted"]) + int(row["duplicate"]) == int(row["pages"]) * case.masks.mask.bit_count()
    return time.process_time() - started, meter


def _encoded(item: Row) -> Row:
    return {
        name: {"B": base64.b64encode(value["B"]).decode()} if "B" in value else value
        for name, value in item.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=2_000, help="pages of a round, hundreds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}")
    options = parser.parse_args()
    os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")  # noqa: S106 - none
    for name in options.cases or CASES:
        found = [measured(CASES[name], options.pages) for _ in range(options.rounds)]
        cpu, totals = statistics.median(used for used, _ in found) / options.pages, found[0][1].totals
        counts = ", ".join(f"{totals[kind] / options.pages:.2f} {kind}" for kind in KINDS)
        whole = cpu * ROWS / PAGE_BITS_MAX
        print(f"{name:>9}: {cpu * 1e6:>6.0f} us of CPU a page, {counts}; {ROWS:,} rows: {whole:.1f} s")


if __name__ == "__main__":
    main()
