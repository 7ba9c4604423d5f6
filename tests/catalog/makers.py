"""Runs that never were, for rules that need one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from examples.catalog.output.progress import Counters, Sample
from examples.catalog.output.report import Report, Sent, Times
from examples.catalog.system.bundles import Bundled
from fanin.client.model import Status
from fanin.tracker import State

BATCH = "906d42f0-ef2f-802e-aaee-3ecf7139c8b7"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def sample(at: float, acked: int, bundled: int = 0, calls: int = 0, queued: int = 0, **more: Any) -> Sample:
    """A sample; *more*: the reasons *awaited*, and counters."""
    counts = {"bundled": bundled, "calls": calls, "queued": queued, "awaited": more.pop("awaited", ())}
    return Sample(at, acked, waiting=1234, in_hand=40, counters=Counters(**more), **counts)


def detail(**facts: Any) -> dict[str, Any]:
    known = {"eventId": f"{BATCH}:COMPLETE", "batchId": BATCH, "result": "succeeded", "total": 3}
    return {**known, "completedAt": "2026-11-21T12:00:00.250Z", **facts}


def status(**facts: Any) -> Status:
    known = {"state": State.COMPLETE, "total": 3, "acked": 3, "result": "succeeded"}
    others = {
        "user_key": "demo",
        "mode": "exact",
        "failed": 0,
        "estimate": 3,
        "upper_bound": 3,
        "exact": True,
    }
    return Status(batch_id=BATCH, created_at=NOON, expires_at=NOON, **{**known, **others, **facts})


def report(**facts: Any) -> Report:
    """1,000 items, 200 of them bundled, 50 queued, 30 sent twice, 20 deliveries failed, in 50 s."""
    known = {
        "dataset": "catalog.jsonl.bz2",
        "chaos": True,
        "seed": 1,
        "sent": Sent(items=1000, copies=30, retried=2),
        "counters": Counters(
            deliveries=1050,
            faults=20,
            acks=824,
            repeats=26,
            registrations=208,
            jobs=53,
            write_units=1300.0,
            ack_units=206.0,
        ),
        "bundled": Bundled(
            calls=12, bundles=8, refused=3, lost=1, successes={f"p{n}_1": 1 for n in range(200)}
        ),
        "queued": 50,
        "times": Times([n / 10 for n in range(1, 1001)], sending=10.0, total=50.0, event_delay=0.4),
        "event_redeliveries": 0,
        "differences": [],
    }
    return Report(**{**known, **facts})
