import asyncio
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import images
import night
import pytest

from fanin import Items
from fanin.testing import FakeFanin, deliver

Sent = dict[str, list[dict[str, Any]]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The messages of each queue."""
    found: Sent = defaultdict(list)

    def send(queue: str, items: Items, rows: list[Any], chunk: int = 1) -> None:
        found[queue] += [{"itemId": item, "record": row} for item, row in zip(items, rows, strict=True)]

    monkeypatch.setattr(night, "send", send)
    return found


@pytest.fixture
def fake() -> Iterator[FakeFanin]:
    with FakeFanin().in_place_of(night.fanin) as lent:
        yield lent


def work(fake: FakeFanin, sent: Sent) -> None:
    """Deliver all messages, to each worker its own."""
    each = fake.acks_each(results=True)
    deliver(night.split, sent["albums"])
    deliver(images.thumbnail, sent["thumbnails"])
    deliver(each(images.develop), sent["raws"])
    deliver(each(lambda item: asyncio.run(images.download(item))), sent["downloads"])


def test_a_night_reports_its_albums_and_which_have_failures(
    fake: FakeFanin, sent: Sent, capsys: pytest.CaptureFixture[str]
) -> None:
    albums = night.albums_of(2, 6)
    albums[1]["images"] = [*albums[1]["images"], "broken.raw"]
    batch = night.publish("2026-03-01", albums)
    work(fake, sent)
    for event in fake.events:
        night.report({"detail": event}, None)

    assert batch.status().result == "completed_with_failures"
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "2026-03-01: 2 albums, with failures: ['album/album-1']",
        "album-0: 6 images, 6030 bytes, 0 failed",
        "album-1: 6 images, 6030 bytes, 1 failed",
    ]


def test_a_night_that_is_published_twice_does_its_items_once(fake: FakeFanin, sent: Sent) -> None:
    first, second = (night.publish("2026-03-01", night.albums_of(2, 3)) for _ in range(2))
    work(fake, sent)

    assert first.id == second.id
    assert first.status().result == "succeeded"
    assert [event["total"] for event in fake.events] == [3, 3, 2]
