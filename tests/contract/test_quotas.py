"""One suite for every store of quotas: in memory, and on DynamoDB: see engines.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.errors import NewerSchema
from fanin.quotas.dynamodb import DynamoQuotas
from fanin.quotas.dynamodb.requests import bucket_key, permit_key
from fanin.quotas.memory import MemoryQuotas
from fanin.quotas.model import BucketKey, Permit, PermitKey, Quota, Spent
from fanin.quotas.store import QuotaStore
from tests.contract import engines, golden
from tests.contract.tables import create_tables

BUCKET = BucketKey("acme", Quota.ADDS, 0)
PERMIT = PermitKey("acme", 7)
AT = 1_800_000_000_000_000


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[QuotaStore]:
    if request.param == "memory":
        yield MemoryQuotas()
        return
    with engines.emptied():
        yield DynamoQuotas(engines.client(create_tables), "Batches")


def test_a_new_bucket_is_full(store: QuotaStore):
    assert store.spend(BUCKET, AT, 5, AT + 100) == Spent(0, applied=False)
    assert store.start(BUCKET, AT, AT + 5) == Spent(AT + 5, applied=True)


def test_a_bucket_that_is_not_full_is_not_started_again(store: QuotaStore):
    store.start(BUCKET, AT, AT + 5)

    assert store.start(BUCKET, AT + 4, AT + 9) == Spent(AT + 5, applied=False)
    assert store.start(BUCKET, AT + 5, AT + 10) == Spent(AT + 10, applied=True)


def test_a_bucket_with_a_token_is_charged_and_one_without_is_not(store: QuotaStore):
    store.start(BUCKET, AT, AT + 5)

    assert store.spend(BUCKET, AT, 90, AT + 6) == Spent(AT + 95, applied=True)
    assert store.spend(BUCKET, AT, 1, AT + 95) == Spent(AT + 95, applied=False)
    assert store.spend(BUCKET, AT + 95, 1, AT + 200) == Spent(AT + 95, applied=False)


def test_a_time_is_corrected_only_as_it_was_seen(store: QuotaStore):
    store.start(BUCKET, AT, AT + 500)

    assert store.correct(BUCKET, AT + 499, AT) == Spent(AT + 500, applied=False)
    assert store.correct(BUCKET, AT + 500, AT) == Spent(AT, applied=True)


def test_buckets_of_other_tenants_quotas_and_shards_are_apart(store: QuotaStore):
    store.start(BUCKET, AT, AT + 5)
    others = [
        BucketKey("other", Quota.ADDS, 0),
        BucketKey("acme", Quota.JOBS, 0),
        BucketKey("acme", Quota.ADDS, 1),
        BucketKey("0#acme", Quota.ADDS, 0),
    ]

    assert all(store.start(each, AT, AT + 1).applied for each in others)


def test_a_place_is_free_until_it_is_taken(store: QuotaStore):
    assert store.permit(PERMIT) is None
    assert store.take(PERMIT, None, Permit("a", AT)) == Permit("a", AT)
    assert store.permit(PERMIT) == Permit("a", AT)
    assert store.permit(PermitKey("acme", 8)) is None


def test_a_place_is_taken_over_only_from_the_batch_that_was_seen(store: QuotaStore):
    store.take(PERMIT, None, Permit("a", AT))

    assert store.take(PERMIT, None, Permit("b", AT)) == Permit("a", AT)
    assert store.take(PERMIT, "x", Permit("b", AT)) == Permit("a", AT)
    assert store.take(PERMIT, "a", Permit("b", AT + 1)) == Permit("b", AT + 1)


def test_a_repetition_finds_that_the_place_is_its_own(store: QuotaStore):
    store.take(PERMIT, None, Permit("a", AT))

    assert store.take(PERMIT, None, Permit("a", AT)) == Permit("a", AT)


NEWER = {
    "start": lambda s: s.start(BUCKET, AT + 9, AT + 10),
    "spend": lambda s: s.spend(BUCKET, AT, 1, AT + 100),
    "correct": lambda s: s.correct(BUCKET, AT + 5, AT),
    "permit": lambda s: s.permit(PERMIT),
    "take": lambda s: s.take(PERMIT, "a", Permit("b", AT)),
}


@pytest.mark.parametrize("name", NEWER)
def test_a_row_of_a_newer_release_is_neither_read_nor_written(name: str):
    with engines.emptied():
        client = engines.client(create_tables)
        store = DynamoQuotas(client, "Batches")
        store.start(BUCKET, AT, AT + 5)
        store.take(PERMIT, None, Permit("a", AT))
        for key in (bucket_key(BUCKET), permit_key(PERMIT)):
            row = client.get_item(TableName="Batches", Key=key)["Item"]
            client.put_item(TableName="Batches", Item=golden.newer(row))
        before = client.scan(TableName="Batches")["Items"]

        with pytest.raises(NewerSchema):
            NEWER[name](store)

        assert client.scan(TableName="Batches")["Items"] == before
