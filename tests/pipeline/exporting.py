"""A store's rows as DynamoDB keeps them, and as its point-in-time export writes them to S3."""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fanin.aws.dynamodb.rows import number, text
from fanin.tracker import Batch
from fanin.tracker.dynamodb.items import batch_item, milliseconds, page_key
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page, digits
from pipeline.table_frames.tables import Tables

Item = dict[str, Any]
TAKEN_AT = datetime(2026, 11, 20, 8, 30, 0, 250_000, UTC)


def batch_row(batch: Batch) -> Item:
    """The row of a batch in any of its states."""
    times = {"closedAt": batch.closed_at, "completedAt": batch.completed_at, "endedAt": batch.ended_at}
    texts = {"completedBy": batch.completed_by, "endReason": batch.end_reason}
    return (
        batch_item(batch)
        | {name: number(milliseconds(at)) for name, at in times.items() if at}
        | {name: text(value) for name, value in texts.items() if value}
    )


def page_row(key: PageKey, page: Page) -> Item:
    """The row of a page."""
    row = page_key(key) | {"ttl": number(1_900_000_000)}
    row |= {f"d{digit}": number(value) for digit, value in digits(page.bits)}
    row |= {f"x{digit}": number(value) for digit, value in digits(page.failed)}
    row |= {"n": number(page.n)} if page.n else {}
    row |= {"size": number(page.size), "root": {"BOOL": page.root}} if page.size is not None else {}
    return row | ({"compacted": {"BOOL": True}} if page.compacted else {})


def rows_of(store: MemoryStore) -> list[Item]:
    """The rows of both tables; with some of those that belong to a batch and are neither."""
    receipts = [
        {"pk": text(str(key)), "sk": text(f"add#{receipt}"), "start": number(0), "count": number(1)}
        for key, receipt in store.receipts
    ]
    pages = [page_row(key, page) for key, page in store.stored_pages.items()]
    return [*(batch_row(batch) for batch in store.batches.values()), *receipts, *pages]


def write_tables(root: Path, rows: Iterable[Item], **more: Any) -> list[str]:
    """Write *rows* as the exports of both tables; the folders of the batches and of the pages."""
    known = list(rows)
    batches, pages = ([row for row in known if ("sk" in row) is of_batch] for of_batch in (True, False))
    return [write_export(root, batches, table="Batches", **more), write_export(root, pages, **more)]


def put_rows(tables: Tables, rows: Iterable[Item]) -> None:
    """Store *rows* in the live tables."""
    for row in rows:
        tables.client.put_item(TableName=tables.batches if "sk" in row else tables.pages, Item=row)


def write_export(
    root: Path,
    rows: Iterable[Item],
    *,
    table: str = "Pages",
    files: int = 2,
    taken_at: datetime = TAKEN_AT,
    **more: Any,
) -> str:
    """Write *rows* as an export of *table* with so many data files, one more that is empty; its folder.

    *more*: fields of the summary in place of the usual ones.
    """
    folder = root / f"AWSDynamoDB/01693685827463-{table.lower()}"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    kept = list(rows)
    parts = [*(kept[part::files] for part in range(files)), []]
    named = [_data_file(folder, number, part) for number, part in enumerate(parts)]
    (folder / "_started").touch()
    (folder / "manifest-files.json").write_text("".join(json.dumps(file) + "\n" for file in named))
    (folder / "manifest-summary.json").write_text(json.dumps(_summary(table, len(kept), taken_at) | more))
    return str(folder)


def _data_file(folder: Path, number: int, rows: Sequence[Item]) -> dict[str, Any]:
    name = hashlib.sha256(str(number).encode()).hexdigest()[:26]
    packed = gzip.compress(b"".join(json.dumps({"Item": _json(row)}).encode() + b"\n" for row in rows))
    (folder / "data" / f"{name}.json.gz").write_bytes(packed)
    checksum = hashlib.md5(packed, usedforsecurity=False)
    return {
        "itemCount": len(rows),
        "md5Checksum": b64encode(checksum.digest()).decode(),
        "etag": f"{checksum.hexdigest()}-1",
        "dataFileS3Key": f"exports/AWSDynamoDB/{folder.name}/data/{name}.json.gz",
    }


def _json(row: Item) -> Item:
    """A row in DynamoDB's JSON, in which binary values are text."""
    return {
        name: {"B": b64encode(value["B"]).decode()} if "B" in value else value for name, value in row.items()
    }


def _summary(table: str, count: int, taken_at: datetime) -> dict[str, Any]:
    moment = taken_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    arn = f"arn:aws:dynamodb:us-east-1:123456789012:table/{table}"
    return {
        "version": "2020-06-30",
        "exportArn": f"{arn}/export/01693685827463-{table.lower()}",
        "startTime": moment,
        "endTime": moment,
        "tableArn": arn,
        "tableId": "12345a12-abcd-123a-ab12-1234abc12345",
        "exportTime": moment,
        "s3Bucket": "exports",
        "s3Prefix": "exports",
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"exports/AWSDynamoDB/01693685827463-{table.lower()}/manifest-files.json",
        "billedSizeBytes": 0,
        "itemCount": count,
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
    }
