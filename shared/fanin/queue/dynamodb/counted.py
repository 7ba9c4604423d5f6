"""The depth that the last sweep found, kept in the config row of its queue."""

from __future__ import annotations

from fanin.aws.dynamodb.rows import Item, number, text
from fanin.queue.administration.describing import CountedDepth
from fanin.queue.dynamodb import items
from fanin.queue.dynamodb.requests import expression
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import Accuracy, Depth

COUNTS = ("ready", "busy", "delayed", "dead", "oldest_us")


def record(table: str, queue: QueueKey, counted: CountedDepth) -> Item:
    """Keep a depth in the config row of an existing queue, unless a later one is there."""
    depth: Item = {name: number(getattr(counted.depth, name)) for name in COUNTS}
    depth |= {"accuracy": text(counted.depth.accuracy)}
    guard = "attribute_exists(#pk) AND (attribute_not_exists(#counted_us) OR #counted_us < :at)"
    values = {":at": number(counted.at_us), ":dead": number(counted.dead_us), ":depth": {"M": depth}}
    update = "SET #depth = :depth, #counted_us = :at, #dead_us = :dead"
    expressions = expression(values, UpdateExpression=update, ConditionExpression=guard)
    return items.SCHEMA.guarded({"TableName": table, "Key": items.config_row(queue)} | expressions)


def counted_of(item: Item) -> CountedDepth | None:
    """Return the depth in a config row; None before the first sweep."""
    if "counted_us" not in item:
        return None
    depth = item["depth"]["M"]
    counts = {name: int(depth[name]["N"]) for name in COUNTS}
    return CountedDepth(
        Depth(**counts, accuracy=Accuracy(depth["accuracy"]["S"])),
        at_us=int(item["counted_us"]["N"]),
        dead_us=int(item["dead_us"]["N"]),
    )
