"""The schemas of the history's frames. Times are in UTC, durations in seconds."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

TEXT, WHOLE, LONG, REAL = StringType(), IntegerType(), LongType(), DoubleType()
FLAG, TIME = BooleanType(), TimestampType()


def _frame(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


PAGE_CHANGES = _frame(
    batch_id=TEXT,
    page=LONG,
    bits=ArrayType(ShortType(), containsNull=False),
    what=TEXT,
    count=LONG,
    n=LONG,
    at=TIME,
    event_id=TEXT,
)
"""One effect of a change on items of a leaf page; ``what``: success, failure or healed.

*bits*: the items, null if none is known: ``counted`` for *count* acks of an estimated batch, ``touched`` for
a change without acks. *n*: the page's count of acks after the change.
"""

BATCH_IMAGES = _frame(
    tenant=TEXT,
    batch_id=TEXT,
    place=TEXT,
    at=TIME,
    state=TEXT,
    mode=TEXT,
    user_key=TEXT,
    total=LONG,
    failed=LONG,
    page_bits=WHOLE,
    created_at=TIME,
    closed_at=TIME,
    ended_at=TIME,
    end_reason=TEXT,
    deadline_at=TIME,
    expected_items=LONG,
    reached=LONG,
    max_failures=LONG,
    parent_item_id=TEXT,
)
"""A batch after one change; *place* orders the changes of one item."""

GROUPS = _frame(group_id=TEXT, start=LONG, upto=LONG)
"""A range of a batch's items, and its group."""

SAMPLES = _frame(item_id=TEXT, reason=TEXT, failed_at=TIME)
"""Why an item failed; a batch keeps a bounded number of them."""

BATCH_ROWS = _frame(
    tenant=TEXT, batch_id=TEXT, at=TIME, what=TEXT, batch=BATCH_IMAGES, group=GROUPS, sample=SAMPLES
)
"""A new or changed row of a batch: ``batch``, ``group``, ``sample``, ``event`` or ``notice``."""

TASK_IMAGES = _frame(
    tenant=TEXT,
    task_id=TEXT,
    place=TEXT,
    at=TIME,
    target=TEXT,
    state=TEXT,
    attempts=WHOLE,
    created_at=TIME,
    bundle_id=TEXT,
    item_id=TEXT,
    detail=TEXT,
)
"""A task after one change."""

BUNDLE_IMAGES = _frame(
    tenant=TEXT,
    bundle_id=TEXT,
    place=TEXT,
    at=TIME,
    target=TEXT,
    state=TEXT,
    size=WHOLE,
    attempt=WHOLE,
    created_at=TIME,
)
"""A bundle after one change; *size*: its members."""

JOB_IMAGES = _frame(
    tenant=TEXT,
    queue=TEXT,
    job_id=TEXT,
    place=TEXT,
    at=TIME,
    name=TEXT,
    state=TEXT,
    added_at=TIME,
    ended_at=TIME,
    waited=REAL,
    worked=REAL,
    deliveries=WHOLE,
    failures=WHOLE,
    collisions=WHOLE,
    error=TEXT,
)
"""A job after one change: ``queued``, ``inProgress``, ``delayed``, ``done`` or ``dead``."""
