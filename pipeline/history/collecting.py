"""Collects what the report shows: bounded numbers of rows of the tables, as values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from pipeline.history.building import Tables
from pipeline.history.facts import (
    ALIVE,
    ENDED_WELL,
    Bar,
    BatchFacts,
    History,
    Point,
    Queue,
    Repeats,
    Shares,
    Spread,
    Straggler,
    Target,
)
from pipeline.history.life import LIFE

LISTED, DRAWN, NAMED = 200, 12, 20
"""Batches in the list, batches with a section of their own, and stragglers of each."""
SHOWN = 30
"""Targets and queues."""
BUCKETS = 160
"""Stretches of time that a curve is drawn with, at most."""
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)

By = Mapping[str, list[Row]]


def collect(tables: Tables, archive: str) -> History:
    """The facts of the report over *tables*."""
    totals = _totals(tables["batches"])
    batches = _batches(tables)
    targets, more_targets = _targets(tables)
    queues, more_queues = _queues(tables["jobs"])
    return History(
        archive=archive,
        since=tables.since,
        until=tables.until,
        repeats=_repeats(tables),
        batches=batches,
        targets=targets,
        sizes=_sizes(tables["bundles"]),
        queues=queues,
        more={"targets": more_targets, "queues": more_queues},
        **totals,
    )


def step_of(seconds: float) -> float:
    """The width in seconds of the stretches that a curve over so many *seconds* is drawn with."""
    return float(next((step for step in STEPS if seconds / step <= BUCKETS), seconds / BUCKETS))


def _totals(batches: DataFrame) -> dict[str, Any]:
    state = F.col("state")
    ended = F.count_if(~state.isin(*ALIVE, "UNKNOWN")).alias("ended")
    row = batches.agg(
        F.count("*").alias("known"),
        ended,
        F.count_if(state == ENDED_WELL).alias("completed"),
        F.count_if("is_orphan").alias("orphans"),
        F.coalesce(F.sum("acked"), F.lit(0)).alias("items"),
        F.coalesce(F.sum("failed"), F.lit(0)).alias("failed"),
    ).first()
    return row.asDict() if row else {}


def _batches(tables: Tables) -> list[BatchFacts]:
    """Those to be looked at first, then the newest; the first of them with all that is drawn."""
    troubled = F.when(F.col("is_orphan") | (F.col("state") == "UNKNOWN"), 0)
    alive = troubled.when(F.col("state").isin(*ALIVE), 1)
    rank = alive.when((F.col("failed") > 0) | (F.col("state") != ENDED_WELL), 2).otherwise(3)
    listed = tables["batches"].orderBy(rank, F.desc("opened_at"), "batch_id").limit(LISTED)
    found = [_batch(row) for row in listed.collect()]
    ids = [batch.batch_id for batch in found]
    shares = _by_batch(tables["latencies"], ids)
    tails = _by_batch(tables["tails"], ids)
    timed = [_timed(batch, shares[batch.batch_id], tails[batch.batch_id]) for batch in found]
    return [*_drawn(tables, timed[:DRAWN]), *timed[DRAWN:]]


def _batch(row: Row) -> BatchFacts:
    known = {field.name for field in fields(BatchFacts)} & set(LIFE)
    facts = {name: _plain(row[name]) for name in known}
    return BatchFacts(**facts | {"failed": facts["failed"] or 0})


def _timed(batch: BatchFacts, shares: list[Row], tails: list[Row]) -> BatchFacts:
    """*batch* with its latencies, those from the messages' own times where there are any."""
    told = sorted(shares, key=lambda row: row.basis != "sent")
    names = [field.name for field in fields(Shares)]
    best = Shares(**{name: told[0][name] for name in names}) if told else None
    return replace(batch, shares=best, tail_at=_plain(tails[0].tail_at) if tails else None)


def _drawn(tables: Tables, batches: Sequence[BatchFacts]) -> list[BatchFacts]:
    ids = [batch.batch_id for batch in batches]
    stepped = [replace(batch, step=step_of(batch.acking or 0.0)) for batch in batches]
    curves = _curves(tables["throughput"], stepped)
    bars, late = _by_batch(tables["histogram"], ids), _late(tables["stragglers"], ids)
    reasons = _by_batch(tables["reasons"], ids)
    repeats = _by_batch(tables["deliveries"], ids) if "deliveries" in tables.names else defaultdict(list)
    return [
        replace(
            batch,
            is_drawn=True,
            curve=curves[batch.batch_id],
            bars=_bars(bars[batch.batch_id], batch.shares),
            stragglers=late[batch.batch_id],
            repeats=next((Repeats(row.acks, row.duplicates) for row in repeats[batch.batch_id]), None),
            **_reasons(reasons[batch.batch_id]),
        )
        for batch in stepped
    ]


