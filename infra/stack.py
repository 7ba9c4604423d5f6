"""The project's own stack: the constructs, with alarms, the demo and the Spark jobs."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack, Tags
from constructs import Construct

from fanin_cdk.composition import Authorization
from fanin_cdk.constructs.grouper import FaninGrouper
from fanin_cdk.constructs.jobs import FaninQueues
from fanin_cdk.monitoring.construct import Monitoring
from fanin_cdk.monitoring.watched import WatchedTable
from fanin_cdk.tracker import FaninTracker
from infra.config import StackConfig
from infra.constructs.alarm_topic import alarm_topic
from infra.constructs.analytics import Analytics
from infra.constructs.demo import Demo
from infra.constructs.demo_jobs import DemoJobs


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
        if config.demo and self.tracker.grouper and self.tracker.queues:
            self._add_demo(self.tracker.grouper, self.tracker.queues)
        analytics = self._analytics() if config.analytics != "off" else None
        if config.monitoring != "off":
            topic = alarm_topic(self, config.alarm_email)
            monitoring = Monitoring(self, "Monitoring", self.tracker.config, self.watched, topic)
            if analytics:
                analytics.report_failures(topic, monitoring)
        for name, value in self.outputs.items():
            CfnOutput(self, name, value=value)

    def _add_demo(self, grouper: FaninGrouper, queues: FaninQueues) -> None:
        config = self.tracker.config
        demo = Demo(self, "Demo", config, grouper, queues, self.tracker.bus)
        jobs = DemoJobs(self, "DemoJobs", config, queues, demo.index)
        self.watched.queues |= {"DemoWork": demo.work.queue}
        self.watched.consumed |= {"DemoWork": demo.work.queue}
        self.watched.dead_letter_queues |= demo.dead_letter_queues
        self.watched.tables |= {
            "DemoIndex": WatchedTable(table=demo.index),
            "DemoOutcomes": WatchedTable(table=jobs.outcomes),
        }
        self.outputs |= {
            "DemoQueueUrl": demo.work.queue.queue_url,
            "DemoIndexTable": demo.index.table_name,
            "DemoOutcomesTable": jobs.outcomes.table_name,
            "DemoEventsQueueUrl": demo.events.queue.queue_url,
        }

    def _analytics(self) -> Analytics:
        analytics = Analytics(self, "Analytics", self.config, self.tracker)
        self.outputs |= analytics.outputs
        return analytics
