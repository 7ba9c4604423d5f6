"""What each function may do with the objects of the bucket of results: its actions, by what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from fanin_cdk.grants.handlers import FREEZE, KEEP, READ, REMOVE
from fanin_cdk.nag import accept_wildcards

FOLDER = "results"
PARTS = f"{FOLDER}/*/parts/*"
ALL = f"{FOLDER}/*"
# Without the right to list, S3 answers a read of an object that is not there with 403 in place of 404.
OBJECTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    KEEP: (("s3:PutObject", PARTS),),
    FREEZE: (("s3:GetObject", f"{FOLDER}/*/manifest"), ("s3:PutObject", f"{FOLDER}/*/manifest")),
    READ: (("s3:GetObject", ALL), ("s3:PutObject", ALL)),
    REMOVE: (("s3:DeleteObject", ALL),),
}
LISTING = {FREEZE, READ, REMOVE}
"""What needs the names of the objects."""


def let(grantee: iam.IGrantable, bucket: s3.IBucket, uses: Sequence[str]) -> None:
    """Let *grantee* use *bucket* for each of *uses*, and for nothing else."""
    arns = []
    for use in uses:
        for action, names in OBJECTS[use]:
            arns.append(bucket.arn_for_objects(names))
            _add(grantee, iam.PolicyStatement(actions=[action], resources=arns[-1:]))
    if LISTING & set(uses):
        within = {"StringLike": {"s3:prefix": [ALL]}}
        listing = iam.PolicyStatement(
            actions=["s3:ListBucket"], resources=[bucket.bucket_arn], conditions=within
        )
        _add(grantee, listing)
    principal = grantee.grant_principal
    if isinstance(principal, iam.Role):
        accept_wildcards(principal, "Of an object's name only the folder is known before", *arns)


def _add(grantee: iam.IGrantable, statement: iam.PolicyStatement) -> None:
    grantee.grant_principal.add_to_principal_policy(statement)
