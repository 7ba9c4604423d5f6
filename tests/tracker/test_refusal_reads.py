"""A write that DynamoDB refuses returns the stored row in its refusal: nothing is read for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.aws.settings.tracking import Tables
from fanin.cost import UsageMeter
from fanin.tracker import Outcome, State
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import PageMasks
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables
from tests.tracker.calls import DAY, START
from tests.tracker.stored import BATCH

PAGE = PageKey(BATCH.key, 0, 2)
FIRST = PageMasks.of(1, Outcome.SUCCESS)


@pytest.fixture
def store() -> Iterator[DynamoStore]:
    with engines.emptied():
        store = DynamoStore(engines.client(create_tables), Tables(*TABLES), pause=lambda _: None)
        store.create(BATCH)
        store.record_ack(BATCH.key, START)
        store.add_bits(PAGE, FIRST, BATCH.expires_at)
        yield store


REFUSED = {
    "an ack at an earlier time": (lambda s: s.record_ack(BATCH.key, START - DAY).state, State.CLOSED),
    "the deletion of a live batch": (lambda s: s.delete(BATCH, START).state, State.CLOSED),
    "an earlier expiry": (lambda s: s.extend(BATCH.key, START, START).expires_at, BATCH.expires_at),
    "an ack once more": (lambda s: s.add_bits(PAGE, FIRST, BATCH.expires_at).page.bits, 1),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_refused_write_reads_nothing(store, call):
    meter = UsageMeter().attach(store.client)
    answer, expected = REFUSED[call]

    assert answer(store) == expected
    assert meter.usage.units.keys() == {"write_unit"}
