"""The settings file, read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanin.errors import InvalidRequest
from fanin.settings.settings_file import NAME, VARIABLE, SettingsFile

FULL = SettingsFile(
    dead_letter_tenants={"arn:aws:sqs:eu-west-1:111122223333:orders-dead": "acme"},
    grouper_policies=[{"pattern": "*", "maxSize": 50}],
    grouper_downstream=[{"pattern": "*", "url": "https://batch.example.com/"}],
    callbacks=[{"name": "orders", "topic": "arn:aws:sns:eu-west-1:111122223333:orders"}],
    publications=[{"source": "s3://lake/", "queue": "arn:aws:sqs:eu-west-1:111122223333:work"}],
    resumed_state_machines=["arn:aws:states:eu-west-1:111122223333:stateMachine:waits"],
    resumed_durable_functions=["arn:aws:lambda:eu-west-1:111122223333:function:orders"],
)


def test_what_the_stack_writes_is_what_the_functions_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(FULL.to_json())

    assert SettingsFile.read(tmp_path, env={}) == FULL


def test_a_list_may_be_longer_than_an_environment(tmp_path: Path) -> None:
    rows = [{"pattern": f"target-{number}"} for number in range(10_000)]
    (tmp_path / NAME).write_text(SettingsFile(grouper_policies=rows).to_json())

    assert len(SettingsFile.read(tmp_path, env={}).grouper_policies) == 10_000


def test_the_variable_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(FULL.to_json())

    assert SettingsFile.read(tmp_path, env={VARIABLE: "{}"}) == SettingsFile()


def test_code_without_the_file_is_refused_and_does_not_go_on_without_settings(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"settings\.json is missing: the stack writes it at synthesis"):
        SettingsFile.read(tmp_path, env={})


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[]", "null", '"a"'])
def test_what_is_no_object_is_refused_with_the_name_of_the_file(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^settings\.json "):
        SettingsFile.parse(text)


def test_a_file_in_another_encoding_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"grouper_target": "\xff"}')

    with pytest.raises(InvalidRequest, match=r"settings\.json is not JSON"):
        SettingsFile.read(tmp_path, env={})


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"grouper_policy": []}', "grouper_policy"),
        ('{"grouper_policies": {}}', "grouper_policies"),
        ('{"grouper_policies": [1]}', "grouper_policies"),
        ('{"grouper_downstream": "[]"}', "grouper_downstream"),
        ('{"dead_letter_tenants": []}', "dead_letter_tenants"),
        ('{"dead_letter_tenants": {"arn": 1}}', "dead_letter_tenants"),
        ('{"dead_letter_tenants": null}', "dead_letter_tenants"),
    ],
)
def test_a_field_of_another_form_is_named(text: str, field: str) -> None:
    with pytest.raises(InvalidRequest, match=field) as refused:
        SettingsFile.parse(text)

    assert refused.value.field == field
