"""The jobs on EMR Serverless: Spark 4.0.2 on arm64, in an application that stops when idle.

    aws emr-serverless start-job-run --application-id ... --execution-role-arn ... \\
      --job-driver '{"sparkSubmit": {"entryPoint": "s3://.../entry.py", "entryPointArguments": [...]}}'

The application declares limits; a run has its script, arguments and role. What all runs share, such as the
zip of the code, is in the application's Spark defaults.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Aws, Stack
from aws_cdk import aws_emrserverless as emrserverless
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin_cdk.constructs.functions import log_group, service_name
from fanin_cdk.constructs.queues import dead_letter_queue
from fanin_cdk.nag import accept, accept_wildcards
from infra.config import StackConfig
from infra.pipeline_jobs import JOBS, PipelineJob
from infra.spark_jobs.analytics_ground import Ground
from infra.spark_jobs.analytics_places import Places
from infra.spark_jobs.analytics_roles import Roles

RELEASE = "emr-spark-8.0.0"
# The size of a Glue worker.
CORES, GIGABYTES, DISK_GIGABYTES = 4, 16, 20
# EMR adds 10 % overhead; together the memory of a worker.
HEAP = "14g"
IDLE_MINUTES = 5
TIMEOUT_MINUTES = 8 * 60
OURS = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
SERVICE = iam.ServicePrincipal("emr-serverless.amazonaws.com", conditions=OURS)
WRITE_LOG = ("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents")
START = "arn:aws:scheduler:::aws-sdk:emrserverless:startJobRun"


class EmrApplication(Construct):
    """The application, a role for each job of the pipeline, and the schedules of those that have one."""

    def __init__(
        self, scope: Construct, id_: str, config: StackConfig, ground: Ground, roles: Roles, places: Places
    ) -> None:
        super().__init__(scope, id_)
        self.config = config
        self.ground = ground
        self.not_started: sqs.Queue | None = None
        self.log = log_group(self, "Log", config, f"{ground.logs}/emr", ground.key)
        self.application = self._application()
        self.places = places
        self.roles = {job.name: roles.add(Construct(self, job.title), job) for job in JOBS}
        for role in self.roles.values():
            self._let_log(role)
        if config.analytics_schedule:
            self._schedule(places.scheduled())

    @property
    def failures(self) -> events.EventPattern:
        """The pattern of events about a run that failed. EMR cancels one that exceeds its time-out."""
        return events.EventPattern(
            source=["aws.emr-serverless"],
            detail_type=["EMR Serverless Job Run State Change"],
            detail={
                "applicationId": [self.application.attr_application_id],
                "state": ["FAILED", "CANCELLED"],
            },
        )

    @property
    def outputs(self) -> dict[str, str]:
        """The parameters of StartJobRun, by output name."""
        roles = {job.label: self.roles[job.name].role_arn for job in JOBS}
        return {
            "PipelineApplicationId": self.application.attr_application_id,
            "PipelineScript": self.ground.script.s3_object_url,
            "PipelineRoles": Stack.of(self).to_json_string(roles),
        }

    def _application(self) -> emrserverless.CfnApplication:
        of = emrserverless.CfnApplication
        workers = self.config.analytics_workers
        return of(
            self,
            "Application",
            name=service_name(self.config),
            type="SPARK",
            release_label=RELEASE,
            architecture="ARM64",
            auto_start_configuration=of.AutoStartConfigurationProperty(enabled=True),
            auto_stop_configuration=of.AutoStopConfigurationProperty(
                enabled=True, idle_timeout_minutes=IDLE_MINUTES
            ),
            maximum_capacity=of.MaximumAllowedResourcesProperty(
                cpu=f"{workers * CORES} vCPU",
                memory=f"{workers * GIGABYTES} GB",
                disk=f"{workers * DISK_GIGABYTES} GB",
            ),
            runtime_configuration=[
                of.ConfigurationObjectProperty(classification="spark-defaults", properties=self._spark())
            ],
            monitoring_configuration=of.MonitoringConfigurationProperty(
                # The log group has its key already, and no role may change it.
                cloud_watch_logging_configuration=of.CloudWatchLoggingConfigurationProperty(
                    enabled=True, log_group_name=self.log.log_group_name
                )
            ),
        )

    def _spark(self) -> dict[str, str]:
        size = {"cores": str(CORES), "memory": HEAP}
        return {
            "spark.submit.pyFiles": self.ground.code.s3_object_url,
            **{f"spark.{who}.{key}": value for who in ("driver", "executor") for key, value in size.items()},
            "spark.dynamicAllocation.maxExecutors": str(self.config.analytics_workers - 1),
        }

    def _let_log(self, role: iam.Role) -> None:
        self.log.grant(role, *WRITE_LOG)
        groups = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:*"
        role.add_to_policy(iam.PolicyStatement(actions=["logs:DescribeLogGroups"], resources=[groups]))
        accept_wildcards(role, "EMR finds its log group by DescribeLogGroups", groups)

    def _schedule(self, jobs: list[PipelineJob]) -> None:
        self.not_started = dead_letter_queue(self, "NotStarted")
        accept(self.not_started, "This is the schedules' dead-letter queue", "AwsSolutions-SQS3")
        starter = iam.Role(
            self, "Starter", assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com", conditions=OURS)
        )
        for action, arns, conditions in (
            ("emr-serverless:StartJobRun", [self.application.attr_arn], None),
            ("iam:PassRole", [self.roles[job.name].role_arn for job in jobs], _PASSED),
            ("sqs:SendMessage", [self.not_started.queue_arn], None),
        ):
            starter.add_to_policy(
                iam.PolicyStatement(actions=[action], resources=arns, conditions=conditions)
            )
        for job in jobs:
            self._start(job, starter, self.not_started)

    def _start(self, job: PipelineJob, starter: iam.Role, not_started: sqs.Queue) -> None:
        of = scheduler.CfnSchedule
        of(
            self,
            f"{job.title}Schedule",
            schedule_expression=self.config.analytics_schedule,
            flexible_time_window=of.FlexibleTimeWindowProperty(mode="OFF"),
            target=of.TargetProperty(
                arn=START,
                role_arn=starter.role_arn,
                dead_letter_config=of.DeadLetterConfigProperty(arn=not_started.queue_arn),
                input=Stack.of(self).to_json_string(self._run(job)),
                retry_policy=of.RetryPolicyProperty(
                    maximum_event_age_in_seconds=3600, maximum_retry_attempts=3
                ),
            ),
        )

    def _run(self, job: PipelineJob) -> dict[str, Any]:
        arguments = [text for pair in self.places.defaults(job).items() for text in pair]
        return {
            "ApplicationId": self.application.attr_application_id,
            # Two deliveries of one invocation of the schedule start one run.
            "ClientToken": "<aws.scheduler.execution-id>",
            "ExecutionRoleArn": self.roles[job.name].role_arn,
            "ExecutionTimeoutMinutes": TIMEOUT_MINUTES,
            "Name": f"{service_name(self.config)}-{job.label}",
            "JobDriver": {
                "SparkSubmit": {
                    "EntryPoint": self.ground.script.s3_object_url,
                    "EntryPointArguments": ["--fanin-job", job.name, *arguments],
                }
            },
        }


_PASSED = {"StringEquals": {"iam:PassedToService": "emr-serverless.amazonaws.com"}}
