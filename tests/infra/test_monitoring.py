from __future__ import annotations

import ast
import json

import pytest

from fanin import names
from fanin.completion_events import metrics as announced
from fanin_cdk.packaging.paths import FUNCTIONS
from tests.infra.options import CALLBACKS, CONFIGURED
from tests.infra.synthesis import synthesised

MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:waits"
SERVICE = [{"Name": "service", "Value": "fanin-dev"}]


@pytest.fixture(scope="module")
def full():
    """The deployment with a work queue, the registrations queue, all alarms and the dashboard."""
    more = {"resumed_state_machines": MACHINE, "callbacks": CALLBACKS, "monitoring": "full"}
    return synthesised(grouper_registrations=True, job_queues="thumbs", **more)


@pytest.fixture(scope="module")
def default():
    """The default deployment with all alarms and the dashboard."""
    return synthesised(monitoring="full")


def alarms_of(assembly):
    return [each["Properties"] for each in assembly.of_type("AWS::CloudWatch::Alarm").values()]


def alarm_on(assembly, metric):
    """The one alarm on *metric*."""
    (found,) = (each for each in alarms_of(assembly) if each.get("MetricName") == metric)
    return found


def watched(assembly, metric):
    """What the alarms on *metric* look at: logical ids."""
    named = [
        each["Dimensions"][0]["Value"] for each in alarms_of(assembly) if each.get("MetricName") == metric
    ]
    return {value.get("Ref") or value["Fn::GetAtt"][0] for value in named}


def test_every_dead_letter_queue_is_watched(full):
    dead = {name for name in full.of_type("AWS::SQS::Queue") if "DeadLetters" in name}

    assert watched(full, "ApproximateNumberOfMessagesVisible") == dead


def stopped(assembly):
    """The alarms on sweeps that succeeded, by the function that they watch."""
    found = {}
    for alarm in alarms_of(assembly):
        stats = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each]
        if "Invocations" in {each["MetricName"] for each in stats}:
            (name,) = {each["Dimensions"][0]["Value"]["Ref"] for each in stats}
            found[name] = alarm
    return found


def test_a_sweeper_that_is_not_invoked_or_fails_each_time_raises_an_alarm_without_any_measurement(default):
    for alarm in stopped(default).values():
        expressions = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
        assert expressions == ["invocations - errors"]
        assert {each["MetricStat"]["Period"] for each in alarm["Metrics"] if "MetricStat" in each} == {300}
        assert (alarm["TreatMissingData"], alarm["Threshold"]) == ("breaching", 1)
        assert alarm["ComparisonOperator"] == "LessThanThreshold"
    clocks = [rule["Properties"] for rule in default.of_type("AWS::Events::Rule").values()]
    swept = {each["Targets"][0]["Arn"]["Fn::GetAtt"][0] for each in clocks if "ScheduleExpression" in each}
    assert stopped(default).keys() == swept
    assert len(swept) == 3


def test_a_sweeper_that_is_not_there_is_not_missed():
    assert len(stopped(synthesised(archive=True, grouper=False))) == 2


@pytest.mark.parametrize(("settings", "hours"), [({}, 168), (CONFIGURED, 2)])
def test_a_batch_that_has_not_ended_for_the_configured_time_rings(settings, hours):
    alarm = alarm_on(synthesised(**settings), "OldestOpenBatchSeconds")

    assert (alarm["Threshold"], alarm["Statistic"]) == (hours * 3600, "Maximum")
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
    assert alarm["TreatMissingData"] == "notBreaching"
    assert (alarm["Namespace"], alarm["Dimensions"]) == ("fanin", SERVICE)


def test_an_address_subscribes_to_the_alarms(configured):
    subscription = configured.only("AWS::SNS::Subscription")["Properties"]

    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@example.com")


def name_of(reference):
    """The logical id of a reference within a text, in braces."""
    return "{" + (reference.get("Ref") or reference["Fn::GetAtt"][0]) + "}"


