from __future__ import annotations

import ast
import dataclasses
import json
import re

import pytest

from fanin_cdk.events.dead_letter_queues import tenants_by_queue
from fanin_cdk.settings.config import Config, ConfigError
from infra.config import StackConfig
from infra.paths import ROOT


def test_without_settings_the_defaults_hold():
    assert StackConfig.from_context({}) == StackConfig()


def test_the_command_line_gives_text_and_it_is_understood():
    given = {"stage": "local", "archive": "true", "page_bits": "8", "consumer_concurrency": "2"}

    assert StackConfig.from_context(given) == StackConfig(
        stage="local", archive=True, page_bits=8, consumer_concurrency=2
    )


def test_numbers_that_crossed_a_language_border_are_whole_again():
    assert StackConfig.from_context({"page_bits": 64.0}).page_bits == 64


def test_a_stage_has_settings_of_its_own_and_the_context_goes_before_them():
    stages = {"prod": {"protect_data": True, "page_bits": 512}, "dev": {"page_bits": 16}}

    config = StackConfig.from_context({"stage": "prod", "stages": stages, "page_bits": 32})

    assert (config.protect_data, config.page_bits) == (True, 32)


def test_a_stage_without_settings_has_the_defaults():
    assert StackConfig.from_context({"stage": "mine", "stages": {"prod": {}}}) == StackConfig(stage="mine")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stage", "Prod"),
        ("stage", "1st"),
        ("stage", "x" * 21),
        ("target", "azure"),
        ("archive", "yes"),
        ("archive", 1),
        ("python_version", "3.9"),
        ("python_version", 3.14),
        ("page_bits", 1),
        ("page_bits", 1025),
        ("page_bits", "1e3"),
        ("page_bits", 64.5),
        ("page_bits", True),
        ("protect_data", "True"),
        ("max_request_units", -1),
        ("warm_throughput", 4000),
        ("lambda_concurrency", 9),
        ("consumer_concurrency", 1),
        ("consumer_concurrency", 1001),
        ("domain_name", "Fanin.example.com"),
        ("domain_name", "https://fanin.example.com"),
        ("domain_name", "fanin"),
        ("domain_name", "*.example.com"),
        ("certificate_arn", "0f6b4b6a"),
        ("certificate_arn", "arn:aws:acm:eu-west-1:123456789012:certificate/*"),
        ("throttle_rate", -1),
        ("throttle_rate", 10_001),
        ("throttle_burst", 5_001),
        ("quota_open_batches", -1),
        ("quota_open_batches", 1_000_001),
        ("quota_adds", 10_001),
        ("quota_tasks", "many"),
        ("quota_jobs", 1.5),
        ("log_retention_days", 15),
        ("jwt_issuer", "http://plain.example.com"),
        ("jwt_audience", 7),
        ("jwt_tenant_claim", ""),
        ("jwt_caller_claim", "two words"),
        ("acks_tenant", "a#b"),
        ("acks_tenant", "x" * 256),
        ("alarm_email", "nobody"),
        ("oldest_batch_alarm_hours", 0),
        ("analytics", "spark"),
        ("analytics", True),
        ("analytics_workers", 1),
        ("analytics_workers", 300),
        ("analytics_schedule", "15 2 * * *"),
        ("analytics_schedule", "cron(15 2 * * *)"),
        ("analytics_schedule", "rate(1 day)"),
        ("analytics_schedule", "cron(15 2 * * * *)"),
        ("analytics_schedule", "cron(15 2 ? * ? *)"),
        ("analytics_schedule", "cron(a b c d e f)"),
        ("dead_letter_queue_arns", 7),
        ("dead_letter_queue_arns", [7]),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(name, value):
    with pytest.raises(ConfigError, match=rf"^{name} is {re.escape(repr(value))}; it takes ."):
        StackConfig.from_context({name: value})


@pytest.mark.parametrize(
    "entry",
    [
        "pages",
        "pages=12000",
        "pages=12000/3999",
        "pages=11999/4000",
        "pages=12000/1000001",
        "items=12000/4000",
        "pages=12000/4000,pages=12000/8000",
    ],
)
def test_units_that_no_table_can_be_warmed_to_are_refused(entry):
    with pytest.raises(ConfigError, match=r"warm_throughput is .* it takes KIND=READS/WRITES"):
        StackConfig.from_context({"warm_throughput": entry})


def test_a_restored_table_is_not_warmed_by_the_stack():
    table = "pages=arn:aws:dynamodb:eu-west-1:123456789012:table/new"
    given = {"protect_data": True, "restored_tables": table, "warm_throughput": "pages=12000/8000"}

    with pytest.raises(ConfigError, match="warm_throughput names pages, which restored_tables replaces"):
        StackConfig.from_context(given)


@pytest.mark.parametrize("on", [{"queues": True}, {"grouper": True}, {}])
def test_a_table_that_is_off_is_not_warmed_and_the_error_names_its_setting(on):
    for kind, setting in (
        ("tasks", "grouper"),
        ("leases", "grouper"),
        ("bundles", "grouper"),
        ("jobs", "queues"),
    ):
        given = {**on, "warm_throughput": f"{kind}=12000/8000,pages=12000/8000"}
        if on.get(setting):
            assert Config.of(given).warm_throughput
            continue
        with pytest.raises(ConfigError, match=f"warm_throughput names {kind}, which needs {setting}"):
            Config.of(given)


ONE, TWO = (f"arn:aws:sqs:eu-west-1:123456789012:{name}" for name in ("orders-dead", "mails.fifo"))


@pytest.mark.parametrize("given", [[ONE, TWO], f"{ONE},{TWO}", f" {ONE} , {TWO}, "])
def test_queues_are_a_list_in_a_file_and_a_text_with_commas_on_the_command_line(given):
    assert StackConfig.from_context({"dead_letter_queue_arns": given}).dead_letter_queue_arns == (ONE, TWO)


