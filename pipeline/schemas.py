"""The frames that pass between transforms, columns by name."""

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

from fanin.tracker import Verdict

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
"""A row of an ack log; *outcome* is success or failure, none means success. *reason*: why it failed."""

WORDS = StructType(
    [
        StructField("batch_id", StringType(), False),
        StructField("page", LongType(), False),
        StructField("bits", BinaryType(), False),
        StructField("failed", BinaryType(), False),
    ]
)
"""Folded acks of one leaf page, laid out as `pipeline.bits` says; *failed* is a part of *bits*."""

BLOCK = StructType(
    [
        StructField("batch_id", StringType(), False),
        StructField("block", LongType(), False),
        StructField("good", BinaryType()),
        StructField("bad", BinaryType()),
    ]
)
"""Folded acks of 32 neighbouring leaf pages, 128 bytes each: those that succeeded, those that failed."""

ASIDE = StructType(
    [
        StructField("file", StringType(), False),
        StructField("item_id", StringType()),
        StructField("outcome", StringType()),
        StructField("reason", StringType()),
        StructField("refusal", StringType(), False),
    ]
)
"""A row of an ack log that set no bit, as it came, and why: see `pipeline.ids.Refusal`.

A line that is no row stands in *item_id*.
"""

REASON = StructType(
    [
        StructField("batch_id", StringType(), False),
        StructField("item_id", StringType(), False),
        StructField("reason", StringType(), False),
    ]
)
"""Why an item failed."""

FOLDED = StructType(
    [
        StructField("block", BLOCK),
        StructField("aside", ASIDE),
        StructField("reason", REASON),
        StructField("acks", LongType()),
    ]
)
"""What a task makes of its part of a log; each row has one of the columns. *acks*: rows that it folded."""

MARKED = StructType(
    [
        StructField("batch_id", StringType(), False),
        StructField("pages", LongType(), False),
        StructField("written", LongType(), False),
        StructField("fresh", LongType(), False),
        StructField("failed", LongType(), False),
        StructField("healed", LongType(), False),
        *(StructField(str(verdict), LongType(), False) for verdict in Verdict),
        StructField("requests", LongType(), False),
        StructField("write_units", LongType(), False),
    ]
)
"""What became of folded acks in the tracker: *pages* looked at and *written*, items by verdict.

Of the accepted, *fresh* were not acked before, *failed* of them as failures, and *healed* had failed before.
What a task did that died before its end is counted as done by others.
"""

OUTCOMES = StructType([*MARKED, StructField("state", StringType())])
"""MARKED by batch, and the *state* that it is in now; none where it is gone."""

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
"""A page as it is stored; a compacted page has the bits that it was full with."""

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
        StructField("expected_items", LongType()),
        StructField("max_failures", LongType()),
        StructField("parent_item_id", StringType()),
        StructField("salt", BinaryType(), False),
    ]
)
"""A batch as it is stored. The salt is a secret: it tells real ids from forged ones, and no output has it."""

OUTSTANDING = StructType(
    [
        StructField("position", LongType(), False),
        StructField("item_id", StringType()),
        StructField("failed", BooleanType(), False),
    ]
)
"""An item that is not acked, or that *failed*: its place in the batch, and the id under which it is sent.

Where it is joined back to its source, the row of the source is beside it as *record*.
"""

ROWS = StructType(
    [
        StructField("place", StringType()),
        StructField("problem", StringType()),
        StructField("page", PAGES),
        StructField("batch", BATCHES),
    ]
)
"""A row of the tables as it was read: a page, or a batch, or at *place* a *problem*."""

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
"""What does not agree, as `pipeline.audit` names it; about the batch itself where there is no page.

*sure*: no write on its way explains it.
"""

WANTED = StructType(
    [
        StructField("page", LongType(), False),
        StructField("outstanding", ArrayType(LongType(), False), False),
        StructField("failed", ArrayType(LongType(), False), False),
    ]
)
"""Leaves with items outstanding or failed: bit *i* is bit ``i % 64`` of word ``i // 64``.

There are 16 words of a kind, or none where no bit is set.
"""

VERDICTS = StructType(
    [
        *(field for field in FINDINGS if field.name not in ("detail", "sure")),
        StructField("there", BooleanType()),
    ]
)
"""A second look at a finding: whether it is *there* in the live tables, none where that could not be told."""

ITEMS = StructType(
    [
        StructField("position", LongType(), False),
        StructField("item_id", StringType(), False),
        StructField("state", StringType(), False),
    ]
)
"""An item as the data source tells it: its place in the batch, and outstanding, succeeded or failed."""

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
"""How a batch ended, as the event of that says; *event_id* is the same however often it is told."""
