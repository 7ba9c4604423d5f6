"""Exactly the functions that can complete a batch may put its event, on one bus; it can be disabled."""

from __future__ import annotations

from importlib import import_module

import pytest

from fanin.local.function_processes.deployed import module_of
from fanin_cdk.grants import handlers
from fanin_cdk.grants.group_handlers import HANDLE_BUNDLE
from fanin_cdk.grants.job_handlers import SWEEP_JOBS
from functions.invocation_metrics.measuring import measured
from tests.infra.test_construct import in_a_stack, written

COMPLETING = [
    handlers.CONSUME_ACKS,
    handlers.DEAD_LETTER_HANDLER,
    handlers.CONFIRM_EVENT,
    handlers.SWEEP,
    HANDLE_BUNDLE.lambda_,
    SWEEP_JOBS.lambda_,
]


def test_each_of_them_writes_its_metrics_when_it_ends(monkeypatch):
    """Else its completions are counted in memory, and never reported."""
    # Here, for importing it starts a Node, which the collection of other tests need not wait for.
    from fanin_cdk.grants.announcing import can_complete

    for variable in ("FANIN_BATCHES_TABLE", "FANIN_PAGES_TABLE", "FANIN_TENANT"):
        monkeypatch.setenv(variable, "any")
    routes = [each for each in handlers.ROUTES if can_complete(each.pages)]
    assert routes
    for name in [each.name for each in (*routes, *COMPLETING)]:
        handler = import_module(f"functions.{name}").handler
        assert handler.__code__ is measured(handler).__code__, name


def test_those_of_users_that_ack_and_publish_can_complete_and_readers_cannot():
    from fanin_cdk.grants.announcing import can_complete
    from fanin_cdk.grants.reaching import ACK, PUBLISH, READ

    assert [can_complete(each.pages) for each in (ACK, PUBLISH, READ)] == [True, True, False]


@pytest.mark.parametrize("is_on", [True, False])
def test_the_setting_gives_them_the_bus_and_its_grant_or_neither(is_on):
    from aws_cdk import assertions

    stack, _ = in_a_stack(immediate_events=is_on)
    template = assertions.Template.from_stack(stack).to_json()["Resources"].values()
    functions = [each["Properties"] for each in template if each["Type"] == "AWS::Lambda::Function"]
    policies = [each["Properties"] for each in template if each["Type"] == "AWS::IAM::Policy"]
    put = [
        (policy["Roles"], statement["Resource"])
        for policy in policies
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "events:PutEvents"
    ]
    named = {
        module_of(each["Handler"]): each["Environment"]["Variables"]["FANIN_COMPLETIONS_BUS"]
        for each in functions
        if "FANIN_COMPLETIONS_BUS" in each["Environment"]["Variables"]
    }

    # The stack has no API, and what reads the stream has a grant of its own.
    assert set(named) == (
        {"consume_acks", "fail_dead_letter_messages", "sweep", "confirm_event"} if is_on else set()
    )
    assert len({str(name) for name in named.values()}) == is_on
    assert len(put) == len(named) + 1
    assert {written(resource) for _, resource in put} == {"FaninEventsBus"}
