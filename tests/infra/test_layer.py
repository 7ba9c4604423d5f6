"""The layer's build, without the network: what is asked for, and what is made of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from fanin_cdk.packaging import layer
from fanin_cdk.packaging.layer import AWS_PLATFORM, Build, install
from fanin_cdk.packaging.paths import REQUIREMENTS
from fanin_cdk.settings.config import Config

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
ELSEWHERE = Build(python_version="3.14", platform=AWS_PLATFORM, compiler=None)


def test_aws_gets_arm_wheels_of_the_runtime():
    command = ELSEWHERE.install_command(REQUIREMENTS.parent)

    assert Build.for_config(Config(python_version="3.13")).python_version == "3.13"
    assert Build.for_config(Config()).platform == AWS_PLATFORM
    assert ("--python-platform", AWS_PLATFORM) in pairwise(command)
    assert ("--python-version", "3.14") in pairwise(command)


def test_the_local_run_gets_wheels_of_this_interpreter_and_machine():
    build = Build.for_config(Config(target="local", python_version="3.14"))

    assert (build.python_version, build.platform, build.compiler) == (HERE, "", sys.executable)
    assert "--python-platform" not in build.install_command(REQUIREMENTS.parent)


def test_only_wheels_with_the_pinned_hashes_are_taken():
    command = ELSEWHERE.install_command(REQUIREMENTS.parent)

    assert {"--require-hashes", "--only-binary", ":all:"} <= set(command)


@pytest.mark.parametrize(
    "other",
    [
        replace(ELSEWHERE, python_version="3.13"),
        replace(ELSEWHERE, platform="x86_64-manylinux_2_28"),
        replace(ELSEWHERE, compiler="python3.14"),
    ],
)
def test_another_build_is_another_asset(other):
    assert other.asset_hash() != ELSEWHERE.asset_hash()


def test_other_packages_are_another_asset_and_the_same_are_the_same(tmp_path):
    copy = tmp_path / "requirements.txt"
    copy.write_bytes(REQUIREMENTS.read_bytes())

    assert ELSEWHERE.asset_hash(copy) == ELSEWHERE.asset_hash()

    copy.write_text("pydantic==2.14.2")

    assert ELSEWHERE.asset_hash(copy) != ELSEWHERE.asset_hash()


def test_packages_that_cannot_be_installed_end_the_synthesis_with_what_to_do(tmp_path, monkeypatch):
    def fails(_command):
        raise RuntimeError("the Lambda functions could not be built: uv pip install")

    monkeypatch.setattr("fanin_cdk.packaging.layer.run", fails)
    with pytest.raises(
        RuntimeError, match=r"could not be built(.|\n)*give FaninTracker the layer as packages="
    ):
        install(Build.for_config(Config()), tmp_path)


def test_a_python_that_the_first_synthesis_downloads_does_not_change_the_hash_of_the_second(monkeypatch):
    """Without it, the first of two deployments of the same code replaces every function again."""
    monkeypatch.setattr(layer, "interpreter", lambda _: None)
    monkeypatch.setattr(layer, "downloaded", lambda _: "/new/python")
    first = Build.for_config(Config(), is_built=True)
    monkeypatch.setattr(layer, "interpreter", lambda _: "/new/python")
    second = Build.for_config(Config(), is_built=True)

    assert (first.asset_hash(), first.code_hash("{}")) == (second.asset_hash(), second.code_hash("{}"))


def test_nothing_is_downloaded_for_a_stack_that_is_not_built(monkeypatch):
    monkeypatch.setattr(layer, "interpreter", lambda _: None)
    monkeypatch.setattr(layer, "downloaded", pytest.fail)

    assert Build.for_config(Config()).compiler is None
