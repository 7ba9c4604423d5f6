"""Aggregates tasks and bundles of the group-batcher, and jobs of the queues. Frames in, frames out."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.history_tables.items import seconds_between

TASK_ENDS, BUNDLE_ENDS = ("SUCCEEDED", "FAILED", "DEAD"), ("DONE", "FAILED")


def bundles(images: DataFrame) -> DataFrame:
    """Return (tenant, bundle_id, target, state, size, calls, created_at, ended_at, lasted): each bundle's
    last state.

    Bundles without members, which only fence off a slow leader, are left out.
    """
    ended_at = F.min(F.when(F.col("state").isin(*BUNDLE_ENDS), F.col("at"))).alias("ended_at")
    facts = ("target", "state", "size", "attempt", "created_at")
    last = F.max_by(F.struct(*facts), F.struct("place", "at")).alias("last")
    folded = images.groupBy("tenant", "bundle_id").agg(last, ended_at).select("*", "last.*")
    lasted = seconds_between(F.col("created_at"), F.col("ended_at")).alias("lasted")
    columns = ("tenant", "bundle_id", "target", "state", "size", F.col("attempt").alias("calls"))
    return folded.where("size > 0").select(*columns, "created_at", "ended_at", lasted)


def tasks(images: DataFrame, of_bundles: DataFrame) -> DataFrame:
    """Return (tenant, task_id, target, state, attempts, created_at, bundled_at, ended_at, waited, ...).

    *waited*: seconds until the task's first bundle was created; *lasted*: seconds until its end.
    """
    ended_at = F.min(F.when(F.col("state").isin(*TASK_ENDS), F.col("at"))).alias("ended_at")
    facts = ("target", "state", "attempts", "created_at", "detail")
    order = F.struct("place", "at")
    last = F.max_by(F.struct(*facts), order).alias("last")
    first = F.min_by("bundle_id", F.when(F.col("bundle_id").isNotNull(), order)).alias("bundle_id")
    folded = images.groupBy("tenant", "task_id").agg(last, first, ended_at).select("*", "last.*")
    begun = of_bundles.select("tenant", "bundle_id", F.col("created_at").alias("bundled_at"))
    joined = folded.join(begun, on=["tenant", "bundle_id"], how="left")
    waited = seconds_between(F.col("created_at"), F.col("bundled_at")).alias("waited")
    lasted = seconds_between(F.col("created_at"), F.col("ended_at")).alias("lasted")
    columns = ("tenant", "task_id", "target", "state", "attempts", "created_at", "bundled_at", "ended_at")
    return joined.select(*columns, waited, lasted, "detail")


def jobs(images: DataFrame) -> DataFrame:
    """Return (tenant, queue, job_id, name, state, added_at, ended_at, waited, worked, ...): each job's end.

    Producers choose the ids: jobs of one id and different names are different jobs.
    *waited*: seconds ready in the queue; *worked*: seconds in progress, all its deliveries together.
    """
    state = F.col("state")
    rank = F.when(state == "dead", 2).when(state == "done", 1).otherwise(0)
    order = F.struct(rank.alias("rank"), "place", "at")
    last = F.max_by(F.struct("state", "added_at"), order).alias("last")
    most = [F.max(name).alias(name) for name in ("waited", "worked", "deliveries", "failures", "collisions")]
    ends = (F.max("ended_at").alias("ended_at"), F.max("error").alias("error"))
    folded = images.groupBy("tenant", "queue", "job_id", "name").agg(last, *ends, *most).select("*", "last.*")
    facts = ("waited", "worked", "deliveries", "failures", "collisions", "error")
    return folded.select("tenant", "queue", "job_id", "name", "state", "added_at", "ended_at", *facts)


def targets(of_tasks: DataFrame, of_bundles: DataFrame) -> DataFrame:
    """Return (tenant, target, states, tasks, waited, bundles, size, largest, calls): one row per target.

    *states*: the number of tasks by state; *waited*: median, 95th percentile and maximum.
    """
    of = ["tenant", "target"]
    sizes = of_bundles.groupBy(*of).agg(
        F.count("*").alias("bundles"),
        F.mean("size").alias("size"),
        F.max("size").alias("largest"),
        F.sum("calls").alias("calls"),
    )
    counted = _states(of_tasks, of, "tasks").join(of_tasks.groupBy(*of).agg(_spread("waited")), on=of)
    return counted.join(sizes, on=of, how="left")


def sizes(of_bundles: DataFrame) -> DataFrame:
    """Return (size, bundles): the number of bundles by number of members."""
    return of_bundles.groupBy("size").agg(F.count("*").alias("bundles"))


def queues(of_jobs: DataFrame) -> DataFrame:
    """Return (tenant, queue, states, jobs, again, refused, waited, worked): one row per queue.

    *again*: jobs delivered more than once; *refused*: adds that found a live job of their key.
    """
    of = ["tenant", "queue"]
    again, refused = F.count_if(F.col("deliveries") > 1), F.sum("collisions")
    measures = (again.alias("again"), refused.alias("refused"), _spread("waited"), _spread("worked"))
    return _states(of_jobs, of, "jobs").join(of_jobs.groupBy(*of).agg(*measures), on=of)


def _states(rows: DataFrame, of: list[str], total: str) -> DataFrame:
    """Return the number of rows of each group by state, and in total."""
    by_state = rows.groupBy(*of, "state").agg(F.count("*").alias("count"))
    states = F.map_from_entries(F.collect_list(F.struct("state", "count"))).alias("states")
    return by_state.groupBy(*of).agg(states, F.sum("count").alias(total))


def _spread(name: str) -> Column:
    shares = F.array(F.lit(0.5), F.lit(0.95), F.lit(1.0))
    return F.percentile_approx(name, shares).alias(name)
