"""The clients of AWS, each made in a process that has not imported boto3."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fanin.aws import clients
from fanin.aws.clients import Service

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from fanin.aws import clients
made = {name: each().meta.service_model.service_name
        for name, each in vars(clients).items() if isinstance(each, clients.Service)}
assert "boto3" not in sys.modules
print(json.dumps(made))
"""


def test_each_client_is_made_by_botocore_alone() -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "shared"), "AWS_DEFAULT_REGION": "eu-west-1"}
    creations = json.loads(subprocess.check_output([sys.executable, "-c", PROGRAM], env=env, text=True))

    assert set(creations) == {name for name, each in vars(clients).items() if isinstance(each, Service)}
    assert set(creations.values()) == set(clients.SERVICES)


def test_a_client_of_another_region_is_made_beside_that_of_the_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    clients.functions.cache_clear()

    assert clients.functions.within("eu-west-1") is clients.functions()
    other = clients.functions.within("us-east-1")
    assert (other.meta.region_name, clients.functions().meta.region_name) == ("us-east-1", "eu-west-1")
    assert other.meta.config.retries == clients.functions().meta.config.retries
    clients.functions.cache_clear()