def _curves(throughput: DataFrame, batches: Sequence[BatchFacts]) -> Mapping[str, list[Point]]:
    """The acks of each batch by stretches of its own width."""
    wanted = [(batch.batch_id, batch.step, batch.first_ack_at) for batch in batches if batch.first_ack_at]
    steps = throughput.sparkSession.createDataFrame(
        wanted, "batch_id string, step double, first_ack_at timestamp"
    )
    joined = throughput.join(F.broadcast(steps), on="batch_id", how="inner")
    since = F.unix_seconds("second") - F.unix_seconds("first_ack_at")
    at = (F.floor(since / F.col("step")) * F.col("step")).alias("at")
    sums = (F.sum("acked").alias("acked"), F.sum("failed").alias("failed"))
    found: defaultdict[str, list[Point]] = defaultdict(list)
    for row in joined.groupBy("batch_id", at).agg(*sums).orderBy("batch_id", "at").collect():
        found[row.batch_id].append(Point(row["at"], row.acked, row.failed))
    return found


def _bars(rows: Iterable[Row], shares: Shares | None) -> list[Bar]:
    chosen = [row for row in rows if shares and row.basis == shares.basis]
    return [Bar(row.low, row.high, row["items"]) for row in sorted(chosen, key=lambda row: row.bin)]


def _late(stragglers: DataFrame, ids: Sequence[str]) -> Mapping[str, list[Straggler]]:
    found: defaultdict[str, list[Straggler]] = defaultdict(list)
    chosen = stragglers.where(F.col("batch_id").isin(*ids)).orderBy(F.desc("after"), "position")
    for row in chosen.collect():
        if len(found[row.batch_id]) < NAMED:
            facts = (row.position, row.item_id, _plain(row.acked_at), row.after, row.failed, row.record)
            found[row.batch_id].append(Straggler(*facts))
    return found


def _reasons(rows: Sequence[Row]) -> dict[str, Any]:
    """What consumers said in the log, where there is one; else the sample that the batch keeps."""
    from_log = any(row.source == "log" for row in rows)
    chosen = [row for row in rows if (row.source == "log") == from_log]
    counts = sorted(((row.reason, row["items"]) for row in chosen), key=lambda each: (-each[1], each[0]))
    return {"reasons": counts[:NAMED], "reasons_from_log": from_log}


def _repeats(tables: Tables) -> Repeats | None:
    if "deliveries" not in tables.names:
        return None
    row = tables["deliveries"].agg(F.sum("acks").alias("acks"), F.sum("duplicates").alias("again")).first()
    return Repeats(row.acks, row.again) if row and row.acks else None


def _targets(tables: Tables) -> tuple[list[Target], int]:
    ends = F.map_from_entries(F.collect_list(F.struct("state", "count"))).alias("states")
    by_state = tables["tasks"].groupBy("target", "state").agg(F.count("*").alias("count"))
    states = by_state.groupBy("target").agg(ends, F.sum("count").alias("tasks"))
    waits = tables["tasks"].groupBy("target").agg(_spread("waited"))
    sizes = (
        tables["bundles"]
        .groupBy("target")
        .agg(
            F.count("*").alias("bundles"),
            F.mean("size").alias("size"),
            F.max("size").alias("largest"),
            F.sum("calls").alias("calls"),
        )
    )
    joined = states.join(waits, on="target", how="left").join(sizes, on="target", how="left")
    rows = joined.orderBy(F.desc("tasks"), "target").limit(SHOWN).collect()
    return [_target(row) for row in rows], max(0, states.count() - SHOWN)


def _target(row: Row) -> Target:
    return Target(
        name=row.target,
        tasks=row.tasks,
        states=dict(row.states),
        bundles=row.bundles or 0,
        size=row["size"] or 0.0,
        largest=row.largest or 0,
        calls=row.calls or 0,
        waited=Spread(*(row.waited or ())),
    )


def _sizes(bundles: DataFrame) -> list[tuple[int, int]]:
    rows = bundles.groupBy("size").agg(F.count("*").alias("bundles")).orderBy("size").collect()
    return [(row["size"], row.bundles) for row in rows]


def _queues(jobs: DataFrame) -> tuple[list[Queue], int]:
    ends = F.map_from_entries(F.collect_list(F.struct("state", "count"))).alias("states")
    by_state = jobs.groupBy("queue", "state").agg(F.count("*").alias("count"))
    states = by_state.groupBy("queue").agg(ends, F.sum("count").alias("jobs"))
    again, refused = F.count_if(F.col("deliveries") > 1), F.sum("collisions")
    measures = (again.alias("again"), refused.alias("refused"), _spread("waited"), _spread("worked"))
    joined = states.join(jobs.groupBy("queue").agg(*measures), on="queue", how="left")
    rows = joined.orderBy(F.desc("jobs"), "queue").limit(SHOWN).collect()
    return [_queue(row) for row in rows], max(0, states.count() - SHOWN)


def _queue(row: Row) -> Queue:
    spreads = Spread(*(row.waited or ())), Spread(*(row.worked or ()))
    return Queue(row.queue, row.jobs, dict(row.states), row.again, row.refused, *spreads)


def _spread(name: str) -> Any:
    shares = F.array(F.lit(0.5), F.lit(0.95), F.lit(1.0))
    return F.percentile_approx(name, shares).alias(name)


def _by_batch(frame: DataFrame, ids: Sequence[str]) -> By:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in frame.where(F.col("batch_id").isin(*ids)).collect() if ids else []:
        found[row.batch_id].append(row)
    return found


def _plain(value: Any) -> Any:
    """A time with its zone: Spark answers in this machine's."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value
