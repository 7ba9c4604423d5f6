"""A role for each job of the pipeline, with the grants that the job names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from fanin_cdk.nag import accept_wildcards
from fanin_cdk.tracker import FaninTracker
from infra.config import StackConfig
from infra.pipeline_jobs import PipelineJob
from infra.spark_jobs.analytics_ground import Ground

READ_OBJECTS = ("s3:GetObject",)
# Spark writes beside its target, moves the files, and removes those of a failed attempt.
CHANGE_OBJECTS = ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")
LOOK_INTO_BUCKET = ("s3:ListBucket", "s3:GetBucketLocation")
OPENING = ("POST /v1/batches", "POST /v1/batches/{batchId}/items", "POST /v1/batches/{batchId}/close")
KEYS = "The keys of a bucket's objects are not known before"


class Roles:
    """Makes the roles of the jobs, which *service* assumes."""

    def __init__(
        self, config: StackConfig, ground: Ground, tracker: FaninTracker, service: iam.ServicePrincipal
    ) -> None:
        self.config = config
        self.ground = ground
        self.tracker = tracker
        self.service = service

    def add(self, scope: Construct, job: PipelineJob) -> iam.Role:
        """Return a new role for *job*."""
        role = iam.Role(scope, "Role", assumed_by=self.service)
        self._let_read_code(role)
        _allow_bucket(role, self.ground.bucket, CHANGE_OBJECTS)
        for bucket in self._sources(role, job):
            _allow_bucket(role, bucket, READ_OBJECTS)
        _allow(role, job.batches, [self.tracker.tables.batches.table_arn])
        _allow(role, job.pages, [self.tracker.tables.pages.table_arn])
        _allow(role, ("sqs:SendMessage",), self.config.analytics_queue_arns if job.sends else ())
        # An API that requires a JWT knows no grants.
        if job.opens and not self.config.jwt_issuer:
            self.tracker.grant_call_api(role, *OPENING)
        return role

    def _let_read_code(self, role: iam.Role) -> None:
        for asset in (self.ground.script, self.ground.code):
            _allow(role, READ_OBJECTS, [asset.bucket.arn_for_objects(asset.s3_object_key)])

    def _sources(self, role: iam.Role, job: PipelineJob) -> Iterable[s3.IBucket]:
        for arn in self.config.analytics_bucket_arns:
            yield s3.Bucket.from_bucket_arn(role, arn.rpartition(":")[2], arn)
        if job.reads_archive and self.tracker.archive:
            yield self.tracker.archive.bucket


def _allow(role: iam.Role, actions: Sequence[str], resources: Sequence[str]) -> None:
    """Grant *actions* on *resources*; nothing if either is empty."""
    if actions and resources:
        role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=list(resources)))


def _allow_bucket(role: iam.Role, bucket: s3.IBucket, actions: Sequence[str]) -> None:
    objects = bucket.arn_for_objects("*")
    _allow(role, LOOK_INTO_BUCKET, [bucket.bucket_arn])
    _allow(role, actions, [objects])
    accept_wildcards(role, KEYS, objects)
