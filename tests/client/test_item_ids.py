"""Every way in takes an item id in its canonical form alone: equal items have equal texts."""

from __future__ import annotations

import json

import pytest

from fanin import InvalidRequest, NewJob, NewTask
from fanin.api.messages import ack_of
from fanin.api.task_messages import new_task_of
from fanin.grouper import NewTask as RegisteredTask
from fanin.testing import FakeFanin
from fanin.tracker import Ack
from tests.item_ids import item_named

DISTORTIONS = {
    "a line break": lambda item: f"{item}\n",
    "a space before": lambda item: f" {item}",
    "a space after": lambda item: f"{item} ",
    "upper case": str.upper,
    "a leading zero": lambda item: "{}:{}:0{}".format(*item.split(":")),
    "other digits": lambda item: f"{item}\u0663",
    "no index": lambda item: item.rpartition(":")[0],
    "one part more": lambda item: f"{item}:1",
    "nothing": lambda _: "",
    "nonsense": lambda _: "nonsense",
    "no text": lambda _: 7,
}
DISTORTED = pytest.mark.parametrize("distorted", DISTORTIONS.values(), ids=DISTORTIONS)


def message(**body):
    return {"messageId": "m", "body": json.dumps(body)}


fanin = FakeFanin()
WAYS_IN = {
    "a job": lambda item: NewJob("a", item_id=item),
    "a task": lambda item: fanin.task("target", 1, item_id=item),
    "several tasks": lambda item: fanin.tasks.register([NewTask("target", 1, item_id=item)]),
    "a task of the group-batcher": lambda item: RegisteredTask(1, "target", item_id=item),
    "a message with a task": lambda item: new_task_of(message(payload=1, itemId=item)),
    "a message with an ack": lambda item: ack_of(message(itemId=item)),
    "an ack": lambda item: Ack.of(item, "caller"),
    "acks": lambda item: fanin.ack([item]),
    "a parent": lambda item: fanin.open(parent=item),
    "a hand-over": fanin.hand_over,
    "a question for its end": fanin.is_over,
}


@DISTORTED
@pytest.mark.parametrize("way", WAYS_IN.values(), ids=WAYS_IN)
def test_a_way_in_refuses_any_other_form(way, distorted):
    with pytest.raises(InvalidRequest):
        way(distorted(item_named("a")))
