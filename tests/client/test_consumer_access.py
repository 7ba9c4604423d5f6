"""The statements of the docs for callers over HTTP have each route that a consumer or a publisher calls."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from fanin.client.consuming.consumer import Consumer
from tests.client.conftest import Service
from tests.client.received import received
from tests.pages import ROOT, Block, blocks_of

PAGE = (ROOT / "docs" / "operations_reference.md").read_text()
STACKS = [each for each in blocks_of(ROOT / "docs/howto/other_stacks.md") if each.language != "text"]


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
    sent = routes_sent(service)

    assert len(sent) == 2, sent
    assert are_granted(sent, resources())


def test_a_publisher_in_another_stack_is_granted_what_it_calls_and_in_each_the_same(over_http, service):
    with over_http.open("catalog-7") as batch:
        batch.add(2)
    batch.status()
    batch.cancel()
    (publisher, worker), *others = map(granted_in, STACKS)

    assert are_granted(routes_sent(service), publisher)
    assert worker == resources()
    assert others == [(publisher, worker)] * 2


def granted_in(block: Block) -> tuple[set[str], set[str]]:
    """The routes that a block grants to the publisher, then those to the worker, which acks."""
    routes = re.findall(r"\b[A-Z]+/v1/[\w/*]+", block.code)
    first = routes.index("POST/v1/acks")
    return set(routes[:first]), set(routes[first:])


def routes_sent(service: Service) -> set[str]:
    return {f"{each.method}{each.path.partition('?')[0]}" for each in service.seen}


def are_granted(sent: set[str], granted: set[str]) -> bool:
    """Whether each request is granted, and each grant used."""
    return all(any(fnmatchcase(each, resource) for resource in granted) for each in sent) and all(
        any(fnmatchcase(each, resource) for each in sent) for resource in granted
    )
