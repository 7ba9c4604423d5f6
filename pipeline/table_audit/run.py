"""Audits frames of batches and pages by the rules of `rules.py`; rechecks doubtful findings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial, reduce
from itertools import chain, groupby, islice
from operator import and_

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.tracker import BatchKey, TrackerStore
from pipeline.shared_by_jobs import schemas
from pipeline.shared_by_jobs.output import refuse_committed, refuse_foreign
from pipeline.shared_by_jobs.progress import Report, watching
from pipeline.shared_by_jobs.stages import cached
from pipeline.table_audit.recheck import Located, recheck_findings
from pipeline.table_audit.rules import Account, Finding, Rule, Stored, audit_batch
from pipeline.table_frames.frames import TableSnapshot
from pipeline.table_frames.rows import Facts, may_be_gone

BATCH_LEVEL = 100
"""Sorts a batch's row before its pages, whose levels have at most two digits."""
KEY = ("tenant", "batch_id", "level", "page")
FINDINGS_A_BATCH = 1000
RECHECKED_MAX = 1000
"""Findings that are rechecked; the others stay doubtful."""
SHOWN = 20
"""Findings that are reported one by one."""


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """The path for the findings, and the live tables for rechecks; either may be None."""

    saved: str | None = None
    store: TrackerStore | None = None


def audit(snapshot: TableSnapshot, request: AuditRequest, report: Report) -> int:
    """Audit *snapshot* and report what does not agree; return the number of sure findings."""
    started = time.monotonic()
    if request.saved:
        refuse_committed(request.saved)
        refuse_foreign(snapshot.rows.sparkSession, request.saved, schemas.FINDINGS.names)
    with cached(snapshot.rows) as (kept,):
        snapshot = TableSnapshot(snapshot.taken_at, kept)
        audited = findings(snapshot.pages, snapshot.batches, snapshot.taken_at)
        all_found = audited.unionByName(malformed(snapshot.malformed))
        with cached(all_found) as (found,), watching(found.sparkSession, report):
            rechecked = _recheck(found, request.store, report)
            facts = _counted(snapshot) | {"gone": sum(there is False for there in rechecked.values())}
            return _report(_after(found, rechecked), facts, request.saved, started, report)


def findings(pages: DataFrame, batches: DataFrame, taken_at: datetime) -> DataFrame:
    """Return FINDINGS of all batches; one task audits each batch in one pass.

    Batches so old that their pages may have been deleted at *taken_at* are skipped.
    """
    of_pages = pages.select("tenant", "batch_id", "level", "page", F.struct("*").alias("stored"))
    sort_key = (F.lit(BATCH_LEVEL).alias("level"), F.lit(0).alias("page"))
    of_batches = batches.drop("salt").select("tenant", "batch_id", *sort_key, F.struct("*").alias("row"))
    rows = of_batches.unionByName(of_pages, allowMissingColumns=True)
    by_batch = rows.repartition("tenant", "batch_id")
    in_order = by_batch.sortWithinPartitions("tenant", "batch_id", F.desc("level"), "page")
    return in_order.mapInArrow(partial(_audit, taken_at=taken_at), schemas.FINDINGS)


def after_recheck(found: DataFrame, rechecked: DataFrame) -> DataFrame:
    """Return FINDINGS after a recheck: without those that are gone; those still there are sure."""
    same = [found[name].eqNullSafe(rechecked[name]) for name in (*KEY, "rule")]
    joined = found.join(F.broadcast(rechecked), on=reduce(and_, same), how="left")
    sure = F.coalesce("there", "sure").alias("sure")
    kept = joined.where("there IS NULL OR there")
    return kept.select(*(found[name] for name in (*KEY, "rule", "detail")), sure)


def malformed(rows: DataFrame) -> DataFrame:
    """Return FINDINGS for rows that could not be read, (location, problem)."""
    detail = F.concat_ws(": ", "location", "problem").alias("detail")
    rule = F.lit(str(Rule.MALFORMED)).alias("rule")
    nothing = [F.lit(None).cast(schemas.FINDINGS[name].dataType).alias(name) for name in KEY]
    return rows.select(*nothing, rule, detail, F.lit(True).alias("sure"))


