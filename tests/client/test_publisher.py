"""A publisher that fails and runs again loses nothing, and each end of its batch is reported."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from fanin import AsyncFanin, BatchEnded, Conflict, Fanin, InvalidRequest, KeyReused, State, StoreUnavailable
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.http import HttpTransport
from fanin.testing import FakeFanin, deliver
from tests.client.conftest import TENANT
from tests.publishing.interrupted import Killed, Network, Watched

PARTS = (["a", "b"], ["c", "d"])
ROWS = {row for part in PARTS for row in part}
REQUESTS = 8
"""Of a whole run: one open, two adds, four messages, one close."""


def publish(fanin, send, key):
    with fanin.open("load", key=key) as batch:
        for number, rows in enumerate(PARTS):
            for item, row in zip(batch.add(len(rows), key=f"part-{number}"), rows, strict=True):
                send(json.dumps({"itemId": item, "row": row}))


def publish_as_coroutine(fanin, send, key):
    async def run():
        async with AsyncFanin(fanin).open("load", key=key) as batch:
            for number, rows in enumerate(PARTS):
                items = await batch.add(len(rows), key=f"part-{number}")
                for item, row in zip(items, rows, strict=True):
                    send(json.dumps({"itemId": item, "row": row}))

    asyncio.run(run())


class World:
    """A queue, and runs of one publisher that fail at given requests."""

    def __init__(self, transport, run):
        self.transport, self.run, self.queue = transport, run, []

    def publish(self, key, *fault):
        network = Network(*fault)
        send = partial(network.call, self.queue.append)
        self.run(Fanin(Watched(self.transport, network)), send, key)

    def worked(self):
        """Return the rows that a consumer works on, which receives all messages."""
        rows = []
        handler = Fanin(self.transport).acks(lambda record: rows.append(json.loads(record["body"])["row"]))
        delivered, self.queue[:] = deliver(handler, list(self.queue)), []
        assert not delivered.dead
        return rows


@pytest.fixture(params=["direct", "http", "asyncio"])
def world(request, tracker):
    if request.param == "http":
        return World(HttpTransport(request.getfixturevalue("service").url), publish)
    return World(
        DirectTransport(tracker, TENANT), publish if request.param == "direct" else publish_as_coroutine
    )


def is_done(world, key):
    """Whether the work on the messages completes the batch, which refuses a further run."""
    assert set(world.worked()) == ROWS
    with pytest.raises(BatchEnded) as refusal:
        world.publish(key)
    return (refusal.value.state, refusal.value.result, world.queue) == ("COMPLETE", "succeeded", [])


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", [Killed, StoreUnavailable("no answer")], ids=["killed", "raises"])
def test_a_publisher_that_fails_at_any_request_and_runs_again_sends_all(world, error, after):
    for fatal in range(1, REQUESTS + 1):
        key = f"night-{fatal}"
        with suppress(Killed, StoreUnavailable):
            world.publish(key, fatal, after, error)
        world.publish(key)

        assert is_done(world, key), fatal


@pytest.fixture
def fake():
    return FakeFanin(page_bits=4)


ENDS = {
    "CANCELLED": lambda fanin, batch_id, items: fanin.cancel(batch_id, "not needed"),
    "FAILED": lambda fanin, batch_id, items: fanin.end(batch_id, "stuck"),
    "COMPLETE": lambda fanin, batch_id, items: [fanin.close(batch_id), fanin.ack(items)],
}


@pytest.mark.parametrize("state", ENDS)
def test_a_call_whose_batch_has_ended_otherwise_is_refused_and_a_repetition_is_answered(fanin, state):
    batch = fanin.open(key="load/1")
    ENDS[state](fanin, batch.id, batch.add(2, key="rows"))
    calls = {
        "open": lambda: fanin.open(key="load/1"),
        "add": lambda: fanin.add(batch.id, 1, key="more"),
        "COMPLETE": lambda: fanin.close(batch.id),
        "CANCELLED": lambda: fanin.cancel(batch.id),
        "FAILED": lambda: fanin.end(batch.id, "stuck"),
    }

    assert calls.pop(state)().state == state
    for call in calls.values():
        with pytest.raises(BatchEnded) as refusal:
            call()
        assert (refusal.value.batch_id, refusal.value.state) == (batch.id, state)
        assert (refusal.value.result, refusal.value.reason) == (batch.status().result, batch.status().reason)


def test_a_batch_with_too_few_items_is_cancelled_unless_a_next_run_goes_on(fanin):
    with pytest.raises(Conflict, match="expects 2 items") as raised, fanin.open(expected_items=2) as one:
        one.add(1)
    with pytest.raises(Conflict, match="expects 2"), fanin.open(expected_items=2, key="load/1") as other:
        other.add(1, key="rows")
    with fanin.open(expected_items=2, key="load/1") as again:
        again.add(1, key="rows"), again.add(1, key="more")

    assert one.status().state is State.CANCELLED
    assert "is CANCELLED" in raised.value.__notes__[0]
    assert (again.id, again.status().state, again.status().total) == (other.id, State.CLOSED, 2)


def test_an_add_to_a_batch_under_a_key_needs_one_too(fanin):
    batch = fanin.open(key="load/1")

    with pytest.raises(InvalidRequest, match="pass one to each add") as refusal:
        batch.add(2)
    assert refusal.value.field == "key"
    assert batch.status().total == 0


def test_a_close_with_more_items_than_expected_is_granted_with_a_warning(fanin, caplog):
    with fanin.open(expected_items=2) as enough:
        enough.add(2)
    assert not caplog.records
    with fanin.open(expected_items=2) as more:
        more.add(2), more.add(2)

    assert more.closed.state is State.CLOSED
    (line,) = caplog.records
    assert f"batch {more.id} is closed with 4 items, and 2 were expected" in line.getMessage()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"expected_items": 3}, "(expected items)"),
        ({"deadline": timedelta(hours=1)}, "(deadline)"),
        ({"labels": {"a": "b"}, "max_failures": 1}, "(max failures, labels)"),
    ],
)
def test_a_reused_key_says_which_options_differ_and_what_to_do(fanin, options, named):
    batch = fanin.open("load", key="load/1")

    with pytest.raises(KeyReused) as refusal:
        fanin.open("load", key="load/1", **options)
    sentence = str(refusal.value)
    assert f"'load/1' was used for batch {batch.id} with other settings {named}" in sentence
    assert "use a new key, and cancel that batch" in sentence


PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()


def test_the_page_goes_on_after_a_cancel(fake):
    names = {"fanin": fake, "sent": [], "printed": []}
    names["print"] = lambda *values: names["printed"].append(values)
    for title in ("again", "ended", "unfinished"):
        exec(re.search(rf"<!-- {title} -->\n```python\n(.*?)```", PAGE, re.DOTALL)[1], names)  # noqa: S102
    fake.ack(names["sent"][-3:])

    assert names["printed"][0] == (True,)
    assert names["reopened"].status().result == "succeeded"
    assert names["row"] == names["rows"][-1]
