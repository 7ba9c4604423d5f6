"""The demo's resources; deployed only with the context ``demo=true``."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin.names import EVENT_SOURCE
from fanin_cdk.constructs.functions import allow
from fanin_cdk.constructs.grouper import FaninGrouper
from fanin_cdk.constructs.jobs import FaninQueues
from fanin_cdk.constructs.queues import BATCH_WINDOW, SourceQueue
from fanin_cdk.constructs.tables import table
from fanin_cdk.grants.group_handlers import DEMO_REGISTRANT
from fanin_cdk.grants.handlers import DEMO_WORKER, WRITE_INDEX
from fanin_cdk.settings.config import Config
from infra.config import DEMO_QUEUE


class Demo(Construct):
    """An SQS queue and its worker, the index table that the worker writes, and a queue of events."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        grouper: FaninGrouper,
        jobs: FaninQueues,
        bus: events.IEventBus,
    ) -> None:
        super().__init__(scope, id_)
        self.index = table(self, "Index", config)
        # The demo fails messages on purpose and waits for them: they are visible again after one timeout and
        # the batching window, not the usual six timeouts, and may be received more often.
        hidden = Duration.seconds(DEMO_WORKER.timeout_seconds).plus(BATCH_WINDOW)
        self.work = SourceQueue(self, "Work", visibility=hidden, max_receives=10)
        index = {"FANIN_INDEX_TABLE": self.index.table_name}
        worker = grouper.add(DEMO_REGISTRANT, {**index, **jobs.environment})
        allow(worker, self.index, WRITE_INDEX)
        jobs.let_add(worker, DEMO_QUEUE)
        self.work.feed(worker, config)
        self.events = SourceQueue(self, "Events", visibility=Duration.seconds(30))
        events.Rule(
            self,
            "EveryEvent",
            event_bus=bus,
            event_pattern=events.EventPattern(source=[EVENT_SOURCE]),
            targets=[targets.SqsQueue(self.events.queue, dead_letter_queue=self.events.dead_letter_queue)],
        )

    @property
    def dead_letter_queues(self) -> Mapping[str, sqs.Queue]:
        """The dead-letter queues by name of their part."""
        return {"DemoWork": self.work.dead_letter_queue, "DemoEvents": self.events.dead_letter_queue}
