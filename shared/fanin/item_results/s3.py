"""Objects in an S3 bucket, whose reads and lists are consistent (S3's user guide, since December 2020)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from fanin.aws import clients
from fanin.aws.calls import send
from fanin.errors import InvalidRequest, NotFound, StoreUnavailable
from fanin.item_results.objects import Listed
from fanin.item_results.service import Results
from fanin.pacing import each_in_threads

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

logger = logging.getLogger("fanin")
REQUESTS_A_REMOVAL = 20
"""Deletes of 1,000 objects each; an API call that removes a batch has time for them."""
TAKEN = "PreconditionFailed"
ABSENT = "NoSuchKey"
NO_BUCKET = "NoSuchBucket"
UNDECIDED = "ConditionalRequestConflict"
"""Another conditional write of the same name is under way; S3's user guide says to repeat this one."""


@dataclass(frozen=True, slots=True)
class BucketObjects:
    """The objects of the bucket *name*, with one request a call."""

    client: S3Client
    name: str

    def put(self, name: str, body: bytes) -> None:
        try:
            send(self.client.put_object, {"Bucket": self.name, "Key": name, "Body": body})
        except ClientError as error:
            # Acks of batches without results, in the same request, must not fail with this one.
            logger.exception("the bucket %s takes no results", self.name)
            why = f"the bucket {self.name} takes no results: {error.response['Error']['Code']}"
            raise InvalidRequest(f"{why}; repair it, or ack without results", field="result") from error

    def put_first(self, name: str, body: bytes) -> bool:
        wanted = {"Bucket": self.name, "Key": name, "Body": body, "IfNoneMatch": "*"}
        return self._sent(self.client.put_object, wanted, TAKEN) is not None

    def get(self, name: str) -> bytes | None:
        answer = self._sent(self.client.get_object, {"Bucket": self.name, "Key": name}, ABSENT)
        return None if answer is None else _body(answer)

    def names(self, folder: str) -> Iterator[Sequence[Listed]]:
        wanted = {"Bucket": self.name, "Prefix": folder}
        while True:
            answer = self._sent(self.client.list_objects_v2, wanted)
            yield [Listed(each["Key"], each["Size"]) for each in answer.get("Contents", [])]
            if not answer.get("IsTruncated"):
                return
            wanted["ContinuationToken"] = answer["NextContinuationToken"]

    def remove(self, folder: str) -> bool:
        try:
            for listed in islice(self.names(folder), REQUESTS_A_REMOVAL):
                if listed:
                    self._remove(listed)
            return not any(self.names(folder))
        except NotFound:
            return True  # the bucket is gone, and its objects with it

    def link(self, name: str, lifetime: timedelta) -> str:
        wanted = {"Bucket": self.name, "Key": name}
        return self.client.generate_presigned_url("get_object", wanted, int(lifetime.total_seconds()))

    def _remove(self, listed: Sequence[Listed]) -> None:
        objects = {"Objects": [{"Key": each.name} for each in listed], "Quiet": True}
        answer = self._sent(self.client.delete_objects, {"Bucket": self.name, "Delete": objects})
        if answer.get("Errors"):
            raise StoreUnavailable(f"S3 did not delete {len(answer['Errors'])} objects of {self.name}")

    def _sent(self, call: Any, wanted: dict[str, Any], otherwise: str = "") -> Any:
        """Return the answer of *call*; None for the error *otherwise*. Raises NotFound without the bucket."""
        try:
            return send(call, wanted)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == otherwise:
                return None
            if code == NO_BUCKET:
                raise NotFound(
                    f"there is no bucket {self.name}, so the results that were in it are lost; if its name is"
                    " wrong, correct the setting results_bucket"
                ) from error
            if code == UNDECIDED:
                raise StoreUnavailable(f"another request writes {wanted['Key']}; retry") from error
            raise


def results_in(bucket: str) -> Results:
    """Return the results in the bucket of this name, with the credentials of this process."""
    return Results(BucketObjects(clients.s3(), bucket), each_in_threads)


def _body(answer: Any) -> bytes:
    try:
        content: bytes = answer["Body"].read()
    except Exception as error:  # a stream that breaks off raises errors of urllib3 and of sockets
        raise StoreUnavailable(f"S3 sent a part of an object: {error}") from error
    return content
