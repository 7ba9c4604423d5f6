"""Private buckets, and that of the results of items.

Results are removed with their batches: by a delete, or by the sweep once the batch has expired. What a zombie
wrote after that is removed by the bucket's own rule, once no batch can be kept so long.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from fanin_cdk.grants.results import FOLDER
from fanin_cdk.nag import accept, accept_wildcards
from fanin_cdk.settings.config import Config

LONGEST = Duration.days(431)
"""A batch is kept for at most 430 days: ``fanin.tracker.rules.model.Batch.row_expires_at``."""
# A multipart upload is aborted, and its parts are removed, after this time.
ABANDONED = Duration.days(1)


def private_bucket(scope: Construct, id_: str, rules: Sequence[s3.LifecycleRule]) -> s3.Bucket:
    """Return a bucket, encrypted and TLS only, that is retained when the stack is deleted."""
    return s3.Bucket(
        scope,
        id_,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        removal_policy=RemovalPolicy.RETAIN,
        lifecycle_rules=list(rules),
    )


def log_to(consumer: lambda_.Function, log: str) -> None:
    """Let *consumer* write acks to the prefix *log* of S3."""
    bucket, _, prefix = log.removeprefix("s3://").partition("/")
    named = Stack.of(consumer).format_arn(
        service="s3", region="", account="", resource=bucket, resource_name=f"{prefix.rstrip('/')}/*"
    )
    consumer.add_environment("FANIN_ACKS_LOG", log)
    consumer.add_to_role_policy(iam.PolicyStatement(actions=["s3:PutObject"], resources=[named]))
    if consumer.role:
        accept_wildcards(consumer.role, "Of an object's name only the folder is known before", named)


def results_bucket(scope: Construct, config: Config) -> s3.IBucket:
    """Return the bucket that ``results_bucket`` names, else a new one that is retained with its content."""
    if config.results_bucket:
        return s3.Bucket.from_bucket_name(scope, "Results", config.results_bucket)
    rule = s3.LifecycleRule(
        prefix=f"{FOLDER}/", expiration=LONGEST, abort_incomplete_multipart_upload_after=ABANDONED
    )
    bucket = private_bucket(scope, "Results", [rule])
    accept(bucket, "The functions of the stack write and read, by links that expire", "AwsSolutions-S1")
    return bucket
