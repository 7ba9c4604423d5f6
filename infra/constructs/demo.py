"""What the demo needs beside the tracker; deployed only with the context ``demo=true``."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Config
from infra.constructs.events import EVENT_SOURCE
from infra.constructs.functions import allow
from infra.constructs.grouper import Grouper
from infra.constructs.queues import BATCH_WINDOW, SourceQueue
from infra.constructs.tables import table
from infra.group_handlers import DEMO_REGISTRANT
from infra.handlers import DEMO_WORKER, WRITE_INDEX


class Demo(Construct):
    """A work queue and its worker, the index that the worker writes, and a queue of the bus's events."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        grouper: Grouper,
        bus: events.EventBus,
    ) -> None:
        super().__init__(scope, id_)
        self.index = table(self, "Index", config)
        # The demo fails messages on purpose and waits for them: they come back after one timeout and the
        # batching window, not the usual six timeouts, and may be tried oftener.
        hidden = Duration.seconds(DEMO_WORKER.timeout_seconds).plus(BATCH_WINDOW)
        self.work = SourceQueue(self, "Work", visibility=hidden, max_receives=10)
        worker = grouper.add(DEMO_REGISTRANT, {"FANIN_INDEX_TABLE": self.index.table_name})
        allow(worker, self.index, WRITE_INDEX)
        self.work.feed(worker, config)
        self.events = SourceQueue(self, "Events", visibility=Duration.seconds(30))
        events.Rule(
            self,
            "EveryEvent",
            event_bus=bus,
            event_pattern=events.EventPattern(source=[EVENT_SOURCE]),
            targets=[targets.SqsQueue(self.events.queue, dead_letter_queue=self.events.dead_letters)],
        )

    @property
    def dead_letters(self) -> Mapping[str, sqs.Queue]:
        """The dead-letter queues by what they belong to."""
        return {"DemoWork": self.work.dead_letters, "DemoEvents": self.events.dead_letters}