def widgets_of(assembly):
    """The dashboard's widgets by title; a logical id in braces stands for what it refers to."""
    body = assembly.only("AWS::CloudWatch::Dashboard")["Properties"]["DashboardBody"]["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else name_of(part) for part in body)
    widgets = [each["properties"] for each in json.loads(text)["widgets"]]
    # A widget takes 100 alarms, so there can be several of them.
    alarms = [alarm for each in widgets if each["title"] == "Alarms" for alarm in each["alarms"]]
    return {each["title"]: each for each in widgets} | {"Alarms": {"alarms": alarms}}


def drawn(assembly, namespace):
    """(metric, value of its dimension) of all that the dashboard draws from *namespace*."""
    lines = [line for each in widgets_of(assembly).values() for line in each.get("metrics", [])]
    return {(line[1], line[3]) for line in lines if line[0] == namespace}


NAMED = {"names": names, "announced": announced}


def emitted():
    """The metrics that functions emit: the attributes of the modules of names in their sources."""
    trees = (ast.parse(path.read_text()) for path in FUNCTIONS.rglob("*.py"))
    attributes = {
        (node.value.id, node.attr)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in NAMED
        and node.attr.isupper()
        and node.attr != "METRICS_NAMESPACE"
    }
    return {getattr(NAMED[module], attribute) for module, attribute in attributes}


def test_no_metric_is_named_by_a_text_of_its_own():
    text = "".join(path.read_text() for path in FUNCTIONS.rglob("*.py"))

    assert {name for name in emitted() if f'"{name}"' in text} == set()


def test_the_dashboard_draws_every_metric_that_a_handler_emits_and_no_other(full):
    assert drawn(full, "fanin") == {(name, "fanin-dev") for name in emitted()}


def test_the_dashboard_draws_registrations_resumes_and_webhooks_only_if_their_queues_exist(default, full):
    from fanin_cdk.monitoring.metrics import OF_REGISTRATIONS, OF_RESUMES, WEBHOOKS

    optional = (*OF_REGISTRATIONS, *OF_RESUMES, *WEBHOOKS)

    assert drawn(full, "fanin") - drawn(default, "fanin") == {(name, "fanin-dev") for name in optional}


def test_the_dashboard_draws_errors_and_durations_of_every_function(full):
    functions = {"{" + name + "}" for name in full.of_type("AWS::Lambda::Function")}

    assert drawn(full, "AWS/Lambda") == {
        (metric, function) for metric in ("Errors", "Duration") for function in functions
    }


def test_the_dashboard_draws_the_transactions_that_met_another_write_of_every_table(full):
    tables = {"{" + name + "}" for name in full.of_type("AWS::DynamoDB::Table")}

    assert drawn(full, "AWS/DynamoDB") == {("TransactionConflict", name) for name in tables}


def test_the_dashboard_draws_the_age_of_queues_and_the_depth_of_dead_letter_queues(full):
    queues = {"{" + name + "}" for name in full.of_type("AWS::SQS::Queue")}
    dead = {name for name in queues if "DeadLetters" in name}

    drawn_queues = drawn(full, "AWS/SQS")

    depths = {("ApproximateNumberOfMessagesVisible", name) for name in dead}
    ages = {queue for metric, queue in drawn_queues if metric == "ApproximateAgeOfOldestMessage"}
    assert depths == {each for each in drawn_queues if each[0] == "ApproximateNumberOfMessagesVisible"}
    assert sorted(name[1:10] for name in ages) == [
        "AcksQueue",
        "Callbacks",
        "GrouperBu",
        "GrouperRe",
        "GrouperTa",
        "JobsDoorb",
        "ResumingE",
    ]


def test_the_dashboard_draws_the_queues_of_users(configured):
    assert ("ApproximateAgeOfOldestMessage", "orders-dead") in drawn(configured, "AWS/SQS")


def test_the_dashboard_shows_the_rate_of_acks_and_every_alarm(full):
    widgets = widgets_of(full)
    (rate,) = (line[0] for line in widgets["Items"]["metrics"] if isinstance(line[0], dict))

    assert rate["expression"] == "counted / PERIOD(counted)"
    assert set(widgets["Alarms"]["alarms"]) == {
        "{" + name + "}" for name in full.of_type("AWS::CloudWatch::Alarm")
    }
