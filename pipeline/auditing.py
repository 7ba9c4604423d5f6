"""The audit over frames: each batch in one pass, by the rules of `pipeline.audit`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial, reduce
from itertools import chain, groupby
from operator import and_

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from pipeline import schemas
from pipeline.audit import Account, Finding, Rule, Stored, audit_batch
from pipeline.rows import Facts

BATCH_LEVEL = 100
"""Sorts a batch's row before its pages, whose levels have two figures at most."""
PLACE = ("tenant", "batch_id", "level", "page")


def findings(pages: DataFrame, batches: DataFrame, taken_at: datetime) -> DataFrame:
    """FINDINGS of all batches; each is audited by one task, in one pass.

    Batches so old that their pages may have been deleted at *taken_at* are passed over.
    """
    of_pages = pages.select("tenant", "batch_id", "level", "page", F.struct("*").alias("stored"))
    place = (F.lit(BATCH_LEVEL).alias("level"), F.lit(0).alias("page"))
    of_batches = batches.drop("salt").select("tenant", "batch_id", *place, F.struct("*").alias("row"))
    told = of_batches.unionByName(of_pages, allowMissingColumns=True)
    by_batch = told.repartition("tenant", "batch_id")
    in_order = by_batch.sortWithinPartitions("tenant", "batch_id", F.desc("level"), "page")
    return in_order.mapInArrow(partial(_audit, taken_at=taken_at), schemas.FINDINGS)


def looked_at(found: DataFrame, verdicts: DataFrame) -> DataFrame:
    """FINDINGS after a second look: those that are gone are out, those that are still there are sure."""
    same = [found[name].eqNullSafe(verdicts[name]) for name in (*PLACE, "rule")]
    joined = found.join(F.broadcast(verdicts), on=reduce(and_, same), how="left")
    sure = F.coalesce("there", "sure").alias("sure")
    kept = joined.where("there IS NULL OR there")
    return kept.select(*(found[name] for name in (*PLACE, "rule", "detail")), sure)


def malformed(rows: DataFrame) -> DataFrame:
    """FINDINGS for rows that could not be read, (place, problem)."""
    detail = F.concat_ws(": ", "place", "problem").alias("detail")
    rule = F.lit(str(Rule.MALFORMED)).alias("rule")
    nothing = [F.lit(None).cast(schemas.FINDINGS[name].dataType).alias(name) for name in PLACE]
    return rows.select(*nothing, rule, detail, F.lit(True).alias("sure"))


def _audit(told: Iterator[pa.RecordBatch], taken_at: datetime) -> Iterator[pa.RecordBatch]:
    rows = (row for batch in told for row in batch.to_pylist())
    schema = to_arrow_schema(schemas.FINDINGS)
    for (tenant, batch_id), of_batch in groupby(rows, key=lambda row: (row["tenant"], row["batch_id"])):
        found = [_facts(tenant, batch_id, finding) for finding in _of_batch(of_batch, taken_at)]
        if found:
            yield pa.RecordBatch.from_pylist(found, schema=schema)


def _of_batch(rows: Iterator[Facts], taken_at: datetime) -> Iterator[Finding]:
    first = next(rows)
    account = Account.of(first["row"]) if first["row"] else None
    if account is not None and account.may_be_gone(taken_at):
        return
    stored = rows if account else chain([first], rows)
    yield from audit_batch(account, (Stored.of(row["stored"]) for row in stored))


def _facts(tenant: str, batch_id: str, finding: Finding) -> Facts:
    """A row of FINDINGS."""
    return {
        "tenant": tenant,
        "batch_id": batch_id,
        "level": finding.level,
        "page": finding.page,
        "rule": str(finding.rule),
        "detail": finding.detail,
        "sure": finding.sure,
    }
