"""A task token is stored with its batch or not at all, and is dropped once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker.rules.options import OnFailures, TaskToken, TokenKind
from tests.contract.tracker.calls import KEY

TOKEN = TaskToken("AQCEAAAAKgAAAAMAAAAA/+=", OnFailures.FAIL)
OTHER = TaskToken("other")


@pytest.mark.parametrize("kind", TokenKind)
def test_a_token_is_stored_with_its_batch(store, batch, kind):
    resumes, token = replace(batch, resumes=True), replace(TOKEN, kind=kind)

    assert store.create(resumes, token) == resumes
    assert store.get(KEY) == resumes
    assert store.task_token(KEY) == token


def test_the_token_of_the_first_batch_stays(store, batch):
    store.create(batch, TOKEN)

    assert store.create(replace(batch, salt=b"another salt...."), OTHER) == batch
    assert store.task_token(KEY) == TOKEN


def test_a_batch_that_comes_second_under_its_key_leaves_no_token(store, batch):
    assert store.create_under(batch, "k", None, TOKEN) == KEY.batch_id
    second = replace(batch, batch_id="00000000-0000-4000-8000-000000000002")

    assert store.create_under(second, "k", None, OTHER) == KEY.batch_id
    assert store.task_token(second.key) is None
    assert store.task_token(KEY) == TOKEN


def test_a_dropped_token_is_gone_and_may_be_dropped_again(store, batch):
    store.create(batch, TOKEN)
    store.drop_token(KEY)
    store.drop_token(KEY)

    assert store.task_token(KEY) is None
    assert store.get(KEY) == batch