def _recheck(found: DataFrame, store: TrackerStore | None, report: Report) -> dict[Located, bool | None]:
    """Return for each doubtful finding whether it is still there in the live tables."""
    if store is None:
        return {}
    doubtful = [_located(row) for row in found.where("NOT sure").limit(RECHECKED_MAX).collect()]
    if doubtful:
        report("looking", {"findings": len(doubtful)})
    return recheck_findings(store, doubtful)


def _located(row: Row) -> Located:
    finding = Finding(Rule(row.rule), row.detail, row.level, row.page, row.sure)
    return Located(BatchKey(row.tenant, row.batch_id), finding)


def _after(found: DataFrame, rechecked: dict[Located, bool | None]) -> DataFrame:
    if not rechecked:
        return found
    rows = [
        (at.key.tenant, at.key.batch_id, at.finding.level, at.finding.page, str(at.finding.rule), there)
        for at, there in rechecked.items()
    ]
    return after_recheck(found, found.sparkSession.createDataFrame(rows, schemas.RECHECKED))


def _counted(snapshot: TableSnapshot) -> Facts:
    (row,) = snapshot.rows.selectExpr("count(batch) AS batches", "count(page) AS pages").collect()
    return {"batches": row.batches, "pages": row.pages, "takenAt": snapshot.taken_at.isoformat()}


def _report(found: DataFrame, facts: Facts, saved: str | None, started: float, report: Report) -> int:
    """Save the findings if *saved*, report some of them and the counts; return how many are sure."""
    if saved:
        found.coalesce(1).write.mode("overwrite").parquet(saved)
    counted = {row.sure: row["count"] for row in found.groupBy("sure").count().collect()}
    wrong, doubtful = int(counted.get(True, 0)), int(counted.get(False, 0))
    if counted:
        for row in found.orderBy(F.desc("sure"), *KEY, "rule").limit(SHOWN).collect():
            report("finding", _described(row))
    if wrong + doubtful > SHOWN:
        report("more", {"findings": wrong + doubtful - SHOWN})
    seconds = round(time.monotonic() - started, 3)
    report("audited", {**facts, "wrong": wrong, "doubtful": doubtful, "seconds": seconds})
    return wrong


def _described(row: Row) -> Facts:
    page = "" if row.page is None else f" level {row.level} page {row.page}"
    at = f"batch {row.batch_id}{page}" if row.batch_id else "row"
    return {
        "certainty": "wrong" if row.sure else "in doubt",
        "rule": row.rule,
        "place": at,
        "detail": row.detail,
    }


def _audit(batches: Iterator[pa.RecordBatch], taken_at: datetime) -> Iterator[pa.RecordBatch]:
    rows = (row for batch in batches for row in batch.to_pylist())
    schema = to_arrow_schema(schemas.FINDINGS)
    for (tenant, batch_id), of_batch in groupby(rows, key=lambda row: (row["tenant"], row["batch_id"])):
        found = (_facts(tenant, batch_id, finding) for finding in _of_batch(of_batch, taken_at))
        while some := list(islice(found, FINDINGS_A_BATCH)):
            yield pa.RecordBatch.from_pylist(some, schema=schema)


def _of_batch(rows: Iterator[Facts], taken_at: datetime) -> Iterator[Finding]:
    first = next(rows)
    if first["row"] and may_be_gone(first["row"], taken_at):
        return
    account = Account.of(first["row"]) if first["row"] else None
    stored = rows if account else chain([first], rows)
    yield from audit_batch(account, (Stored.of(row["stored"]) for row in stored))


def _facts(tenant: str, batch_id: str, finding: Finding) -> Facts:
    """Return *finding* as a row of FINDINGS."""
    return {
        "tenant": tenant,
        "batch_id": batch_id,
        "level": finding.level,
        "page": finding.page,
        "rule": str(finding.rule),
        "detail": finding.detail,
        "sure": finding.sure,
    }
