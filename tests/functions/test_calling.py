"""The batch APIs of a deployed function, made of its settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanin.aws import clients
from fanin.grouper.batch_api_calls.http import HttpDownstream
from fanin.grouper.batch_api_calls.invoking import LambdaDownstream
from functions.wiring import calling, deployed
from tests.infra.options import BATCH_API_SECRET, CONFIGURED, INVOKED


class Secrets:
    """Secrets Manager with one secret."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get_secret_value(self, **request: Any) -> dict[str, str]:
        self.asked.append(request["SecretId"])
        return {"SecretString": json.dumps({"X-Api-Key": "a-key-of-ours"})}


class Regional:
    """A service whose client is *client*, and the regions that were asked for."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.asked: list[str] = []

    def within(self, region: str) -> Any:
        self.asked.append(region)
        return self.client


def test_each_kind_is_made_and_its_secret_is_read_at_the_start(environment: pytest.MonkeyPatch) -> None:
    secrets = Secrets()
    environment.setattr(clients, "secrets", Regional(secrets))
    environment.setattr(clients, "functions", Regional("lambda"))
    environment.setenv("FANIN_SETTINGS", json.dumps({"grouper_downstream": CONFIGURED["grouper_downstream"]}))
    deployed.settings_file.cache_clear()
    calling.downstream.cache_clear()
    (_, secret), (_, signed), (_, invoked) = calling.downstream().patterns
    calling.downstream.cache_clear()

    assert isinstance(secret, HttpDownstream)
    assert secret.secret is not None
    assert secret.secret.headers() == {"X-Api-Key": "a-key-of-ours"}
    assert secrets.asked == [BATCH_API_SECRET]
    assert isinstance(signed, HttpDownstream)
    assert (signed.secret, signed.sign is not None) == (None, True)
    assert isinstance(invoked, LambdaDownstream)
    assert invoked.function == INVOKED
    assert (clients.secrets.asked, clients.functions.asked) == (["eu-west-1"], ["eu-west-1"])  # type: ignore[attr-defined]
