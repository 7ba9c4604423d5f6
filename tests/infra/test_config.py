from __future__ import annotations

import ast
import dataclasses
import json
import re

import pytest

from fanin.settings.settings_file import SettingsFile
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


def test_a_dead_letter_queue_may_have_a_tenant():
    from fanin_cdk.constructs.dead_letter_queues import tenants_by_queue

    config = StackConfig.from_context({"dead_letter_queue_arns": f"{ONE}=auth0|acme=1,{TWO}"})

    assert tenants_by_queue(config) == {ONE: "auth0|acme=1", TWO: ""}


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
    assert names <= read | {field.name for field in dataclasses.fields(SettingsFile)}
