"""Sends a frame of messages, telling how far it is; what fan_out publishes and what redrive repeats."""

from __future__ import annotations

import time
from math import ceil
from typing import Any

from pyspark.sql import DataFrame

from pipeline import sinks
from pipeline.progress import Report, every, moving

ITEMS_A_TASK = 2048
MOST_TASKS = 10_000
PROGRESS_SECONDS = 1.0


class BatchIsOver(ValueError):
    """The batch takes no acks any more: what is sent now would be done for nothing."""


def task_count(items: int, slots: int) -> int:
    """Tasks that send *items*: small enough to show progress and to repeat little when one fails."""
    return max(slots, min(MOST_TASKS, ceil(items / ITEMS_A_TASK)))


def send_all(
    messages: DataFrame,
    total: int,
    queue: sinks.Queue,
    rate: float | None,
    report: Report,
    only: sinks.Only = iter,
) -> dict[str, int]:
    """Send every row of `transforms.as_messages` that *only* lets pass; what was sent.

    *total*: the items of the frame. *rate*: messages a second, all executors together.
    """
    context = messages.sparkSession.sparkContext
    tally = sinks.Tally.of(context)
    started = time.monotonic()

    def facts() -> dict[str, Any]:
        return {"items": total, "seconds": round(time.monotonic() - started, 3), **tally.facts()}

    tell = moving(report, "sent")
    with every(PROGRESS_SECONDS, lambda: tell("progress", facts())):
        slots = context.defaultParallelism
        sinks.publish(messages, queue, tally, rate / slots if rate else None, only)
    report("sent", facts())
    return tally.facts()
