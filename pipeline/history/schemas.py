"""The frames of the history, columns by name. Every time is in UTC, every duration in seconds."""

from __future__ import annotations

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
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
    batch_id=TEXT, page=LONG, bit=WHOLE, what=TEXT, count=LONG, n=LONG, at=TIME, event_id=TEXT
)
"""What one change did to one item of a leaf page, ``what`` it was: success, failure or healed.

Where no item is known, *bit* is null: ``counted`` for *count* acks of an estimated batch, ``touched`` for a
change without acks. *n*: how many acks the page then had.
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
    max_failures=LONG,
    parent_item_id=TEXT,
)
"""A batch as one change left it; *place* sorts the changes of an item."""

GROUPS = _frame(group_id=TEXT, start=LONG, upto=LONG)
"""A stretch of a batch's items, and the group that is was handed out as."""

SAMPLES = _frame(item_id=TEXT, reason=TEXT, failed_at=TIME)
"""Why an item failed; a batch keeps a bounded number of them."""

BATCH_ROWS = _frame(
    tenant=TEXT, batch_id=TEXT, at=TIME, what=TEXT, batch=BATCH_IMAGES, group=GROUPS, sample=SAMPLES
)
"""A row that came or changed among a batch's: ``batch``, ``group``, ``sample``, ``event`` or ``notice``."""

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
"""A task as one change left it."""

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
"""A bundle as one change left it; *size*: its members."""

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
"""A job as one change left it: ``ready``, ``busy``, ``delayed``, ``done`` or ``dead``."""
