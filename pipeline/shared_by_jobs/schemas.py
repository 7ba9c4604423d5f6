"""The schemas of the frames that pass between transforms; columns are addressed by name."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from fanin.tracker.rules.option_kinds import Whole
from fanin.tracker.rules.options import SHOWN

CATALOG = StructType(
    [
        StructField("name", StringType()),
        StructField("version", StringType()),
        StructField("section", StringType()),
        StructField("maintainer", StringType()),
        StructField("size", LongType()),
        StructField("depends", StringType()),
    ]
)
"""A row of the bundled catalog; *size* in bytes."""

STARTS = StructType([StructField("part", IntegerType(), False), StructField("start", LongType(), False)])
"""The position of each manifest part's first row."""

ACKS = StructType(
    [
        StructField("item_id", StringType()),
        StructField("outcome", StringType()),
        StructField("reason", StringType()),
    ]
)
"""A row of an ack log; *outcome* is success, failure or null for success. *reason*: why it failed."""

PAGES = StructType(
    [
        StructField("tenant", StringType(), False),
        StructField("batch_id", StringType(), False),
        StructField("level", IntegerType(), False),
        StructField("page", LongType(), False),
        StructField("n", LongType(), False),
        StructField("size", IntegerType()),
        StructField("root", BooleanType(), False),
        StructField("compacted", BooleanType(), False),
        StructField("bits", BinaryType(), False),
        StructField("failed", BinaryType(), False),
    ]
)
"""A page as stored; a compacted page has the bits it had when it was full."""

BATCHES = StructType(
    [
        StructField("tenant", StringType(), False),
        StructField("batch_id", StringType(), False),
        StructField("state", StringType(), False),
        StructField("mode", StringType(), False),
        StructField("user_key", StringType()),
        StructField("total", LongType(), False),
        StructField("failed", LongType(), False),
        StructField("page_bits", IntegerType(), False),
        StructField("created_at", TimestampType(), False),
        StructField("closed_at", TimestampType()),
        StructField("ended_at", TimestampType()),
        StructField("completed_by", StringType()),
        StructField("end_reason", StringType()),
        StructField("expires_at", TimestampType(), False),
        StructField("deadline_at", TimestampType()),
        *(StructField(option.name, LongType()) for option in SHOWN if isinstance(option.kind, Whole)),
        StructField("reached", LongType()),
        StructField("parent_item_id", StringType()),
        StructField("salt", BinaryType(), False),
    ]
)
"""A batch as stored. The salt is a secret, with which ids could be forged: no output has it."""

OUTSTANDING = StructType(
    [
        StructField("position", LongType(), False),
        StructField("item_id", StringType()),
        StructField("failed", BooleanType(), False),
    ]
)
"""An item that is not acked, or that *failed*: its position in the batch, and its id.

Saved rows have the row of the source too, as *record*.
"""

ROWS = StructType(
    [
        StructField("location", StringType()),
        StructField("problem", StringType()),
        StructField("page", PAGES),
        StructField("batch", BATCHES),
    ]
)
"""A row of the tables as it was read: a page, a batch, or a *problem* at *location*."""

FINDINGS = StructType(
    [
        StructField("tenant", StringType()),
        StructField("batch_id", StringType()),
        StructField("level", IntegerType()),
        StructField("page", LongType()),
        StructField("rule", StringType(), False),
        StructField("detail", StringType(), False),
        StructField("sure", BooleanType(), False),
    ]
)
"""A disagreement, see `pipeline.table_audit.rules.Rule`; about the batch itself if *page* is null.

*sure*: no write in progress can explain it.
"""

WANTED = StructType(
    [
        StructField("page", LongType(), False),
        StructField("outstanding", ArrayType(LongType(), False), False),
        StructField("failed", ArrayType(LongType(), False), False),
    ]
)
"""Leaves with items outstanding or failed: bit *i* is bit ``i % 64`` of long ``i // 64``.

Each array has 16 longs, or none if no bit is set.
"""

RECHECKED = StructType(
    [
        *(field for field in FINDINGS if field.name not in ("detail", "sure")),
        StructField("there", BooleanType()),
    ]
)
"""A finding checked again: whether it is *there* in the live tables, null if that is unknown."""

ITEMS = StructType(
    [
        StructField("position", LongType(), False),
        StructField("item_id", StringType(), False),
        StructField("state", StringType(), False),
    ]
)
"""An item as the data source returns it; *state* is outstanding, succeeded or failed."""

RESULTS = StructType(
    [
        StructField("position", LongType(), False),
        StructField("item_id", StringType(), False),
        StructField("result", StringType(), False),
    ]
)
"""The result of an item as the data source returns it, as JSON."""

EVENTS = StructType(
    [
        StructField("event_id", StringType(), False),
        StructField("detail_type", StringType(), False),
        StructField("tenant", StringType(), False),
        StructField("batch_id", StringType(), False),
        StructField("user_key", StringType()),
        StructField("result", StringType(), False),
        StructField("reason", StringType()),
        StructField("total", LongType(), False),
        StructField("failed", LongType(), False),
        StructField("opened_at", TimestampType(), False),
        StructField("closed_at", TimestampType()),
        StructField("ended_at", TimestampType()),
    ]
)
"""The completion event of a batch; *event_id* is the same each time the event is delivered."""
