"""What the tests of the tracker say to it, in short."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fanin.tracker import Ack, Batch, BatchKey, OpenBatch, Outcome, Retention, State
from fanin.tracker.rules.options import Mode

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.at = START

    def __call__(self):
        return self.at


def new_batch(key: BatchKey, at: datetime, user_key: str = "weekly") -> Batch:
    """The row of an open batch that was created at *at*."""
    return Batch(
        tenant=key.tenant,
        batch_id=key.batch_id,
        state=State.OPEN,
        mode=Mode.EXACT,
        user_key=user_key,
        total=0,
        failed=0,
        page_bits=1024,
        salt=b"0123456789abcdef",
        fingerprint="f",
        retention=Retention(),
        created_at=at,
        expires_at=at + 7 * DAY,
    )


def opened(tracker, count=0, **options):
    """A new batch of *count* items: its id, and that of its group."""
    batch = tracker.open("t", OpenBatch(**options))
    group = tracker.add("t", batch.batch_id, count).groups[0].id if count else ""
    return batch.batch_id, group


def ack(tracker, batch_id, group, *indexes, caller="me", outcome=Outcome.SUCCESS, reason=None):
    return tracker.ack("t", [Ack(batch_id, group, i, i, caller, outcome, reason) for i in indexes])


def fail(tracker, batch_id, group, *indexes, reason="boom", caller="me"):
    return ack(tracker, batch_id, group, *indexes, outcome=Outcome.FAILURE, reason=reason, caller=caller)


def verdicts(report):
    return [result.verdict for result in report.results]
