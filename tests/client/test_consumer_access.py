"""The statement of docs/operations.md for consumers over HTTP has each route that a consumer calls."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from fanin.client.consuming.consumer import Consumer
from tests.client.received import received

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()


def resources() -> set[str]:
    """The ends of the resources that the page names for a consumer: methods and paths."""
    (sentence,) = re.findall(r"^For a consumer that only acks, end (.+?)\. ", PAGE, re.MULTILINE)
    return set(re.findall(r"`/\$default/([^`]+)`", sentence))


def test_a_consumer_over_http_is_granted_the_routes_that_it_calls_and_no_others(over_http, service):
    items = over_http.open().add(2)
    over_http.fail([items[0]])
    service.seen.clear()
    for item, times in ((items[0], 1), (items[0], 2), (items[1], 3)):
        Consumer(over_http._transport, lambda _: None).settle(received(item, times))
        over_http._transport._states.known.clear()
    sent = {f"{each.method}{each.path.partition('?')[0]}" for each in service.seen}

    assert len(sent) == 2, sent
    assert all(any(fnmatchcase(each, resource) for resource in resources()) for each in sent)
    assert all(any(fnmatchcase(each, resource) for each in sent) for resource in resources())
