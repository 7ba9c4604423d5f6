"""The limits of AWS that a template can exceed, measured on the template: all else only a deployment reports.

Each limit is from the quotas page of its service in the AWS documentation, which ``source`` names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fanin_cdk.longest_values import Written

Resource = Mapping[str, Any]
Sizes = Iterable[tuple[str, int]]
"""What has a size, and the size."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template, and the stack it is for."""

    body: Mapping[str, Any]
    written: Written

    @classmethod
    def of(cls, body: Mapping[str, Any], stack: str) -> Template:
        """Return *body* as the template of the stack *stack*."""
        return cls(body, Written(body, stack))

    def of_type(self, *kinds: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """Yield the logical id and the properties of each resource of *kinds*."""
        for name, resource in self.body["Resources"].items():
            if resource["Type"] in kinds:
                yield name, resource.get("Properties", {})

    def widgets(self) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """Yield the dashboard and each of its widgets."""
        for name, properties in self.of_type("AWS::CloudWatch::Dashboard"):
            for widget in json.loads(self.written.text(properties["DashboardBody"]))["widgets"]:
                yield name, widget


@dataclass(frozen=True, slots=True)
class Limit:
    """At most *most* *unit* in each of *sizes*; *source*: the page of the AWS documentation."""

    most: int
    unit: str
    source: str
    sizes: Callable[[Template], Sizes]


@dataclass(frozen=True, slots=True)
class Measured:
    """The *size* of what *limit* is on."""

    name: str
    size: int
    limit: Limit

    @property
    def share(self) -> float:
        """The share of the limit that is used; it is exceeded above 1."""
        return self.size / self.limit.most

    def __str__(self) -> str:
        limit = self.limit
        return f"{self.name} has {self.size:,} {limit.unit}, at most {limit.most:,}: {limit.source}"


def measured(body: Mapping[str, Any], stack: str) -> list[Measured]:
    """Return all that has a limit in the template *body* of *stack*, the largest share of its limit first."""
    template = Template.of(body, stack)
    found = (Measured(name, size, limit) for limit in LIMITS for name, size in limit.sizes(template))
    return sorted(found, key=lambda each: -each.share)


def _resources(template: Template) -> Sizes:
    yield "the template", len(template.body["Resources"])


def _outputs(template: Template) -> Sizes:
    yield "the template", len(template.body.get("Outputs", {}))


def _body(template: Template) -> Sizes:
    # The CDK writes it with an indent of one, and uploads it so.
    yield "the template", len(json.dumps(template.body, indent=1).encode())


def _description(template: Template) -> Sizes:
    yield "the template's description", len(str(template.body.get("Description", "")).encode())


def _dynamic_references(template: Template) -> Sizes:
    yield "the template", len(set(re.findall(r"\{\{resolve:[^}]+\}\}", json.dumps(template.body))))


def _environments(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::Lambda::Function"):
        variables = properties.get("Environment", {}).get("Variables", {})
        yield f"the environment of {name}", _length(template, variables)


def _permissions(template: Template) -> Sizes:
    sizes: dict[str, int] = {}
    for _, properties in template.of_type("AWS::Lambda::Permission"):
        name = template.written.text(properties["FunctionName"])
        sizes[name] = sizes.get(name, 0) + _length(template, properties)
    yield from ((f"the resource-based policy of {name}", size) for name, size in sizes.items())


def _inline_policies(template: Template) -> Sizes:
    sizes: dict[str, int] = {}
    for _, properties in template.of_type("AWS::IAM::Policy"):
        for role in properties.get("Roles", []):
            name = role.get("Ref", str(role)) if isinstance(role, Mapping) else str(role)
            sizes[name] = sizes.get(name, 0) + _length(template, properties["PolicyDocument"])
    yield from ((f"the inline policy of {name}", size) for name, size in sizes.items())


def _managed_policies(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::IAM::ManagedPolicy"):
        yield f"the policy {name}", _length(template, properties["PolicyDocument"])


def _trust_policies(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::IAM::Role"):
        yield f"the trust policy of {name}", _length(template, properties["AssumeRolePolicyDocument"])


def _alarm_metrics(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::CloudWatch::Alarm"):
        yield f"the alarm {name}", sum("MetricStat" in each for each in properties.get("Metrics", ()))


def _joint_alarms(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::CloudWatch::CompositeAlarm"):
        yield f"the alarm {name}", template.written.text(properties["AlarmRule"]).count("ALARM(")


def _alarm_rules(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::CloudWatch::CompositeAlarm"):
        yield f"the alarm {name}", len(template.written.text(properties["AlarmRule"]))


def _alarm_descriptions(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"):
        yield (
            f"the description of the alarm {name}",
            len(template.written.text(properties.get("AlarmDescription", ""))),
        )


def _widgets(template: Template) -> Sizes:
    yield "the dashboard", sum(1 for _ in template.widgets())


def _metrics_of_widgets(template: Template) -> Sizes:
    for _, widget in template.widgets():
        yield _titled(widget), _metrics(widget)


def _metrics_of_dashboard(template: Template) -> Sizes:
    yield "the dashboard", sum(_metrics(widget) for _, widget in template.widgets())


def _alarms_of_widgets(template: Template) -> Sizes:
    for _, widget in template.widgets():
        yield _titled(widget), len(widget["properties"].get("alarms", ()))


def _routes(template: Template) -> Sizes:
    yield "the API", sum(1 for _ in template.of_type("AWS::ApiGatewayV2::Route"))


def _integrations(template: Template) -> Sizes:
    yield "the API", sum(1 for _ in template.of_type("AWS::ApiGatewayV2::Integration"))


def _targets(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::Events::Rule"):
        yield f"the rule {name}", len(properties.get("Targets", ()))


def _patterns(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::Events::Rule"):
        yield f"the event pattern of {name}", _length(template, properties.get("EventPattern", {}))


def _indexes(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::DynamoDB::Table"):
        yield f"the table {name}", len(properties.get("GlobalSecondaryIndexes", ()))


def _projected(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::DynamoDB::Table"):
        yield f"the table {name}", sum(_projection(each) for each in _all_indexes(properties))


def _projected_by_index(template: Template) -> Sizes:
    for name, properties in template.of_type("AWS::DynamoDB::Table"):
        for each in _all_indexes(properties):
            yield f"the index {each['IndexName']} of {name}", _projection(each)


def _all_indexes(properties: Resource) -> Iterable[Mapping[str, Any]]:
    yield from properties.get("GlobalSecondaryIndexes", ())
    yield from properties.get("LocalSecondaryIndexes", ())


def _projection(index: Mapping[str, Any]) -> int:
    return len(index["Projection"].get("NonKeyAttributes", ()))


def _titled(widget: Mapping[str, Any]) -> str:
    return f"the widget {widget['properties'].get('title', widget['type'])!r} of the dashboard"


def _metrics(widget: Mapping[str, Any]) -> int:
    """Return the number of metrics of *widget*, without expressions, whose metrics are listed with them."""
    lines = widget["properties"].get("metrics", ())
    return sum(not isinstance(line[0], Mapping) for line in lines)


def _length(template: Template, value: Any) -> int:
    """Return the characters of *value* as AWS counts them: compact JSON, without white space."""
    return len(
        json.dumps(template.written.resolved(value), separators=(",", ":"), ensure_ascii=False).encode()
    )


CLOUDFORMATION = "CloudFormation quotas"
LAMBDA = "Lambda quotas"
IAM = "IAM and AWS STS quotas"
COMPOSITE = "CloudWatch API Reference, PutCompositeAlarm"
CLOUDWATCH = "CloudWatch service quotas"
DASHBOARD = "CloudWatch API Reference, Dashboard Body Structure and Syntax"
DYNAMODB = "Quotas in Amazon DynamoDB"
API_GATEWAY = "Quotas for API Gateway HTTP APIs"
EVENTBRIDGE = "Amazon EventBridge quotas"
LIMITS = (
    Limit(500, "resources", CLOUDFORMATION, _resources),
    Limit(200, "outputs", CLOUDFORMATION, _outputs),
    # 1 MB of a template in S3, where the CDK uploads it; 51,200 bytes would be for one in a request.
    Limit(1_000_000, "bytes", CLOUDFORMATION, _body),
    Limit(1024, "bytes", CLOUDFORMATION, _description),
    Limit(60, "dynamic references", CLOUDFORMATION, _dynamic_references),
    # Lambda measures the variables as one JSON object: its error has that text, after "String measured".
    Limit(4096, "bytes", LAMBDA, _environments),
    Limit(20_480, "bytes", LAMBDA, _permissions),
    Limit(10_240, "characters", IAM, _inline_policies),
    Limit(6144, "characters", IAM, _managed_policies),
    Limit(2048, "characters", IAM, _trust_policies),
    Limit(10, "metrics", CLOUDWATCH, _alarm_metrics),
    Limit(1024, "characters", "CloudWatch API Reference, PutMetricAlarm", _alarm_descriptions),
    Limit(100, "alarms", COMPOSITE, _joint_alarms),
    Limit(10_240, "characters", COMPOSITE, _alarm_rules),
    Limit(500, "widgets", CLOUDWATCH, _widgets),
    Limit(500, "metrics", CLOUDWATCH, _metrics_of_widgets),
    Limit(2500, "metrics", CLOUDWATCH, _metrics_of_dashboard),
    Limit(100, "alarms", DASHBOARD, _alarms_of_widgets),
    Limit(300, "routes", API_GATEWAY, _routes),
    Limit(300, "integrations", API_GATEWAY, _integrations),
    Limit(5, "targets", EVENTBRIDGE, _targets),
    Limit(2048, "characters", EVENTBRIDGE, _patterns),
    Limit(20, "global secondary indexes", DYNAMODB, _indexes),
    Limit(100, "projected attributes", DYNAMODB, _projected),
    Limit(20, "projected attributes", "DynamoDB API Reference, Projection", _projected_by_index),
)
