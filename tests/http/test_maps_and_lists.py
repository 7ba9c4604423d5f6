"""The map of a batch and the filters of the list, over HTTP against the local run: pages of four items."""

from __future__ import annotations

import json
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from fanin import Fanin, InvalidRequest
from tests.http.test_tracking import send


def get(api, path, **query):
    answer = api.pool.request("GET", f"{api.url}{path}?{urlencode(query)}")
    return answer.status, json.loads(answer.data)


def test_a_map_shows_what_is_done_and_where_failures_are(api):
    batch, items = api.opened(50)
    api.ack(*items[:17])
    send(api, "/v1/acks", {"acks": [{"itemId": items[30], "outcome": "failure"}]})
    status, found = get(api, f"/v1/batches/{batch}/map", cells=13)

    assert (status, found["cellItems"], found["exact"]) == (200, 4, True)
    assert found["acked"] == [4, 4, 4, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0]
    assert [at for at, failed in enumerate(found["failed"]) if failed] == [7]
    _, window = get(api, f"/v1/batches/{batch}/map", **{"from": 16, "to": 19})
    assert (window["acked"], window["cellItems"]) == ([1, 0, 0], 1)
    assert get(api, f"/v1/batches/{batch}/map", cells=0)[0] == 400
    assert Fanin(api.url).map(batch, cells=13).acked == tuple(found["acked"])


def test_batches_are_listed_by_the_beginning_of_their_keys_and_by_time(api):
    name, fanin = str(uuid4()), Fanin(api.url)
    ids = [fanin.open(f"{name}-{number}", labels={"run": name}).id for number in range(3)]
    fanin.cancel(ids[1])
    opened = [fanin.get(each).created_at for each in ids]

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


def test_queues_are_listed_with_the_time_of_their_counts_and_an_absent_one_has_no_jobs(api):
    name = f"counted-{uuid4()}"
    assert get(api, f"/v1/queues/{name}/jobs")[0] == 404
    assert Fanin(api.url).create_queue(name).name == name
    found = Fanin(api.url).queue_status(name)

    assert (found.queued, found.counted_at is None) == (0, False)
    status, listed = get(api, "/v1/queues", limit=50)
    assert status == 200
    assert all("countedAt" in each for each in listed["queues"])


def test_a_user_key_that_http_refuses_is_refused_by_the_client_too(api):
    for bad in ("a\x00b", "\ud800"):
        with pytest.raises(InvalidRequest, match="user key") as refusal:
            Fanin(api.url).open(bad)
        assert refusal.value.field == "user_key"
