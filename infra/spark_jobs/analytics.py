"""The Spark jobs on AWS; deployed only with the context ``analytics=glue`` or ``analytics=emr``."""

from __future__ import annotations

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sns as sns
from constructs import Construct

from fanin_cdk.monitoring.construct import Monitoring
from fanin_cdk.tracker import FaninTracker
from infra.config import StackConfig
from infra.spark_jobs import emr_application, glue_jobs
from infra.spark_jobs.analytics_ground import Ground
from infra.spark_jobs.analytics_places import Places
from infra.spark_jobs.analytics_roles import Roles
from infra.spark_jobs.emr_application import EmrApplication
from infra.spark_jobs.glue_jobs import GlueJobs


class Analytics(Construct):
    """The jobs' code, bucket and roles, and the engine that the configuration names.

    ``outputs``: what is needed to start a run, by output name.
    """

    def __init__(self, scope: Construct, id_: str, config: StackConfig, tracker: FaninTracker) -> None:
        super().__init__(scope, id_)
        self.ground = Ground(self, "Ground", config)
        self.outputs = {"PipelineBucket": self.ground.bucket.bucket_name}
        places = Places(self.ground, tracker)
        self.engine: GlueJobs | EmrApplication
        if config.analytics == "glue":
            roles = Roles(config, self.ground, tracker, glue_jobs.SERVICE)
            self.engine = GlueJobs(self, "Glue", config, self.ground, roles, places)
        else:
            roles = Roles(config, self.ground, tracker, emr_application.SERVICE)
            self.engine = EmrApplication(self, "Emr", config, self.ground, roles, places)
            self.outputs |= self.engine.outputs

    def report_failures(self, topic: sns.Topic, monitoring: Monitoring) -> None:
        """Publish an event to *topic* for every run that fails, scheduled or not, and watch the schedules."""
        events.Rule(self, "Failed", event_pattern=self.engine.failures, targets=[targets.SnsTopic(topic)])
        if isinstance(self.engine, EmrApplication) and self.engine.not_started:
            monitoring.watch_dead_letter_queue("Schedules", self.engine.not_started)
