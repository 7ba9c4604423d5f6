"""A batch names a callback that its tenant may name, and asks for thresholds; both are shown with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.wiring import deployed
from tests.api.gateway import Gateway
from tests.infra.options import ARN, CALLBACKS

OWN = {"name": "mine", "queue": f"{ARN}mine"}


@pytest.fixture(autouse=True)
def allowed(environment: pytest.MonkeyPatch) -> Iterator[None]:
    environment.setenv("FANIN_SETTINGS", json.dumps({"callbacks": [*CALLBACKS, OWN]}))
    deployed.settings_file.cache_clear()
    yield
    deployed.settings_file.cache_clear()


def opened(gateway: Gateway, **body: Any) -> Any:
    return gateway.send("POST", "/v1/batches", body)


def test_what_a_batch_asks_for_is_shown_with_it_and_in_lists(gateway: Gateway) -> None:
    options = {"callback": "mine", "notifyAt": ["firstFailure", "50%"], "stuckAfterSeconds": 60}
    batch = opened(gateway, **options).body["batchId"]
    shown = gateway.send("GET", f"/v1/batches/{batch}").body
    listed = gateway.send("GET", "/v1/batches").body["batches"][0]

    assert {name: shown[name] for name in options} == options
    assert {name: listed[name] for name in options} == options


@pytest.mark.parametrize("name", ["unknown", "in-order"])
def test_an_unknown_callback_and_one_of_others_are_refused_alike_with_those_allowed(
    gateway: Gateway, name: str
) -> None:
    answer = opened(gateway, callback=name)

    assert answer.status == 400
    body = json.dumps(answer.body)
    assert f"there is no callback '{name}': use one of mine, orders, people, shop" in body
    assert "in-order" not in body.replace(f"'{name}'", "")
