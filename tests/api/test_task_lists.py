"""Many tasks in one request, computed targets, and the lists of tasks, bundles and targets."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fanin.api.cursors import list_cursors as cursors
from fanin.api.cursors import target_cursors
from fanin.errors import InvalidRequest
from fanin.grouper import Answer, BundleMessage, Outcome, Verdict
from fanin.grouper.listing import BundledPlace, WaitingPlace
from functions.wiring import deployed
from tests.api.gateway import JSON, Gateway
from tests.api.test_group_routes import TASK
from tests.api.test_lifecycle_routes import pages

pytestmark = pytest.mark.usefixtures("grouper")


def post(gateway: Gateway, *tasks, key: str | None = None):
    headers = {**JSON, "Idempotency-Key": key} if key else None
    return gateway.send("POST", "/v1/tasks", {"tasks": list(tasks)}, headers)


def everything(gateway, path, field, **query):
    """All entries of a list, page by page."""
    found = pages(gateway, path, **query)
    return [entry for page in found for entry in page[field]], len(found)


def handle_all(grouper, answer):
    """Deliver all messages until none is left; the batch API gives *answer*, as far as it was asked."""

    class Says:
        def call(self, call):
            asked = {each.task_id for each in call.members}
            return replace(
                answer, members={one: answer.members[one] for one in asked & answer.members.keys()}
            )

        def notify(self, tasks):
            """Nothing."""

    queue = grouper.world.queue
    for _ in range(100):
        if not queue.sent:
            return
        message = queue.sent.pop(0).message
        if isinstance(message, BundleMessage):
            grouper.handle(message, Says(), Says())
        else:
            grouper.lead(message)
    raise AssertionError("the queues do not drain")


def test_each_of_many_tasks_has_its_own_result(gateway, grouper):
    for name in ("a", "e"):
        gateway.send("POST", "/v1/tasks", TASK | {"taskId": name})
    answer = post(
        gateway,
        TASK | {"taskId": "b"},
        TASK | {"taskId": "a", "payload": "other"},
        TASK | {"taskId": "e"},
        {"payload": 1, "taskId": "c"},
        TASK | {"payload": "x" * 32_769, "taskId": "d"},
    )
    results = answer.body["results"]

    assert answer.status == 200
    assert [each["taskId"] for each in results] == ["b", "a", "e", "c", "d"]
    assert [each.get("state") for each in results] == ["CREATED", None, "CREATED", None, None]
    assert [each["problem"]["status"] for each in results if "problem" in each] == [422, 400, 400]


@pytest.mark.parametrize("payload", [TASK["payload"], "other"])
def test_a_task_id_that_a_request_has_twice_is_refused_and_nothing_is_registered(gateway, grouper, payload):
    """Which of two different tasks is registered would be a matter of chance."""
    answer = post(gateway, TASK | {"taskId": "a"}, TASK | {"taskId": "a", "payload": payload})

    assert (answer.status, "taskId" in answer.body["detail"]) == (400, True)
    assert not grouper.world.store.stored_tasks
    assert len(post(gateway, TASK, TASK, TASK | {"taskId": "a"}).body["results"]) == 3


def test_many_tasks_are_repeated_under_their_key(gateway, grouper):
    first, second = post(gateway, TASK, TASK, key="k"), post(gateway, TASK, TASK, key="k")

    assert first.body == second.body
    assert len({each["taskId"] for each in first.body["results"]}) == 2
    assert len(grouper.world.store.stored_tasks) == 2
    assert post(gateway, TASK, key="k").status == 422


@pytest.mark.parametrize(
    "tasks",
    [
        {"tasks": []},
        {"tasks": [TASK] * 101},
        {"tasks": [TASK], "target": "x"},
        {"tasks": [TASK], "payload": None},
        {"tasks": [{"target": "x"}]},
        {"tasks": [TASK | {"tasks": [TASK]}]},
        {"tasks": [TASK | {"color": "red"}]},
        {"tasks": TASK},
        {"target": "x"},
        {},
    ],
    ids=lambda tasks: json.dumps(tasks)[:60],
)
def test_a_malformed_list_of_tasks_is_refused_as_a_whole(gateway, grouper, tasks):
    answer = gateway.send("POST", "/v1/tasks", tasks)

    assert answer.status == 400, answer.text
    assert not grouper.world.store.stored_tasks


@pytest.fixture
def template(environment):
    """The stack computes targets."""
    environment.setenv("FANIN_SETTINGS", json.dumps({"grouper_target": "{customer}/{region}"}))
    deployed.settings_file.cache_clear()


@pytest.mark.usefixtures("template")
def test_a_target_is_computed_where_the_caller_names_none(gateway):
    answer = gateway.send("POST", "/v1/tasks", {"payload": {"customer": "acme", "region": 7}, "taskId": "a"})
    refused = gateway.send("POST", "/v1/tasks", {"payload": {"customer": "acme"}})
    named = gateway.send("POST", "/v1/tasks", TASK | {"taskId": "b"})

    assert (answer.status, named.status) == (202, 202)
    assert gateway.send("GET", "/v1/tasks/a").body["target"] == "acme/7"
    assert gateway.send("GET", "/v1/tasks/b").body["target"] == "x"
    assert (refused.status, refused.body["type"]) == (422, "urn:fanin:problem:no-target")
    assert refused.body["detail"] == "the payload has no field region, from which the target is computed"
    assert refused.body["errors"][0]["field"] == "payload.region"


def test_tasks_are_listed_by_state_page_by_page(gateway, grouper):
    post(gateway, *(TASK | {"taskId": f"t{number}"} for number in range(5)))
    waiting, pages = everything(gateway, "/v1/tasks", "tasks", target="x", limit="2")
    handle_all(grouper, Answer(members={"t1": Outcome(Verdict.FAIL, "no")}))
    failed, _ = everything(gateway, "/v1/tasks", "tasks", target="x", limit="2", state="FAILED")
    succeeded, _ = everything(gateway, "/v1/tasks", "tasks", target="x", limit="2", state="SUCCEEDED")

    assert sorted(each["taskId"] for each in waiting) == [f"t{number}" for number in range(5)]
    assert pages >= 3
    assert {each["state"] for each in waiting} == {"CREATED"}
    assert [(each["taskId"], each["state"], each["reason"]) for each in failed] == [("t1", "FAILED", "no")]
    assert failed[0]["bundleId"]
    assert sorted(each["taskId"] for each in succeeded) == ["t0", "t2", "t3", "t4"]


def test_targets_are_listed_page_by_page_of_the_tenant_alone(gateway, grouper):
    post(gateway, *(TASK | {"target": name, "taskId": name} for name in "abc"))
    handle_all(grouper, Answer())
    post(gateway, TASK | {"target": "b"})
    other = Gateway({"iam": {"accountId": "999999999999", "userArn": "arn:aws:iam::999999999999:user/u"}})
    found, pages = everything(gateway, "/v1/targets", "targets", limit="1")

    assert ([each["target"] for each in found], pages) == (["a", "b", "c"], 3)
    assert [each["waiting"] for each in found] == [0, 1, 0]
    assert [("nextWindowAt" in each) for each in found] == [False, True, False]
    assert everything(other, "/v1/targets", "targets") == ([], 1)


WAITING = [
    WaitingPlace(1),
    WaitingPlace(63, "992#0176722560000000#a"),
    WaitingPlace(0, f"000#{'9' * 16}#{'a' * 64}"),
]
BUNDLED = [BundledPlace(), BundledPlace(63, 2**63, 999), BundledPlace(1)]
CURSORS = [
    *((target_cursors.waiting_at, target_cursors.of_waiting, place) for place in WAITING),
    *((target_cursors.bundled_at, target_cursors.of_bundled, place) for place in BUNDLED),
    *((target_cursors.target_at, target_cursors.of_target, target) for target in ("a", "acme/eu", "x" * 128)),
]


@pytest.mark.parametrize(("read", "write", "place"), CURSORS)
def test_a_cursor_stands_for_its_place(read, write, place):
    assert read(write(place)) == place


def test_the_cursor_of_another_list_is_refused(gateway):
    cursor_of = {
        target_cursors.waiting_at: target_cursors.of_waiting(WAITING[1]),
        target_cursors.bundled_at: target_cursors.of_bundled(BUNDLED[1]),
        target_cursors.target_at: target_cursors.of_target("acme"),
        cursors.term_at: cursors.of_term((1, 2)),
        cursors.item_at: cursors.of_item(3),
    }
    for read in cursor_of:
        for of, cursor in cursor_of.items():
            if of is not read:
                with pytest.raises(InvalidRequest):
                    read(cursor)
    bundled = cursor_of[target_cursors.bundled_at]
    assert gateway.send("GET", "/v1/tasks", query={"target": "x", "cursor": bundled}).status == 400
