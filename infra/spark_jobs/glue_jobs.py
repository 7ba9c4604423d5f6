"""The jobs on AWS Glue 6.0: Spark 4.1.1, Python 3.13.

    aws glue start-job-run --job-name fanin-dev-fan-out --arguments '{"--manifest": "s3://...", ...}'

There is no cost until a run is started. Glue names the log groups of a job with encrypted logs
``<prefix>/<security configuration>-role/<role>/error`` and ``.../output``. Both are created here, with the
key and the retention of the stage's other logs, so that the job's role is granted these two only.
"""

from __future__ import annotations

from aws_cdk import aws_events as events
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from constructs import Construct

from fanin_cdk.constructs.functions import log_group, service_name
from infra.config import StackConfig
from infra.pipeline_jobs import JOBS, PipelineJob
from infra.spark_jobs.analytics_ground import TEMPORARY, Ground
from infra.spark_jobs.analytics_places import Places
from infra.spark_jobs.analytics_roles import Roles

VERSION = "6.0"
# 4 cores and 16 GB: one DPU.
WORKER = "G.1X"
TIMEOUT_MINUTES = 8 * 60
SERVICE = iam.ServicePrincipal("glue.amazonaws.com")
STREAMS = ("error", "output")
USE_KEY = ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey")


class GlueJobs(Construct):
    """A Glue job for each job of the pipeline, one run at a time, and the trigger of scheduled ones."""

    def __init__(
        self, scope: Construct, id_: str, config: StackConfig, ground: Ground, roles: Roles, places: Places
    ) -> None:
        super().__init__(scope, id_)
        self.config = config
        self.ground = ground
        self.roles = roles
        self.places = places
        self.security = self._security()
        self.jobs = {job.name: self._add(job) for job in JOBS}
        if config.analytics_schedule:
            self._schedule([job.name for job in places.scheduled()])

    @property
    def failures(self) -> events.EventPattern:
        """The pattern of events about a run that failed."""
        names = [each.name for each in self.jobs.values()]
        return events.EventPattern(
            source=["aws.glue"],
            detail_type=["Glue Job State Change"],
            detail={"jobName": names, "state": ["FAILED", "TIMEOUT"]},
        )

    def _add(self, job: PipelineJob) -> glue.CfnJob:
        own = Construct(self, job.title)
        role = self.roles.add(own, job)
        self._let_log(own, role)
        return glue.CfnJob(
            own,
            "Job",
            name=f"{service_name(self.config)}-{job.label}",
            role=role.role_arn,
            glue_version=VERSION,
            command=glue.CfnJob.JobCommandProperty(
                name="glueetl", python_version="3", script_location=self.ground.script.s3_object_url
            ),
            default_arguments=self._defaults(job),
            non_overridable_arguments={"--fanin-job": job.name},
            worker_type=WORKER,
            number_of_workers=self.config.analytics_workers,
            timeout=TIMEOUT_MINUTES,
            max_retries=job.retries,
            execution_property=glue.CfnJob.ExecutionPropertyProperty(max_concurrent_runs=1),
            security_configuration=self.security.ref,
        )

    def _defaults(self, job: PipelineJob) -> dict[str, str]:
        bucket = self.ground.bucket.bucket_name
        return {
            "--job-language": "python",
            "--extra-py-files": self.ground.code.s3_object_url,
            "--job-bookmark-option": "job-bookmark-disable",
            # With auto scaling the number of workers is the maximum of a run.
            "--enable-auto-scaling": "true",
            "--custom-logGroup-prefix": self.ground.logs,
            "--TempDir": f"s3://{bucket}/{TEMPORARY}/",
            **self.places.defaults(job),
        }

    def _security(self) -> glue.CfnSecurityConfiguration:
        key = self.ground.key.key_arn
        of = glue.CfnSecurityConfiguration
        return of(
            self,
            "Security",
            name=service_name(self.config),
            encryption_configuration=of.EncryptionConfigurationProperty(
                cloud_watch_encryption=of.CloudWatchEncryptionProperty(
                    cloud_watch_encryption_mode="SSE-KMS", kms_key_arn=key
                ),
                # Bookmarks are off; cdk-nag requires their encryption anyway.
                job_bookmarks_encryption=of.JobBookmarksEncryptionProperty(
                    job_bookmarks_encryption_mode="CSE-KMS", kms_key_arn=key
                ),
                s3_encryptions=[of.S3EncryptionProperty(s3_encryption_mode="SSE-S3")],
            ),
        )

    def _let_log(self, scope: Construct, role: iam.Role) -> None:
        stem = f"{self.ground.logs}/{service_name(self.config)}-role/{role.role_name}"
        for stream in STREAMS:
            id_ = f"{stream.capitalize()}Log"
            group = log_group(scope, id_, self.config, f"{stem}/{stream}", self.ground.key)
            group.grant(role, "logs:CreateLogGroup", "logs:AssociateKmsKey")
            group.grant_write(role)
        role.add_to_policy(iam.PolicyStatement(actions=list(USE_KEY), resources=[self.ground.key.key_arn]))

    def _schedule(self, names: list[str]) -> None:
        glue.CfnTrigger(
            self,
            "Schedule",
            type="SCHEDULED",
            schedule=self.config.analytics_schedule,
            start_on_creation=True,
            actions=[glue.CfnTrigger.ActionProperty(job_name=self.jobs[name].ref) for name in names],
        )
