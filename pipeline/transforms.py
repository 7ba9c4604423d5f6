"""A frame in, a frame out: no session, no reading, no writing. The last `select` of each is its schema."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

PAGE_ITEMS = 1024
"""Items a page of the tracker: neighbours sent together are acked in one write. Only speed hangs on it."""

_ROW_BITS = 33
_MOMENTS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_REFUSED = ("\ufffe", "\uffff")
"""Characters of a JSON text that a message may not have: see SendMessage in the API of Amazon SQS."""
_LOTS = 10_000


def number_rows(dataset: DataFrame) -> DataFrame:
    """(part, ord, record): the task's number, the row's place in it, the row.

    Another attempt of the task may meet the rows in another order, so the numbers are an identity only
    once they are written, through Spark's commit protocol, by one attempt of each task.
    """
    place = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _ROW_BITS) - 1))
    part = F.spark_partition_id().alias("part")
    return dataset.select(part, place.alias("ord"), F.struct("*").alias("record"))


def part_sizes(manifest: DataFrame) -> DataFrame:
    """(part, rows, last, bytes, widest): each part's rows, the last one's number, their JSON's bytes."""
    length = F.octet_length(_json())
    rows = (F.count("*").alias("rows"), F.max("ord").alias("last"))
    measures = (*rows, F.sum(length).alias("bytes"), F.max(length).alias("widest"))
    return manifest.groupBy("part").agg(*measures).select("part", "rows", "last", "bytes", "widest")


def with_positions(manifest: DataFrame, starts: DataFrame) -> DataFrame:
    """(position, record): every row's place in the batch, 0 to N - 1, from its part's *start*."""
    placed = manifest.join(F.broadcast(starts), on="part", how="inner")
    return placed.select((F.col("start") + F.col("ord")).alias("position"), "record")


def with_item_ids(positions: DataFrame, batch_id: str, group_id: str) -> DataFrame:
    """(position, item_id, record): the id that a row's consumer will ack; its index is the position."""
    return positions.select("position", item_id(batch_id, group_id, "position"), "record")


def item_id(batch_id: str, group_id: str, index: str) -> Column:
    """*item_id*, from the column with the item's index in its group."""
    return F.concat_ws(":", F.lit(batch_id), F.lit(group_id), F.col(index)).alias("item_id")


def with_copies(items: DataFrame, percent: float = 0.0, seed: int = 0) -> DataFrame:
    """(position, copy, item_id, record): *percent* of the items have a copy 2, the same for a *seed*."""
    lot = F.pmod(F.xxhash64(F.lit(seed), F.col("position")), F.lit(_LOTS))
    copies = F.when(lot < percent * _LOTS / 100, 2).otherwise(1)
    copy = F.explode(F.sequence(F.lit(1), copies)).alias("copy")
    return items.select("position", copy, "item_id", "record")


MESSAGE = ("position", "copy", "item_id", "record")


def as_messages(copies: DataFrame, partitions: int) -> DataFrame:
    """(position, copy, item_id, record as JSON), page by page; second copies last, for a later delivery."""
    page = F.floor(F.col("position") / PAGE_ITEMS)
    ranged = copies.repartitionByRange(partitions, page)
    ordered = ranged.sortWithinPartitions("copy", "position")
    return ordered.select("position", "copy", "item_id", _json().alias("record"))


def _json() -> Column:
    """The record as JSON: no microsecond is lost, and it has no character that SQS refuses."""
    text = F.to_json("record", _MOMENTS)
    for character in _REFUSED:
        text = F.replace(text, F.lit(character), F.lit(f"\\u{ord(character):04x}"))
    return text
