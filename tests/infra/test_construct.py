"""The construct in a stack of a user: what it adds, what it grants, and what it refuses."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from typing import Any
from unittest.mock import patch

import pytest

from fanin_cdk.packaging import code
from fanin_cdk.packaging.code import assemble_client
from fanin_cdk.packaging.paths import deployed_from
from fanin_cdk.settings.config import Config, ConfigError
from fanin_cdk.settings.keywords import Settings
from infra.paths import ROOT
from tests.infra.shop import PREFIX, function, queue, shop
from tests.infra.synthesis import UNBUNDLED, Assembly, flat, handler_of

KEY_ACTIONS = {
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
}


@pytest.fixture(scope="module")
def stack() -> Assembly:
    return shop()[0]


def granted(stack: Assembly, role: str) -> dict[str, set[str]]:
    """The actions of the policy of the user's function, by the beginning of the resource's logical id."""
    policy = stack.named("AWS::IAM::Policy", f"{role}RoleDefaultPolicy")
    found: dict[str, set[str]] = {}
    for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        resources = (
            statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        )
        for resource in resources:
            found.setdefault(written(resource), set()).update(actions)
    return found


def written(value: Any) -> str:
    match value:
        case {"Fn::GetAtt": [name, _]} | {"Ref": name}:
            return str(name)[:-8]
        case {"Fn::Join": [_, parts]}:
            return "".join(written(part) for part in parts)
    return str(value)


def environment(stack: Assembly, name: str) -> set[str]:
    variables = (
        stack.named("AWS::Lambda::Function", name)["Properties"].get("Environment", {}).get("Variables", {})
    )
    return set(variables)


TABLES = {"FANIN_BATCHES_TABLE", "FANIN_PAGES_TABLE", "FANIN_PAGE_BITS", "FANIN_TENANT"}


def test_two_of_them_are_in_one_stack_of_a_user_and_cdk_nag_finds_nothing(stack):
    names = [name for name in stack.template["Resources"] if name.startswith(("Fanin", "Encrypted"))]
    tracked = shop()[2]

    assert len(names) > 180
    assert shop()[1] == []
    assert tracked.tracker.config.stage != tracked.encrypted.config.stage


def test_a_publisher_may_open_fill_and_close_batches_and_nothing_else(stack):
    found = granted(stack, "Loader")

    assert {name: actions for name, actions in found.items() if name.startswith("Fanin")} == {
        "FaninTablesBatches": {
            *("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
            "dynamodb:Query",  # a cancel with the children
        },
        "FaninTablesPages": {"dynamodb:BatchGetItem", "dynamodb:UpdateItem"},
        "FaninEventsBus": {"events:PutEvents"},
    }
    assert environment(stack, "Loader") >= TABLES | {"FANIN_COMPLETIONS_BUS"}


def test_a_reader_may_read_list_and_end_what_is_overdue_and_nothing_else(stack):
    found = granted(stack, "Viewer")

    assert {name: actions for name, actions in found.items() if name.startswith("Fanin")} == {
        "FaninTablesBatches": {"dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:Query"},
        "FaninTablesBatches/index/byTenant": {"dynamodb:Query"},
        "FaninTablesBatches/index/byUser": {"dynamodb:Query"},
        "FaninTablesPages": {"dynamodb:BatchGetItem"},
    }


def test_a_caller_of_the_api_may_call_the_routes_that_are_named(stack):
    arns = sorted(granted(stack, "Caller"))
    assert [arn.partition("/$default/")[2] for arn in arns] == ["GET/v1/batches/*", "POST/v1/batches"]
    assert set().union(*granted(stack, "Caller").values()) == {"execute-api:Invoke"}
    assert environment(stack, "Caller") == {"FANIN_URL"}


def test_a_worker_may_ack_and_receive_and_its_dead_letter_messages_become_failed_acks(stack):
    mappings = [each["Properties"] for each in stack.of_type("AWS::Lambda::EventSourceMapping").values()]
    by_queue = {written(each["EventSourceArn"]): each for each in mappings}
    found = granted(stack, "Worker")

    assert found["FaninTablesPages"] == {"dynamodb:BatchGetItem", "dynamodb:UpdateItem"}
    assert {name for name in found if not name.startswith("FaninTables")} == {"Work", "FaninEventsBus"}
    assert by_queue["Work"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert by_queue["Work"]["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert written(by_queue["WorkDead"]["FunctionName"]).startswith("FaninFunctionsFailDeadLetterMessages")
    assert "FANIN_OWN_DEAD_LETTER_QUEUE" in environment(stack, "FaninFunctionsFailDeadLetterMessages")
    assert stack.named("AWS::CloudWatch::Alarm", "FaninMonitoringUnmatchedDeadLetters")


def test_a_worker_of_jobs_is_fed_by_its_doorbell_and_reaches_its_queue_alone(stack):
    found, added = granted(stack, "Thumbs"), granted(stack, "Loader")
    change = {"dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
    doorbell = next(name for name in found if name.startswith("EncryptedJobsDoorbell"))

    assert found["EncryptedJobsTable"] == change
    assert found["EncryptedJobsTable/index/by_ix"] == {"dynamodb:Query"}
    assert {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:SendMessage"} <= found[doorbell]
    assert added[doorbell] == {"sqs:SendMessage"}
    assert added["EncryptedJobsTable"] == (change - {"dynamodb:DeleteItem"}) | {"dynamodb:ConditionCheckItem"}
    assert environment(stack, "Thumbs") == {"FANIN_QUEUE_TABLE", "FANIN_DOORBELL_PREFIX", "FANIN_TENANT"}


def test_a_queue_whose_doorbell_is_not_made_here_is_refused():
    stack, tracker = in_a_stack()

    with pytest.raises(ConfigError, match="Mine/Fanin makes no doorbell for thumbs"):
        tracker.consume_jobs("thumbs", function(stack, "Worker"))


def test_by_default_a_caller_of_the_api_may_not_delete(stack):
    tracker = shop()[2].tracker
    import aws_cdk as cdk

    other = function(cdk.Stack(cdk.App(), "Other"), "Caller")
    resources = tracker.grant_call_api(other).principal_statements[0].resources

    assert not [arn for arn in resources if "/DELETE/" in arn or arn.endswith("/end")]
    assert len(resources) > 8


def test_events_of_completed_batches_reach_a_target_for_a_day(stack):
    rule = stack.named("AWS::Events::Rule", "FaninDeliveriesRule1")["Properties"]
    (target,) = rule["Targets"]

    assert rule["EventPattern"] == {
        "source": ["fanin"],
        "detail-type": ["BatchCompleted"],
        "detail": {"userKey": [{"prefix": PREFIX}]},
    }
    assert written(target["Arn"]) == "Done"
    assert written(target["DeadLetterConfig"]["Arn"]) == "FaninDeliveriesDeadLetters"
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}


def test_a_targets_own_retries_are_left_as_they_are(stack):
    rule = stack.named("AWS::Events::Rule", "FaninDeliveriesEnds")["Properties"]

    assert rule["Targets"][0]["RetryPolicy"] == {"MaximumRetryAttempts": 3}
    assert len(rule["EventPattern"]["detail-type"]) == 5


def test_what_is_resumed_is_all_whose_tasks_and_callbacks_may_be_ended(stack):
    policy = stack.named("AWS::IAM::Policy", "FaninFunctionsResumeTaskRoleDefaultPolicy")
    ends = {
        tuple(sorted(each["Action"])): each["Resource"]
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
        if any(action.startswith(("states:", "lambda:")) for action in each["Action"])
    }
    callbacks = tuple(f"lambda:SendDurableExecutionCallback{how}" for how in ("Failure", "Success"))
    machine, executions = (
        ends.pop(("states:SendTaskFailure", "states:SendTaskSuccess")),
        ends.pop(callbacks),
    )

    assert not ends
    assert written(machine) == "Machine"
    # Of the function, though its version was given: an execution's ARN has the version that it runs.
    assert written(executions) == "Durable:*"
    opening = stack.named("AWS::Lambda::Function", "FaninFunctionsApiWriteBatches")["Properties"]
    kinds = opening["Environment"]["Variables"]["FANIN_RESUMES"]
    assert kinds == "durableCallbackId,taskToken"


def test_a_key_encrypts_every_table_queue_and_bucket_and_each_role_may_use_it(stack):
    mine = {name: each for name, each in stack.template["Resources"].items() if name.startswith("Encrypted")}
    of = {kind: [each["Properties"] for each in mine.values() if each["Type"] == kind] for kind in KINDS}

    assert all(
        written(each["SSESpecification"]["KMSMasterKeyId"]) == "Key" for each in of["AWS::DynamoDB::Table"]
    )
    assert all(written(each["KmsMasterKeyId"]) == "Key" for each in of["AWS::SQS::Queue"])
    assert not any(each["SqsManagedSseEnabled"] for each in of["AWS::SQS::Queue"])
    (bucket,) = of["AWS::S3::Bucket"]
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert written(rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]) == "Key"
    users = [each for each in of["AWS::IAM::Policy"] if "kms:Decrypt" in str(each)]
    assert len(users) == len(of["AWS::IAM::Role"]) > 5
    assert granted(stack, "Acker")["Key"] == KEY_ACTIONS


KINDS = ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::IAM::Policy", "AWS::IAM::Role")


def test_without_an_api_nothing_has_a_route(stack):
    handlers = {
        handler_of(each)
        for name, each in stack.of_type("AWS::Lambda::Function").items()
        if name.startswith("Encrypted")
    }

    assert handlers
    assert not [each for each in handlers if each.startswith("api.")]
    assert len(stack.of_type("AWS::ApiGatewayV2::Api")) == 1


def test_the_clients_layer_has_no_dependency_and_imports_alone(tmp_path):
    from aws_cdk import App, Stack

    from fanin_cdk.packaging.packages import client_code

    with patch.object(code, "assemble_client", assemble_client):
        client_code(Stack(App(outdir=str(tmp_path)), "Layer"))
    (asset,) = tmp_path.glob("asset.*")
    imports = "import fanin; fanin.Fanin; fanin.Items; import fanin.publishing"

    assert {path.suffix for path in asset.rglob("*") if path.is_file()} == {".py"}
    assert not (asset / "python" / "fanin" / "api").exists()
    subprocess.run([sys.executable, "-c", imports], check=True, cwd=asset / "python")


def test_a_function_that_runs_no_python_gets_no_layer():
    stack, tracker = in_a_stack()
    from aws_cdk import assertions
    from aws_cdk import aws_lambda as lambda_

    node = function(
        stack,
        "Node",
        runtime=lambda_.Runtime.NODEJS_24_X,
        code=lambda_.Code.from_inline("exports.handler = () => {}"),
    )
    tracker.grant_ack(node)
    template = assertions.Template.from_stack(stack).to_json()
    resource = next(each for name, each in template["Resources"].items() if re.match(r"Node\w{8}$", name))

    assert "Layers" not in resource["Properties"]
    assert set(resource["Properties"]["Environment"]["Variables"]) == TABLES | {"FANIN_COMPLETIONS_BUS"}


def in_a_stack(**settings):
    """A new stack with a tracker without API, which is quick to make; it is not synthesised."""
    import aws_cdk as cdk

    from fanin_cdk import FaninTracker

    stack = cdk.Stack(cdk.App(context=UNBUNDLED), "Mine")
    return stack, FaninTracker(stack, "Fanin", api=None, **settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"api": "key"}, "api is 'key'; it takes iam, jwt or None"),
        ({"api": "jwt"}, 'api="jwt" needs jwt_issuer and jwt_audience'),
        ({"jwt_issuer": "https://a.example", "jwt_audience": "b"}, 'need api="jwt"'),
        ({"api": "jwt", "jwt_issuer": "https://a.example"}, "jwt_issuer and jwt_audience go together"),
        ({"api": None, "throttle_rate": 5}, "need an API: set api to iam or jwt"),
        ({"grouper_registrations": True}, "grouper_registrations needs grouper"),
        ({"job_queues": ["a"]}, "job_queues needs queues"),
        ({"events": ["JobDead"]}, "events needs queues for JobDead"),
        ({"page_bits": 1}, "page_bits is 1; it takes"),
        ({"analytics": "glue"}, "FaninTracker has unknown settings: analytics"),
    ],
)
def test_settings_that_contradict_each_other_fail_with_a_sentence(settings, sentence):
    import aws_cdk as cdk

    from fanin_cdk import FaninTracker

    with pytest.raises(ConfigError) as refused:
        FaninTracker(cdk.Stack(cdk.App(), "Mine"), "Fanin", **settings)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("name", ["alarm_email", "analytics"])
def test_the_packages_app_refuses_the_settings_of_parts_that_only_a_clone_has(name):
    from fanin_cdk.stack import build

    with pytest.raises(ConfigError, match=rf"^{name} needs a clone"):
        build({name: "glue"})


def test_alarms_with_a_topic_are_not_off():
    import aws_cdk as cdk
    from aws_cdk import aws_sns as sns

    from fanin_cdk import FaninTracker

    stack = cdk.Stack(cdk.App(), "Mine")
    with pytest.raises(ConfigError, match="alarms are off: set monitoring to lean or full"):
        FaninTracker(stack, "Fanin", alarms=sns.Topic(stack, "Topic"), monitoring="off")


def test_the_alarm_of_all_that_is_urgent_has_what_is_connected_later(stack):
    rule = flat(stack.only("AWS::CloudWatch::CompositeAlarm")["Properties"]["AlarmRule"])
    urgent = [
        name for name in stack.of_type("AWS::CloudWatch::Alarm") if "Deliveries" in name or "WorkDead" in name
    ]

    assert len(urgent) == 2
    assert all(name in rule for name in urgent)


def test_a_queue_that_would_lose_or_repeat_messages_is_refused():
    from aws_cdk import Duration
    from aws_cdk import aws_sqs as sqs

    stack, tracker = in_a_stack()
    worker = function(stack, "Worker")
    short, bare = queue(stack, "Short", Duration.seconds(179)), sqs.Queue(stack, "Bare")
    default = queue(stack, "Default", None)

    with pytest.raises(ConfigError, match=r"timeout of Mine/Short is 179 s, and Mine/Worker may run for 30"):
        tracker.consume(short, worker)
    with pytest.raises(ConfigError, match=r"Mine/Default is 30 s.*set it to 180 s, six timeouts"):
        tracker.consume(default, worker)
    with pytest.raises(ConfigError, match="Mine/Bare has no dead-letter queue"):
        tracker.consume(bare, worker)


def test_a_dead_letter_queue_must_hide_messages_as_long_as_its_consumer_runs_unless_it_is_kept():
    from aws_cdk import Duration
    from aws_cdk import aws_sqs as sqs

    stack, tracker = in_a_stack()
    worker = function(stack, "Worker")
    quick = sqs.Queue(stack, "Quick", visibility_timeout=Duration.seconds(5))
    lost = sqs.DeadLetterQueue(queue=quick, max_receive_count=3)
    work = [
        sqs.Queue(stack, name, visibility_timeout=Duration.seconds(180), dead_letter_queue=lost)
        for name in ("A", "B")
    ]

    with pytest.raises(ConfigError, match=r"dead-letter queue Mine/Quick is 5 s: set it to 30 s"):
        tracker.consume(work[0], worker)
    tracker.consume(work[1], worker, dead_letters="keep")


def test_what_consume_fails_can_be_kept():
    from aws_cdk import Duration, assertions

    stack, tracker = in_a_stack(keep_dead_letter_messages=True)
    tracker.consume(queue(stack, "Work", Duration.seconds(180)), function(stack, "Worker"))
    template = assertions.Template.from_stack(stack)

    kept = {
        "Variables": assertions.Match.object_like({"FANIN_KEPT_MESSAGES_QUEUE": assertions.Match.any_value()})
    }
    template.resource_count_is("AWS::Lambda::EventSourceMapping", 4)
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {"Handler": "functions.fail_dead_letter_messages.handler", "Environment": kept},
    )


def test_queues_may_share_a_dead_letter_queue():
    from aws_cdk import Duration
    from aws_cdk import aws_sqs as sqs

    stack, tracker = in_a_stack()
    lost = sqs.DeadLetterQueue(queue=sqs.Queue(stack, "Dead"), max_receive_count=3)
    for name in ("A", "B"):
        queue = sqs.Queue(stack, name, visibility_timeout=Duration.seconds(180), dead_letter_queue=lost)
        tracker.consume(queue, function(stack, f"Worker{name}"))

    of_dead = [each for each in tracker.dead_letter_handler.node.children if "Source" in each.node.id]
    assert len(of_dead) == 1


def test_without_an_api_there_is_no_url_and_no_route_to_grant():
    stack, tracker = in_a_stack()
    with pytest.raises(ConfigError, match="Mine/Fanin has no API"):
        assert tracker.api_url
    with pytest.raises(ConfigError, match='needs api="iam"'):
        tracker.grant_call_api(function(stack, "Caller"))


def test_a_route_that_the_api_does_not_have_is_named():
    tracker = shop()[2].tracker
    with pytest.raises(ConfigError, match=r"the API has no route GET /v2/batches"):
        tracker.grant_call_api(tracker.functions.defined[0], "GET /v2/batches")


def test_the_keyword_arguments_are_the_settings():
    assert Settings.__annotations__.keys() == {field.name for field in dataclasses.fields(Config)}


def test_what_is_deployed_is_found_beside_the_package_and_inside_it(tmp_path):
    inside = tmp_path / "site-packages" / "fanin_cdk"
    (inside / "functions").mkdir(parents=True)
    clone = tmp_path / "clone" / "shared" / "fanin_cdk"
    clone.mkdir(parents=True)

    assert deployed_from(inside) == inside
    assert deployed_from(clone) == tmp_path / "clone"
    assert (deployed_from(ROOT / "shared" / "fanin_cdk") / "requirements.txt").is_file()
