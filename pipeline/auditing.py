"""The audit over frames: each batch in one pass by the rules of `pipeline.audit`, a second look in doubt."""

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
from pipeline import manifest, schemas
from pipeline.audit import Account, Finding, Rule, Stored, audit_batch
from pipeline.overwriting import refuse_foreign
from pipeline.pages import Told
from pipeline.progress import Report, watching
from pipeline.rows import Facts
from pipeline.second_look import Placed, look_again

BATCH_LEVEL = 100
"""Sorts a batch's row before its pages, whose levels have two figures at most."""
PLACE = ("tenant", "batch_id", "level", "page")
FINDINGS_A_BATCH = 1000
LOOKED_AT = 1000
"""Findings that are looked at again; what is more stays in doubt."""
SHOWN = 20
"""Findings that are told one by one."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Where the findings are saved, if at all, and the live tables to look at in doubt, if there are any."""

    saved: str | None = None
    store: TrackerStore | None = None


def audit(told: Told, wish: Wish, report: Report) -> int:
    """Audit all that was read, and tell what does not agree; how much of it is wrong for sure."""
    started = time.monotonic()
    if wish.saved:
        manifest.refuse_committed(told.rows.sparkSession, wish.saved)
        refuse_foreign(told.rows.sparkSession, wish.saved, schemas.FINDINGS.names)
    kept = told.rows.cache()
    told = Told(told.taken_at, kept)
    found = findings(told.pages, told.batches, told.taken_at).unionByName(malformed(told.malformed)).cache()
    try:
        with watching(found.sparkSession.sparkContext, report):
            looked = _second_look(found, wish.store, report)
            facts = _counted(told) | {"gone": sum(there is False for there in looked.values())}
            return _report(_after(found, looked), facts, wish.saved, started, report)
    finally:
        found.unpersist()
        kept.unpersist()


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


def _second_look(found: DataFrame, store: TrackerStore | None, report: Report) -> dict[Placed, bool | None]:
    """Of each finding in doubt whether it is there in the live tables."""
    if store is None:
        return {}
    doubtful = [_placed(row) for row in found.where("NOT sure").limit(LOOKED_AT).collect()]
    if doubtful:
        report("looking", {"findings": len(doubtful)})
    return look_again(store, doubtful)


def _placed(row: Row) -> Placed:
    finding = Finding(Rule(row.rule), row.detail, row.level, row.page, row.sure)
    return Placed(BatchKey(row.tenant, row.batch_id), finding)


def _after(found: DataFrame, looked: dict[Placed, bool | None]) -> DataFrame:
    if not looked:
        return found
    verdicts = [
        (at.key.tenant, at.key.batch_id, at.finding.level, at.finding.page, str(at.finding.rule), there)
        for at, there in looked.items()
    ]
    return looked_at(found, found.sparkSession.createDataFrame(verdicts, schemas.VERDICTS))


def _counted(told: Told) -> Facts:
    (row,) = told.rows.selectExpr("count(batch) AS batches", "count(page) AS pages").collect()
    return {"batches": row.batches, "pages": row.pages, "takenAt": told.taken_at.isoformat()}


def _report(found: DataFrame, facts: Facts, saved: str | None, started: float, report: Report) -> int:
    """Tell some findings and the counts of all, and save them if wished; how many are sure."""
    if saved:
        found.coalesce(1).write.mode("overwrite").parquet(saved)
    counted = {row.sure: row["count"] for row in found.groupBy("sure").count().collect()}
    wrong, doubtful = counted.get(True, 0), counted.get(False, 0)
    if counted:
        for row in found.orderBy(F.desc("sure"), *PLACE, "rule").limit(SHOWN).collect():
            report("finding", _told(row))
    if wrong + doubtful > SHOWN:
        report("more", {"findings": wrong + doubtful - SHOWN})
    seconds = round(time.monotonic() - started, 3)
    report("audited", {**facts, "wrong": wrong, "doubtful": doubtful, "seconds": seconds})
    return wrong


def _told(row: Row) -> Facts:
    place = "" if row.page is None else f" level {row.level} page {row.page}"
    at = f"batch {row.batch_id}{place}" if row.batch_id else "row"
    return {
        "certainty": "wrong" if row.sure else "in doubt",
        "rule": row.rule,
        "place": at,
        "detail": row.detail,
    }


def _audit(told: Iterator[pa.RecordBatch], taken_at: datetime) -> Iterator[pa.RecordBatch]:
    rows = (row for batch in told for row in batch.to_pylist())
    schema = to_arrow_schema(schemas.FINDINGS)
    for (tenant, batch_id), of_batch in groupby(rows, key=lambda row: (row["tenant"], row["batch_id"])):
        found = (_facts(tenant, batch_id, finding) for finding in _of_batch(of_batch, taken_at))
        while some := list(islice(found, FINDINGS_A_BATCH)):
            yield pa.RecordBatch.from_pylist(some, schema=schema)


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
