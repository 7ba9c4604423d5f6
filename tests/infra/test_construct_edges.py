"""The construct where a user's stack is not alone: names, keys, topics, aliases, layers and limits."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from fanin_cdk.settings.config import ConfigError
from infra.paths import ROOT
from tests.infra.shop import function, queue
from tests.infra.synthesis import UNBUNDLED


def app_of(**context: Any) -> Any:
    import aws_cdk as cdk

    return cdk.App(context={**UNBUNDLED, **context})


def stack_of(app: Any, id_: str = "Mine", **options: Any) -> Any:
    import aws_cdk as cdk

    return cdk.Stack(app, id_, **options)


def tracker_of(stack: Any, id_: str = "Fanin", **options: Any) -> Any:
    from fanin_cdk import FaninTracker

    return FaninTracker(stack, id_, **{"api": None, **options})


def resources(stack: Any, kind: str, prefix: str = "") -> list[dict[str, Any]]:
    found = all_resources(stack)
    return [each for name, each in found.items() if each["Type"] == kind and name.startswith(prefix)]


@functools.lru_cache(maxsize=4)
def all_resources(stack: Any) -> dict[str, Any]:
    """The resources of *stack*, to which nothing is added from then on, by logical id."""
    from aws_cdk import assertions

    return dict(assertions.Template.from_stack(stack).to_json()["Resources"])


def worker_queue(stack: Any, name: str = "Work") -> Any:
    from aws_cdk import Duration

    return queue(stack, name, Duration.seconds(180))


def statements(stack: Any, kind: str, prefix: str, document: str = "PolicyDocument") -> list[dict[str, Any]]:
    found = resources(stack, kind, prefix)
    return [each for one in found for each in one["Properties"][document]["Statement"]]


# Names


def test_trackers_of_one_app_under_two_names_of_its_stack_have_different_stages():
    stages = {tracker_of(stack_of(app_of(), stack_name=name)).config.stage for name in ("shop-a", "shop-b")}

    assert len(stages) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Shop", "Fanin-A"), ("Shop", "Fanin_A")),
        (("Shop", "FaninA"), ("Shop", "Fanina")),
        (("Shop-Prod", "Fanin"), ("Shop", "Prod-Fanin")),
        (("Catalogues", "Fanin"), ("Catalogue", "sFanin")),
    ],
)
def test_places_that_differ_in_characters_that_a_stage_has_not_are_different_stages(one, other):
    from fanin_cdk.settings.rules import STAGE, matches
    from fanin_cdk.stages import stage_of

    stages = {stage_of(*one), stage_of(*other)}
    assert len(stages) == 2
    assert all(matches(STAGE)(each) for each in stages)


@pytest.mark.parametrize("stack", ["1-2", "x" * 128, "A", ""])
def test_every_place_has_a_stage(stack):
    from fanin_cdk.settings.rules import STAGE, matches
    from fanin_cdk.stages import stage_of

    assert matches(STAGE)(stage_of(stack, "9/Änderung/" + "y" * 200))


def test_the_bus_is_named_by_the_stack_so_an_app_may_be_deployed_twice():
    stack = stack_of(app_of())
    tracker_of(stack)

    (bus,) = resources(stack, "AWS::Events::EventBus")
    assert {"Ref": "AWS::StackName"} in bus["Properties"]["Name"]["Fn::Join"][1]


def test_long_names_and_ids_exceed_no_limit_of_a_name():
    from fanin_cdk.longest_values import Written

    stack = stack_of(app_of(), "x" * 100, stack_name="y" * 128)
    tracker = tracker_of(stack, "z" * 100, queues=True, job_queues=["a.b", "c" * 80])
    body = {"Resources": {}}
    (bus,) = resources(stack, "AWS::Events::EventBus")
    bells = [
        each["Properties"]["QueueName"]
        for each in resources(stack, "AWS::SQS::Queue")
        if "QueueName" in each["Properties"]
    ]

    assert len(Written(body, stack.stack_name).text(bus["Properties"]["Name"])) <= 256
    assert len(bells) == 2
    assert all(len(name) <= 80 and name.startswith(f"fanin-{tracker.config.stage}_bell_") for name in bells)


# Topics and keys


def test_alarms_may_publish_to_a_topic_whose_policy_replaced_the_default_one_and_use_its_key():
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_sns as sns

    stack = stack_of(app_of())
    topic = sns.Topic(stack, "Alarms", enforce_ssl=True, master_key=kms.Key(stack, "Key"))
    tracker_of(stack, alarms=topic)

    (publish,) = (
        each for each in statements(stack, "AWS::SNS::TopicPolicy", "Alarms") if each["Effect"] == "Allow"
    )
    uses = statements(stack, "AWS::KMS::Key", "Key", "KeyPolicy")
    assert publish["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert publish["Action"] == "sns:Publish"
    assert publish["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    (use,) = (each for each in uses if each["Principal"] == {"Service": "cloudwatch.amazonaws.com"})
    assert use["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]


def test_every_function_may_use_the_key_also_one_that_a_method_adds():
    from aws_cdk import aws_kms as kms

    from tests.infra.shop import state_machine

    stack = stack_of(app_of())
    tracker_of(stack, encryption_key=kms.Key(stack, "Key")).resumes(state_machine(stack))

    policies = resources(stack, "AWS::IAM::Policy", "FaninFunctions")
    assert any("states:SendTaskSuccess" in json.dumps(each) for each in policies)
    assert [each for each in policies if "kms:Decrypt" not in json.dumps(each)] == []


def test_eventbridge_may_use_the_key_without_a_condition_that_its_requests_do_not_meet():
    from aws_cdk import aws_kms as kms

    stack = stack_of(app_of())
    tracker_of(stack, encryption_key=kms.Key(stack, "Key"))

    uses = statements(stack, "AWS::KMS::Key", "Key", "KeyPolicy")
    (use,) = (each for each in uses if each["Principal"] == {"Service": "events.amazonaws.com"})
    assert "Condition" not in use


def test_a_dead_letter_queue_whose_messages_are_not_failed_raises_an_alarm_as_other_consumed_queues_do():
    from aws_cdk import aws_sns as sns

    stack = stack_of(app_of())
    tracker = tracker_of(stack, alarms=sns.Topic(stack, "Alarms"))
    for name in ("A", "B"):
        tracker.consume(worker_queue(stack, name), function(stack, f"Worker{name}"))

    alarms = resources(stack, "AWS::CloudWatch::Alarm", "FaninMonitoring")
    waiting = [each["Properties"] for each in alarms if "a message has waited" in json.dumps(each)]
    assert {"ADead-1", "BDead-2"} <= {each["AlarmDescription"].partition(":")[0] for each in waiting}


def test_an_imported_key_and_an_imported_topic_are_warned_of_since_their_policies_are_not_changed():
    from aws_cdk import assertions
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_sns as sns

    stack = stack_of(app_of())
    place = "eu-west-1:111122223333"
    key = kms.Key.from_key_arn(stack, "Key", f"arn:aws:kms:{place}:key/1234")
    topic = sns.Topic.from_topic_arn(stack, "Topic", f"arn:aws:sns:{place}:alarms")
    tracker_of(stack, encryption_key=key, alarms=topic)

    found = assertions.Annotations.from_stack(stack)
    for warning in (
        "must allow events.amazonaws.com kms:Decrypt and",
        "must allow cloudwatch.amazonaws.com sns",
    ):
        assert len(found.find_warning("*", assertions.Match.string_like_regexp(warning))) == 1


# Functions


def test_an_alias_and_a_version_are_equipped_as_their_function_is():
    from aws_cdk import aws_lambda as lambda_

    stack = stack_of(app_of())
    tracker = tracker_of(stack)
    functions = {name: function(stack, name) for name in ("Alias", "Version")}
    alias = lambda_.Alias(stack, "Live", alias_name="live", version=functions["Alias"].current_version)
    tracker.consume(worker_queue(stack), alias)
    tracker.grant_publish(functions["Version"].current_version)

    for name in functions:
        (equipped,) = (
            each["Properties"]
            for each in resources(stack, "AWS::Lambda::Function", name)
            if "Environment" in each["Properties"]
        )
        assert "FANIN_BATCHES_TABLE" in equipped["Environment"]["Variables"]
        assert len(equipped["Layers"]) == 1


def test_an_imported_function_is_warned_of_since_it_gets_no_environment():
    from aws_cdk import assertions
    from aws_cdk import aws_lambda as lambda_

    stack = stack_of(app_of())
    arn = "arn:aws:lambda:eu-west-1:111122223333:function:loader"
    imported = lambda_.Function.from_function_arn(stack, "Imported", arn)
    tracker_of(stack).grant_publish(imported)

    found = assertions.Annotations.from_stack(stack).find_warning(
        "*",
        assertions.Match.string_like_regexp("is imported, so it gets grants alone: set FANIN_BATCHES_TABLE"),
    )
    assert len(found) == 1


def test_a_function_of_an_older_python_gets_no_layer():
    from aws_cdk import aws_lambda as lambda_

    stack = stack_of(app_of())
    old = function(stack, "Old", runtime=lambda_.Runtime.PYTHON_3_10)
    tracker_of(stack).grant_ack(old)

    (resource,) = resources(stack, "AWS::Lambda::Function", "Old")
    assert "Layers" not in resource["Properties"]


def test_a_function_reaches_the_batches_of_one_tracker_by_its_environment():
    stack = stack_of(app_of())
    one, other = tracker_of(stack, "One"), tracker_of(stack, "Other")
    worker = function(stack, "Worker")
    one.grant_ack(worker)
    one.grant_read(worker)

    with pytest.raises(ConfigError, match=r"Mine/Worker reaches the batches of Mine/One by its environment"):
        other.grant_ack(worker)
    assert other.grant_ack(worker.role).success


def test_a_grant_to_another_account_or_to_what_has_no_policy_is_refused():
    import aws_cdk as cdk
    from aws_cdk import aws_iam as iam

    stack = stack_of(app_of(), env=cdk.Environment(account="111111111111", region="eu-west-1"))
    tracker = tracker_of(stack)
    role = iam.Role.from_role_arn(stack, "Role", "arn:aws:iam::222222222222:role/loader")

    with pytest.raises(ConfigError, match="is of the account 222222222222"):
        tracker.grant_publish(role)
    with pytest.raises(ConfigError, match="takes no policy"):
        tracker.grant_ack(iam.ServicePrincipal("glue.amazonaws.com"))


def test_a_queue_takes_no_more_executions_than_its_worker_reserves():
    stack = stack_of(app_of())
    tracker = tracker_of(stack, lambda_concurrency=1000)
    for name, reserved, wanted in (("Few", 3, None), ("Many", 50, None), ("Wanted", 50, 40)):
        worker = function(stack, name, reserved_concurrent_executions=reserved)
        tracker.consume(worker_queue(stack, f"{name}Work"), worker, max_concurrency=wanted)

    for name, most in (("Few", 3), ("Many", 10), ("Wanted", 40)):
        (mapping,) = resources(stack, "AWS::Lambda::EventSourceMapping", name)
        assert mapping["Properties"]["ScalingConfig"] == {"MaximumConcurrency": most}


def test_a_worker_that_reserves_less_than_its_queue_would_take_is_refused():
    stack = stack_of(app_of())
    tracker = tracker_of(stack)
    for name, reserved, wanted in (("One", 1, None), ("Five", 5, 10)):
        worker = function(stack, name, reserved_concurrent_executions=reserved)
        with pytest.raises(ConfigError, match=f"Mine/{name} reserves {reserved} concurrent executions"):
            tracker.consume(worker_queue(stack, f"{name}Work"), worker, max_concurrency=wanted)


def test_a_worker_of_jobs_that_runs_longer_than_a_ring_is_hidden_is_refused():
    from aws_cdk import Duration

    stack = stack_of(app_of())
    tracker = tracker_of(stack, queues=True, job_queues=["thumbs"])
    with pytest.raises(ConfigError, match="Mine/Slow may run for 181 s, and the doorbell of thumbs hides"):
        tracker.consume_jobs("thumbs", function(stack, "Slow", timeout=Duration.seconds(181)))
    tracker.consume_jobs("thumbs", function(stack, "Worker", timeout=Duration.seconds(180)))


# Arguments


def test_values_that_would_never_match_are_refused():
    from aws_cdk import aws_events_targets as targets
    from aws_cdk import aws_stepfunctions as stepfunctions

    stack = stack_of(app_of())
    tracker, work = tracker_of(stack), worker_queue(stack)
    target = targets.SqsQueue(work)
    body = stepfunctions.DefinitionBody.from_chainable(stepfunctions.Pass(stack, "Pass"))
    express = stepfunctions.StateMachine(
        stack, "Quick", definition_body=body, state_machine_type=stepfunctions.StateMachineType.EXPRESS
    )

    with pytest.raises(ConfigError, match="dead_letters is 'fial'; it takes fail or keep"):
        tracker.consume(work, function(stack, "Worker"), dead_letters="fial")
    with pytest.raises(ConfigError, match="result is 'failed'; it takes succeeded or completed"):
        tracker.on_completed(target, result="failed")
    with pytest.raises(ConfigError, match="which no user key begins with"):
        tracker.on_ended(target, user_key_prefix="x" * 257)
    with pytest.raises(ConfigError, match="Mine/Quick is an express state machine"):
        tracker.resumes(express)
    with pytest.raises(ConfigError, match="Mine/Plain is not durable"):
        tracker.resumes(function(stack, "Plain").current_version)


@pytest.mark.parametrize("text", ["x" * 256, "x" * 257, "a\x00", "\x85", "ä/b"])
def test_a_prefix_of_user_keys_is_what_a_user_key_is(text):
    from fanin.tracker.rules.options import USER_KEY
    from fanin_cdk.settings import rules

    assert rules.matches(rules.USER_KEY)(text) == bool(USER_KEY.form.fullmatch(text))


# Other stacks


def test_a_tracker_in_its_own_stack_is_connected_to_everything_in_another_without_a_circle():
    from aws_cdk import aws_events_targets as targets

    from tests.infra.shop import state_machine

    app = app_of()
    own, users = stack_of(app, "Own"), stack_of(app, "Users")
    tracker, worker = tracker_of(own), function(users, "Worker")
    work, finished, machine = worker_queue(users), worker_queue(users, "Done"), state_machine(users)
    tracker.grant_publish(function(users, "Loader"))
    tracker.consume(work, worker)
    tracker.on_completed(targets.SqsQueue(finished), scope=users)
    tracker.on_ended(targets.SqsQueue(finished), scope=users)
    tracker.resumes(machine)
    assembly = app.synth()

    depends = {each.stack_name: [one.id for one in each.dependencies] for each in assembly.stacks}
    assert "Own" in depends["Users"]
    assert "Users" not in depends["Own"]
    (failing,) = (
        each["Properties"]
        for each in resources(users, "AWS::Lambda::EventSourceMapping", "Fanin")
        if "WorkDead" in json.dumps(each["Properties"]["EventSourceArn"])
    )
    assert failing["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    allowed = json.dumps(resources(users, "AWS::IAM::Policy", "Fanin"))
    assert "sqs:ReceiveMessage" in allowed
    assert "states:SendTaskSuccess" in allowed
    assert len(resources(users, "AWS::Events::Rule")) == 2


def test_the_layer_is_made_in_the_stack_of_the_function_since_its_arn_changes():
    app = app_of()
    own, users = stack_of(app, "Own"), stack_of(app, "Users")
    tracker = tracker_of(own)
    tracker.grant_publish(function(users, "Loader"))
    tracker.grant_ack(function(users, "Worker"))

    (layer,) = resources(users, "AWS::Lambda::LayerVersion")
    assert resources(own, "AWS::Lambda::LayerVersion", "FaninClient") == []
    assert layer
    for resource in resources(users, "AWS::Lambda::Function"):
        assert all("Ref" in each for each in resource["Properties"]["Layers"])


# Limits


def test_a_tracker_has_as_many_resources_as_its_page_says():
    counted = []
    for settings in ({"api": "iam"}, {"api": "iam", "grouper": True, "queues": True}):
        stack = stack_of(app_of())
        tracker_of(stack, **settings)
        counted.append(len(all_resources(stack)))

    page = (ROOT / "docs" / "constructs.md").read_text()
    assert f"{counted[0]} resources of the 500" in page
    assert f"{counted[1]} with `grouper` and `queues`" in page
