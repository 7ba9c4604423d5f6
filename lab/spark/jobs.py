"""The jobs in a session of Spark, on one core, over answers of DynamoDB that are made before."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.page import PAGE_BITS_MAX
from lab.spark.engines import Longs, bits_of
from lab.spark.inputs import TENANT, Logs
from lab.spark.tables import AnsweredTables
from pipeline.bulk_ack import frames
from pipeline.bulk_ack import run as bulk_acking
from pipeline.bulk_ack.fold import Folder
from pipeline.bulk_ack.local import LocalEngine
from pipeline.bulk_ack.logs import read
from pipeline.bulk_ack.on_spark import SparkEngine
from pipeline.bulk_ack.rows import PAGE_MASKS, Collected, to_page_masks, unpacked
from pipeline.fan_out.on_spark import SparkEngine as FanOutEngine
from pipeline.fan_out.publish import FanOutRequest, fan_out
from pipeline.shared_by_jobs.session import spark_session


@contextmanager
def session(cores: int) -> Iterator[SparkSession]:
    """Yield a session of *cores* on this machine."""
    with spark_session("benchmark", cores=str(cores)) as spark:
        yield spark


def fold(spark: SparkSession, logs: Logs) -> None:
    """Run bulk_ack with --dry-run: list, read, check and fold the logs, and count what is to be written."""
    request = _request(logs)
    bulk_acking.preview(SparkEngine(spark), _listed(spark, logs), request, _unreported)


def fold_here(logs: Logs) -> None:
    """Run bulk_ack with --dry-run in this process."""
    engine = LocalEngine(cores=1)
    bulk_acking.preview(engine, engine.list_logs([str(logs.folder)]), _request(logs), _unreported)


def fold_alone(logs: Logs) -> Callable[[], None]:
    """Return the work of folding logs that are read before, without Spark, files and requests."""
    batches = [logs.batch, *(batch for batch, _ in logs.others)]
    registry = {batch.key: batch for batch in batches}
    portions = [each for path in sorted(logs.folder.iterdir()) for each in read(str(path))]

    def work() -> None:
        folder = Folder(registry, TENANT)
        assert not [row for portion in portions for row in folder.take(portion, "")]

    return work


def longs_alone(logs: Logs) -> Longs:
    """Return the bitmaps of all batches that the fold alone makes."""
    batches = [logs.batch, *(batch for batch, _ in logs.others)]
    folder, collected = Folder({batch.key: batch for batch in batches}, TENANT), Collected()
    for path in sorted(logs.folder.iterdir()):
        for portion in read(str(path)):
            for rejected in folder.take(portion, ""):
                collected.take(rejected)
    for block in folder.blocks():
        collected.take(block)
    return _placed(logs, pa.Table.from_batches(collected.page_masks(), PAGE_MASKS))


def ack_here(logs: Logs) -> None:
    """Run bulk_ack in this process."""
    engine = LocalEngine(cores=1)
    bulk_acking.bulk_ack(engine, engine.list_logs([str(logs.folder)]), _request(logs), _unreported)


def longs_here(logs: Logs) -> Longs:
    """Return the bitmap that this process folds, in the form of the other engines."""
    engine = LocalEngine(cores=1)
    with engine.fold(engine.list_logs([str(logs.folder)]), _request(logs), _unreported) as folded:
        return _placed(logs, folded.page_masks)


def ack(spark: SparkSession, logs: Logs) -> None:
    """Run bulk_ack, with the tracker's code for each page."""
    bulk_acking.bulk_ack(SparkEngine(spark), _listed(spark, logs), _request(logs), _unreported)


def longs(spark: SparkSession, logs: Logs) -> Longs:
    """Return the folded bitmap, in the form of the other engines."""
    folded = frames.fold(spark, _listed(spark, logs), _request(logs).tables, TENANT)
    blocks = frames.blocks(folded).toArrow().to_batches()
    return _placed(logs, pa.Table.from_batches(to_page_masks(unpacked(blocks))))


def _placed(logs: Logs, found: pa.Table) -> Longs:
    pages = bits_of(logs) // PAGE_BITS_MAX
    numbers = {head.partition(":")[0]: number for number, head in enumerate(logs.heads)}
    first = np.array([numbers[batch_id] for batch_id in found["batch_id"].to_pylist()]) * pages
    placed = np.zeros((pages * len(numbers), PAGE_BITS_MAX // 8), np.uint8)
    bits = np.frombuffer(b"".join(found["bits"].to_pylist()), np.uint8)
    placed[first + found["page"].to_numpy()] = bits.reshape(-1, PAGE_BITS_MAX // 8)
    return placed.ravel().view(np.uint64)


def number(spark: SparkSession, dataset: Path, out: Path) -> None:
    """Run fan_out to files, with its manifest."""
    manifest = out.with_suffix(".manifest")
    for folder in (manifest, out):
        shutil.rmtree(folder, ignore_errors=True)
    api = Fanin(DirectTransport(Tracker(MemoryStore()), TENANT))
    request = FanOutRequest(str(dataset), str(manifest), None, "benchmark", str(out))
    fan_out(FanOutEngine(spark), api, request, _unreported, "benchmark")


def digest(found: Longs) -> str:
    """Return what equal bitmaps share."""
    return hashlib.sha256(found.tobytes()).hexdigest()


def _listed(spark: SparkSession, logs: Logs) -> Any:
    return SparkEngine(spark).list_logs([str(logs.folder)])


def _request(logs: Logs) -> bulk_acking.BulkAckRequest:
    tables = AnsweredTables("batches", "pages", "eu-west-1", batch=logs.batch)
    return bulk_acking.BulkAckRequest(tables, TENANT, str(logs.folder.parent / "rejects"), "benchmark")


def _unreported(event: str, facts: dict[str, Any]) -> None:
    """Report nothing."""
