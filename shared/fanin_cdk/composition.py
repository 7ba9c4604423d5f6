"""The parts of the tracker, each where its settings enable it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from aws_cdk import Annotations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fanin.names import JOB_DEAD
from fanin_cdk.constructs.api import Api, Served
from fanin_cdk.constructs.archive import Archive
from fanin_cdk.constructs.buckets import log_to, results_bucket
from fanin_cdk.constructs.dead_letter_queues import UNMATCHED, DeadLetterQueues
from fanin_cdk.constructs.functions import Functions, tenant_of_messages
from fanin_cdk.constructs.grouper import FaninGrouper
from fanin_cdk.constructs.jobs import FaninQueues
from fanin_cdk.constructs.publications import PublicationParts
from fanin_cdk.constructs.queues import SourceQueue
from fanin_cdk.constructs.tables import Tables
from fanin_cdk.constructs.triggers import Sweeper
from fanin_cdk.event_delivery.callbacks import Callbacks
from fanin_cdk.event_delivery.confirmation import Confirmation
from fanin_cdk.event_delivery.ending import EndingEvents
from fanin_cdk.event_delivery.job_events import DeadJobEvents
from fanin_cdk.event_delivery.resuming import Resuming
from fanin_cdk.grants.group_handlers import REGISTRATIONS
from fanin_cdk.grants.handlers import (
    API,
    CONFIRM_EVENT,
    CONSUME_ACKS,
    DEAD_LETTER_HANDLER,
    PUBLICATION_API,
    RESUMES,
    SWEEP,
    TOKEN_API,
    together,
)
from fanin_cdk.monitoring.watched import Watched
from fanin_cdk.settings.concurrency import shortage
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import served

Authorization = Literal["iam", "jwt"]


class Composition(Construct):
    """All resources of one tracker; ``outputs`` has the names that callers need.

    ``watched``: what alarms and the dashboard watch. ``api``, ``grouper``, ``queues`` and ``archive`` are
    None where they are not enabled.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        authorization: Authorization | None,
        packages: lambda_.Code | None,
    ) -> None:
        super().__init__(scope, id_)
        self.config = config
        self.outputs: dict[str, str] = {}
        self._warned = False
        self.tables = Tables(self, "Tables", config)
        self.results = results_bucket(self, config) if config.results else None
        self.functions = Functions(self, "Functions", config, self.tables, packages, self.results)
        self.api = self._api() if authorization else None
        self.acks = self._acks()
        self.dead_letter_handler = self.functions.add(DEAD_LETTER_HANDLER)
        self.dead_letter_queues = DeadLetterQueues(self, "Letters", config, self.dead_letter_handler)
        sweep = self.functions.add(SWEEP)
        Sweeper(self, "Sweeper", sweep)
        self.events = self._events()
        self.watched = self._watched(sweep)
        self.confirmation = self._confirmation()
        self._output_names()
        self._add_parts()
        self.warn_of_shortage()

    def warn_of_shortage(self) -> None:
        """Add a warning if the shares exceed the concurrent executions, once."""
        if self._warned or self.config.target != "aws" or not (warning := shortage(self.config)):
            return
        self._warned = True
        Annotations.of(self).add_warning_v2("fanin:lambda_concurrency", warning)

    def _api(self) -> Api:
        publications = PUBLICATION_API if self.config.allowed_publications else {}
        handlers = together(API, publications, TOKEN_API if self.config.progress_tokens else {})
        functions = [(self.functions.add(each), each.routes) for each in served(handlers, self.config)]
        return Api(self, "Api", self.config, functions)

    def _acks(self) -> SourceQueue:
        acks = SourceQueue.of_consumer(self, "Acks", CONSUME_ACKS.timeout_seconds)
        consumer = self.functions.add(CONSUME_ACKS, tenant_of_messages(self.config))
        if self.config.acks_log:
            log_to(consumer, self.config.acks_log)
        acks.let_isolate(consumer)
        acks.feed(consumer, self.config)
        return acks

    def _events(self) -> EndingEvents:
        ending = EndingEvents(self, "Events", self.functions, self.tables.batches)
        if self.config.immediate_events:
            self.functions.put_completions_on(ending.bus)
        return ending

    def _confirmation(self) -> Confirmation:
        confirmation = Confirmation(self, "Confirmation", self.events.bus, self.functions.add(CONFIRM_EVENT))
        self.watched.dead_letter_queues |= {"Confirmation": confirmation.dead_letter_queue}
        return confirmation

    def _watched(self, sweep: lambda_.Function) -> Watched:
        """Return what the tracker's own part has for alarms and the dashboard; other parts add theirs."""
        watched = Watched(functions=self.functions.defined, sweepers=[sweep], readers=[self.events.reader])
        if self.api:
            watched.api, watched.access_log = self.api.http, self.api.access_log
            watched.routes = self.api.functions
        watched.add({"Acks": self.acks})
        watched.queues |= self.dead_letter_queues.by_name
        watched.consumed |= self.dead_letter_queues.by_name
        if self.dead_letter_queues.unmatched:
            watched.dead_letter_queues |= {UNMATCHED: self.dead_letter_queues.unmatched}
        watched.dead_letter_queues |= {"Events": self.events.dead_letter_queue}
        watched.tables |= self.tables.watched
        return watched

    def _add_parts(self) -> None:
        """Add the parts that the configuration enables."""
        config = self.config
        self.queues = self._queues() if config.queues else None
        if config.named_callbacks:
            self._add_callbacks()
        self.publications = self._publications() if config.allowed_publications else None
        self.resuming = self._resuming() if config.resumes_any else None
        if self.queues and JOB_DEAD in config.events:
            self._add_job_events(self.queues)
        self.grouper = self._grouper() if config.grouper else None
        self.archive = self._archive() if config.archive else None

    def _queues(self) -> FaninQueues:
        queues = FaninQueues(
            self, "Jobs", self.config, self.functions, tagged=self.acks.queue, has_api=bool(self.api)
        )
        self.watched.sweepers.append(queues.sweep)
        self._add_routes(queues.routes)
        self.watched.queues |= {f"Doorbell-{name}": each for name, each in queues.doorbells.items()}
        self.watched.tables |= queues.watched
        self.outputs |= {"QueueTable": queues.table.table_name, "DoorbellPrefix": queues.prefix}
        return queues

    def _add_callbacks(self) -> None:
        callbacks = Callbacks(self, "Callbacks", self.config, self.functions, self.events.bus)
        self.watched.queues |= callbacks.queues
        self.watched.consumed |= callbacks.queues
        self.watched.dead_letter_queues |= callbacks.dead_letter_queues

    def _publications(self) -> PublicationParts:
        parts = PublicationParts(self, "Publications", self.config, self.functions)
        self.watched.add({"Publications": parts.queue})
        return parts

    def _resuming(self) -> Resuming:
        resuming = Resuming(self, "Resuming", self.config, self.functions, self.events.bus)
        self.watched.add({RESUMES: resuming.queue})
        return resuming

    def _add_job_events(self, queues: FaninQueues) -> None:
        job_events = DeadJobEvents(self, "JobEvents", self.functions, queues.table, self.events.bus)
        self.watched.readers.append(job_events.reader)
        self.watched.dead_letter_queues |= {"JobEvents": job_events.dead_letter_queue}

    def _grouper(self) -> FaninGrouper:
        bus, has_api = self.events.bus, bool(self.api)
        grouper = FaninGrouper(self, "Grouper", self.config, self.functions, bus, has_api=has_api)
        self.watched.sweepers.append(grouper.sweep)
        self._add_routes(grouper.routes)
        self.watched.add(grouper.queues)
        self.watched.tables |= grouper.tables.watched
        self.outputs |= {
            "GroupTasksTable": grouper.tables.tasks.table_name,
            "GroupBundlesTable": grouper.tables.bundles.table_name,
            "GrouperQueueUrl": grouper.queues["GroupTasks"].queue.queue_url,
            "BundlesQueueUrl": grouper.queues["GroupBundles"].queue.queue_url,
        }
        if self.config.grouper_registrations:
            self.outputs |= {"RegistrationsQueueUrl": grouper.queues[REGISTRATIONS].queue.queue_url}
        return grouper

    def _archive(self) -> Archive:
        archive = Archive(self, "Archive", self.config, self.functions, self._changing())
        self.watched.readers.append(archive.reader)
        self.watched.dead_letter_queues |= {"Archive": archive.dead_letter_queue}
        self.outputs |= {"ArchiveBucket": archive.bucket.bucket_name}
        return archive

    def _changing(self) -> Mapping[str, dynamodb.ITable]:
        """Return the tables whose changes are archived, by what they hold."""
        tables = {"batches": self.tables.batches, "pages": self.tables.pages}
        if self.queues:
            tables |= {"jobs": self.queues.table}
        if self.grouper:
            tables |= {"tasks": self.grouper.tables.tasks, "bundles": self.grouper.tables.bundles}
        return tables

    def _add_routes(self, functions: Served) -> None:
        if self.api:
            for function, routes in functions:
                self.api.add(function, routes)

    def _output_names(self) -> None:
        if self.api:
            self.outputs |= {"ApiUrl": self.api.url, "ApiId": self.api.http.api_id, **self.api.domain_outputs}
        self.outputs |= {
            "BatchesTable": self.tables.batches.table_name,
            "PagesTable": self.tables.pages.table_name,
            "BusName": self.events.bus.event_bus_name,
            "AcksQueueUrl": self.acks.queue.queue_url,
        }
        if self.results:
            self.outputs |= {"ResultsBucket": self.results.bucket_name}
        if self.dead_letter_queues.kept:
            self.outputs |= {"KeptMessagesQueueUrl": self.dead_letter_queues.kept.queue_url}
        if self.dead_letter_queues.unmatched:
            self.outputs |= {"UnmatchedMessagesQueueUrl": self.dead_letter_queues.unmatched.queue_url}
