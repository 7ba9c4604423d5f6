"""Finds out whether the object of an order exists, before its batch is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from fanin.aws.calls import send
from fanin.errors import InvalidRequest
from fanin.s3_publications.model import Order

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ABSENT, REFUSED = "NoSuchBucket", "AccessDenied"


def check_exists(client: S3Client, order: Order) -> None:
    """Raise InvalidRequest unless the object of *order* exists. Raises StoreUnavailable, and ClientError.

    The first key that begins with a key is that key. Unlike a HEAD, a list needs no right to read the object.
    """
    bucket, key = order.object
    try:
        found = send(client.list_objects_v2, {"Bucket": bucket, "Prefix": key, "MaxKeys": 1})
    except ClientError as error:
        raise _refusal(order, error) from error
    if not any(each["Key"] == key for each in found.get("Contents", ())):
        raise _missing(order)


def _missing(order: Order) -> InvalidRequest:
    text = f"there is no object {order.source}; check the bucket and the key"
    return InvalidRequest(text, field="source")


def _refusal(order: Order, error: ClientError) -> Exception:
    code, bucket = error.response["Error"]["Code"], order.object[0]
    if code == ABSENT:
        return _missing(order)
    if code != REFUSED:
        return error
    return InvalidRequest(
        f"S3 refuses to look for an object in s3://{bucket}: the bucket is another account's, or its policy"
        " does not let the role of write_batches list it (s3:ListBucket)",
        field="source",
    )
