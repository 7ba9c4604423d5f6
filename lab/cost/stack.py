"""The synthesised stack as the cost model sees it: its template, and its tables on moto."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from fanin.cost import Usage
from fanin.local.function_processes.deployed import module_of
from lab.cost.month import MINUTES, POLLERS, POLLS_A_MINUTE

ACCOUNT = "111122223333"
PSEUDO = {"AWS::AccountId": ACCOUNT, "AWS::Partition": "aws", "AWS::Region": "us-east-1"}


@dataclass(frozen=True)
class Stack:
    """A template of the CDK app."""

    template: Mapping[str, Any]

    @classmethod
    def synthesised(cls, **settings: Any) -> Stack:
        """Synthesise the app with *settings*, without packaging anything."""
        from infra.app import build  # noqa: PLC0415  # loading the CDK starts a Node

        with TemporaryDirectory() as outdir:
            app, stack = build({"aws:cdk:bundling-stacks": [], **settings}, outdir=outdir)
            return cls(app.synth().get_stack_by_name(stack.stack_name).template)

    def of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the logical id and the properties of each resource of *kind*."""
        for name, resource in self.template["Resources"].items():
            if resource["Type"] == kind:
                yield name, resource.get("Properties", {})

    def function(self, handler: str) -> Mapping[str, Any]:
        """Return the properties of the function that runs ``functions.<handler>``."""
        (found,) = (
            each
            for _, each in self.of_type("AWS::Lambda::Function")
            if each["Handler"] == f"functions.{handler}.handler"
        )
        return found

    def environment(self, handler: str) -> dict[str, str]:
        """Return the environment of a function; a resource that it refers to has its logical id as name."""
        variables = self.function(handler)["Environment"]["Variables"]
        return {name: _named(value) for name, value in variables.items()}

    def gigabytes(self, handler: str) -> float:
        """Return the memory of a function."""
        return float(self.function(handler)["MemorySize"]) / 1024

    def scheduled(self) -> list[str]:
        """Return the handlers that run every minute."""
        rules = (each for _, each in self.of_type("AWS::Events::Rule"))
        every = [each for each in rules if each.get("ScheduleExpression") == "rate(1 minute)"]
        names = [rule["Targets"][0]["Arn"]["Fn::GetAtt"][0] for rule in every]
        return [module_of(self.template["Resources"][name]["Properties"]["Handler"]) for name in names]

    def is_traced(self, handler: str) -> bool:
        """Return whether the invocations of a function are traced."""
        return "TracingConfig" in self.function(handler)

    def standing(self) -> Usage:
        """Return what a month costs while nothing runs: alarms, dashboards, polls of queues, keys."""
        alarms = sum(_metrics(each) for _, each in self.of_type("AWS::CloudWatch::Alarm"))
        polls = sum(_is_of_queue(each) for _, each in self.of_type("AWS::Lambda::EventSourceMapping"))
        return Usage(
            {
                "alarm": alarms,
                "composite_alarm": sum(1 for _ in self.of_type("AWS::CloudWatch::CompositeAlarm")),
                "dashboard": sum(1 for _ in self.of_type("AWS::CloudWatch::Dashboard")),
                "queue_request": polls * POLLERS * POLLS_A_MINUTE * MINUTES,
                "key": sum(1 for _ in self.of_type("AWS::KMS::Key")),
            }
        )

    def create_tables(self, client: Any) -> None:
        """Create the stack's tables on *client*, under their logical ids."""
        keys = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for name, properties in self.of_type("AWS::DynamoDB::Table"):
            given = {key: _without_limits(properties[key]) for key in keys if key in properties}
            client.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **given)


def _named(value: Any) -> str:
    match value:
        case {"Ref": str(name)}:
            return PSEUDO.get(name, name)
        case {"Fn::GetAtt": [name, _]}:
            return str(name)
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_named(part) for part in parts)
    return str(value)


def _without_limits(value: Any) -> Any:
    """Leave out the maximum throughput of indexes, which is not part of their form."""
    if isinstance(value, list):
        return [{key: each for key, each in one.items() if key != "OnDemandThroughput"} for one in value]
    return value


def _metrics(alarm: Mapping[str, Any]) -> int:
    """Return the metrics of *alarm*, each of which is charged."""
    return sum("MetricStat" in each for each in alarm["Metrics"]) if "Metrics" in alarm else 1


def _is_of_queue(mapping: Mapping[str, Any]) -> bool:
    return "StreamArn" not in str(mapping["EventSourceArn"])
