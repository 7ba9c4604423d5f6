"""GET /v1/batches/{batchId}/map."""

from __future__ import annotations

import pytest

from tests.api.gateway import Gateway
from tests.api.test_lifecycle_routes import acked, opened, ranged


def test_a_map_has_the_done_items_and_the_failures_of_each_cell(any_gateway: Gateway) -> None:
    batch_id, group = opened(any_gateway, 20)
    acked(any_gateway, ranged(batch_id, group, 0, 6), ranged(batch_id, group, 9, 10, outcome="failure"))
    path = f"/v1/batches/{batch_id}/map"

    assert any_gateway.send("GET", path, query={"cells": "5"}).body == {
        "from": 0,
        "to": 20,
        "cellItems": 4,
        "acked": [4, 3, 2, 0, 0],
        "failed": [0, 0, 1, 0, 0],
        "exact": True,
    }
    window = any_gateway.send("GET", path, query={"from": "6", "to": "11"}).body
    assert window == {
        "from": 6,
        "to": 11,
        "cellItems": 1,
        "acked": [1, 0, 0, 1, 1],
        "failed": [0, 0, 0, 1, 1],
        "exact": True,
    }
    assert any_gateway.send("GET", path).body["cellItems"] == 1


BAD = {
    "cells": ["0", "1025", "-1", "01", "+5", " 5", "1.0", "1e2", "", "five", "\u0665", "9" * 400],
    "from": ["-1", "00", "x", "", str(2**40), "1,2"],
    "to": ["0", "-1", "01", "", str(2**40 + 1), "null"],
    "limit": ["5"],
    "progress": ["none"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_a_parameter_out_of_form_is_refused_by_its_name(gateway: Gateway, name: str, value: str) -> None:
    batch_id, _ = opened(gateway, 5)
    answer = gateway.send("GET", f"/v1/batches/{batch_id}/map", query={name: value})

    assert answer.status == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert [each["field"] for each in answer.body["errors"]] == [name]


def test_the_map_route_knows_no_parameters_of_the_batch_and_the_batch_none_of_the_map(
    gateway: Gateway,
) -> None:
    batch_id, _ = opened(gateway, 5)

    assert gateway.send("GET", f"/v1/batches/{batch_id}", query={"cells": "5"}).status == 400
    assert gateway.send("GET", f"/v1/batches/{batch_id}", query={"progress": "none"}).status == 200
