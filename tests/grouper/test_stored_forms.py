"""Texts that other processes read, maybe of another version: messages, sort keys and shards."""

from __future__ import annotations

import re

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper import BundleKey, BundleMessage, Policy, TaskKey, TaskMessage
from fanin.grouper.rules.ids import bundle_id
from fanin.grouper.rules.messages import Message
from fanin.grouper.rules.order import order_of

NAME = bundle_id("lane", 1)
TASK, BUNDLE = TaskKey("t", "a"), BundleKey("t", NAME)
FIRST = {
    f'{{"tenant":"t","{name}":"{value}","waits":0,"swept":false,"target":"mail"}}': (kind, key)
    for kind, key, name, value in (
        (TaskMessage, TASK, "taskId", "a"),
        (BundleMessage, BUNDLE, "bundleId", NAME),
    )
}
"""The text of the first message of each kind, of which no delayed copy was sent."""


@pytest.mark.parametrize(("body", "of"), FIRST.items(), ids=["task", "bundle"])
def test_a_message_is_compact_json(body, of):
    kind, key = of

    assert kind(key, target="mail").body() == body
    assert isinstance(kind(key), Message)


@pytest.mark.parametrize(("body", "of"), FIRST.items(), ids=["task", "bundle"])
def test_a_message_without_waits_and_swept_is_the_first_of_its_kind(body, of):
    kind, key = of
    short = body.replace(',"waits":0,"swept":false,"target":"mail"', "")

    assert kind.parse(short) == kind(key, waits=0, swept=False)


@pytest.mark.parametrize("body", ['"tenant"', "7", "true", '["tenant", "taskId"]', '{"get":1}'])
def test_json_that_is_no_message_is_refused_with_its_form(body):
    with pytest.raises(
        InvalidRequest, match=r"^the message is not \{tenant, taskId, waits, swept, target\}$"
    ):
        TaskMessage.parse(body)


@pytest.mark.parametrize(("priority", "first"), [(0, "999"), (1, "998"), (999, "000")])
def test_the_sort_key_of_a_task_has_the_same_length_for_each_priority(bench, priority, first):
    (task,) = bench.register("a", priority=priority)
    micros = int(task.due_at.timestamp() * 1_000_000)

    assert order_of(task) == f"{first}#{micros:016d}#a"
    assert re.fullmatch(r"\d{3}#\d{16}#a", order_of(task))


@pytest.mark.parametrize(("name", "shard"), [("a", "47"), ("b", "53"), ("task-1", "3"), ("order.7", "35")])
def test_a_task_has_the_same_shard_in_each_version(make_bench, name, shard):
    (task,) = make_bench(Policy(shards=64)).register(name)

    assert task.shard == shard
