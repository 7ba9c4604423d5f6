from __future__ import annotations

from tests.infra.synthesis import synthesised


def alarms_of(assembly):
    return [each["Properties"] for each in assembly.of_type("AWS::CloudWatch::Alarm").values()]


def watched(assembly, metric):
    """What the alarms on *metric* look at: logical ids."""
    named = [each["Dimensions"][0]["Value"] for each in alarms_of(assembly) if each["MetricName"] == metric]
    return {value.get("Ref") or value["Fn::GetAtt"][0] for value in named}


def test_every_dead_letter_queue_is_watched(demo):
    dead = {name for name in demo.of_type("AWS::SQS::Queue") if "DeadLetters" in name}

    assert watched(demo, "ApproximateNumberOfMessagesVisible") == dead


def test_every_function_is_watched(demo):
    assert watched(demo, "Errors") == set(demo.of_type("AWS::Lambda::Function"))


def test_the_first_failure_rings_and_somebody_is_told(demo):
    (topic,) = demo.of_type("AWS::SNS::Topic")

    for alarm in alarms_of(demo):
        assert alarm["AlarmActions"] == [{"Ref": topic}]
        assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (1, 1)
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        assert alarm["TreatMissingData"] == "notBreaching"


def test_an_address_subscribes_to_the_alarms():
    subscription = synthesised(alarm_email="ops@example.com").only("AWS::SNS::Subscription")["Properties"]

    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@example.com")
