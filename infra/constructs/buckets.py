"""Buckets that nobody outside of the account sees."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

# After that an upload in parts is taken for abandoned, and what has come of it is removed.
ABANDONED = Duration.days(1)


def private_bucket(scope: Construct, id_: str, rules: Sequence[s3.LifecycleRule]) -> s3.Bucket:
    """A bucket, encrypted and TLS only; it is left where it is when the stack goes, with what it holds."""
    return s3.Bucket(
        scope,
        id_,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        removal_policy=RemovalPolicy.RETAIN,
        lifecycle_rules=list(rules),
    )
