"""A table that is fanned out every night: Spark publishes it, workers take chunks, and an event ends it."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin_cdk import FaninTracker
from fanin_cdk.nag import accept_wildcards

HERE = Path(__file__).parent
PIPELINE = HERE.parents[1] / "build" / "fanin-pipeline.zip"
"""The Spark jobs: `make pipeline-zip` in a clone of fanin's repository writes it."""
OPENING = ("POST /v1/batches", "POST /v1/batches/{batchId}/items", "POST /v1/batches/{batchId}/close")
CHANGE_OBJECTS = ("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")


class Nightly(cdk.Stack):
    """The Glue job with its schedule, the queue with its workers, and the topic of the ends.

    *pipeline*: the zip of the Spark jobs.
    """

    def __init__(self, scope: Construct, id_: str, pipeline: Path = PIPELINE) -> None:
        super().__init__(scope, id_)
        lake = s3.Bucket.from_bucket_name(self, "Lake", "datasets")
        lost = sqs.Queue(self, "DeadLetters", enforce_ssl=True, retention_period=cdk.Duration.days(14))
        work = sqs.Queue(
            self,
            "Work",
            enforce_ssl=True,
            visibility_timeout=cdk.Duration.minutes(6),
            dead_letter_queue=sqs.DeadLetterQueue(queue=lost, max_receive_count=3),
        )
        tracker = FaninTracker(self, "Fanin")
        tracker.consume(work, worker(self))
        tracker.on_ended(targets.SnsTopic(sns.Topic(self, "Ends", enforce_ssl=True)))
        tracker.add_outputs()
        role = job_role(self, lake)
        tracker.grant_call_api(role, *OPENING)
        work.grant_send_messages(role)
        places = {"--api-url": tracker.api_url, "--queue-url": work.queue_url}
        nightly = job(self, role, pipeline, {"--lake": f"s3://{lake.bucket_name}", **places})
        at_night(self, nightly)


def worker(scope: Construct) -> lambda_.Function:
    """Return the function that works on the rows of a chunk."""
    group = logs.LogGroup(scope, "WorkerLog", retention=logs.RetentionDays.TWO_WEEKS)
    role = iam.Role(scope, "WorkerRole", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    group.grant_write(role)
    return lambda_.Function(
        scope,
        "Worker",
        runtime=lambda_.Runtime.PYTHON_3_14,
        handler="worker.handler",
        code=lambda_.Code.from_asset(str(HERE / "functions")),
        timeout=cdk.Duration.minutes(1),
        memory_size=512,
        role=role,
        log_group=group,
    )


def job_role(scope: Construct, lake: s3.IBucket) -> iam.Role:
    """Return the job's role, which may read the lake, and write its manifests there."""
    role = iam.Role(scope, "JobRole", assumed_by=iam.ServicePrincipal("glue.amazonaws.com"))
    objects = lake.arn_for_objects("*")
    grants = ((("s3:GetBucketLocation", "s3:ListBucket"), lake.bucket_arn), (CHANGE_OBJECTS, objects))
    for actions, resource in grants:
        role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[resource]))
    accept_wildcards(role, "The keys of the lake's objects are not known before", objects)
    return role


def job(scope: Construct, role: iam.Role, pipeline: Path, arguments: dict[str, str]) -> glue.CfnJob:
    """Return the Glue job that publishes a night's partition."""
    script = assets.Asset(scope, "Script", path=str(HERE / "job" / "nightly.py"))
    code = assets.Asset(scope, "Pipeline", path=str(pipeline))
    for each in (script, code):
        key = each.bucket.arn_for_objects(each.s3_object_key)
        role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=[key]))
    return glue.CfnJob(
        scope,
        "Job",
        role=role.role_arn,
        glue_version="6.0",
        command=glue.CfnJob.JobCommandProperty(
            name="glueetl", python_version="3", script_location=script.s3_object_url
        ),
        default_arguments={
            "--extra-py-files": code.s3_object_url,
            "--region": cdk.Aws.REGION,
            **arguments,
        },
        worker_type="G.1X",
        number_of_workers=10,
        timeout=240,
        max_retries=1,
        security_configuration=security(scope, role).ref,
    )


def at_night(scope: Construct, nightly: glue.CfnJob) -> None:
    """Start the job *nightly* at 2:15 UTC."""
    glue.CfnTrigger(
        scope,
        "Schedule",
        type="SCHEDULED",
        schedule="cron(15 2 * * ? *)",
        start_on_creation=True,
        actions=[glue.CfnTrigger.ActionProperty(job_name=nightly.ref)],
    )


def security(scope: Construct, role: iam.Role) -> glue.CfnSecurityConfiguration:
    """Return the encryption of the job's logs, with a key that the role may use."""
    key = kms.Key(scope, "Key", enable_key_rotation=True)
    key.grant(role, "kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey")
    of = glue.CfnSecurityConfiguration
    return of(
        scope,
        "Security",
        name=f"{cdk.Aws.STACK_NAME}-nightly",
        encryption_configuration=of.EncryptionConfigurationProperty(
            cloud_watch_encryption=of.CloudWatchEncryptionProperty(
                cloud_watch_encryption_mode="SSE-KMS", kms_key_arn=key.key_arn
            ),
            job_bookmarks_encryption=of.JobBookmarksEncryptionProperty(
                job_bookmarks_encryption_mode="CSE-KMS", kms_key_arn=key.key_arn
            ),
            s3_encryptions=[of.S3EncryptionProperty(s3_encryption_mode="SSE-S3")],
        ),
    )


if __name__ == "__main__":
    app = cdk.App()
    Nightly(app, "Nightly")
    app.synth()
