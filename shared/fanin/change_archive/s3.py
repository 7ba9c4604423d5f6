"""Stores files in an S3 bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fanin.aws.calls import send

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True)
class Bucket:
    """Stores files as objects of the bucket *name*."""

    client: S3Client
    name: str

    def put(self, name: str, body: bytes) -> None:
        """Store *body* under *name*. Raises StoreUnavailable if S3 is throttled or cannot be reached."""
        send(self.client.put_object, {"Bucket": self.name, "Key": name, "Body": body})
