"""The map of a batch and the filters of the list, over HTTP against the local run: pages of four items."""

from __future__ import annotations

import json
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from fanin import Fanin, InvalidRequest


def get(api, path, **query):
    answer = api.pool.request("GET", f"{api.url}{path}?{urlencode(query)}")
    return answer.status, json.loads(answer.data)


def test_batches_are_listed_by_the_beginning_of_their_keys_and_by_time(api):
    name, fanin = str(uuid4()), Fanin(api.url)
    ids = [fanin.open(f"{name}-{number}", labels={"run": name}).id for number in range(3)]
    fanin.cancel(ids[1])
    opened = [fanin.status(each).created_at for each in ids]

    assert [each.batch_id for each in fanin.batches(user_key_prefix=name)] == ids[::-1]
    assert [each.batch_id for each in fanin.batches(user_key_prefix=name, state="CANCELLED")] == [ids[1]]
    both = fanin.batches(f"{name}-2", label=f"run:{name}", opened_from=opened[2])
    assert [each.batch_id for each in both] == [ids[2]]
    before = {each.batch_id for each in fanin.batches(opened_from=opened[0], opened_to=opened[2])}
    assert ids[0] in before
    assert ids[2] not in before
    with pytest.raises(InvalidRequest):
        list(fanin.batches("a", user_key_prefix="a"))
    assert get(api, "/v1/batches", userKey="a", userKeyPrefix="a")[0] == 400


def test_a_user_key_that_http_refuses_is_refused_by_the_client_too(api):
    for bad in ("a\x00b", "\ud800"):
        with pytest.raises(InvalidRequest, match="user key") as refusal:
            Fanin(api.url).open(bad)
        assert refusal.value.field == "user_key"
