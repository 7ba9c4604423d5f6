"""wait and watch over the local run: at an end that another process brings, and for coroutines."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from fanin import AsyncFanin, Fanin, State


@pytest.fixture
def fanin(run, monkeypatch) -> Fanin:
    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    return Fanin()


def test_a_wait_returns_at_a_deadline_and_at_failures_and_times_out_before(fanin):
    async def work():
        client = AsyncFanin(fanin)
        late = await client.open(deadline=timedelta(seconds=1))
        broken = await client.open(max_failures=1)
        live = await client.open()
        await client.fail((await broken.add(2))[:1])
        with pytest.raises(TimeoutError):
            await live.wait(timeout=0.3)
        return await asyncio.gather(late.wait(timeout=60), broken.wait(timeout=60))

    timed_out, failed = asyncio.run(work())

    assert (timed_out.state, failed.state) == (State.TIMED_OUT, State.FAILED)


def test_a_page_of_another_origin_sees_the_end_by_a_token_and_no_other_route(fanin, api):
    batch = fanin.open("import")
    batch.ack(batch.add(3))
    batch.close()
    page, query = {"Origin": "http://localhost:5173"}, {"token": batch.progress_token()}
    ask = partial(api.pool.request, "GET", fields=query)
    seen, other = (ask(api.url + path, headers=page) for path in ("/v1/progress", f"/v1/batches/{batch.id}"))

    events = page | {"Accept": "text/event-stream"}
    event, stop = (
        ask(f"{api.url}/v1/progress", headers=events | more) for more in ({}, {"Last-Event-ID": "ended"})
    )

    assert (seen.json()["result"], seen.json()["progress"]["acked"]) == ("succeeded", 3)
    assert (event.headers["Content-Type"], event.data[:24]) == (
        "text/event-stream",
        b"id: ended\nevent: ended\nd",
    )
    assert (stop.status, stop.data) == (204, b"")
    assert {each.headers["Access-Control-Allow-Origin"] for each in (seen, event, stop)} == {"*"}
    assert other.status == 400
    assert "Access-Control-Allow-Origin" not in other.headers
