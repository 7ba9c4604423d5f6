"""Item ids in another form than that in which add returned them: every way in refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fanin import NewJob
from fanin.client.fanin import Fanin
from fanin.errors import InvalidRequest
from tests.simulating.violation import require

KEY = "distorted"


def check(fanin: Fanin, item_id: str) -> None:
    """IDS: no way in takes a distorted form of an item id for that item, or for another one."""
    for distorted in _forms(item_id):
        for way in _ways(fanin, distorted):
            require(_is_refused(way), "ids", lambda distorted=distorted, way=way: f"{way} took {distorted!r}")


def _forms(item_id: str) -> Iterator[str]:
    yield from (f"{item_id}\n", f" {item_id}", item_id.upper(), f"{item_id}:0", item_id[1:], "nonsense")
    head, _, index = item_id.rpartition(":")
    yield f"{head}:0{index}"


def _ways(fanin: Fanin, item_id: str) -> Iterator[Callable[[], Any]]:
    yield partial(fanin.ack, [item_id], key=KEY)
    yield partial(fanin.fail, [item_id], "distorted", key=KEY)
    yield partial(fanin.open, parent=item_id, key=KEY)
    yield partial(fanin.task, "a target", None, item_id=item_id, key=KEY)
    yield partial(fanin.hand_over, item_id)
    yield partial(NewJob, "a job", item_id=item_id)


def _is_refused(way: Callable[[], Any]) -> bool:
    try:
        way()
    except InvalidRequest:
        return True
    return False
