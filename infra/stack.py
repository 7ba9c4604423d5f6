"""The stack: composes the constructs, and has the resource names that callers need as outputs."""

from __future__ import annotations

from aws_cdk import Annotations, CfnOutput, Stack, Tags
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from fanin.names import JOB_DEAD
from fanin_cdk.concurrency import shortage
from fanin_cdk.config import Config
from fanin_cdk.constructs.api import Api
from fanin_cdk.constructs.archive import Archive
from fanin_cdk.constructs.callbacks import Callbacks
from fanin_cdk.constructs.confirmation import Confirmation
from fanin_cdk.constructs.dead_letter_queues import DeadLetterQueues
from fanin_cdk.constructs.events import EndingEvents
from fanin_cdk.constructs.functions import Functions, tenant_of_messages
from fanin_cdk.constructs.grouper import Grouper
from fanin_cdk.constructs.job_events import DeadJobEvents
from fanin_cdk.constructs.jobs import Jobs
from fanin_cdk.constructs.monitoring import Monitoring
from fanin_cdk.constructs.queues import SourceQueue
from fanin_cdk.constructs.resuming import Resuming
from fanin_cdk.constructs.sweeper import Sweeper
from fanin_cdk.constructs.tables import Tables
from fanin_cdk.constructs.watched import Watched, WatchedTable
from fanin_cdk.group_handlers import REGISTRATIONS
from fanin_cdk.handlers import (
    CONFIRM_EVENT,
    CONSUME_ACKS,
    DEAD_LETTER_HANDLER,
    DESCRIBE_EVENT,
    RESUMES,
    ROUTES,
    SWEEP,
)
from infra.constructs.analytics import Analytics
from infra.constructs.analytics_roles import Reach
from infra.constructs.demo import Demo
from infra.constructs.demo_jobs import DemoJobs


