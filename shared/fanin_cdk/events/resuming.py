"""The way of an ending event to the Step Functions task that waits for its batch.

    bus -> rule on `resumes` -> queue -> resume_task, which ends the task

Deployed if ``resumed_state_machines`` names any, or ``FaninTracker.resumes`` is called. An event whose task
cannot be ended is retried for 24 hours, then goes to the dead-letter queue, as does one that EventBridge
cannot deliver to the queue.

The service authorization reference names no resource type for ``SendTaskSuccess`` and ``SendTaskFailure``.
Step Functions authorizes them on the ARN of the state machine all the same, and the CDK's grants for the
responses of tasks rely on it (aws/aws-cdk, pull request 8486), so nothing wider is granted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from fanin.names import EVENT_SOURCE
from fanin_cdk.constructs.functions import Functions
from fanin_cdk.constructs.queues import RETENTION, SourceQueue
from fanin_cdk.events.ending import DETAIL_TYPES
from fanin_cdk.grants import other_stacks
from fanin_cdk.grants.handlers import RESUME_TASK
from fanin_cdk.settings.config import Config, ConfigError

END_TASKS = ("states:SendTaskFailure", "states:SendTaskSuccess")
TRIED_FOR = Duration.hours(24)
# Lambda recommends a visibility timeout of six times the function's.
VISIBILITY = Duration.seconds(6 * RESUME_TASK.timeout_seconds)
EVENTS_AT_ONCE = 10


class Resuming(Construct):
    """Ends the tasks of state machines; *queue* is watched by alarms."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, functions: Functions, bus: events.IEventBus
    ) -> None:
        super().__init__(scope, id_)
        self.queue = SourceQueue(
            self,
            "Events",
            visibility=VISIBILITY,
            max_receives=math.ceil(TRIED_FOR.to_seconds() / VISIBILITY.to_seconds()) + 1,
            retention=RETENTION,
        )
        self.function = functions.add(RESUME_TASK)
        self.queue.feed(self.function, config, EVENTS_AT_ONCE)
        self.rule = self._rule(bus)
        if config.resumed_state_machines:
            self._let_end_tasks(config.resumed_state_machines)

    def resume(self, state_machine: stepfunctions.IStateMachine) -> None:
        """Let the function end the tasks of *state_machine*. Raises ConfigError if it is an express one."""
        _check_kind(state_machine)
        arn = state_machine.state_machine_arn
        if other_stacks.is_elsewhere(state_machine, self):
            other_stacks.allow(state_machine, self.function, END_TASKS, arn)
        else:
            self._let_end_tasks([arn])

    def _let_end_tasks(self, state_machine_arns: Sequence[str]) -> None:
        """Let the function end the tasks of these state machines, and of no others."""
        statement = iam.PolicyStatement(actions=list(END_TASKS), resources=list(state_machine_arns))
        self.function.add_to_role_policy(statement)

    def _rule(self, bus: events.IEventBus) -> events.Rule:
        target = targets.SqsQueue(
            self.queue.queue,
            dead_letter_queue=self.queue.dead_letter_queue,
            retry_attempts=185,
            max_event_age=TRIED_FOR,
        )
        pattern = events.EventPattern(
            source=[EVENT_SOURCE], detail_type=list(DETAIL_TYPES), detail={"resumes": [True]}
        )
        return events.Rule(self, "Resumes", event_bus=bus, event_pattern=pattern, targets=[target])


def _check_kind(state_machine: stepfunctions.IStateMachine) -> None:
    made = state_machine.node.default_child
    if isinstance(made, stepfunctions.CfnStateMachine) and made.state_machine_type == "EXPRESS":
        raise ConfigError(
            f"resumes: {state_machine.node.path} is an express state machine, whose tasks cannot wait for a "
            "token: make it a standard one"
        )
