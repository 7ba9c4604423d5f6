"""Settings of the stack, given to a local run: they reach the synthesis, and no other assembly is taken."""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from fanin.cli.app import app
from fanin.cli.local_run import local as command
from fanin.local import LocalRun, LocalRunError
from fanin.local.deploying import assembly
from fanin.local.deployment_source import clone


@pytest.fixture
def asked_for(monkeypatch) -> list[dict[str, object]]:
    """The contexts of the assemblies that are asked for; there is none."""
    seen: list[dict[str, object]] = []

    def kept(_root, context):
        seen.append(context)
        raise LocalRunError("enough")

    monkeypatch.setattr(assembly, "kept_assembly", kept)
    return seen


def test_each_setting_of_the_command_line_is_in_the_context_of_the_assembly(asked_for, monkeypatch):
    monkeypatch.setattr(command, "stopped_by_signals", nullcontext)
    rows = '[{"pattern":"*","url":"http://127.0.0.1:9000/?a=b"}]'

    arguments = ["up", "--port", "0", "-c", f"grouper_downstream={rows}", "-c", "consumer_concurrency=2"]
    completed = CliRunner().invoke(app, ["local", *arguments, "--archive"])

    assert completed.stderr == "starting the emulator\nenough\n"
    (context,) = asked_for
    assert context["grouper_downstream"] == rows
    assert context["consumer_concurrency"] == "2"
    assert (context["stage"], context["target"], context["archive"]) == ("local", "local", True)


@pytest.mark.parametrize("text", ["archive", "=true", ""])
def test_what_is_no_setting_is_refused_with_what_is(text, monkeypatch):
    monkeypatch.setattr(command, "stopped_by_signals", nullcontext)

    completed = CliRunner().invoke(app, ["local", "up", "-c", text])

    assert completed.exit_code == 2
    assert f"-c takes NAME=VALUE, not {text!r}" in completed.stderr


def test_a_local_run_has_no_other_target():
    with pytest.raises(LocalRunError, match="local run is local"):
        LocalRun.start(context={"target": "aws"})


@pytest.mark.parametrize(
    ("name", "expected"), [("nosuch", "nosuch; docs/"), ("page_bit", "page_bit, did you mean page_bits?")]
)
def test_a_name_that_is_no_setting_is_refused_before_anything_starts(name, expected):
    with pytest.raises(LocalRunError, match=re.escape(f"there is no setting {expected}")):
        LocalRun.start(context={name: "1"})


@pytest.mark.parametrize("name", ["alarm_email", "analytics_workers"])
def test_a_setting_of_a_clone_reaches_the_stack_which_knows_why_it_is_refused(name, asked_for):
    with pytest.raises(LocalRunError, match="enough"):
        LocalRun.start(context={name: "1"})


def test_settings_and_a_template_that_was_made_without_them_are_refused(tmp_path):
    with pytest.raises(LocalRunError, match="--template-dir"):
        LocalRun.start(template_dir=tmp_path, context={"archive": "true"})


def test_a_setting_that_the_stack_refuses_is_one_sentence(tmp_path):
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "app.py").write_text(
        "import sys\nsys.exit('configuration: archive is 7; it takes less')"
    )

    with pytest.raises(LocalRunError, match=r"^configuration: archive is 7; it takes less$"):
        assembly.synthesise(clone(tmp_path), {"archive": 7})
