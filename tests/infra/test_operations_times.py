"""The counts and times in the pages of operations that are in the template, or follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from fanin.callbacks.model import TIMEOUT_MAX
from tests.infra.shop import shop
from tests.infra.synthesis import Assembly
from tests.infra.test_operations_page import PAGE, runbooks

AS_TEXT = {
    60: "one minute",
    300: "five minutes",
    900: "a quarter of an hour",
    3600: "an hour",
    43_200: "12 hours",
    86_400: "24 hours",
    1_209_600: "14 days",
}
STREAM_KEEPS_SECONDS = 86_400


def mapping(assembly: Assembly, function: str) -> dict[str, Any]:
    """The properties of the event source mappings of *function*, which are alike."""
    found = [
        each["Properties"]
        for name, each in assembly.of_type("AWS::Lambda::EventSourceMapping").items()
        if name.startswith(f"Functions{function}Function")
    ]
    assert found
    assert all(each["BatchSize"] == found[0]["BatchSize"] for each in found)
    return found[0]


def alarm(assembly: Assembly, name: str) -> dict[str, Any]:
    found: dict[str, Any] = assembly.named("AWS::CloudWatch::Alarm", f"Monitoring{name}")["Properties"]
    return found


def retried_for(rule: dict[str, Any]) -> int:
    """The seconds for which EventBridge tries to deliver to the targets of a rule."""
    (seconds,) = {each["RetryPolicy"]["MaximumEventAgeInSeconds"] for each in rule["Properties"]["Targets"]}
    return int(seconds)


def test_the_page_counts_the_roles_of_a_default_stack(default: Assembly) -> None:
    assert f"needed: {len(default.of_type('AWS::IAM::Role'))} for a default stage" in PAGE


@pytest.mark.parametrize("reader", ["PublishEndings", "ArchiveChanges", "PublishDeadJobs"])
def test_a_record_is_given_up_after_twelve_times_the_lag_of_the_alarm(on_emr: Assembly, reader: str) -> None:
    lag = alarm(on_emr, f"{reader}Lag")["Threshold"] / 1000
    text = runbooks()["stream-lag"].split(f"`{reader}`", 1)[1]

    assert mapping(on_emr, reader)["MaximumRecordAgeInSeconds"] == 12 * lag
    assert "given up after twelve times as long" in text
    assert f"by {AS_TEXT[lag]}" in text


def test_a_reader_takes_as_many_records_as_the_page_says(on_emr: Assembly) -> None:
    archive, died, endings = (
        mapping(on_emr, name)["BatchSize"] for name in ("ArchiveChanges", "PublishDeadJobs", "PublishEndings")
    )

    sentence = (
        f"{archive:,} records at a time and shard, `PublishDeadJobs` {died}, `PublishEndings` {endings}."
    )
    assert sentence in runbooks()["stream-lag"]


@pytest.mark.parametrize(
    ("section", "reader"),
    [
        ("events-dead-letter-queue", "PublishEndings"),
        ("job-events-dead-letter-queue", "PublishDeadJobs"),
        ("archive-dead-letter-queue", "ArchiveChanges"),
    ],
)
def test_what_a_reader_gives_up_was_tried_for_as_long_as_the_page_says(
    on_emr: Assembly, section: str, reader: str
) -> None:
    age = mapping(on_emr, reader)["MaximumRecordAgeInSeconds"]

    assert f"for {AS_TEXT[age]}" in runbooks()[section]
    if "keeps the records for 12 hours more" in runbooks()[section]:
        assert STREAM_KEEPS_SECONDS - age == 43_200


@pytest.mark.parametrize(
    ("section", "rule", "expected"),
    [
        ("confirmation-dead-letter-queue", "ConfirmationEveryEnding", "within {}"),
        ("resumes-dead-letter-queue", "ResumingResumes", "in {}"),
        ("callbacks-dead-letter-queue", "CallbacksRuleorders", "for {}"),
    ],
)
def test_an_event_is_delivered_for_as_long_as_the_page_says(
    on_emr: Assembly, section: str, rule: str, expected: str
) -> None:
    seconds = retried_for(on_emr.named("AWS::Events::Rule", rule))

    assert expected.format(AS_TEXT[seconds]) in runbooks()[section]


def test_a_target_of_yours_is_tried_for_as_long_as_the_page_says() -> None:
    """One rule of the shop has a target with retries of its own."""
    rules = shop()[0].of_type("AWS::Events::Rule")
    own = {name: each for name, each in rules.items() if name.startswith("FaninDeliveries")}
    (seconds,) = {retried_for(each) for name, each in own.items() if "Ends" not in name}

    assert f"for {AS_TEXT[seconds]}" in runbooks()["deliveries-dead-letter-queue"]


def test_a_resumed_task_is_tried_for_as_long_as_its_message_is_received(on_emr: Assembly) -> None:
    queue = on_emr.named("AWS::SQS::Queue", "ResumingEventsQueue")["Properties"]
    hours = queue["VisibilityTimeout"] * queue["RedrivePolicy"]["maxReceiveCount"] / 3600

    assert f"in {hours:.0f} hours" in runbooks()["resumes-dead-letter-queue"]


def test_a_schedule_and_a_sweeper_are_given_up_when_the_page_says(on_emr: Assembly) -> None:
    runs = on_emr.of_type("AWS::Scheduler::Schedule").values()
    (ages,) = {each["Properties"]["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"] for each in runs}
    rules = on_emr.of_type("AWS::Events::Rule")
    sweeps = {retried_for(each) for name, each in rules.items() if "SweeperEveryMinute" in name}

    assert f"in {AS_TEXT[ages]}" in runbooks()["schedules-dead-letter-queue"]
    assert f"give a run up after {AS_TEXT[sweeps.pop()]}" in runbooks()["stopped-sweepers"]
    assert not sweeps


def test_the_alarms_of_the_api_are_raised_when_the_page_says(on_emr: Assembly) -> None:
    errors, latency = alarm(on_emr, "ApiErrors"), alarm(on_emr, "ApiLatency")
    number = {1: "one", 2: "two", 3: "three"}
    (period,) = {each["MetricStat"]["Period"] for each in errors["Metrics"] if "MetricStat" in each}

    raised = f"In {number[errors['DatapointsToAlarm']]} of {number[errors['EvaluationPeriods']]} periods"
    assert f"{raised} of {AS_TEXT[period]}, {errors['Threshold']} %" in runbooks()["api-errors"]
    assert latency["ExtendedStatistic"] == "p99"
    lasts = AS_TEXT[latency["Period"] * latency["EvaluationPeriods"]]
    assert (
        f"For {lasts}, one request of a hundred took {latency['Threshold'] // 1000} seconds"
        in (runbooks()["api-latency"])
    )


def test_the_functions_of_the_api_end_when_the_page_says(on_emr: Assembly) -> None:
    called = {
        str(each["Properties"]["FunctionName"]["Fn::GetAtt"][0])
        for each in on_emr.of_type("AWS::Lambda::Permission").values()
        if each["Properties"]["Principal"] == "apigateway.amazonaws.com"
    }
    functions = on_emr.of_type("AWS::Lambda::Function")
    (timeout,) = {functions[name]["Properties"]["Timeout"] for name in called}

    assert f"Functions end after {timeout} s." in runbooks()["api-latency"]


def test_a_sweeper_is_stopped_and_an_event_late_when_the_page_says(on_emr: Assembly) -> None:
    stopped = alarm(on_emr, "SweepStopped")
    (period,) = {each["MetricStat"]["Period"] for each in stopped["Metrics"] if "MetricStat" in each}

    assert f"for {AS_TEXT[period * stopped['EvaluationPeriods']]}" in runbooks()["stopped-sweepers"]


def test_messages_are_kept_as_the_page_says(on_emr: Assembly) -> None:
    queues = on_emr.of_type("AWS::SQS::Queue")
    kept = {
        each["Properties"].get("MessageRetentionPeriod")
        for name, each in queues.items()
        if not name.startswith("JobsDoorbell")
    }

    assert {AS_TEXT[each] for each in kept} == {"14 days"}
    assert "Messages of the stack are kept for 14 days" in runbooks()["waiting-messages"]


def test_a_webhook_is_asked_as_often_at_once_and_as_long_as_the_page_says(on_emr: Assembly) -> None:
    at_once = {10: "ten"}[mapping(on_emr, "CallWebhook")["BatchSize"]]

    sentence = f"{at_once} requests at once, and waits up to {TIMEOUT_MAX:.0f} s for each"
    assert sentence in runbooks()["waiting-messages"]
