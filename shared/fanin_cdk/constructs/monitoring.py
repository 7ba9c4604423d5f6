"""Alarms on failures, throttles, delays, stopped sweepers and old batches, and the dashboard."""

from __future__ import annotations

import re

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin import names
from fanin_cdk.config import Config
from fanin_cdk.constructs import aws_metrics
from fanin_cdk.constructs.alarm_policy import let_alarms_publish
from fanin_cdk.constructs.alarms import ALARM, LESS, Alarms, Rule
from fanin_cdk.constructs.dashboard import draw
from fanin_cdk.constructs.functions import name_of
from fanin_cdk.constructs.metrics import PERIOD, Emitted
from fanin_cdk.constructs.queues import SourceQueue
from fanin_cdk.constructs.watched import Watched

UNSWEPT = {
    "Sweep": "overdue batches do not end, lost events are not sent again",
    "SweepGroups": "tasks and bundles that a crash left behind are not woken",
    "SweepJobs": "jobs of dead workers do not go back, delayed ones are not woken",
}
"""The consequence of a stopped sweeper, by its handler: part of the alarm's description."""
STREAM_LAG = Duration.hours(1)
"""A stream keeps its records for 24 hours, and the archive tries for 12."""
SERVER_ERRORS = Rule(threshold=1, periods=3, datapoints=2)
"""In percent: one error of few requests raises no alarm, but errors in two of three periods do."""
ROUTES_AN_ALARM = 10
"""An alarm has at most ten metrics."""
SLOW = Rule(threshold=10_000, periods=3, datapoints=3)
"""In milliseconds, for a quarter of an hour; API Gateway waits 30 s."""


