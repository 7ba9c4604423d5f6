"""The batches below a batch over HTTP: which are listed, what a cancel takes along, and stages by events."""

from __future__ import annotations

import pytest

from fanin import Fanin, Stages
from tests.http.test_lifecycle import fail, listed, opened
from tests.http.test_tracking import ack, get, send


def below(api, count=2):
    """A batch of two items, the first of which has so many children, and the other none."""
    top, items = opened(api, 2)
    return top, items, [opened(api, parentItemId=items[0])[0] for _ in range(count)]


def ids(pages):
    return [batch["batchId"] for page in pages for batch in page["batches"]]


def test_children_are_listed_by_pages_of_whole_items(api):
    top, items, children = below(api, 3)
    (other,) = (opened(api, parentItemId=items[1])[0],)
    pages = listed(api, f"/v1/batches/{top}/children", limit=1)

    assert [len(page["batches"]) for page in pages] == [3, 1]
    assert ids(pages) == [*sorted(children), other]
    assert {batch["parentItemId"] for batch in pages[0]["batches"]} == {items[0]}
    assert ids(listed(api, f"/v1/batches/{top}/children", itemId=items[1])) == [other]


def test_an_item_of_another_batch_is_refused_in_a_list_of_children(api):
    top, _, _ = below(api)
    _, (foreign,) = opened(api, 1)
    answer = api.pool.request("GET", f"{api.url}/v1/batches/{top}/children", fields={"itemId": foreign})

    assert (answer.status, b"is of another batch" in answer.data) == (400, True)


def test_a_cancel_with_the_children_ends_each_once_with_an_event(api, bus):
    top, _, children = below(api)
    body = {"reason": "no more", "children": True}
    answers = [send(api, f"/v1/batches/{top}/cancel", body) for _ in range(2)]

    assert answers[0] == answers[1]
    assert (answers[0][0], answers[0][1]["cancelsChildren"]) == (200, True)
    for child in children:
        assert get(api, child)["reason"] == f"batch {top} was cancelled"
        assert {event["kind"] for event in bus.of(child)} == {"BatchCancelled"}
        assert len({event["eventId"] for event in bus.of(child)}) == 1


@pytest.mark.parametrize(
    ("fails_on", "limit", "result"),
    [
        ("failed", 1, "completed_with_failures"),
        ("failed", None, "succeeded"),
        ("any", None, "completed_with_failures"),
        ("never", 1, "succeeded"),
    ],
)
def test_a_child_fails_the_item_of_its_parent_by_the_end_that_it_names(api, bus, fails_on, limit, result):
    parent, (item,) = opened(api, 1)
    api.close(parent)
    limits = {} if limit is None else {"maxFailures": limit}
    child, items = opened(api, 2, parentItemId=item, parentFailsOn=fails_on, **limits)
    fail(api, items[0])
    if limit is None:
        ack(api, items[1])
        api.close(child)

    assert {event["result"] for event in bus.of(parent)} == {result}


def test_stages_go_on_by_their_events(run, bus):
    fanin = Fanin(run.url)
    work = Stages.open(fanin, 2, "work", key="a work in stages")
    with work.stage(0) as first:
        fanin.ack(first.add(3, key="all"))
    detail, *_ = bus.of(first.id)  # an event may come twice
    with Stages.next(fanin, detail) as second:
        fanin.ack(second.add(detail["total"] - detail["failed"], key="all"))

    assert Stages.next(fanin, detail) is None
    assert {event["result"] for event in bus.of(work.id)} == {"succeeded"}
