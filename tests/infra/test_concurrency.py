"""The shares of Lambda's concurrent executions, computed from the template; a new account has 10."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanin_cdk.settings.concurrency import DUTIES, REQUESTS_A_SECOND, shares, shortage
from tests.infra.options import CONFIGURED, EVERYTHING, PROD
from tests.infra.synthesis import Assembly, synthesised, tracker_config
from tests.infra.test_checks import ARCHIVE
from tests.infra.test_targets import LOCAL

NEW_ACCOUNT = 10
"""AWS: "New AWS accounts have reduced concurrency" (Lambda quotas); Service Quotas shows 10."""
MAPPING_MIN = 2
"""The minimum of ``MaximumConcurrency`` (Lambda API, ScalingConfig)."""
SHORTEST_REQUEST_SECONDS = 0.1
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "archive": ARCHIVE,
    "archive without the group-batcher": {"archive": True, "grouper": False},
    "dead-letter queues, webhooks and registrations": CONFIGURED,
    "callbacks without webhooks": PROD,
    "events of dead jobs and a resumed state machine": EVERYTHING,
}


def mappings(assembly: Assembly) -> list[dict[str, Any]]:
    return [each["Properties"] for each in assembly.of_type("AWS::Lambda::EventSourceMapping").values()]


def of_queues(assembly: Assembly) -> list[int]:
    """The maximum concurrency of each mapping of a queue."""
    found = [each for each in mappings(assembly) if "StartingPosition" not in each]
    return [int(each["ScalingConfig"]["MaximumConcurrency"]) for each in found]


def of_api(assembly: Assembly) -> float:
    """The concurrent executions of the API at its rate."""
    stage = assembly.only("AWS::ApiGatewayV2::Stage")["Properties"]["DefaultRouteSettings"]
    return float(stage["ThrottlingRateLimit"]) * SHORTEST_REQUEST_SECONDS


def streams(assembly: Assembly) -> int:
    """The streams that functions read, without that of ending events, which is one of the duties."""
    return sum("StartingPosition" in each for each in mappings(assembly)) - 1


def test_in_a_new_account_the_queues_the_api_and_the_sweepers_of_a_default_stack_have_room(
    default: Assembly,
) -> None:
    taken = sum(of_queues(default)) + of_api(default)

    assert min(of_queues(default)) >= MAPPING_MIN
    assert of_api(default) >= 1
    assert NEW_ACCOUNT - taken >= DUTIES


def test_a_default_stack_needs_what_a_new_account_has_and_registrations_need_more() -> None:
    assert (shares(tracker_config()).needed, shortage(tracker_config())) == (NEW_ACCOUNT, "")
    assert shares(tracker_config(grouper_registrations=True)).needed == NEW_ACCOUNT + MAPPING_MIN


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_shares_are_those_of_the_template(variant: str) -> None:
    settings = VARIANTS[variant]
    assembly, found = synthesised(**settings), shares(tracker_config(**settings))

    assert of_queues(assembly) == [found.consumer] * (found.queues - settings.get("other_queues", 0))
    assert found.duties == DUTIES + streams(assembly)
    assert of_api(assembly) == pytest.approx(found.rate / REQUESTS_A_SECOND)
    assert found.rate <= found.api * REQUESTS_A_SECOND


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stack_that_needs_more_than_it_has_says_so(variant: str) -> None:
    settings = VARIANTS[variant]
    assembly, config = synthesised(**settings), tracker_config(**settings)
    needed = sum(of_queues(assembly)) + of_api(assembly) + DUTIES + streams(assembly)

    assert bool(shortage(config)) == (needed > config.lambda_concurrency)
    assert f"needs {shares(config).needed} " in (shortage(config) or f"needs {shares(config).needed} ")


def test_a_raised_quota_gives_each_queue_ten_and_the_api_what_it_had() -> None:
    found = shares(tracker_config(lambda_concurrency=1000))

    assert (found.consumer, found.rate, found.burst) == (10, 500, 1000)


def test_given_settings_replace_the_shares() -> None:
    given = tracker_config(consumer_concurrency=7, throttle_rate=30, throttle_burst=31)

    assert (shares(given).consumer, shares(given).rate, shares(given).burst) == (7, 30, 31)
    assert "3 queues of 7, 3 for the API at 30 requests a second" in shortage(given)


def warnings(assembly: Assembly) -> list[str]:
    """The warnings that a synthesis leaves for the CDK command line."""
    (path,) = assembly.folder.glob("Fanin-*.metadata.json")
    entries = [entry for of_path in json.loads(path.read_text()).values() for entry in of_path]
    return [entry["data"] for entry in entries if entry["type"] == "aws:cdk:warning"]


def test_the_synthesis_warns_of_a_shortage_on_aws_alone(default: Assembly) -> None:
    (warning,) = warnings(synthesised(**ARCHIVE))

    assert "docs/operations_reference.md#quotas" in warning
    assert warnings(default) == warnings(synthesised(**LOCAL)) == []