class Monitoring(Construct):
    """The alarms that publish to *topic*, and a dashboard."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, watched: Watched, topic: sns.ITopic
    ) -> None:
        super().__init__(scope, id_)
        self.config = config
        self.emitted = Emitted(config)
        self.alarms = Alarms(self, topic, config)
        let_alarms_publish(topic)
        self._watch_for_failures(watched)
        if config.throttle_alarms:
            self._watch_for_throttles(watched)
        self._watch_for_delays(watched)
        if watched.api:
            self._watch_api(watched.api)
        self._watch_batches(config, watched)
        self._watch_sweepers(watched)
        draw(self, self.emitted, watched, self.alarms.made)

    def watch_function(self, function: lambda_.Function) -> None:
        """Add the alarms of a function that no route has."""
        self._watch_for_errors(function)
        if self.config.throttle_alarms:
            self._watch_for_throttled(function)

    def watch_queue(self, name: str, queue: SourceQueue) -> None:
        """Add the alarms of a queue that a function of the stack consumes."""
        self._watch_for_waiting(name, queue.queue)
        self.watch_dead_letter_queue(name, queue.dead_letter_queue)

    def watch_consumed(self, name: str, queue: sqs.IQueue) -> None:
        """Add the alarm of a queue of the user that a function of the stack consumes."""
        self._watch_for_waiting(name, queue)

    def watch_dead_letter_queue(self, name: str, queue: sqs.IQueue) -> None:
        """Add the alarm of the dead-letter queue of the part *name*."""
        meaning = f"{name}: messages were given up on"
        runbook = f"{_anchor(name)}-dead-letter-queue"
        self.alarms.add(f"{name}DeadLetters", aws_metrics.depth(queue), meaning, runbook)

    def _watch_for_errors(self, function: lambda_.Function) -> None:
        name, errors = name_of(function), function.metric_errors(period=aws_metrics.MINUTE)
        self.alarms.add(f"{name}Errors", errors, f"{name}: invocations failed", "failed-invocations")

    def _watch_for_throttled(self, function: lambda_.Function) -> None:
        name, throttles = name_of(function), function.metric_throttles(period=aws_metrics.MINUTE)
        meaning = f"{name}: Lambda throttled invocations"
        self.alarms.add(f"{name}Throttled", throttles, meaning, "throttled-functions")

    def _watch_for_waiting(self, name: str, queue: sqs.IQueue) -> None:
        minutes = self.config.oldest_message_alarm_minutes
        meaning, age = (
            f"{name}: a message has waited for {minutes} minutes",
            aws_metrics.oldest_message(queue),
        )
        self.alarms.add(f"{name}Waiting", age, meaning, "waiting-messages", Rule(threshold=60 * minutes))

    def _watch_for_failures(self, watched: Watched) -> None:
        for name, queue in watched.dead_letter_queues.items():
            self.watch_dead_letter_queue(name, queue)
        for function in watched.others:
            self._watch_for_errors(function)
        for first in range(0, len(watched.routes), ROUTES_AN_ALARM):
            routes = watched.routes[first : first + ROUTES_AN_ALARM]
            meaning = f"Routes: invocations failed of {', '.join(map(name_of, routes))}"
            name = f"Routes{first // ROUTES_AN_ALARM + 1}Errors"
            self.alarms.add(name, aws_metrics.errors_of(routes), meaning, "failed-invocations")

    def _watch_for_throttles(self, watched: Watched) -> None:
        """Alarm on throttled functions and tables; throttled routes are 5xx of the API, on which is one."""
        for function in watched.others:
            self._watch_for_throttled(function)
        for name, table in watched.tables.items():
            throttled = aws_metrics.throttles_of_table(table)
            meaning = f"{name}: DynamoDB throttled reads or writes of the table or an index"
            self.alarms.add(f"{name}TableThrottled", throttled, meaning, "throttled-tables")

    def _watch_for_delays(self, watched: Watched) -> None:
        for name, queue in watched.consumed.items():
            self._watch_for_waiting(name, queue)
        for reader in watched.readers:
            name = name_of(reader)
            lag = Rule(threshold=STREAM_LAG.to_milliseconds())
            meaning = f"{name}: records of a stream are an hour old; after 24 hours they are lost"
            self.alarms.add(f"{name}Lag", aws_metrics.iterator_age(reader), meaning, "stream-lag", lag)

    def _watch_api(self, api: apigatewayv2.HttpApi) -> None:
        errors, slowest = aws_metrics.server_errors(api), aws_metrics.latency(api)
        self.alarms.add(
            "ApiErrors", errors, "The API answers 1 % of its requests with 5xx", "api-errors", SERVER_ERRORS
        )
        self.alarms.add(
            "ApiLatency", slowest, "One request of a hundred takes 10 seconds", "api-latency", SLOW
        )

    def _watch_batches(self, config: Config, watched: Watched) -> None:
        hours = config.oldest_batch_alarm_hours
        oldest = self.emitted.metric(names.OLDEST_BATCH_SECONDS, "Maximum")
        meaning = f"A batch has not ended for {hours} hours"
        self.alarms.add("OldestBatch", oldest, meaning, "oldest-batch", Rule(threshold=hours * 3600))
        again = self.emitted.metric(names.SWEEP_ANNOUNCED_AGAIN)
        meaning = "The bus did not confirm an ending event in 15 minutes: it was sent again"
        self.alarms.add("LateEvents", again, meaning, "late-events")
        failed = aws_metrics.failed_executions(watched.pipe)
        self.alarms.add("PipeFailed", failed, "The Pipe of ending events failed", "pipe-failed")

    def _watch_sweepers(self, watched: Watched) -> None:
        """Alarm on missing invocations. A new stack is in alarm until its first sweep."""
        stopped = Rule(comparison=LESS, missing=ALARM)
        for sweeper in watched.sweepers:
            name = name_of(sweeper)
            swept = sweeper.metric_invocations(period=PERIOD)
            meaning = f"{name}: no sweep for five minutes: {UNSWEPT[name]}"
            self.alarms.add(f"{name}Stopped", swept, meaning, "stopped-sweepers", stopped)


def _anchor(name: str) -> str:
    """Return the anchor of a part's name: ``group-tasks`` for ``GroupTasks``.

    What follows a dash is a name of the user.
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.partition("-")[0]).lower()
