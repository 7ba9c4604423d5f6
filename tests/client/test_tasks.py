"""Tasks as a user registers and watches them."""

from __future__ import annotations

import pytest

from fanin import Fanin, InvalidRequest, KeyReused, NewTask
from fanin.client.transports.direct import DirectTransport
from fanin.grouper import Lease, TaskKey

pytestmark = pytest.mark.usefixtures("grouper")


def test_a_task_arrives_with_all_that_was_said(over_http, grouper):
    item = over_http.open().add(1)[0]
    task = over_http.task("x", {"n": [1]}, task_id="a", priority=9, item_id=item)
    stored = grouper.task("t", "a")

    assert (task.task_id, task.state) == ("a", "CREATED")
    assert (stored.payload, stored.priority, stored.item_id) == ('{"n":[1]}', 9, item)


def test_many_tasks_have_a_result_each_and_are_divided_into_requests(over_http, service, grouper):
    over_http.task("x", 1, task_id="t0")
    new = [NewTask("x", number, f"t{number}") for number in range(150)] + [NewTask(None, 1, "last")]
    results = over_http.tasks.register(new, key="k")

    assert [each.task_id for each in results] == [each.task_id for each in new]
    assert type(results[0].error) is KeyReused
    assert [each.state for each in results[1:150]] == ["CREATED"] * 149
    assert type(results[150].error) is InvalidRequest
    over_http.tasks.register(new, key="k")
    assert len(grouper.world.store.stored_tasks) == 150


def test_tasks_bundles_and_targets_are_listed(over_http, grouper):
    over_http.tasks.register([NewTask("x", number, f"t{number}") for number in range(3)])
    waiting = list(over_http.tasks.list("x"))
    first = grouper.world.store.task(TaskKey("t", "t0"))
    grouper.world.store.put_lease(None, Lease(first.lane, 1, None, first.due_at))

    assert sorted(each.task_id for each in waiting) == ["t0", "t1", "t2"]
    assert list(over_http.tasks.list("x", "FAILED")) == []
    assert list(over_http.tasks.bundles("x", "DONE")) == list(over_http.tasks.bundles("x")) == []
    (target,) = over_http.tasks.targets()
    assert (target.target, target.waiting, target.waiting_more, target.in_flight) == ("x", 3, False, 0)


def test_the_tables_alone_list_no_tasks(tracker):
    direct = Fanin(DirectTransport(tracker, "t"))
    for call in (
        lambda: direct.tasks.register([NewTask("x", 1)]),
        lambda: list(direct.tasks.list("x")),
        lambda: list(direct.tasks.bundles("x")),
        lambda: list(direct.tasks.targets()),
    ):
        with pytest.raises(InvalidRequest):
            call()
