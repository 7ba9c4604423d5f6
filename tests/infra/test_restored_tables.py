"""The stack over tables of a restore: the same as over its own, which it then leaves."""

from __future__ import annotations

from typing import Any

import pytest

from fanin_cdk.settings.restored import ARCHIVED, KINDS, STREAMED
from tests.infra.options import EVERYTHING
from tests.infra.synthesis import Assembly, synthesised

TABLES = {
    "batches": "TablesBatches",
    "pages": "TablesPages",
    "tasks": "GrouperTablesTasks",
    "leases": "GrouperTablesLeases",
    "bundles": "GrouperTablesBundles",
    "jobs": "JobsTable",
}
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/"
STREAM = "/stream/2026-11-22T09:00:00.000"
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"protect_data": True},
    "archive": {"protect_data": True, "archive": True, "analytics": "glue"},
}


def entries(kinds: tuple[str, ...], streamed: tuple[str, ...]) -> str:
    return ",".join(f"{kind}={ARN}new-{kind}{STREAM if kind in streamed else ''}" for kind in kinds)


def with_literals(value: Any, names: dict[str, str]) -> Any:
    """*value* with the names and ARNs of the restored tables in place of references to those in *names*."""
    match value:
        case {"Ref": name} if name in names:
            return f"new-{names[name]}"
        case {"Fn::GetAtt": [name, attribute]} if name in names:
            return f"{ARN}new-{names[name]}" + (STREAM if attribute == "StreamArn" else "")
        case {"Fn::Join": ["", parts]}:
            return joined([with_literals(part, names) for part in parts])
        case dict():
            return {key: with_literals(each, names) for key, each in value.items()}
        case list():
            return [with_literals(each, names) for each in value]
    return value


def joined(parts: list[Any]) -> Any:
    """The join of *parts*, with neighbouring literals as one."""
    merged: list[Any] = []
    for part in parts:
        if merged and isinstance(part, str) and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return merged[0] if len(merged) == 1 and isinstance(merged[0], str) else {"Fn::Join": ["", merged]}


def without_order(value: Any) -> Any:
    """*value* with the members of each list in one order: grants are sorted by what they name."""
    if isinstance(value, list):
        return sorted((without_order(each) for each in value), key=repr)
    return {key: without_order(each) for key, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("variant", [pytest.param("plain", marks=pytest.mark.proof), "archive"])
def test_the_stack_uses_the_restored_tables_as_it_used_its_own(variant: str) -> None:
    settings = SETTINGS[variant]
    streamed = ARCHIVED if settings.get("archive") else STREAMED
    own = synthesised(**settings)
    over = synthesised(**settings, restored_tables=entries(KINDS, streamed))
    tables = own.of_type("AWS::DynamoDB::Table")
    names = {table: kind for kind, prefix in TABLES.items() for table in tables if table.startswith(prefix)}
    expected = {name: each for name, each in own.template["Resources"].items() if name not in names}

    assert over.of_type("AWS::DynamoDB::Table") == {}
    assert len(names) == len(TABLES)
    assert without_order(over.template["Resources"]) == without_order(with_literals(expected, names))
    assert over.template["Outputs"] == with_literals(own.template["Outputs"], names)


def test_one_table_may_be_replaced_alone(everything: Assembly) -> None:
    tables = everything.of_type("AWS::DynamoDB::Table")

    assert EVERYTHING["restored_tables"][0].startswith("pages=")
    assert not [name for name in tables if name.startswith("TablesPages")]
    assert len(tables) == len(TABLES) - 1
