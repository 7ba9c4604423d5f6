"""Objects as rows: those under a prefix, or those that an S3 inventory lists.

A row is ``{"bucket": ..., "key": ..., "size": ..., "etag": ...}``, and of versions has ``versionId``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from fanin.aws.calls import send
from fanin.errors import InvalidRequest
from fanin.publishing.row_sources.formats import unpacked
from fanin.publishing.row_sources.lines import csv_values, sendable
from fanin.publishing.row_sources.objects import StoredObject
from fanin.publishing.row_sources.parquet import parquet_records
from fanin.publishing.row_sources.source import NumberedRow

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MANIFEST = "manifest.json"
"""The name of the list of an inventory's files."""
FIELDS = {"bucket": "bucket", "key": "key", "size": "size", "etag": "etag", "versionid": "versionId"}
"""What a row has of the fields of an inventory, whose CSV and Parquet spell them differently."""


@dataclass(frozen=True, slots=True)
class PrefixSource:
    """The objects of *bucket* whose keys begin with *prefix*, in their order."""

    client: S3Client
    bucket: str
    prefix: str
    is_kept: bool = True

    @property
    def name(self) -> str:
        """Return its URI."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def title(self) -> str:
        """Return the last folder, or the bucket."""
        return self.prefix.rstrip("/").rpartition("/")[2] or self.bucket

    def rows(self) -> Iterator[NumberedRow]:
        """Yield a row for each object; none for the empty ones that consoles make for folders."""
        wanted, number = {"Bucket": self.bucket, "Prefix": self.prefix}, 0
        while True:
            answer = send(self.client.list_objects_v2, wanted)
            for each in answer.get("Contents", []):
                if each["Size"] or not each["Key"].endswith("/"):
                    number += 1
                    yield number, _row(self.bucket, each)
            if not answer.get("IsTruncated"):
                return
            wanted["ContinuationToken"] = answer["NextContinuationToken"]

    def header(self) -> list[str]:
        """Return nothing."""
        return []


@dataclass(frozen=True, slots=True)
class InventorySource:
    """The objects that an inventory lists; *stored* is its manifest."""

    stored: StoredObject
    is_kept: bool = True

    @property
    def name(self) -> str:
        """Return the URI of the manifest."""
        return self.stored.name

    @property
    def title(self) -> str:
        """Return the name of the bucket that is listed."""
        return str(self._manifest()["sourceBucket"])

    def rows(self) -> Iterator[NumberedRow]:
        """Yield a row for each object, without those that are deleted."""
        records = (record for file in self._files() for record in file)
        kept = (record for record in records if str(record.get("isdeletemarker")).lower() != "true")
        yield from enumerate(map(_listed, kept), 1)

    def header(self) -> list[str]:
        """Return nothing."""
        return []

    def _files(self) -> Iterator[Iterator[dict[str, Any]]]:
        manifest = self._manifest()
        reader = {"CSV": _csv_records, "Parquet": _parquet_records}.get(manifest["fileFormat"])
        if reader is None:
            raise InvalidRequest(f"{self.name}: its files are {manifest['fileFormat']}, not CSV or Parquet")
        bucket = manifest["destinationBucket"].rpartition(":")[2]
        for file in manifest["files"]:
            yield reader(StoredObject.at(self.stored.client, bucket, file["key"]), manifest["fileSchema"])

    def _manifest(self) -> dict[str, Any]:
        with self.stored.open() as file:
            try:
                manifest: dict[str, Any] = json.loads(file.read())
                _ = [manifest[name] for name in ("sourceBucket", "destinationBucket", "fileFormat", "files")]
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidRequest(f"{self.name} is no manifest of an S3 inventory: {error!r}") from error
            return manifest


def _csv_records(stored: StoredObject, schema: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of CSV, in which keys are encoded as in URLs."""
    names = _folded(schema.split(","))
    with stored.open() as file:
        for values in csv_values(stored.name, unpacked(stored.name, file)):
            record = dict(zip(names, values, strict=False))
            yield {**record, "key": unquote_plus(record["key"])}


def _parquet_records(stored: StoredObject, _: str) -> Iterator[dict[str, Any]]:
    with stored.open() as file:
        for record in parquet_records(stored.name, file):
            yield dict(zip(_folded(record), record.values(), strict=True))


def _folded(names: Iterable[str]) -> list[str]:
    return [name.strip().replace("_", "").lower() for name in names]


def _listed(record: dict[str, Any]) -> str:
    """Return the row of a record of an inventory."""
    present = {name: value for name, value in record.items() if value not in (None, "")}
    row = {FIELDS[name]: value for name, value in present.items() if name in FIELDS}
    if "size" in row:
        row["size"] = int(row["size"])
    return sendable(json.dumps(row, ensure_ascii=False))


def _row(bucket: str, each: Any) -> str:
    row = {"bucket": bucket, "key": each["Key"], "size": each["Size"], "etag": each["ETag"].strip('"')}
    return sendable(json.dumps(row, ensure_ascii=False))
