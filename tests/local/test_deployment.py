from __future__ import annotations

import pytest

from fanin.local import LocalRunError
from fanin.local.deploying.assembly import Assembly
from fanin.local.deploying.deployment import deploy
from fanin.local.emulator_process.connection import Connection


class Emulated:
    """Every AWS service that a deployment talks to, in one; the stack fails, and its last page says why."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}

    def client(self, _service: str) -> Emulated:
        return self

    def create_bucket(self, **_):
        """Nothing to note."""

    put_parameter = create_bucket

    def put_object(self, **asked):
        self.asked |= {"key": asked["Key"]}

    def create_stack(self, **asked):
        self.asked |= asked

    def describe_stacks(self, **_):
        return {"Stacks": [{"StackStatus": "ROLLBACK_COMPLETE"}]}

    def get_paginator(self, _operation):
        return self

    def paginate(self, **_):
        undone = {"LogicalResourceId": "Queue", "ResourceStatus": "DELETE_COMPLETE"}
        failed = {"LogicalResourceId": "Alarm", "ResourceStatus": "CREATE_FAILED"}
        yield {"StackEvents": [undone] * 100}
        yield {"StackEvents": [{**failed, "ResourceStatusReason": "it takes no such thing"}]}


@pytest.fixture
def emulated(monkeypatch):
    """An emulator that every connection reaches."""
    stand_in = Emulated()
    monkeypatch.setattr(Connection, "client", lambda _, service: stand_in.client(service))
    return stand_in


@pytest.fixture
def assembly(tmp_path):
    (tmp_path / "Fanin.template.json").write_text("{}")
    (tmp_path / "Fanin.assets.json").write_text(
        """{"files": {"template": {
            "source": {"path": "Fanin.template.json", "packaging": "file"},
            "destinations": {"here": {"objectKey": "template-1.json"}}
        }}}"""
    )
    return Assembly.read(tmp_path)


def test_a_template_of_any_length_is_fetched_from_the_bucket_and_a_failure_named_after_any_rollback(
    emulated, assembly
):
    with pytest.raises(LocalRunError, match="Alarm: it takes no such thing"):
        deploy(Assembly(assembly.stack, {"Resources": {}}, assembly.assets), Connection("http://aws"), print)

    assert "TemplateBody" not in emulated.asked
    assert emulated.asked["TemplateURL"].endswith(f"/{emulated.asked['key']}")
    assert emulated.asked["key"] == "template-1.json"
