"""The SQS and the S3 of an API: of the AWS credentials, or of the emulator beside the API of a local run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanin.aws.messaging.queue_urls import queue_url
from fanin.cli.arguments.where import Site
from fanin.cli.terminal.exits import ExitCode, code_of
from fanin.errors import InvalidRequest, NotFound
from fanin.local import run_directories
from fanin.local.emulator_process.connection import Connection

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient


def sqs_of(site: Site) -> SQSClient:
    """Return the client of SQS that belongs to *site*: messages of a local run stay on this machine."""
    from fanin.aws import clients  # noqa: PLC0415  # other verbs need no AWS

    run = run_directories.run_at(site.url)
    client: SQSClient = clients.sqs() if run is None else Connection(run.endpoint).client("sqs")
    return client


def s3_of(site: Site) -> S3Client:
    """Return the client of S3 that belongs to *site*: a local run has buckets of its own."""
    from fanin.aws import clients  # noqa: PLC0415  # see sqs_of

    run = run_directories.run_at(site.url)
    client: S3Client = clients.s3() if run is None else Connection(run.endpoint).client("s3")
    return client


def target_url(sqs: SQSClient, queue: str) -> str:
    """Return the URL of *queue*, to which messages can be sent: it is asked before a batch is opened.

    Raises NotFound if there is no such queue, and InvalidRequest for a FIFO queue, which needs a group, and
    for what SQS refuses as a queue.
    """
    from botocore.exceptions import ClientError  # noqa: PLC0415  # see sqs_of

    url = queue_url(sqs, queue)
    if url.endswith(".fifo"):
        raise InvalidRequest(f"{url} is a FIFO queue, and the messages have no group: give a standard queue")
    try:
        sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    except sqs.exceptions.QueueDoesNotExist:
        raise NotFound(f"there is no queue {url}; check the URL") from None
    except ClientError as error:
        if code_of(error) is not ExitCode.REFUSED:
            raise
        why = error.response.get("Error", {}).get("Message", "")
        raise InvalidRequest(f"{queue} cannot be used, SQS says: {why.rstrip('.')}; check the URL") from None
    return url
