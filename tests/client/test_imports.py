"""A cold start imports only what is used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import fanin

HEAVY = "boto3 botocore urllib3 pydantic aws_lambda_powertools"


def loaded(code: str) -> set[str]:
    """Which of the heavy packages, and of our own modules, a fresh process has loaded after *code*."""
    wanted = {*HEAVY.split(), "fanin"}
    return {name for name in added(code) if name.split(".")[0] in wanted}


def added(code: str) -> set[str]:
    """Return the modules that *code* adds to those of a fresh process."""
    listing = f"import sys; before = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True, env=env
    )
    return set(done.stdout.split())


def heavy(names: set[str]) -> set[str]:
    return names & set(HEAVY.split())


@pytest.mark.parametrize("code", ["import fanin", "from fanin import *"])
def test_the_package_and_all_its_names_load_no_third_party(code):
    assert {name.split(".")[0] for name in added(code)} - sys.stdlib_module_names == {"fanin"}


def test_a_local_run_over_http_loads_no_aws_library():
    assert heavy(loaded("from fanin import Fanin; Fanin('http://127.0.0.1:1')")) == {"urllib3"}


def test_http_does_not_load_boto3():
    names = loaded("from fanin import Fanin; Fanin('https://a.execute-api.eu-west-1.amazonaws.com')")

    assert heavy(names) == {"urllib3", "botocore"}


def test_a_consumer_inside_aws_loads_neither_the_http_client_nor_models():
    names = loaded(
        "from fanin import Fanin, Tables\n"
        "import os; os.environ['AWS_DEFAULT_REGION'] = 'eu-west-1'\n"
        "fanin = Fanin.direct(Tables('b', 'p'), 't')\n"
        "@fanin.acks\n"
        "def handle(record): ...\n"
    )

    assert (
        not {
            "pydantic",
            "aws_lambda_powertools",
            "fanin.client.transports.http",
            "fanin.client.transports.signing",
        }
        & names
    )
    assert "fanin.client.consuming.consumer" in names


def test_every_public_name_is_there_and_they_are_sorted():
    assert fanin.__all__ == sorted(fanin.__all__)
    assert all(getattr(fanin, name).__name__ == name for name in fanin.__all__)
