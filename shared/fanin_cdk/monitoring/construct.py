"""The alarms, in two sets: those that an operator must act on now, and all; and the dashboard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin import names
from fanin_cdk.constructs.functions import name_of
from fanin_cdk.constructs.queues import SourceQueue, queue_mappings
from fanin_cdk.grants import looping
from fanin_cdk.monitoring import aws_metrics
from fanin_cdk.monitoring.alarm_policy import let_alarms_publish
from fanin_cdk.monitoring.alarms import ALARM, LESS, Alarms, Rule
from fanin_cdk.monitoring.dashboard import draw
from fanin_cdk.monitoring.metrics import Emitted
from fanin_cdk.monitoring.watched import Watched
from fanin_cdk.settings.config import Config

UNSWEPT = {
    "Sweep": "overdue batches do not end, lost events are not sent again",
    "SweepGroups": "tasks and bundles that a crash left behind are not woken",
    "SweepJobs": "jobs of dead workers do not go back, delayed ones are not woken",
}
"""The consequence of a stopped sweeper, by its handler: part of the alarm's description."""
SENT_AGAIN = {"Events", "Confirmation"}
"""The dead-letter queues of events, which the sweeper sends again: the alarm on late events is urgent."""
SERVER_ERRORS = Rule(threshold=1, periods=3, datapoints=2)
"""In percent: one error of few requests raises no alarm, but errors in two of three periods do."""
FUNCTIONS_AN_ALARM = 10
"""An alarm has at most ten metrics."""
SLOW = Rule(threshold=10_000, periods=3, datapoints=3)
"""In milliseconds, for a quarter of an hour; API Gateway waits 30 s."""


