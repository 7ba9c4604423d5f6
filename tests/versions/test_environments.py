"""The environments of `make test-versions`, and the smallest part of it: a client on the oldest libraries."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.versions.environments import PARTS, ROOT, Environment

UNREACHABLE = ("error sending request", "failed to lookup address", "network connectivity is disabled")
TOOLS_ALONE = {"demo", "dev"}
QUICK = ("tests/aws/test_clients.py", "tests/client/test_signing.py", "tests/cli/test_imports.py")


def extras() -> dict[str, list[str]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_each_extra_is_in_a_part():
    assert {extra for part in PARTS.values() for extra in part.extras} == set(extras()) - TOOLS_ALONE


@pytest.fixture(scope="module")
def lowest() -> Environment:
    """The lowest versions that a client and its command admit, installed."""
    environment = Environment("package", "lowest")
    try:
        environment.install()
    except RuntimeError as failed:
        if any(text in str(failed) for text in UNREACHABLE):
            pytest.skip("uv reaches no package registry, and the lowest versions are not in its cache")
        raise
    return environment


def test_the_lowest_version_of_each_range_is_one_that_exists(lowest):
    versions = lowest.versions()

    for requirement in lowest.requirements():
        (bound,) = [each.version for each in Requirement(requirement).specifier if each.operator == ">="]
        assert (
            Version(versions[Requirement(requirement).name]).release[:2] == Version(f"{bound}.0").release[:2]
        )


def test_a_client_and_the_command_work_on_the_lowest_versions(lowest):
    done = lowest.test("-n", "0", *QUICK)

    assert done.returncode == 0, done.stdout
