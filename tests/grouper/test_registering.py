"""Taking tasks in: what is stored and sent, up to the bounds of a task."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest, KeyReused, NotFound
from fanin.grouper import NewTask, Policy, Status, TaskState
from tests.grouper.conftest import TENANT, Bench, waiting
from tests.item_ids import item_named


def test_a_task_is_stored_and_its_message_lingers():
    bench = Bench(Policy(linger=timedelta(seconds=2.5), max_delay=timedelta(seconds=5)))
    (task,) = bench.register("a", priority=7, item_id=item_named("i"))

    assert (task.state, task.target, task.priority, task.item_id) == (
        TaskState.CREATED,
        "search",
        7,
        item_named("i"),
    )
    assert bench.grouper.task(TENANT, "a") == task
    assert [posting.delay for posting in bench.queue.sent] == [3]


def test_the_same_task_again_is_the_first_and_its_message_goes_out_again(bench):
    (first,) = bench.register("a")
    bench.clock.advance(seconds=1)

    assert bench.register("a") == [first]
    assert len(bench.queue.sent) == 2


@pytest.mark.parametrize(
    "other", [{"payload": 2}, {"target": "mail"}, {"priority": 1}, {"item_id": item_named("x")}]
)
def test_the_same_id_for_another_task_is_refused(bench, other):
    bench.grouper.register(TENANT, NewTask(1, "search", "a"))

    with pytest.raises(KeyReused):
        bench.grouper.register(
            TENANT, NewTask(**({"payload": 1, "target": "search", "task_id": "a"} | other))
        )


def test_the_target_is_computed_where_it_is_not_named():
    bench = Bench(target_of=lambda new_task: f"shard-{new_task.payload % 2}")

    assert bench.grouper.register(TENANT, NewTask(3)).target == "shard-1"
    assert bench.grouper.register(TENANT, NewTask(3, "search")).target == "search"


@pytest.mark.parametrize(
    ("new_task", "field"),
    [
        (NewTask(1), "target"),
        (NewTask(1, "a#b"), "target"),
        (NewTask(1, "x" * 129), "target"),
        (NewTask(1, "search", "a b"), "taskId"),
        (NewTask(1, "search", "a" * 65), "taskId"),
        (NewTask(1, "search", "ä"), "taskId"),
        (NewTask(1, "search", priority=1000), "priority"),
        (NewTask(1, "search", priority=-1), "priority"),
        (NewTask(1, "search", priority=True), "priority"),
        (NewTask(float("nan"), "search"), "payload"),
        (NewTask(object(), "search"), "payload"),
        (NewTask("x" * 40_000, "search"), "payload"),
    ],
)
def test_what_is_out_of_bounds_is_refused_before_anything_is_stored(bench, new_task, field):
    with pytest.raises(InvalidRequest) as caught:
        bench.grouper.register(TENANT, new_task)

    assert caught.value.field == field
    assert not bench.store.stored_tasks
    assert not bench.queue.sent


def test_tasks_of_a_sharded_target_spread_and_keep_their_shard():
    bench = Bench(Policy(shards=4))
    shards = {name: bench.register(name)[0].shard for name in (f"t{n}" for n in range(40))}

    assert set(shards.values()) == {"0", "1", "2", "3"}
    assert bench.register("t7")[0].shard == shards["t7"]
    assert {c.task_id for c in waiting(bench)} == set(shards)


def test_the_id_of_a_task_that_expired_is_free_though_its_row_is_there(bench):
    """Time to live deletes days late: its registration returns a new task."""
    bench.register("a")
    bench.drain()
    bench.clock.advance(days=7)
    with pytest.raises(NotFound):
        bench.task("a")
    (again,) = bench.register("a")
    bench.drain()

    assert again.state is TaskState.CREATED
    assert bench.called() == [["a"], ["a"]]
    assert bench.states("a") == ["SUCCEEDED"]


KIB_32 = 32 * 1024


def registered(bench, payload=1, **facts):
    return bench.grouper.register(TENANT, NewTask(payload, "search", "a", **facts))


def refused(bench, payload=1, **facts):
    with pytest.raises(InvalidRequest) as caught:
        registered(bench, payload, **facts)
    assert not bench.store.stored_tasks
    return caught.value


def test_a_payload_has_32_kib_of_json_with_its_quotes(bench):
    assert len(registered(bench, "x" * (KIB_32 - 2)).payload) == KIB_32


def test_the_names_of_a_payload_have_no_order(bench):
    """A client that repeats a request may write its names in another order."""
    first = registered(bench, {"b": 1, "a": {"d": 2, "c": [3, 4]}})

    assert registered(bench, {"a": {"c": [3, 4], "d": 2}, "b": 1}) == first
    assert first.payload == '{"a":{"c":[3,4],"d":2},"b":1}'


def test_a_payload_nested_too_deeply_is_refused(bench):
    payload: list[object] = []
    for _ in range(100_000):
        payload = [payload]
    error = refused(bench, payload)

    assert (str(error), error.field) == ("payload must be a JSON value", "payload")


def test_what_expired_is_in_no_list(bench):
    bench.register("a", "b", "c")
    bench.drain()
    bench.register("d")
    (listed,) = bench.grouper.bundles(TENANT, "search").rows

    assert bench.grouper.bundles_at([listed])
    bench.clock.advance(days=21)

    assert waiting(bench) == []
    assert bench.grouper.bundles_at([listed]) == []


def test_in_progress_is_answered_and_not_stored(bench):
    bench.register("a")
    created = bench.grouper.status(bench.task("a"))
    bench.step()
    bundled = bench.grouper.status(bench.task("a"))
    seen = []
    bench.api.call = lambda call: seen.append(bench.grouper.status(bench.task("a"))) or None
    with pytest.raises(AttributeError):
        bench.step()

    assert [created, bundled, *seen] == [Status.CREATED, Status.BUNDLED, Status.IN_PROGRESS]
