"""Which functions may loop: Lambda stops every other one after about 16 rounds of an event."""

from __future__ import annotations

from typing import Any

import pytest

from fanin_cdk.settings.config import ConfigError
from tests.infra.shop import function, shop
from tests.infra.synthesis import Assembly, handler_of
from tests.infra.test_alarms import alarms, series_of
from tests.infra.test_construct_edges import app_of, resources, stack_of, tracker_of, worker_queue
from tests.infra.test_functions import GRANTED

THROUGH_A_BATCH_API = {"handle_bundle": {"consume_tasks"}}
"""A batch API may be a function of the user, which registers the tasks that follow by messages."""
RECEIVE, SEND = "sqs:ReceiveMessage", "sqs:SendMessage"


def followers() -> dict[str, set[str]]:
    """The functions that the messages of a function may invoke, by the grants on queues."""
    received = {
        queue: name for name, granted in GRANTED.items() for queue in granted if RECEIVE in granted[queue]
    }
    sent = {name: {queue for queue in granted if SEND in granted[queue]} for name, granted in GRANTED.items()}
    return {
        name: {received[queue] for queue in queues & received.keys()} | THROUGH_A_BATCH_API.get(name, set())
        for name, queues in sent.items()
    }


def reached(name: str) -> set[str]:
    """The functions that an invocation of *name* may lead to."""
    after, found, queued = followers(), set[str](), [name]
    while queued:
        new = after[queued.pop()] - found
        found, queued = found | new, [*queued, *new]
    return found


def test_what_its_own_messages_can_invoke_may_loop_and_nothing_else(full: Assembly) -> None:
    allowed = {
        handler_of(each)
        for each in full.of_type("AWS::Lambda::Function").values()
        if each["Properties"].get("RecursiveLoop") == "Allow"
    }

    assert allowed == {name for name in GRANTED if name in reached(name)}
    assert allowed == {"consume_tasks", "continue_publication", "lead_tasks", "handle_bundle"}


def test_an_alarm_watches_the_consumers_that_may_not_loop(full: Assembly) -> None:
    watched = [
        full.template["Resources"][each.of("FunctionName")]["Properties"]
        for alarm in alarms(full).values()
        for each in series_of(alarm)
        if each.metric == "RecursiveInvocationsDropped"
    ]

    assert not [each for each in watched if "RecursiveLoop" in each]
    assert {each["Handler"] for each in watched} >= {
        f"functions.{name}.handler" for name in ("consume_acks", "call_webhook")
    }


def test_a_consumer_of_jobs_may_loop_and_a_consumer_of_items_is_watched() -> None:
    stack = shop()[0]
    functions = stack.of_type("AWS::Lambda::Function")
    watched = {
        each.of("FunctionName")
        for alarm in alarms(stack).values()
        for each in series_of(alarm)
        if each.metric == "RecursiveInvocationsDropped"
    }

    assert stack.named("AWS::Lambda::Function", "Thumbs")["Properties"]["RecursiveLoop"] == "Allow"
    assert {name[:-8] for name in watched & functions.keys()} >= {"Worker"}


def test_a_consumer_of_jobs_that_is_to_be_stopped_is_refused() -> None:
    from aws_cdk import aws_lambda as lambda_

    stack = stack_of(app_of())
    tracker = tracker_of(stack, queues=True, job_queues=["thumbs"])
    stopped = function(stack, "Worker", recursive_loop=lambda_.RecursiveLoop.TERMINATE)

    with pytest.raises(ConfigError, match="recursive_loop of Mine/Worker is TERMINATE"):
        tracker.consume_jobs("thumbs", stopped)


def test_a_worker_that_opens_batches_has_to_say_whether_it_loops() -> None:
    from aws_cdk import aws_lambda as lambda_

    stack = stack_of(app_of())
    tracker = tracker_of(stack)
    loops = {"Unspecified": None, "Looping": "ALLOW", "Stopped": "TERMINATE"}
    for name, chosen in loops.items():
        worker = function(stack, name, recursive_loop=chosen and getattr(lambda_.RecursiveLoop, chosen))
        tracker.consume(worker_queue(stack, f"{name}Work"), worker)
        tracker.grant_publish(worker)

    (warning,) = warnings_of(stack)
    assert "Mine/Unspecified" in warning
    for name, chosen in loops.items():
        (resource,) = resources(stack, "AWS::Lambda::Function", name)
        assert resource["Properties"].get("RecursiveLoop") == (chosen and chosen.capitalize())


def warnings_of(stack: Any) -> list[str]:
    """The warnings of functions that do not say whether they loop."""
    from aws_cdk import assertions

    text = assertions.Match.string_like_regexp("at a depth of 16")
    found = assertions.Annotations.from_stack(stack).find_warning("*", text)
    return [str(each.entry.data) for each in found]
