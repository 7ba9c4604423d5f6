"""What the alarms of the template watch, against its resources and the metrics that AWS documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from fanin import names
from tests.infra.documented_metrics import METRICS
from tests.infra.options import CONFIGURED, EVERYTHING
from tests.infra.synthesis import Assembly, Resource, flat, synthesised

ON_EMR: dict[str, Any] = {**EVERYTHING, "analytics": "emr"}
OFF = {"monitoring": "off", "analytics": "glue", "results": True}
HOUR = 3600
STREAM_RETENTION = 24 * HOUR
METRICS_OF_AN_ALARM = 10
"""A hard limit of alarms on metric math (CloudWatch: Limits)."""


@dataclass(frozen=True)
class Series:
    """One series that an alarm watches: dimensions by name, a logical id for a reference."""

    namespace: str
    metric: str
    dimensions: frozenset[tuple[str, str]]
    statistic: str
    period: int

    def of(self, name: str) -> str:
        return dict(self.dimensions)[name]


def series_of(alarm: Resource) -> list[Series]:
    """The series of an alarm on a metric, or on an expression."""
    properties = alarm["Properties"]
    if "MetricName" in properties:
        statistic = properties.get("Statistic") or properties["ExtendedStatistic"]
        return [_series(properties, statistic, properties["Period"])]
    stats = [each["MetricStat"] for each in properties["Metrics"] if "MetricStat" in each]
    return [_series(each["Metric"], each["Stat"], each["Period"]) for each in stats]


def _series(metric: dict[str, Any], statistic: str, period: int) -> Series:
    dimensions = frozenset((each["Name"], _name(each["Value"])) for each in metric["Dimensions"])
    return Series(metric["Namespace"], metric["MetricName"], dimensions, statistic, int(period))


def _name(value: Any) -> str:
    return value if isinstance(value, str) else str(value.get("Ref") or value["Fn::GetAtt"][0])


def alarms(assembly: Assembly) -> dict[str, Resource]:
    return assembly.of_type("AWS::CloudWatch::Alarm")


def watched(assembly: Assembly, namespace: str, metric: str) -> list[Series]:
    """All series of a metric that some alarm watches."""
    found = [each for alarm in alarms(assembly).values() for each in series_of(alarm)]
    return [each for each in found if (each.namespace, each.metric) == (namespace, metric)]


@pytest.fixture(scope="module")
def everything(on_emr: Assembly) -> Assembly:
    return on_emr


def test_every_alarm_watches_metrics_that_exist_by_dimensions_and_statistics_that_they_have(
    everything: Assembly,
) -> None:
    own = {getattr(names, name) for name in vars(names) if name.isupper()}

    for name, alarm in alarms(everything).items():
        series = series_of(alarm)
        assert 1 <= len(series) <= METRICS_OF_AN_ALARM, name
        for each in series:
            dimensions = frozenset(key for key, _ in each.dimensions)
            if each.namespace == names.METRICS_NAMESPACE:
                assert (each.metric in own, dimensions) == (True, {"service"}), name
                continue
            documented = METRICS[each.namespace, each.metric]
            assert dimensions in documented.dimensions, name
            assert each.statistic in documented.statistics, name
            assert each.period % 60 == 0, name


def test_no_documented_metric_is_left_unwatched(everything: Assembly) -> None:
    found = {(each.namespace, each.metric) for a in alarms(everything).values() for each in series_of(a)}

    assert {key for key in found if key[0] != names.METRICS_NAMESPACE} == METRICS.keys()


def test_an_expression_has_one_result_in_the_period_of_its_metrics(everything: Assembly) -> None:
    expressions = [a["Properties"] for a in alarms(everything).values() if "Metrics" in a["Properties"]]

    assert expressions
    for alarm in expressions:
        results = [each for each in alarm["Metrics"] if each.get("ReturnData", True)]
        assert [("Expression" in each) for each in results] == [True]
        assert {each["MetricStat"]["Period"] for each in alarm["Metrics"] if "MetricStat" in each} <= {
            60,
            300,
        }


def test_every_alarm_has_an_action_that_is_enabled_and_can_be_raised(everything: Assembly) -> None:
    (topic,) = everything.of_type("AWS::SNS::Topic")

    for name, alarm in alarms(everything).items():
        properties = alarm["Properties"]
        assert properties["AlarmActions"] == [{"Ref": topic}], name
        assert properties.get("ActionsEnabled", True) is True, name
        assert 1 <= properties["DatapointsToAlarm"] <= properties["EvaluationPeriods"], name
        periods = properties["EvaluationPeriods"] * max(each.period for each in series_of(alarm))
        assert periods <= 24 * HOUR, name
        assert properties["TreatMissingData"] in {"breaching", "notBreaching"}, name


def test_every_function_has_an_alarm_on_errors_and_all_but_those_of_the_api_one_on_throttles(
    everything: Assembly,
) -> None:
    functions = set(everything.of_type("AWS::Lambda::Function"))
    integrations = everything.of_type("AWS::ApiGatewayV2::Integration").values()
    routes = {each["Properties"]["IntegrationUri"]["Fn::GetAtt"][0] for each in integrations}
    by_metric = {
        metric: {each.of("FunctionName") for each in watched(everything, "AWS/Lambda", metric)}
        for metric in ("Errors", "Throttles")
    }

    assert len(routes) == 9
    assert by_metric == {"Errors": functions, "Throttles": functions - routes}


def test_every_table_and_each_of_its_indexes_has_alarms_on_throttled_reads_and_writes(
    everything: Assembly,
) -> None:
    expected = {frozenset({("TableName", "new")})}  # restored
    for name, table in everything.of_type("AWS::DynamoDB::Table").items():
        expected.add(frozenset({("TableName", name)}))
        for index in table["Properties"].get("GlobalSecondaryIndexes", []):
            expected.add(frozenset({("TableName", name), ("GlobalSecondaryIndexName", index["IndexName"])}))

    for metric in ("ReadThrottleEvents", "WriteThrottleEvents"):
        assert {each.dimensions for each in watched(everything, "AWS/DynamoDB", metric)} == expected


def stream_mappings(assembly: Assembly) -> list[dict[str, Any]]:
    found = [each["Properties"] for each in assembly.of_type("AWS::Lambda::EventSourceMapping").values()]
    return [each for each in found if "StartingPosition" in each]


def test_every_function_that_reads_a_stream_has_an_alarm_long_before_records_are_lost(
    everything: Assembly,
) -> None:
    readers = {_name(each["FunctionName"]): each for each in stream_mappings(everything)}
    lagging = {
        series.of("FunctionName"): alarm["Properties"]["Threshold"] / 1000
        for alarm in alarms(everything).values()
        for series in series_of(alarm)
        if series.metric == "IteratorAge"
    }

    assert readers
    assert lagging.keys() == readers.keys()
    for reader, seconds in lagging.items():
        tried_for = readers[reader]["MaximumRecordAgeInSeconds"]
        assert seconds * 2 <= tried_for <= STREAM_RETENTION / 2


def test_every_queue_that_a_function_of_the_stack_consumes_has_an_alarm_on_its_oldest_message(
    everything: Assembly,
) -> None:
    mappings = [each["Properties"] for each in everything.of_type("AWS::Lambda::EventSourceMapping").values()]
    sources = [each["EventSourceArn"] for each in mappings if "StartingPosition" not in each]
    consumed = {each.split(":")[5] if isinstance(each, str) else each["Fn::GetAtt"][0] for each in sources}
    # A doorbell's messages are hints; the oldest job has a metric of its own.
    expected = {name for name in consumed if not name.startswith("JobsDoorbell")}
    found = {each.of("QueueName") for each in watched(everything, "AWS/SQS", "ApproximateAgeOfOldestMessage")}

    assert found == expected
    queues = {"AcksQueue", "GrouperTa", "GrouperBu", "GrouperRe", "orders-de", "mails-dea"}
    assert {name[:9] for name in expected} == queues | {"ResumingE", "Callbacks", "Publicati"}


@pytest.mark.parametrize(("settings", "seconds"), [({}, 900), (CONFIGURED, 90 * 60)])
def test_the_age_of_a_message_that_raises_an_alarm_is_configured(
    settings: dict[str, Any], seconds: int
) -> None:
    found = [
        alarm["Properties"]["Threshold"]
        for alarm in alarms(synthesised(**settings)).values()
        if series_of(alarm)[0].metric == "ApproximateAgeOfOldestMessage"
    ]

    assert set(found) == {seconds}


def kinds_of(assembly: Assembly) -> set[str]:
    """The alarms of *assembly* by their names, without what the CDK adds."""
    return {re.sub(r"^Monitoring|[0-9A-F]{8}$", "", name) for name in alarms(assembly)}


def test_every_dead_letter_queue_is_watched_by_the_lean_alarms_but_those_whose_events_are_sent_again(
    on_emr: Assembly,
) -> None:
    lean = synthesised(**{**ON_EMR, "monitoring": "lean"})
    full = on_emr

    more = {name for name in kinds_of(full) - kinds_of(lean) if name.endswith("DeadLetters")}
    assert more == {"EventsDeadLetters", "ConfirmationDeadLetters"}
    assert {name for name in kinds_of(full) - kinds_of(lean) if name.endswith("Waiting")} == set()


def test_one_alarm_of_all_is_raised_while_an_urgent_one_is(on_emr: Assembly) -> None:
    lean, full = synthesised(**{**ON_EMR, "monitoring": "lean"}), on_emr
    joint = full.only("AWS::CloudWatch::CompositeAlarm")["Properties"]

    asked = re.findall(r'ALARM\("\{(\w+)\}"\)', flat(joint["AlarmRule"]))
    assert flat(joint["AlarmRule"]) == " OR ".join(f'ALARM("{{{name}}}")' for name in asked)
    assert set(asked) == alarms(lean).keys()
    assert joint["AlarmActions"] == [{"Ref": next(iter(full.of_type("AWS::SNS::Topic")))}]
    assert not lean.of_type("AWS::CloudWatch::CompositeAlarm")


def test_without_monitoring_there_is_no_alarm_no_topic_no_trace_and_no_metric() -> None:
    off = synthesised(**OFF)
    functions = [each["Properties"] for each in off.of_type("AWS::Lambda::Function").values()]

    assert not alarms(off)
    assert not off.of_type("AWS::SNS::Topic")
    assert not [each for each in functions if "TracingConfig" in each]
    assert {each["Environment"]["Variables"]["POWERTOOLS_METRICS_DISABLED"] for each in functions} == {"true"}


def test_traces_which_are_billed_are_those_of_full_monitoring_alone(
    default: Assembly, configured: Assembly
) -> None:
    for assembly, is_traced in ((default, False), (configured, True)):
        for name, function in assembly.of_type("AWS::Lambda::Function").items():
            assert ("TracingConfig" in function["Properties"]) == is_traced, name
            assert "POWERTOOLS_METRICS_DISABLED" not in function["Properties"]["Environment"]["Variables"]
