"""The sort key of the index of open tasks: the order in which a lane's tasks are bundled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fanin.grouper.rules.model import Task

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def order_of(task: Task) -> str:
    """Return the sort key of *task*: larger priorities first, then earlier due times, then the id."""
    micros = (task.due_at - EPOCH) // timedelta(microseconds=1)
    return f"{999 - task.priority:03d}#{micros:016d}#{task.task_id}"
