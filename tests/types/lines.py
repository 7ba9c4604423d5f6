"""Lines that type checkers accept, and lines that they refuse: an ignore that hides no error is one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, assert_type

from fanin import AsyncFanin, AsyncQueue, Fanin, NewJob, Options, Queue, Retention
from fanin.testing import FakeFanin, deliver
from fanin.types import EndingDetail, JobStateText, ResultText


def sync(record: dict[str, Any]) -> dict[str, int]:
    return {"size": len(record)}


async def coroutine(record: dict[str, Any]) -> None:
    """Work on a record."""


async def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    return {}


def combine(event: Mapping[str, EndingDetail], fanin: Fanin) -> tuple[ResultText | None, int]:
    ended = event["detail"]
    return ended["result"], len(list(fanin.results(ended)))


def accepted(fanin: Fanin, fake: FakeFanin, queue: Queue) -> None:
    batch = fanin.open(
        mode="exact",
        notify_at=["50%"],
        deadline=60,
        stuck_after=timedelta(hours=1),
        parent_fails_on="never",
        on_failures="fail",
        retention=Retention(open=3600, closed=timedelta(days=1)),
    )
    assert_type(batch.wait(timeout=timedelta(seconds=1)).result, ResultText | None)
    list(fake.batches(state="COMPLETE"))
    batch.ack(batch.add(2), results=[{"size": 3}, None])
    fanin.reopen(batch.id, items="unfinished", deadline=90.0)
    deliver(
        fanin.acks(
            sync,
        ),
        ["a"],
    )
    fanin.work("https://sqs.eu-west-1.amazonaws.com/1/q", coroutine, grace_seconds=timedelta(seconds=5))
    queue.add(NewJob("a", {"w": [1]}, delay=timedelta(minutes=1)), on_busy="rerun")
    for job in queue.jobs("dead"):
        assert_type(job.state, JobStateText)
    Options(expiry=timedelta(seconds=30), retry_delay=5)


def refused(fanin: Fanin, fake: FakeFanin, queue: Queue) -> None:
    fanin.open(mode="exakt")  # type: ignore[arg-type]
    fake.open(mode="exakt")  # type: ignore[arg-type]
    fanin.open(notify_at=["50"])  # type: ignore[list-item]
    fanin.open(parent_fails_on="all")  # type: ignore[arg-type]
    fanin.open(on_failures="succeeds")  # type: ignore[arg-type]
    fanin.open(deadline="1h")  # type: ignore[arg-type]
    fanin.ack(["a"], results=3)  # type: ignore[arg-type]
    fanin.batches(state="DONE")  # type: ignore[arg-type]
    fanin.batches(condition="sad")  # type: ignore[arg-type]
    fake.batches(state="complete")  # type: ignore[arg-type]
    fanin.reopen("id", items="all")  # type: ignore[arg-type]
    fanin.wait("id", timeout="60")  # type: ignore[arg-type]
    fanin.acks(coroutine)  # type: ignore[arg-type]
    fake.acks(coroutine)  # type: ignore[arg-type]
    fanin.acks_each(coroutine)  # type: ignore[arg-type]
    deliver(handler, ["a"])  # type: ignore[arg-type]
    queue.jobs("ready")  # type: ignore[arg-type]
    queue.add("a", on_busy="wait")  # type: ignore[arg-type]
    queue.take(1, wait="20")  # type: ignore[arg-type]
    if fanin.status("id").result == "success":  # type: ignore[comparison-overlap]
        raise AssertionError


async def refused_by_coroutines(fanin: AsyncFanin, queue: AsyncQueue) -> None:
    await fanin.open(mode="exakt")  # type: ignore[arg-type]
    fanin.batches(state="DONE")  # type: ignore[arg-type]
    await queue.add("a", on_busy="wait")  # type: ignore[arg-type]
