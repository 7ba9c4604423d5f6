"""A batch as it is stored, for the tests of rules: CLOSED, of ten items in pages of four."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fanin.tracker import State
from fanin.tracker.rules.model import Batch
from fanin.tracker.rules.options import Retention, Threshold
from tests.tracker.calls import DAY, START

MINUTE, SECOND, TICK = timedelta(minutes=1), timedelta(seconds=1), timedelta(microseconds=1)
KEPT = Retention(3 * DAY, 5 * DAY, 2 * DAY)
ID = "00000000-0000-4000-8000-00000000001f"
BATCH = Batch(
    tenant="t",
    batch_id=ID,
    state=State.CLOSED,
    total=10,
    failed=0,
    page_bits=4,
    salt=b"salt",
    fingerprint="f",
    created_at=START,
    expires_at=START + 5 * DAY,
    closed_at=START,
    retention=KEPT,
)
STUCK = replace(BATCH, stuck_after=8 * MINUTE)
ASKS = replace(BATCH, notify_at=(Threshold.FIRST_FAILURE, Threshold.HALF, Threshold.MOST))
