"""The way of an ending event to the Step Functions task, or the durable callback, that waits for its batch.

    bus -> rule on `resumes` -> queue -> resume_task, which ends the task

Deployed if ``resumed_state_machines`` or ``resumed_durable_functions`` names any, or ``FaninTracker.resumes``
is called. An event whose task cannot be ended is retried for 24 hours, then goes to the dead-letter queue, as
does one that EventBridge cannot deliver to the queue.

The service authorization reference names no resource type for ``SendTaskSuccess`` and ``SendTaskFailure``.
Step Functions authorizes them on the ARN of the state machine all the same, and the CDK's grants for the
responses of tasks rely on it (aws/aws-cdk, pull request 8486), so nothing wider is granted.

Lambda authorizes requests about callbacks on the ARN of the execution, which is that of the function with its
version and more behind it (Lambda developer guide, "Security and permissions for Lambda durable functions").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from aws_cdk import Duration, Stack, Token
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct, IConstruct

from fanin.names import EVENT_SOURCE, RESUMED_CALLBACK, RESUMED_TASK
from fanin_cdk.constructs.functions import Functions
from fanin_cdk.constructs.queues import RETENTION, SourceQueue
from fanin_cdk.event_delivery.ending import DETAIL_TYPES
from fanin_cdk.grants import other_stacks
from fanin_cdk.grants.handlers import RESUME_TASK
from fanin_cdk.nag import accept_wildcards
from fanin_cdk.settings.config import Config, ConfigError

END_TASKS = ("states:SendTaskFailure", "states:SendTaskSuccess")
END_CALLBACKS = ("lambda:SendDurableExecutionCallbackFailure", "lambda:SendDurableExecutionCallbackSuccess")
EXECUTIONS = "Of an execution's ARN only the function is known before"
TRIED_FOR = Duration.hours(24)
# Lambda recommends a visibility timeout of six times the function's.
VISIBILITY = Duration.seconds(6 * RESUME_TASK.timeout_seconds)
EVENTS_AT_ONCE = 10


class Resuming(Construct):
    """Ends tasks and callbacks; *queue* is watched by alarms. ``kinds``: of tokens, by ``resume``."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, functions: Functions, bus: events.IEventBus
    ) -> None:
        super().__init__(scope, id_)
        _check_region(config, Stack.of(self).region)
        self.kinds: set[str] = set()
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
            self._let(END_TASKS, config.resumed_state_machines)
        if config.resumed_durable_functions:
            self._let(END_CALLBACKS, [executions_of(arn) for arn in config.resumed_durable_functions])

    def resume(self, waiting: stepfunctions.IStateMachine | lambda_.IFunction) -> None:
        """Let the function end the tasks or callbacks of *waiting*, and add the kind of their tokens.

        Raises ConfigError if *waiting* is an express state machine, or a function that is not durable.
        """
        # A version and an alias have the function: an execution's ARN never has the alias.
        owner: Any = getattr(waiting, "lambda_", waiting)
        _check_kind(owner)
        if hasattr(owner, "state_machine_arn"):
            self.kinds.add(RESUMED_TASK)
            self._let_end(owner, END_TASKS, owner.state_machine_arn)
        else:
            self.kinds.add(RESUMED_CALLBACK)
            self._let_end(owner, END_CALLBACKS, executions_of(owner.function_arn))

    def _let_end(self, owner: IConstruct, actions: Sequence[str], arn: str) -> None:
        if other_stacks.is_elsewhere(owner, self):
            accept_wildcards(other_stacks.allow(owner, self.function, actions, arn), EXECUTIONS, arn)
        else:
            self._let(actions, [arn])

    def _let(self, actions: Sequence[str], arns: Sequence[str]) -> None:
        """Let the function end what waits under *arns*, and nothing else."""
        statement = iam.PolicyStatement(actions=list(actions), resources=list(arns))
        self.function.add_to_role_policy(statement)
        accept_wildcards(cast(IConstruct, self.function.role), EXECUTIONS, *arns)

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


def _check_region(config: Config, region: str) -> None:
    """Raise ConfigError for what the function cannot reach: it sends its requests to the stack's *region*."""
    for arn in (*config.resumed_state_machines, *config.resumed_durable_functions):
        if not Token.is_unresolved(region) and arn.split(":")[3] != region:
            raise ConfigError(
                f"{arn} is not in {region}, where the stack is deployed: it resumes nothing else"
            )


def executions_of(function_arn: str) -> str:
    """Return the pattern of the ARNs of the executions of a durable function, of each version."""
    return f"{function_arn}:*"


def _check_kind(waiting: IConstruct) -> None:
    resource = waiting.node.default_child
    if isinstance(resource, stepfunctions.CfnStateMachine) and resource.state_machine_type == "EXPRESS":
        raise ConfigError(
            f"resumes: {waiting.node.path} is an express state machine, whose tasks cannot wait for a token: "
            "make it a standard one"
        )
    if isinstance(resource, lambda_.CfnFunction) and resource.durable_config is None:
        raise ConfigError(
            f"resumes: {waiting.node.path} is not durable: create the function with a durable_config"
        )
