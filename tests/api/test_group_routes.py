"""The group-batcher's routes: forms, names, keys and pages."""

from __future__ import annotations

import pytest

from fanin.grouper import Lane, Policy
from fanin.grouper.rules import protocol as rules
from tests.api.conftest import AT, TENANT
from tests.api.gateway import JSON, Gateway
from tests.api.test_lifecycle_routes import pages

TASK = {"target": "x", "payload": {"n": 1}}


def post(gateway: Gateway, key: str | None = None, **task):
    return gateway.send("POST", "/v1/tasks", TASK | task, {**JSON, "Idempotency-Key": key} if key else None)


def test_a_task_is_taken_in_and_found(gateway, grouper):
    answer = post(gateway, taskId="a", priority=7)
    task = gateway.send("GET", "/v1/tasks/a")

    assert (answer.status, answer.body) == (202, {"taskId": "a", "state": "CREATED"})
    assert (task.status, task.body["target"], task.body["state"], task.body["priority"]) == (
        200,
        "x",
        "CREATED",
        7,
    )
    assert [posting.message.key.task_id for posting in grouper.world.queue.sent] == ["a"]


def test_a_key_names_a_task_without_a_name_and_is_held_to_its_payload(gateway, grouper):
    first, second = post(gateway, key="k"), post(gateway, key="k")

    assert first.body["taskId"] == second.body["taskId"] != post(gateway).body["taskId"]
    assert post(gateway, key="k", payload=2).status == 422


@pytest.mark.parametrize(
    "task",
    [
        {"target": ""},
        {"target": "a#b"},
        {"target": "x\n"},
        {"taskId": ".."},
        {"taskId": "a" * 65},
        {"taskId": "a\n"},
        {"priority": 1000},
        {"priority": -1},
        {"priority": "1"},
        {"priority": 1.0},
        {"itemId": "x"},
        {"payload": "x" * 32_769},
        {"color": "red"},
    ],
    ids=str,
)
def test_a_malformed_task_is_refused(gateway, grouper, task):
    answer = post(gateway, **task)

    assert answer.status == 400, answer.text
    assert not grouper.world.queue.sent


def filled(grouper, shard, fence, *members):
    """A bundle of that term, with these members."""
    store = grouper.world.store
    term = rules.first_term(None, Lane(TENANT, "x", str(shard)), "me", AT, Policy())
    bundle = rules.empty_bundle(type(term)(term.lane, fence, "me", AT), AT, grouper.world.timing)
    claim = store.claim(bundle.joined(members), members)
    assert claim.bundle is not None
    return store.seal(claim.bundle)


def test_open_tasks_and_bundles_of_all_shards_are_listed_page_by_page(gateway, grouper):
    for number in range(12):
        post(gateway, taskId=f"t{number}")
    waiting = gateway.send("GET", "/v1/tasks", query={"target": "x"}).body["tasks"]
    store = grouper.world.store
    by_shard = {shard: [t.task_id for t in store.candidates(Lane(TENANT, "x", shard), 100)] for shard in "01"}
    bundle_ids = [filled(grouper, s, f, by_shard[s][f]).bundle_id for s in "01" for f in range(3)]
    listed = [
        [bundle["bundleId"] for bundle in page["bundles"]]
        for page in pages(gateway, "/v1/bundles", target="x", limit="2")
    ]

    assert len(waiting) == 12
    assert [len(page) for page in listed] == [2, 1, 2, 1]
    assert [name for page in listed for name in page] == [*bundle_ids[2::-1], *bundle_ids[:2:-1]]
    one = gateway.send("GET", f"/v1/bundles/{bundle_ids[0]}").body
    assert (one["state"], one["members"]) == ("READY", [{"taskId": by_shard["0"][0]}])