@pytest.mark.parametrize(
    "given",
    [
        "orders-dead",
        "https://sqs.eu-west-1.amazonaws.com/123456789012/orders-dead",
        "arn:aws:sns:eu-west-1:123456789012:orders-dead",
        "arn:aws:sqs:eu-west-1:123456789012:*",
        f"{ONE},{ONE}",
        f"{ONE},{ONE}=acme",
        f"{ONE},{TWO.replace('eu-west-1', 'us-east-1')}",
        f"{ONE}=acme,{ONE}=umbrella",
        f"{ONE}=",
        f"{ONE}=a#b",
    ],
)
def test_what_names_no_queue_or_one_twice_is_refused(given):
    with pytest.raises(ConfigError, match=r"^dead_letter_queue_arns is .*; it takes ARNs of different SQS"):
        StackConfig.from_context({"dead_letter_queue_arns": given})


def test_a_dead_letter_queue_may_have_a_tenant():
    config = StackConfig.from_context({"dead_letter_queue_arns": f"{ONE}=auth0|acme=1,{TWO}"})

    assert tenants_by_queue(config) == {ONE: "auth0|acme=1", TWO: ""}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("analytics_queue_arns", "work"),
        ("analytics_bucket_arns", "datasets"),
        ("analytics_bucket_arns", "arn:aws:s3:::*"),
        ("analytics_bucket_arns", "arn:aws:s3:::datasets/2026"),
        ("analytics_bucket_arns", "arn:aws:s3:::datasets,arn:aws:s3:::datasets"),
    ],
)
def test_what_the_jobs_reach_is_named_by_arns_without_patterns(name, given):
    with pytest.raises(ConfigError, match=rf"^{name} is .*; it takes ARNs of different"):
        StackConfig.from_context({name: given})


@pytest.mark.parametrize("name", ["jwt_issuer", "jwt_audience"])
def test_half_an_issuer_is_refused(name):
    with pytest.raises(ConfigError, match="go together"):
        StackConfig.from_context({name: "https://issuer.example.com/"})


@pytest.mark.parametrize(
    ("name", "row", "whole"),
    [
        ("grouper_policies", {"maxSize": 25.0, "rate": 2.5, "isolation": "solo"}, {"maxSize": 25}),
        ("grouper_downstream", {"url": "http://127.0.0.1/", "timeoutSeconds": 5.0}, {"timeoutSeconds": 5}),
    ],
)
def test_what_goes_by_pattern_is_a_list_in_a_file_and_its_json_on_the_command_line(name, row, whole):
    # A number comes back from a file as a float.
    rows = [{"pattern": "mails", **row}]
    text = json.dumps([{**rows[0], **whole}])

    assert getattr(StackConfig.from_context({name: rows}), name) == text
    assert getattr(StackConfig.from_context({name: text}), name) == text


@pytest.mark.parametrize("rows", [[{"maxSize": 5}], ["orders-*"], {"pattern": "*"}])
def test_a_list_in_a_file_that_names_no_patterns_is_refused(rows):
    with pytest.raises(ConfigError, match=r"^grouper_policies is "):
        StackConfig.from_context({"grouper_policies": rows})


MISSPELT = {
    "grouper_policy": "grouper_policies",
    "Grouper": "grouper",
    "page-bits": "page_bits",
    "PAGE_BITS": "page_bits",
    "page_bits ": "page_bits",
    "pageBits": "page_bits",
    "log_retention": "log_retention_days",
    "stagess": "stages",
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant(name, meant):
    with pytest.raises(ConfigError, match=rf"^the context has unknown settings: {name} \(for {meant}\)"):
        StackConfig.from_context({name: "2"})


def test_what_the_cdk_and_other_apps_keep_in_the_context_is_ignored():
    libraries = {"aws:cdk:bundling-stacks": [], "@aws-cdk/core:checkSecretUsage": True}
    # `cdk acknowledge 12345` and `cdk cli-telemetry --disable` of 2.1148.1 write these to cdk.context.json.
    commands = {"acknowledged-issue-numbers": [12345], "cli-telemetry": False}
    # ~/.cdk.json has one context for all apps of its user.
    others = {"vpc_id": "vpc-1", "tags": {}, "region": "eu-west-1", "environment": "x", "owner": "me"}

    assert StackConfig.from_context({**libraries, **commands, **others}) == StackConfig()


def test_a_misspelt_setting_of_a_stage_is_named():
    with pytest.raises(ConfigError, match=r"stages\.prod has unknown settings: protect_date"):
        StackConfig.from_context({"stage": "prod", "stages": {"prod": {"protect_date": True}}})


@pytest.mark.parametrize("stages", [{"prod": "yes"}, ["prod"]])
def test_stages_that_are_no_objects_are_refused(stages):
    with pytest.raises(ConfigError, match=r"stages\.prod is not an object"):
        StackConfig.from_context({"stage": "prod", "stages": stages})


def test_every_setting_is_documented_and_read():
    names = {field.name for field in dataclasses.fields(StackConfig)}
    modules = [
        ast.parse(path.read_text())
        for room in ("infra", "shared/fanin_cdk")
        for path in (ROOT / room).rglob("*.py")
    ]
    read = {
        node.attr
        for module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {"config", "self.config"}
    }

    assert names <= set(re.findall(r"``(\w+)``", f"{Config.__doc__} {StackConfig.__doc__}"))
    assert names <= read


def test_messages_are_kept_of_queues_that_are_named():
    with pytest.raises(ConfigError, match="keep_dead_letter_messages needs dead_letter_queue_arns"):
        StackConfig(keep_dead_letter_messages=True)
