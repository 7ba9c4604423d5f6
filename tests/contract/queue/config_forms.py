"""The forms of a queue's config row that the production code writes, found by following its own rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fanin.queue.administration import raising, removing
from fanin.queue.dynamodb import items
from fanin.queue.maintenance import sleeping
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.model import SECOND_US
from tests.contract.queue.calls import NOW, QUEUE

NEW = QueueConfig(parts=2)
URL = "https://queue"
CURSOR = "0000#a"
Form = frozenset[str]
"""The attributes of a row."""


def form(config: QueueConfig) -> Form:
    """Return the form of the row of *config*."""
    return frozenset(items.config_item(QUEUE, config))


def written() -> list[QueueConfig]:
    """Return a config of each form that is written over another one, the shortest way there first."""
    met: set[tuple[Form, Phase]] = set()
    found: dict[Form, QueueConfig] = {}
    configs = [NEW, replace(NEW, doorbell=URL)]
    for before in configs:
        for each in changes(before):
            if (form(each), each.phase) not in met:
                met.add((form(each), each.phase))
                found.setdefault(form(each), each)
                configs.append(each)
    return list(found.values())


def changes(config: QueueConfig) -> Iterator[QueueConfig]:
    """Yield each config that replaces *config*, of whatever revision."""
    if config.removed_us is not None:
        yield from (NEW, replace(NEW, doorbell=URL))
        return
    yield replace(config, paused=not config.paused)
    yield replace(config, doorbell=URL)
    if config.removing_us is not None:
        yield removing.removed(config, NOW)
        return
    yield removing.removing(config, NOW)
    yield sleeping.idle(config, NOW)
    for in_use in (True, False):
        yield sleeping.observed(config, in_use, NOW + SECOND_US, settle=1)
    yield from _of_a_raise(config)


def _of_a_raise(config: QueueConfig) -> Iterator[QueueConfig]:
    """Yield what `raising` and `raise_phases` make of *config*."""
    if config.before is None:
        yield raising._raised(config, config.parts + 1)
    elif config.since_us is None:
        yield replace(config, since_us=NOW)
    elif config.phase is Phase.PREPARING:
        yield replace(config, phase=Phase.DRAINING, since_us=None)
    elif config.phase is Phase.DRAINING:
        yield replace(config, cursor=CURSOR)
        yield replace(config, phase=Phase.EXPIRING, since_us=None, cursor="")
    else:
        yield replace(config, phase=Phase.STEADY, since_us=None, before=None)
