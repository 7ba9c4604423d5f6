"""What the stages of a job share: the slots of their tasks, the input of each task, and cached frames.

All of it works in a session of Spark Connect too, which has no Spark context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.shared_by_jobs.progress import context_of

ASSUMED = 16
"""Slots that are assumed where the settings of Spark do not bound them."""
SLOTS = "spark.fanin.slots"
"""The setting of a session with the number of slots to assume instead."""
_UNBOUNDED = 100_000
"""From here on a number of executors is no limit: Spark's own default is 2^31 - 1."""
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?")

Setting = Callable[[str], str | None]
"""Returns a setting of Spark, None if it is not set."""


@dataclass(frozen=True, slots=True)
class Paced:
    """The number of *tasks* of a stage, and the *rate* of each of them."""

    tasks: int
    rate: float | None


@dataclass(frozen=True, slots=True)
class Slots:
    """The number of tasks that run at once. *bounded*: Spark never runs more; else *count* is assumed."""

    count: int
    bounded: bool

    def paced(self, wanted: int, rate: float | None) -> Paced:
        """Return the tasks of a stage that would have *wanted*, at *rate* all together.

        At a rate it has no more tasks than the rate is divided by, unless the slots are bounded: all tasks
        could run at once.
        """
        if rate is None:
            return Paced(wanted, None)
        return Paced(wanted if self.bounded else min(wanted, self.count), rate / self.count)


def slots_of(spark: SparkSession) -> Slots:
    """Return the slots of *spark*."""
    context = context_of(spark)
    if context is None:
        return slots_by(partial(_setting, spark))
    jvm: Any = context._jvm
    cores = jvm.Runtime.getRuntime().availableProcessors()
    return slots_by(partial(_setting, spark), context.defaultParallelism, cores)


def slots_by(setting: Setting, now: int = ASSUMED, cores: int | None = None) -> Slots:
    """Return the slots that the settings bound, else those of SLOTS, else *now*, those that there are now.

    *cores*: of the machine of a local Spark; None if they are not known.
    """
    bound = _bound(setting, cores)
    return Slots(bound or int(setting(SLOTS) or now), bounded=bound is not None)


def _bound(setting: Setting, cores_here: int | None) -> int | None:
    """Return the most tasks that run at once by the settings; None if they do not say."""
    per_task = int(setting("spark.task.cpus") or 1)
    local = _LOCAL.fullmatch(setting("spark.master") or "")
    if local:
        cores_used = cores_here if local[1] == "*" else int(local[1] or 1)
        return cores_used and cores_used // per_task
    dynamic = setting("spark.dynamicAllocation.enabled") == "true"
    number = "spark.dynamicAllocation.maxExecutors" if dynamic else "spark.executor.instances"
    executors, cores = int(setting(number) or 0), int(setting("spark.executor.cores") or 0)
    return executors * (cores // per_task) or None if executors < _UNBOUNDED else None


def _setting(spark: SparkSession, name: str) -> str | None:
    try:
        return spark.conf.get(name, None)
    except PySparkException:  # Databricks' serverless clusters refuse the names of most settings
        return None


def dealt(spark: SparkSession, shares: Sequence[Sequence[str]]) -> DataFrame:
    """Return (paths): a row, and a task, for each of *shares*.

    All are in one row first, because only the rows of one task are dealt evenly to the next tasks.
    """
    frame = spark.createDataFrame([(list(map(list, shares)),)], "shares array<array<string>>")
    return frame.select(F.explode("shares").alias("paths")).repartition(max(1, len(shares)))


@contextmanager
def cached(*frames: DataFrame) -> Iterator[tuple[DataFrame, ...]]:
    """Yield *frames*, cached while the body runs; where Spark refuses to cache, as they are."""
    with ExitStack() as stack:
        yield tuple(_cached(frame, stack) for frame in frames)


def _cached(frame: DataFrame, stack: ExitStack) -> DataFrame:
    try:
        kept = frame.persist()
    except PySparkException as error:
        if not (error.getCondition() or "").startswith("NOT_SUPPORTED_WITH_SERVERLESS"):
            raise
        return frame
    stack.callback(kept.unpersist)
    return kept
