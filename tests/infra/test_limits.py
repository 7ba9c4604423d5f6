"""The limits of AWS: each is measured, and a template that exceeds one is refused with the setting's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fanin_cdk.limits import LIMITS, Measured, measured
from fanin_cdk.longest_values import Written
from fanin_cdk.settings.config import ConfigError
from fanin_cdk.settings.fitting import Fit, fit
from infra.config import StackConfig
from tests.infra.options import EVERYTHING
from tests.infra.synthesis import synthesised

STACK = "Fanin-" + "s" * 20
Body = dict[str, Any]
THING = {"Type": "AWS::SNS::Topic", "Properties": {}}


def body(*resources: Body, **more: Any) -> Body:
    return {"Resources": {f"R{number}": each for number, each in enumerate(resources)}, **more}


def of(kind: str, **properties: Any) -> Body:
    return {"Type": kind, "Properties": properties}


def dashboard(*widgets: Body) -> Body:
    return body(of("AWS::CloudWatch::Dashboard", DashboardBody=json.dumps({"widgets": widgets})))


def metrics(count: int) -> Body:
    return {"type": "metric", "properties": {"metrics": [["ns", f"m{number}"] for number in range(count)]}}


def in_widgets(count: int) -> Body:
    return dashboard(*[metrics(500)] * (count // 500), metrics(count % 500))


def policy(kind: str, empty: int, **more: Any) -> Callable[[int], Body]:
    """A policy of a size: *empty* is that of one without content."""
    return lambda size: body(of(kind, PolicyDocument={"S": "x" * (size - empty)}, **more))


def attributes(*counts: int) -> Body:
    indexes = [
        {"IndexName": f"i{number}", "Projection": {"NonKeyAttributes": ["a"] * count}}
        for number, count in enumerate(counts)
    ]
    return body(of("AWS::DynamoDB::Table", GlobalSecondaryIndexes=indexes))


def tables(count: int) -> Body:
    indexes = [{"IndexName": f"i{number}", "Projection": {}} for number in range(count)]
    return body(of("AWS::DynamoDB::Table", GlobalSecondaryIndexes=indexes))


def permission(size: int) -> Body:
    small = {"FunctionName": "f", "Action": ""}
    padding = size - len(json.dumps(small, separators=(",", ":")))
    return body(of("AWS::Lambda::Permission", FunctionName="f", Action="x" * padding))


def sized(size: int) -> Body:
    empty = len(json.dumps(body(THING, Metadata=""), indent=1))
    return body(THING, Metadata="x" * (size - empty))


ALARM, JOINT, RULE = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm", "AWS::Events::Rule"
# (limit, unit): a template of a size, by the name of what is measured.
SIZED: dict[str, Callable[[int], Body]] = {
    "_resources": lambda count: body(*[THING] * count),
    "_outputs": lambda count: body(THING, Outputs={str(each): {} for each in range(count)}),
    "_body": sized,
    "_description": lambda size: body(THING, Description="x" * size),
    "_dynamic_references": lambda count: body(
        THING, Metadata=[f"{{{{resolve:ssm:{number}}}}}" for number in range(count)]
    ),
    "_environments": lambda size: body(
        of("AWS::Lambda::Function", Environment={"Variables": {"A": "x" * (size - len('{"A":""}'))}})
    ),
    "_permissions": permission,
    "_inline_policies": policy("AWS::IAM::Policy", len('{"S":""}'), Roles=[{"Ref": "Role"}]),
    "_managed_policies": policy("AWS::IAM::ManagedPolicy", len('{"S":""}')),
    "_trust_policies": lambda size: body(
        of("AWS::IAM::Role", AssumeRolePolicyDocument={"S": "x" * (size - len('{"S":""}'))})
    ),
    "_alarm_metrics": lambda count: body(of(ALARM, Metrics=[{"MetricStat": {}}] * count)),
    "_alarm_descriptions": lambda size: body(of(ALARM, AlarmDescription="x" * size)),
    "_joint_alarms": lambda count: body(of(JOINT, AlarmRule=" OR ".join(["ALARM(a)"] * count))),
    "_alarm_rules": lambda size: body(of(JOINT, AlarmRule="x" * size)),
    "_widgets": lambda count: dashboard(*[metrics(0)] * count),
    "_metrics_of_widgets": lambda count: dashboard(metrics(count)),
    "_metrics_of_dashboard": in_widgets,
    "_alarms_of_widgets": lambda count: dashboard({"type": "alarm", "properties": {"alarms": ["a"] * count}}),
    "_routes": lambda count: body(*[of("AWS::ApiGatewayV2::Route")] * count),
    "_integrations": lambda count: body(*[of("AWS::ApiGatewayV2::Integration")] * count),
    "_targets": lambda count: body(of(RULE, Targets=[{}] * count)),
    "_patterns": lambda size: body(of(RULE, EventPattern={"s": "x" * (size - len('{"s":""}'))})),
    "_indexes": tables,
    "_projected": lambda count: attributes(*[10] * (count // 10), count % 10),
    "_projected_by_index": attributes,
}
BY_NAME = {limit.sizes.__name__: limit for limit in LIMITS}


def over(template: Body) -> list[str]:
    return [each.limit.sizes.__name__ for each in measured(template, STACK) if each.share > 1]


@pytest.mark.parametrize("name", BY_NAME)
def test_the_limit_itself_is_accepted_and_one_more_is_not(name):
    limit = BY_NAME[name]

    assert name not in over(SIZED[name](limit.most))
    assert name in over(SIZED[name](limit.most + 1))


def test_a_role_has_the_sum_of_its_inline_policies():
    halves = [of("AWS::IAM::Policy", PolicyDocument="x" * 6000, Roles=[{"Ref": "Role"}])] * 2

    assert over(body(*halves)) == ["_inline_policies"]


def test_a_value_that_only_the_deployment_knows_counts_with_its_longest_text():
    queue = {
        "Queue": of("AWS::SQS::Queue"),
        "Table": of("AWS::DynamoDB::Table"),
        "F": of("AWS::Lambda::Function"),
    }
    written = Written({"Resources": queue}, "Fanin-" + "s" * 200)
    url = written.text({"Ref": "Queue"})

    assert url.startswith("https://sqs.")
    assert len(url.rpartition("/")[2]) == 80
    assert len(written.text({"Ref": "F"})) == 64
    assert written.text({"Fn::GetAtt": ["Table", "StreamArn"]}).startswith("arn:")
    assert written.text({"Fn::Join": ["-", ["a", {"Ref": "AWS::AccountId"}]]}) == "a-" + "1" * 12
    assert written.text({"Fn::Sub": "${AWS::Region}!"}) == "ap-southeast-1!"
    assert len(written.text({"Fn::ImportValue": "x"})) == 255


@pytest.mark.parametrize("engine", ["glue", "emr"])
def test_a_deployment_with_every_option_is_within_every_limit(engine):
    found = measured(synthesised(**{**EVERYTHING, "analytics": engine}).template, STACK)

    assert [str(each) for each in found if each.share > 1] == []
    # What has no case in the template is measured above.
    assert {each.limit.sizes.__name__ for each in found} | {"_managed_policies"} == BY_NAME.keys()


@pytest.mark.parametrize("most", [0, 1, 2, 25, 26, 58, 59])
def test_the_number_of_entries_that_fit_is_exact_where_two_limits_grow(most):
    config = StackConfig(job_queues=tuple(f"queue-{number}" for number in range(60)))
    calls = []

    def share(shorter: StackConfig) -> float:
        length = len(shorter.job_queues)
        calls.append(length)
        # One limit is half used by all else; another crosses it between *most* and one more.
        return max(0.5 + length / 300, length / (most + 0.5))

    assert fit(config, share) == Fit("job_queues", 60, most)
    assert len(calls) == len(set(calls)) <= 10


def test_the_list_that_is_the_reason_is_named_and_not_the_longest():
    queues = tuple(f"arn:aws:sqs:eu-west-1:123456789012:q{number}" for number in range(9))
    config = StackConfig(job_queues=("a", "b", "c"), dead_letter_queue_arns=queues)

    assert fit(config, lambda each: len(each.job_queues) / 2) == Fit("job_queues", 3, 2)


def test_where_no_list_alone_is_the_reason_none_is_named():
    assert fit(StackConfig(job_queues=("a",)), lambda _: 2.0) is None


def refused(
    config: StackConfig, monkeypatch: pytest.MonkeyPatch, share: Callable[[StackConfig], float]
) -> str:
    # Here, for importing it starts a Node, which the collection of other tests need not wait for.
    from infra import app

    found = [Measured("the template", 501, BY_NAME["_resources"]), Measured("f", 9, BY_NAME["_environments"])]
    monkeypatch.setattr(app, "share_of_limits", share)
    with pytest.raises(ConfigError) as error:
        app._refuse_too_large(config, found)
    return str(error.value)


def test_the_sentence_names_the_setting_and_the_most_it_takes(monkeypatch):
    config = StackConfig(job_queues=("a", "b", "c"))

    assert refused(config, monkeypatch, lambda each: len(each.job_queues) / 2) == (
        "job_queues has 3 entries, of which 2 fit beside the other settings: "
        "the template has 501 resources, at most 500: CloudFormation quotas"
    )


def test_without_a_list_the_sentence_is_that_of_the_limit(monkeypatch):
    sentence = refused(StackConfig(), monkeypatch, lambda _: 2.0)

    assert sentence == "the template has 501 resources, at most 500: CloudFormation quotas"


ARN = "arn:aws:sqs:eu-west-1:123456789012:"


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("job_queues", [f"{number:03}" + "q" * 77 for number in range(200)]),
        ("dead_letter_queue_arns", [f"{ARN}{number:03}" + "q" * 77 for number in range(300)]),
        ("analytics_queue_arns", [f"{ARN}{number:03}" + "q" * 77 for number in range(200)]),
        ("analytics_bucket_arns", [f"arn:aws:s3:::{number:03}" + "b" * 60 for number in range(200)]),
    ],
)
@pytest.mark.proof
def test_a_list_at_its_most_deploys_and_one_more_is_refused(name, entries):
    from infra import app

    config = StackConfig.from_context({**EVERYTHING, "analytics": "glue", name: entries})
    found = fit(config, app.share_of_limits)

    assert found is not None
    assert (found.name, found.given) == (name, len(entries))
    assert found.most >= 10
