"""The project's own stack: the constructs, with alarms and the Spark jobs."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack, Tags
from constructs import Construct

from fanin_cdk.composition import Authorization
from fanin_cdk.monitoring.construct import Monitoring
from fanin_cdk.tracker import FaninTracker
from infra.alarm_topic import alarm_topic
from infra.config import StackConfig
from infra.spark_jobs.analytics import Analytics


class FaninStack(Stack):
    """The deployment of one stage."""

    def __init__(self, scope: Construct, id_: str, config: StackConfig) -> None:
        super().__init__(scope, id_, description="fanin: reports, exactly once, when all N messages are done")
        Tags.of(self).add("service", "fanin")
        Tags.of(self).add("stage", config.stage)
        self.config = config
        authorization: Authorization = "jwt" if config.jwt_issuer else "iam"
        # The id "Default" is no part of the names of the resources in it.
        self.tracker = FaninTracker(self, "Default", api=authorization, **config.of_tracker)
        self.outputs = dict(self.tracker.outputs)
        self.watched = self.tracker.watched
        analytics = self._analytics() if config.analytics != "off" else None
        if config.monitoring != "off":
            topic = alarm_topic(self, config.alarm_email)
            monitoring = Monitoring(self, "Monitoring", self.tracker.config, self.watched, topic)
            if analytics:
                analytics.report_failures(topic, monitoring)
        for name, value in self.outputs.items():
            CfnOutput(self, name, value=value)

    def _analytics(self) -> Analytics:
        analytics = Analytics(self, "Analytics", self.config, self.tracker)
        self.outputs |= analytics.outputs
        return analytics