class Monitoring(Construct):
    """The alarms that publish to *topic*.

    The setting ``monitoring`` chooses: ``lean``, those that an operator must act on now; ``full``, all
    alarms, one that is raised while an urgent one is, and a dashboard.
    """

    def __init__(
        self, scope: Construct, id_: str, config: Config, watched: Watched, topic: sns.ITopic
    ) -> None:
        super().__init__(scope, id_)
        self.config = config
        self.workers: set[str] = set()
        self.is_full = config.monitoring == "full"
        self.emitted = Emitted(config)
        self.alarms = Alarms(self, topic, config)
        let_alarms_publish(topic)
        for name, queue in watched.dead_letter_queues.items():
            self.watch_dead_letter_queue(name, queue)
        for name, queue in watched.consumed.items():
            self.watch_consumed(name, queue)
        consumers = [each for each in watched.others if queue_mappings(each)]
        self._watch_for_loops("Consumers", [each for each in consumers if not looping.setting_of(each)])
        self._watch_sweepers(watched)
        self._watch_batches()
        if watched.api:
            self._watch_for_server_errors(watched.api)
        if self.is_full:
            self._watch_the_rest(watched)
            self.alarms.join()
            draw(self, self.emitted, watched, self.alarms.added)

    def watch_function(self, function: lambda_.Function) -> None:
        """Add the alarms of a function that serves no route."""
        if self.is_full:
            name = name_of(function)
            self._watch_for_errors(name, [function])
            self._watch_for_throttles(name, [function])

    def watch_queue(self, name: str, queue: SourceQueue) -> None:
        """Add the alarms of a queue that a function of the stack consumes."""
        self.watch_consumed(name, queue.queue)
        self.watch_dead_letter_queue(name, queue.dead_letter_queue)

    def watch_consumed(self, name: str, queue: sqs.IQueue) -> None:
        """Add the alarm on the oldest message of a queue that a function of the stack consumes."""
        minutes = self.config.oldest_message_alarm_minutes
        meaning, age = (
            f"{name}: a message has waited for {minutes} minutes",
            aws_metrics.oldest_message(queue),
        )
        rule = Rule(threshold=60 * minutes)
        self.alarms.add_urgent(f"{name}Waiting", age, meaning, "waiting-messages", rule)

    def watch_dead_letter_queue(self, name: str, queue: sqs.IQueue) -> None:
        """Add the alarm of the dead-letter queue of the part *name*."""
        of = f"{name}DeadLetters", aws_metrics.depth(queue), f"{name}: messages were given up on"
        runbook = f"{_anchor(name)}-dead-letter-queue"
        if name not in SENT_AGAIN:
            self.alarms.add_urgent(*of, runbook)
        elif self.is_full:
            self.alarms.add(*of, runbook)

    def watch_worker(self, worker: lambda_.IFunction) -> None:
        """Add the alarm of a function of the user that a queue feeds, once, unless it may loop."""
        if worker.node.path in self.workers or looping.setting_of(worker) == looping.ALLOW:
            return
        self.workers.add(worker.node.path)
        self._watch_for_loops(f"{worker.node.id}-{len(self.workers)}", [worker])

    def _watch_for_loops(self, name: str, functions: Sequence[lambda_.IFunction]) -> None:
        meaning = f"{name.partition('-')[0]}: Lambda stopped a recursive loop"
        dropped = aws_metrics.stopped_loops(functions)
        self.alarms.add_urgent(f"{name}Loops", dropped, meaning, "recursive-loops")

    def _watch_sweepers(self, watched: Watched) -> None:
        """Alarm on missing sweeps. A new stack is in alarm until its first one."""
        stopped = Rule(comparison=LESS, missing=ALARM)
        for sweeper in watched.sweepers:
            name, swept = name_of(sweeper), aws_metrics.successes(sweeper)
            meaning = f"{name}: no sweep succeeded for five minutes: {UNSWEPT[name]}"
            self.alarms.add_urgent(f"{name}Stopped", swept, meaning, "stopped-sweepers", stopped)

    def _watch_batches(self) -> None:
        hours = self.config.oldest_batch_alarm_hours
        oldest = self.emitted.metric(names.OLDEST_BATCH_SECONDS, "Maximum")
        meaning = f"A batch has not ended for {hours} hours"
        self.alarms.add_urgent("OldestBatch", oldest, meaning, "oldest-batch", Rule(threshold=hours * 3600))
        again = self.emitted.metric(names.SWEEP_ANNOUNCED_AGAIN)
        meaning = "The bus did not confirm an ending event in 15 minutes: it was sent again"
        self.alarms.add_urgent("LateEvents", again, meaning, "late-events")

    def _watch_for_server_errors(self, api: apigatewayv2.HttpApi) -> None:
        meaning, errors = "The API answers 1 % of its requests with 5xx", aws_metrics.server_errors(api)
        self.alarms.add_urgent("ApiErrors", errors, meaning, "api-errors", SERVER_ERRORS)

    def _watch_the_rest(self, watched: Watched) -> None:
        """Alarm on errors, throttles, slow answers and lags, which are repaired or end in an urgent alarm."""
        self._watch_functions(watched)
        if watched.api:
            meaning, slowest = "One request of a hundred takes 10 seconds", aws_metrics.latency(watched.api)
            self.alarms.add("ApiLatency", slowest, meaning, "api-latency", SLOW)
        for name, table in watched.tables.items():
            throttled = aws_metrics.throttles_of_table(table)
            meaning = f"{name}: DynamoDB throttled reads or writes of the table or an index"
            self.alarms.add(f"{name}TableThrottled", throttled, meaning, "throttled-tables")
        self._watch_readers(watched)

    def _watch_functions(self, watched: Watched) -> None:
        """Alarm on failed and throttled invocations; a throttled route is a 5xx of the API."""
        for number, routes in enumerate(_in_tens(watched.routes), start=1):
            self._watch_for_errors(f"Routes{number}", routes)
        for number, others in enumerate(_in_tens(watched.others), start=1):
            self._watch_for_errors(f"Functions{number}", others)
            self._watch_for_throttles(f"Functions{number}", others)

    def _watch_for_errors(self, name: str, functions: Sequence[lambda_.Function]) -> None:
        meaning = f"Invocations failed of {', '.join(map(name_of, functions))}"
        errors = aws_metrics.total_of(functions, "Errors")
        self.alarms.add(f"{name}Errors", errors, meaning, "failed-invocations")

    def _watch_for_throttles(self, name: str, functions: Sequence[lambda_.Function]) -> None:
        meaning = f"Lambda throttled invocations of {', '.join(map(name_of, functions))}"
        throttles = aws_metrics.total_of(functions, "Throttles")
        self.alarms.add(f"{name}Throttled", throttles, meaning, "throttled-functions")

    def _watch_readers(self, watched: Watched) -> None:
        for reader in watched.readers:
            name, minutes = name_of(reader.function), reader.lag.to_minutes()
            meaning = f"{name}: records of a stream are {minutes:g} minutes old"
            age, lag = aws_metrics.iterator_age(reader.function), Rule(threshold=reader.lag.to_milliseconds())
            self.alarms.add(f"{name}Lag", age, meaning, "stream-lag", lag)


def _in_tens(functions: Sequence[lambda_.Function]) -> Iterator[Sequence[lambda_.Function]]:
    """Yield *functions*, as many at a time as an alarm has metrics."""
    for first in range(0, len(functions), FUNCTIONS_AN_ALARM):
        yield functions[first : first + FUNCTIONS_AN_ALARM]


def _anchor(name: str) -> str:
    """Return the anchor of a part's name: ``group-tasks`` for ``GroupTasks``.

    What follows a dash is a name of the user.
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.partition("-")[0]).lower()