class FaninStack(Stack):
    """The deployment of one stage."""

    def __init__(self, scope: Construct, id_: str, config: Config) -> None:
        super().__init__(scope, id_, description="fanin: says, exactly once, when all N messages are done")
        Tags.of(self).add("service", "fanin")
        Tags.of(self).add("stage", config.stage)
        self.config = config
        self.tables = Tables(self, "Tables", config)
        self.functions = Functions(self, "Functions", config, self.tables)
        routes = [(each.routes, self.functions.add(each)) for each in ROUTES]
        called = {route: function for several, function in routes for route in several}
        self.api = Api(self, "Api", config, called)
        self.acks = self._acks()
        self.user_dead_letter_queues = self._user_dead_letter_queues()
        self.sweepers = [self._sweep()]
        self.events = EndingEvents(
            self, "Events", config, self.tables.batches, self.functions.add(DESCRIBE_EVENT)
        )
        self.confirmation = Confirmation(
            self, "Confirmation", self.events.bus, self.functions.add(CONFIRM_EVENT)
        )
        self._start_watching()
        self._output_names()
        self.archive: Archive | None = None
        self._add_parts()
        monitoring = Monitoring(self, "Monitoring", config, self._watched())
        if config.analytics != "off":
            self._add_analytics(monitoring.topic)
        if config.target == "aws" and (warning := shortage(config)):
            Annotations.of(self).add_warning_v2("fanin:lambda_concurrency", warning)

    def _start_watching(self) -> None:
        """Collect what the tracker's part has for alarms, dashboard and archive; other parts add theirs."""
        self.queues = {"Acks": self.acks.queue, **self.user_dead_letter_queues.by_name}
        self.consumed = dict(self.queues)
        self.dead_letter_queues = {
            "Acks": self.acks.dead_letter_queue,
            "Events": self.events.dead_letter_queue,
            "Confirmation": self.confirmation.dead_letter_queue,
        }
        self.changing: dict[str, dynamodb.ITable] = {
            "batches": self.tables.batches,
            "pages": self.tables.pages,
        }
        self.watched_tables = dict(self.tables.watched)
        self.readers: list[lambda_.Function] = []

    def _add_parts(self) -> None:
        """Add the work queues, and the parts that the configuration enables."""
        self._add_jobs()
        if self.config.named_callbacks:
            self._add_callbacks()
        if self.config.resumed_state_machines:
            self._add_resuming()
        if JOB_DEAD in self.config.events:
            self._add_job_events()
        if self.config.grouper:
            self._add_grouper()
        if self.config.demo:
            self._add_demo()
        if self.config.archive:
            self._add_archive()

    def _acks(self) -> SourceQueue:
        acks = SourceQueue.of_consumer(self, "Acks", CONSUME_ACKS.timeout_seconds)
        consumer = self.functions.add(CONSUME_ACKS, tenant_of_messages(self.config))
        acks.let_isolate(consumer)
        acks.feed(consumer, self.config)
        return acks

    def _user_dead_letter_queues(self) -> DeadLetterQueues:
        return DeadLetterQueues(self, "Letters", self.config, self.functions.add(DEAD_LETTER_HANDLER))

    def _sweep(self) -> lambda_.Function:
        sweep = self.functions.add(SWEEP)
        Sweeper(self, "Sweeper", sweep)
        return sweep

    def _watched(self) -> Watched:
        return Watched(
            functions=self.functions.made,
            routes=self.api.functions,
            sweepers=self.sweepers,
            readers=self.readers,
            queues=self.queues,
            consumed=self.consumed,
            dead_letter_queues=self.dead_letter_queues,
            tables=self.watched_tables,
            api=self.api.http,
            pipe=self.events.pipe,
        )

    def _add_jobs(self) -> None:
        self.jobs = jobs = Jobs(self, "Jobs", self.config, self.functions)
        self.sweepers.append(jobs.sweep)
        for route, function in jobs.routes.items():
            self.api.add(route, function)
        self.queues |= {f"Doorbell-{name}": doorbell for name, doorbell in jobs.doorbells.items()}
        self.changing |= {"jobs": jobs.table}
        self.watched_tables |= jobs.watched
        self._output(
            QueueTable=jobs.table.table_name,
            DoorbellPrefix=jobs.prefix,
        )

    def _add_callbacks(self) -> None:
        callbacks = Callbacks(self, "Callbacks", self.config, self.functions, self.events.bus)
        self.queues |= callbacks.queues
        self.consumed |= callbacks.queues
        self.dead_letter_queues |= callbacks.dead_letter_queues

    def _add_resuming(self) -> None:
        queue = Resuming(self, "Resuming", self.config, self.functions, self.events.bus).queue
        self.queues |= {RESUMES: queue.queue}
        self.consumed |= {RESUMES: queue.queue}
        self.dead_letter_queues |= {RESUMES: queue.dead_letter_queue}

    def _add_job_events(self) -> None:
        self.job_events = DeadJobEvents(self, "JobEvents", self.functions, self.jobs.table, self.events.bus)
        self.readers.append(self.job_events.function)
        self.dead_letter_queues |= {"JobEvents": self.job_events.dead_letter_queue}

    def _add_grouper(self) -> None:
        self.grouper = grouper = Grouper(self, "Grouper", self.config, self.functions, self.events.bus)
        self.sweepers.append(grouper.sweep)
        for route, function in grouper.routes.items():
            self.api.add(route, function)
        queues = {name: queue.queue for name, queue in grouper.queues.items()}
        self.queues |= queues
        self.consumed |= queues
        self.dead_letter_queues |= {name: queue.dead_letter_queue for name, queue in grouper.queues.items()}
        self.changing |= {"tasks": grouper.tables.tasks, "bundles": grouper.tables.bundles}
        self.watched_tables |= grouper.tables.watched
        self._output(
            GroupTasksTable=grouper.tables.tasks.table_name,
            GroupBundlesTable=grouper.tables.bundles.table_name,
            GrouperQueueUrl=grouper.queues["GroupTasks"].queue.queue_url,
            BundlesQueueUrl=grouper.queues["GroupBundles"].queue.queue_url,
        )
        if self.config.grouper_registrations:
            self._output(RegistrationsQueueUrl=grouper.queues[REGISTRATIONS].queue.queue_url)

    def _add_demo(self) -> None:
        demo = Demo(self, "Demo", self.config, self.grouper, self.jobs, self.events.bus)
        jobs = DemoJobs(self, "DemoJobs", self.config, self.jobs, demo.index)
        self.queues |= {"DemoWork": demo.work.queue}
        self.consumed |= {"DemoWork": demo.work.queue}
        self.watched_tables |= {
            "DemoIndex": WatchedTable(table=demo.index),
            "DemoOutcomes": WatchedTable(table=jobs.outcomes),
        }
        self.dead_letter_queues |= demo.dead_letter_queues
        self._output(
            DemoQueueUrl=demo.work.queue.queue_url,
            DemoIndexTable=demo.index.table_name,
            DemoOutcomesTable=jobs.outcomes.table_name,
            DemoEventsQueueUrl=demo.events.queue.queue_url,
        )

    def _add_archive(self) -> None:
        self.archive = Archive(self, "Archive", self.config, self.functions, self.changing)
        self.readers.append(self.archive.function)
        self.dead_letter_queues |= {"Archive": self.archive.dead_letter_queue}
        self._output(ArchiveBucket=self.archive.bucket.bucket_name)

    def _add_analytics(self, alarms: sns.Topic) -> None:
        kept = self.archive.bucket if self.archive else None
        reach = Reach(tables=self.tables, api=self.api, archive=kept)
        analytics = Analytics(self, "Analytics", self.config, reach)
        analytics.report_failures(alarms)
        self._output(**analytics.outputs)

    def _output_names(self) -> None:
        self._output(
            ApiUrl=self.api.stage.url,
            ApiId=self.api.http.api_id,
            BatchesTable=self.tables.batches.table_name,
            PagesTable=self.tables.pages.table_name,
            BusName=self.events.bus.event_bus_name,
            AcksQueueUrl=self.acks.queue.queue_url,
        )
        if self.user_dead_letter_queues.kept:
            self._output(KeptMessagesQueueUrl=self.user_dead_letter_queues.kept.queue_url)

    def _output(self, **values: str) -> None:
        for name, value in values.items():
            CfnOutput(self, name, value=value)
