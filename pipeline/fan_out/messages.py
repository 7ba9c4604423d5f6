"""Turns rows into messages: frames in, frames out. The last `select` of each function is its schema."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.fan_out.json_texts import REFUSED
from pipeline.fan_out.send import rows_together

_ROW_BITS = 33
_TIMESTAMPS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_SAMPLES = 10_000


def number_rows(dataset: DataFrame) -> DataFrame:
    """Return (part, ord, record): the task's number, the row's number in it, the row as JSON.

    Another attempt of the task may read the rows in another order, so the numbers are an identity only
    after Spark's commit protocol has written them, from one attempt of each task.
    """
    ord_ = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
    part = F.spark_partition_id().alias("part")
    texts = dataset.select(F.to_json(F.struct("*"), _TIMESTAMPS).alias("record"))
    return texts.select(part, ord_.alias("ord"), _sendable("record").alias("record"))


def part_sizes(manifest: DataFrame) -> DataFrame:
    """Return (part, rows, last, bytes, widest): rows, last number, bytes of JSON, bytes of the widest row."""
    length = F.octet_length("record")
    rows = (F.count("*").alias("rows"), F.max("ord").alias("last"))
    measures = (*rows, F.sum(length).alias("bytes"), F.max(length).alias("widest"))
    return manifest.groupBy("part").agg(*measures).select("part", "rows", "last", "bytes", "widest")


def with_positions(manifest: DataFrame, starts: DataFrame) -> DataFrame:
    """Return (position, record): each row's position in the batch, 0 to N - 1, from *starts* of the parts."""
    joined = manifest.join(F.broadcast(starts), on="part", how="inner")
    return joined.select((F.col("start") + F.col("ord")).alias("position"), "record")


def with_item_ids(positions: DataFrame, batch_id: str, group_id: str) -> DataFrame:
    """Return (position, item_id, record): the id that the consumer acks, with the position as its index."""
    return positions.select("position", item_id(batch_id, group_id, "position"), "record")


def item_id(batch_id: str, group_id: str, index: str) -> Column:
    """Return the column *item_id*; *index* names the column with the item's index in its group."""
    return F.concat_ws(":", F.lit(batch_id), F.lit(group_id), F.col(index)).alias("item_id")


def with_copies(items: DataFrame, percent: float = 0.0, seed: int = 0, chunk: int = 1) -> DataFrame:
    """Return (position, copy, item_id, record): *percent* of the items have a copy 2, chosen by *seed*.

    *chunk*: neighbours that are copied together.
    """
    if not percent:
        return items.select("position", F.lit(1).alias("copy"), "item_id", "record")
    sample = F.pmod(F.xxhash64(F.lit(seed), F.floor(F.col("position") / chunk)), F.lit(_SAMPLES))
    copies = F.when(sample < percent * _SAMPLES / 100, 2).otherwise(1)
    copy = F.explode(F.sequence(F.lit(1), copies)).alias("copy")
    return items.select("position", copy, "item_id", "record")


MESSAGE = ("position", "copy", "item_id", "record")


def as_messages(copies: DataFrame, partitions: int, chunk: int = 1) -> DataFrame:
    """Return MESSAGE page by page; second copies are last.

    *chunk*: neighbours that no two partitions share.
    """
    page = F.floor(F.col("position") / rows_together(chunk))
    ranged = copies.repartitionByRange(partitions, page)
    ordered = ranged.sortWithinPartitions("copy", "position")
    return ordered.select(*MESSAGE)


def _sendable(text: str) -> Column:
    """Return the column *text* of JSON without the characters that SQS refuses.

    To look for a character is cheap; `replace` copies the text, whether it finds any or not.
    """
    sendable = F.col(text)
    for character in REFUSED:
        escaped = F.replace(sendable, F.lit(character), F.lit(f"\\u{ord(character):04x}"))
        sendable = F.when(F.contains(F.col(text), F.lit(character)), escaped).otherwise(sendable)
    return sendable
