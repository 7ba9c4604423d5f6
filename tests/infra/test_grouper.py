"""The group-batcher's part of the stack."""

from __future__ import annotations

import json

import pytest

from fanin.grouper import Policy
from infra.config import Config, ConfigError
from tests.contract.grouper_tables import create_tables
from tests.infra.synthesis import handler_of, synthesised
from tests.infra.test_tables_and_queues import Created, properties_of

POLICIES = json.dumps([{"pattern": "orders-*", "maxSize": 50, "rate": 2.5}])
DOWNSTREAM = json.dumps([{"pattern": "*", "url": "https://batch.example.com/"}])


def variables(assembly, handler):
    (found,) = (
        each["Properties"]["Environment"]["Variables"]
        for each in assembly.of_type("AWS::Lambda::Function").values()
        if handler_of(each) == handler
    )
    return found


def mapping(assembly, queue):
    (found,) = (
        each
        for each in properties_of(assembly, "AWS::Lambda::EventSourceMapping")
        if each["EventSourceArn"]["Fn::GetAtt"][0].startswith(queue)
    )
    return found


@pytest.mark.parametrize(
    ("table", "construct"), [("Tasks", "Tasks"), ("Leases", "Leases"), ("Bundles", "Bundles")]
)
def test_the_tables_have_the_keys_and_indexes_that_the_store_is_tested_on(plain, table, construct):
    client = Created()
    create_tables(client)
    (asked,) = (each for each in client.tables if each["TableName"] == f"Group{table}")
    deployed = plain.named("AWS::DynamoDB::Table", f"GrouperTables{construct}")["Properties"]
    kinds = {each["AttributeName"]: each["AttributeType"] for each in asked["AttributeDefinitions"]}

    assert deployed["KeySchema"] == asked["KeySchema"]
    assert {
        each["AttributeName"]: each["AttributeType"] for each in deployed["AttributeDefinitions"]
    } == kinds
    assert deployed.get("GlobalSecondaryIndexes") == asked.get("GlobalSecondaryIndexes")
    assert "StreamSpecification" not in deployed


@pytest.mark.parametrize(
    ("queue", "function", "at_once"),
    [("GrouperTaskMessages", "LeadTasks", 10), ("GrouperBundleMessages", "HandleBundle", 1)],
)
def test_a_queue_feeds_its_function_and_only_what_failed_returns(plain, queue, function, at_once):
    found = mapping(plain, queue)
    timeout = plain.named("AWS::Lambda::Function", f"Functions{function}")["Properties"]["Timeout"]
    hidden = plain.named("AWS::SQS::Queue", f"{queue}Queue")["Properties"]["VisibilityTimeout"]

    assert found["FunctionName"]["Ref"].startswith(f"Functions{function}")
    assert found["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert found["ScalingConfig"] == {"MaximumConcurrency": 10}
    assert (found["BatchSize"], found.get("MaximumBatchingWindowInSeconds")) == (at_once, None)
    assert hidden == 6 * timeout


def test_a_handler_outlives_the_lease_of_its_call_and_a_leader_his(plain):
    timeouts = {
        handler_of(each): each["Properties"]["Timeout"]
        for each in plain.of_type("AWS::Lambda::Function").values()
    }

    assert timeouts["handle_bundle"] > Policy().call_lease.total_seconds()
    assert timeouts["lead_tasks"] > Policy().lease.total_seconds()


def test_the_sweeper_runs_every_minute(plain):
    clocks = [
        rule["Targets"][0]["Arn"]["Fn::GetAtt"][0]
        for rule in properties_of(plain, "AWS::Events::Rule")
        if rule.get("ScheduleExpression") == "rate(1 minute)"
    ]

    assert any(name.startswith("FunctionsSweepGroups") for name in clocks)


def test_policies_and_batch_apis_reach_those_who_read_them():
    assembly = synthesised(grouper_policies=POLICIES, grouper_downstream=DOWNSTREAM)

    assert assembly.settings_file.grouper_policies == json.loads(POLICIES)
    assert assembly.settings_file.grouper_downstream == json.loads(DOWNSTREAM)


@pytest.mark.parametrize(
    ("name", "entry", "reason"),
    [
        ("grouper_policies", {"maxsize": 5}, "unknown setting of a target: maxsize"),
        ("grouper_policies", {"maxSize": 0}, "maxSize "),
        ("grouper_downstream", {}, "each batch API needs a url, a text"),
        ("grouper_downstream", {"url": "ftp://x"}, "the url of a batch API must be an http"),
    ],
)
def test_an_invalid_entry_is_refused_at_synthesis_with_its_number(name, entry, reason):
    good = {"pattern": "a", "url": "https://a"} if name == "grouper_downstream" else {"pattern": "a"}

    with pytest.raises(ConfigError, match=f"^{name}, entry 2: {reason}"):
        Config.from_context({name: [good, {"pattern": "b"} | entry]})


def test_without_the_grouper_nothing_of_it_is_there():
    assembly = synthesised(grouper=False)

    assert not [name for name in assembly.template["Resources"] if name.startswith("Grouper")]
    assert not {"register_task", "lead_tasks"} & {
        handler_of(each) for each in assembly.of_type("AWS::Lambda::Function").values()
    }


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"maxSize": 5}]', "orders-*"])
def test_settings_by_pattern_are_a_list_that_names_patterns(text):
    with pytest.raises(ConfigError, match="grouper_policies"):
        Config(grouper_policies=text)


def test_the_demo_bundles_some_of_its_items_and_needs_the_grouper():
    with pytest.raises(ConfigError, match="demo needs grouper"):
        Config(demo=True, grouper=False)
