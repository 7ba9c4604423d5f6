"""A state machine that fans out and waits: a task ends when all items of its batch are done."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as stepfunctions
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from fanin_cdk import FaninTracker
from fanin_cdk.nag import accept, accept_wildcards

FUNCTIONS = str(Path(__file__).parent / "functions")
ENDS = ["fanin.TimedOut", "fanin.Cancelled", "fanin.Failed", "fanin.Expired"]


class Orders(cdk.Stack):
    """The state machine, the publisher that it starts, and the queue with its workers."""

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        lost = sqs.Queue(self, "DeadLetters", enforce_ssl=True, retention_period=cdk.Duration.days(14))
        work = sqs.Queue(
            self,
            "Work",
            enforce_ssl=True,
            visibility_timeout=cdk.Duration.minutes(3),
            dead_letter_queue=sqs.DeadLetterQueue(queue=lost, max_receive_count=3),
        )
        publisher = function(self, "Publisher", "publisher.handler", {"QUEUE_URL": work.queue_url})
        worker = function(self, "Worker", "worker.handler")
        machine = waiting_machine(self, publisher)
        tracker = FaninTracker(self, "Fanin")
        tracker.grant_publish(publisher)
        tracker.consume(work, worker)
        tracker.resumes(machine)
        tracker.add_outputs()
        work.grant_send_messages(publisher)
        cdk.CfnOutput(self, "MachineArn", value=machine.state_machine_arn)


def waiting_machine(scope: Construct, publisher: lambda_.Function) -> stepfunctions.StateMachine:
    """Return a state machine whose one task waits for the end of the batch that *publisher* opens."""
    task = fan_out(scope, publisher)
    task.add_catch(stepfunctions.Fail(scope, "NotDone"), errors=ENDS, result_path="$.error")
    # Other names would fill the resource policy of the account, by which services write logs.
    log = logs.LogGroup(
        scope,
        "MachineLog",
        log_group_name=f"/aws/vendedlogs/states/{cdk.Aws.STACK_NAME}",
        retention=logs.RetentionDays.TWO_WEEKS,
    )
    machine = stepfunctions.StateMachine(
        scope,
        "Machine",
        definition_body=stepfunctions.DefinitionBody.from_chainable(
            task.next(stepfunctions.Succeed(scope, "Done"))
        ),
        logs=stepfunctions.LogOptions(destination=log, level=stepfunctions.LogLevel.ALL),
        tracing_enabled=True,
    )
    accept(machine, "Log delivery and X-Ray take no resource", "AwsSolutions-IAM5[Resource::*]")
    accept_wildcards(machine, "Versions of the publisher", f"{publisher.function_arn}:*")
    return machine


def fan_out(scope: Construct, publisher: lambda_.Function) -> tasks.LambdaInvoke:
    """Return the task that starts *publisher* with its token, and waits."""
    return tasks.LambdaInvoke(
        scope,
        "FanOut",
        lambda_function=publisher,
        integration_pattern=stepfunctions.IntegrationPattern.WAIT_FOR_TASK_TOKEN,
        payload=stepfunctions.TaskInput.from_object(
            {
                "token": stepfunctions.JsonPath.task_token,
                "rows": stepfunctions.JsonPath.object_at("$.rows"),
            }
        ),
        # Longer than the deadline of the batch, which ends the task before.
        task_timeout=stepfunctions.Timeout.duration(cdk.Duration.hours(7)),
        result_path="$.batch",
    )


def function(
    scope: Construct, name: str, handler: str, environment: dict[str, str] | None = None
) -> lambda_.Function:
    """Return a function of the folder ``functions``, which may write its own log and nothing else."""
    group = logs.LogGroup(scope, f"{name}Log", retention=logs.RetentionDays.TWO_WEEKS)
    role = iam.Role(scope, f"{name}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    group.grant_write(role)
    return lambda_.Function(
        scope,
        name,
        runtime=lambda_.Runtime.PYTHON_3_14,
        handler=handler,
        code=lambda_.Code.from_asset(FUNCTIONS),
        timeout=cdk.Duration.seconds(30),
        memory_size=512,
        environment=environment,
        role=role,
        log_group=group,
    )


if __name__ == "__main__":
    app = cdk.App()
    Orders(app, "Orders")
    app.synth()
