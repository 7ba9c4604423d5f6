"""The order in which open tasks of a lane are bundled, as the sort key of their index."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fanin.grouper.model import Task

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def order_of(task: Task) -> str:
    """Larger priorities first, then earlier due times; the id makes it unique."""
    micros = (task.due_at - EPOCH) // timedelta(microseconds=1)
    return f"{999 - task.priority:03d}#{micros:016d}#{task.task_id}"
