"""The app as a command: no CDK command line, no Node on PATH, no account, no container."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from fanin_cdk.packaging.node import choose_node
from fanin_cdk.settings.config import ConfigError
from infra.paths import ROOT
from tests.infra.synthesis import UNBUNDLED, synthesised


def run_app(
    folder: Path, context: dict[str, object], validation: str = "true"
) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_", "JSII_"))
    }
    extra = {"PATH": str(folder), "PYTHONPATH": f"{ROOT / 'shared'}{os.pathsep}{ROOT}"}
    cdk = {"CDK_OUTDIR": str(folder), "CDK_CONTEXT_JSON": json.dumps({**UNBUNDLED, **context})}
    cdk["CDK_VALIDATION"] = validation
    return subprocess.run(
        [sys.executable, "-m", "infra.app"],
        env={**kept, **extra, **cdk},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.proof
def test_it_synthesises_by_itself_what_the_command_line_would(tmp_path):
    completed = run_app(tmp_path, {"archive": True}, validation="false")

    # The one warning: the archive needs more concurrent executions than a new account has.
    assert (completed.returncode, completed.stderr.count("WARNING")) == (0, 1)
    assert completed.stderr.startswith("WARNING lambda_concurrency is 10, and this stack needs 15 ")
    assert (
        json.loads((tmp_path / "Fanin-dev.template.json").read_text()) == synthesised(archive=True).template
    )


def test_a_wrong_setting_ends_it_with_the_reason(monkeypatch):
    # Here, for importing it starts a Node, which the collection of other tests need not wait for.
    from infra import app

    monkeypatch.setattr(app, "build", partial(app.build, {"page_bits": 3000}))
    with pytest.raises(
        SystemExit, match=r"configuration: page_bits is 3000; it takes a whole number from 2 to"
    ):
        app.main()


@pytest.mark.proof
def test_too_long_a_list_ends_it_with_the_number_that_fits_and_no_traceback(tmp_path):
    completed = run_app(tmp_path, {"job_queues": [f"queue-{number}" for number in range(400)]})

    (line,) = (line for line in completed.stderr.splitlines() if line.startswith("configuration: "))
    assert completed.returncode == 1
    assert re.match(r"configuration: job_queues has 400 entries, of which \d+ fit beside the other", line)
    assert "at most 500: CloudFormation quotas" in line
    assert "Traceback" not in completed.stderr


def test_an_error_of_the_checks_ends_it_with_a_message_and_no_traceback():
    from infra import app

    def synth():
        raise RuntimeError("ValidationFailed: SQS4")

    with pytest.raises(
        ConfigError, match=r"^the checks of the template found errors: ValidationFailed: SQS4"
    ):
        app._measured(SimpleNamespace(synth=synth), SimpleNamespace(stack_name="Fanin-dev"))


def test_a_node_that_was_chosen_stays_chosen():
    env = {"JSII_NODE": "/elsewhere/node"}
    choose_node(env)

    assert env == {"JSII_NODE": "/elsewhere/node"}


def test_without_the_packaged_node_the_choice_is_left_to_jsii(monkeypatch):
    env: dict[str, str] = {}
    monkeypatch.setattr("fanin_cdk.packaging.node.packaged_node", lambda: None)
    choose_node(env)

    assert env == {}
