"""The bounds of a new task, at their last value and beyond it, and the one text of its payload."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper import NewTask
from tests.grouper.conftest import TENANT

KIB_32 = 32 * 1024


def registered(bench, payload=1, **facts):
    return bench.grouper.register(TENANT, NewTask(payload, "search", "a", **facts))


def refused(bench, payload=1, **facts):
    with pytest.raises(InvalidRequest) as caught:
        registered(bench, payload, **facts)
    assert not bench.store.stored_tasks
    return caught.value


def test_a_payload_has_32_kib_of_json_with_its_quotes(bench):
    assert len(registered(bench, "x" * (KIB_32 - 2)).payload) == KIB_32


def test_a_payload_is_stored_without_spaces_so_that_they_do_not_count(bench):
    assert registered(bench, [0] * 16_383).payload == "[" + ",".join("0" * 16_383) + "]"


def test_the_names_of_a_payload_have_no_order(bench):
    """A client that repeats a request may write its names in another order."""
    first = registered(bench, {"b": 1, "a": {"d": 2, "c": [3, 4]}})

    assert registered(bench, {"a": {"c": [3, 4], "d": 2}, "b": 1}) == first
    assert first.payload == '{"a":{"c":[3,4],"d":2},"b":1}'


def test_a_payload_nested_too_deeply_is_refused(bench):
    payload: list[object] = []
    for _ in range(100_000):
        payload = [payload]
    error = refused(bench, payload)

    assert (str(error), error.field) == ("payload must be a JSON value", "payload")
