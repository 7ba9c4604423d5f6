"""The row of a threshold's notice: put with the mark, kept as long as the batch, read as it was reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.aws.settings.tracking import Tables
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.dynamodb.thresholds import NOTICE, notice_item, reached_of
from fanin.tracker.rules.model import Progress
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.thresholds import Reached
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables
from tests.tracker.calls import START
from tests.tracker.stored import BATCH, TICK

LEFT = Progress(acked=5, failed=1, estimate=6, upper_bound=9, exact=False)
EXACT = Progress(acked=7, failed=2, estimate=7, upper_bound=7, exact=True)
FOUND = [
    Reached(Threshold.MOST, START + 1_001_000 * TICK, LEFT, 10),
    Reached(Threshold.STUCK, START, EXACT, 2**36, 3),
]


@pytest.mark.parametrize("reached", FOUND)
def test_a_notice_is_read_as_it_was_reported(reached):
    assert reached_of(notice_item(BATCH, reached)) == reached


def test_a_report_puts_its_notice():
    with engines.emptied():
        store = DynamoStore(engines.client(create_tables), Tables(*TABLES))
        store.create(BATCH)
        assert store.report(BATCH, FOUND[0])
        key = {"pk": {"S": str(BATCH.key)}, "sk": {"S": f"{NOTICE}90"}}
        row = store.client.get_item(TableName=store.tables.batches, Key=key, ConsistentRead=True)["Item"]

    assert row == notice_item(BATCH, FOUND[0])


def test_a_stall_whose_notice_is_deleted_by_time_to_live_is_not_reported_again():
    with engines.emptied():
        store = DynamoStore(engines.client(create_tables), Tables(*TABLES))
        store.create(BATCH)
        store.report(BATCH, replace(FOUND[1], stall=1))
        seen = store.record_ack(BATCH.key, START)
        second = replace(FOUND[1], stall=2)
        assert store.report(seen, second)
        key = {name: notice_item(BATCH, second)[name] for name in ("pk", "sk")}
        store.client.delete_item(TableName=store.tables.batches, Key=key)

        assert not store.report(seen, second)
        assert store.get(BATCH.key).stalls == 2
