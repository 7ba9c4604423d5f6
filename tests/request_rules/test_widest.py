"""The largest requests of the production code are within the limits of AWS."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fanin.grouper.dynamodb import requests as grouping
from fanin.local.request_rules import Tables, check
from fanin.local.request_rules.attribute_values import size_of_item
from fanin.local.request_rules.expressions import parsed
from fanin.queue.dynamodb import items
from fanin.queue.rules.keys import NAME_BYTES_MAX
from fanin.queue.rules.model import PAYLOAD_BYTES_MAX
from fanin.tracker import TOTAL_MAX
from fanin.tracker.batch_changes.climb import GUARDED_DIGITS
from fanin.tracker.dynamodb import requests
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import PAGE_BITS_MAX, Page, PageMasks, mask_of
from fanin.tracker.store import PAGES_A_COUNT
from tests.contract.grouper.calls import empty
from tests.contract.queue.calls import new
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.item_ids import item_named

AT = datetime(2026, 1, 1, tzinfo=UTC)
# The longest tenant, which is an account's id or a claim, makes no difference to the expressions.
KEY = PageKey(BatchKey("t" * 128, "00000000-0000-4000-8000-000000000001"), 5, 2**30)
WHOLE = mask_of(0, PAGE_BITS_MAX - 1)
PART_BYTES = 10 * 1024**3


def failing(*pages):
    return requests.with_failures("Batches", KEY.batch, pages, PAGE_BITS_MAX)


REQUESTS = {
    "guarded add of 20 digits": failing(
        requests.add_bits("Pages", KEY, PageMasks(failure=mask_of(0, GUARDED_DIGITS * 6 - 1)), AT)
    ),
    "all bits of a page, failed": failing(
        requests.replace_bits("Pages", KEY, Page(1, 1), PageMasks(failure=WHOLE & ~1), AT)
    ),
    "all bits of a page, failed, over no page": failing(
        requests.replace_bits("Pages", KEY, Page(), PageMasks(failure=WHOLE), AT)
    ),
    "all pages that one count takes": failing(
        *(
            requests.replace_bits("Pages", PageKey(KEY.batch, 0, at), Page(), PageMasks(failure=WHOLE), AT)
            for at in range(PAGES_A_COUNT)
        )
    ),
    "a claim of 99 tasks": grouping.claim(
        "T", "B", empty().joined(tuple(map(str, range(99)))), tuple(map(str, range(99)))
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_largest_transactions_pass(name):
    check("TransactWriteItems", REQUESTS[name], Tables())


def test_all_digits_of_a_page_are_compacted_in_one_update():
    check("UpdateItem", requests.compact("Pages", KEY, PAGE_BITS_MAX), Tables())


def test_the_largest_update_has_343_clauses_beside_the_expiry():
    update = REQUESTS["all bits of a page, failed, over no page"]["TransactItems"][0]["Update"]
    found = parsed("UpdateExpression", update["UpdateExpression"])

    assert len(found.writes) == 343 + 1
    assert found.operators == 0, "a value that is set or added needs no operator"


def largest_job():
    """The row of a job with the longest payload, key, item and id, and a rerun with the same."""
    payload, name = "x" * (PAYLOAD_BYTES_MAX - 2), "k" * NAME_BYTES_MAX
    item = item_named(TOTAL_MAX - 1)
    job = new(name, payload=payload, item_id=item)
    rerun = {"rerun_payload": {"S": f'"{payload}"'}, "rerun_item": {"S": item}}
    return items.job_item(job) | rerun


def test_the_largest_job_is_stored_and_a_part_holds_a_known_number_of_jobs():
    class Learning:
        def create_table(self, **table):
            tables.learn(table)

    tables = Tables()
    create_queue_table(Learning())
    largest, small = largest_job(), items.job_item(new("a", payload=None))
    check("PutItem", {"TableName": QUEUE_TABLE, "Item": largest}, tables)
    keys = tables.of(QUEUE_TABLE)
    sizes = [size_of_item(each) + keys.local_bytes(each) for each in (largest, small)]

    assert PART_BYTES // sizes[0] > 40_000, "the jobs of a part, all of them the largest with a rerun"
    assert PART_BYTES // sizes[1] > 15_000_000, "without payloads"
