"""Private buckets."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

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
