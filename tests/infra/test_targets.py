"""The local run deploys what AWS gets: the same template but for two named differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.infra.synthesis import synthesised

LOCAL = {"monitoring": "full", "target": "local"}


def differences(one: Any, other: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths at which two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key), other.get(key), (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (first, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(first, right, (*path, index))
    elif one != other:
        yield path


def test_the_templates_differ_in_bytecode_alarms_on_metric_math_and_the_leave_to_be_anonymous_alone():
    aws = synthesised(monitoring="full", target="aws")
    local = synthesised(**LOCAL)
    (layer,) = aws.of_type("AWS::Lambda::LayerVersion")
    functions = aws.of_type("AWS::Lambda::Function")
    variable = ("Properties", "Environment", "Variables", "FANIN_ALLOW_ANONYMOUS")

    alarms = aws.of_type("AWS::CloudWatch::Alarm").items()
    on_math = {name for name, alarm in alarms if "Metrics" in alarm["Properties"]}
    on_math |= aws.of_type("AWS::CloudWatch::CompositeAlarm").keys()
    (dashboard,) = aws.of_type("AWS::CloudWatch::Dashboard")
    found = set(differences(aws.template, local.template))
    # The dashboard lists all alarms.
    of_dashboard = {path for path in found if path[:2] == ("Resources", dashboard)}

    assert on_math
    assert {path[2:4] for path in of_dashboard} == {("Properties", "DashboardBody")}
    assert found - of_dashboard == {
        *(("Resources", name) for name in on_math),
        ("Resources", layer, "Properties", "Content", "S3Key"),
        *(("Resources", name, "Properties", "Code", "S3Key") for name in functions),
        *(("Resources", name, *variable) for name in functions),
    }
    assert {
        each["Properties"]["Environment"]["Variables"]["FANIN_ALLOW_ANONYMOUS"]
        for each in local.of_type("AWS::Lambda::Function").values()
    } == {"true"}
