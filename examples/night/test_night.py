import asyncio
from collections.abc import Iterator

import images
import night
import pytest

from fanin.testing import FakeFanin, deliver


@pytest.fixture
def fake() -> Iterator[FakeFanin]:
    with FakeFanin().in_place_of(night.fanin) as lent:
        yield lent


def work(fake: FakeFanin) -> None:
    """Deliver all messages, to each worker its own."""
    each = fake.acks_each(results=True)
    deliver(night.split, fake.sent["albums"])
    deliver(images.thumbnail, fake.sent["thumbnails"])
    deliver(each(images.develop), fake.sent["raws"])
    deliver(each(lambda item: asyncio.run(images.download(item))), fake.sent["downloads"])


def test_a_night_reports_its_albums_and_which_have_failures(
    fake: FakeFanin, capsys: pytest.CaptureFixture[str]
) -> None:
    albums = night.albums_of(2, 6)
    albums[1]["images"] = [*albums[1]["images"], "broken.raw"]
    batch = night.publish("2026-03-01", albums)
    work(fake)
    for event in fake.events:
        night.report({"detail": event}, None)

    assert batch.status().result == "completed_with_failures"
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "2026-03-01: 2 albums, with failures: ['album/album-1']",
        "album-0: 6 images, 6030 bytes, 0 failed",
        "album-1: 6 images, 6030 bytes, 1 failed",
    ]


def test_a_night_that_is_published_twice_does_its_items_once(fake: FakeFanin) -> None:
    first, second = (night.publish("2026-03-01", night.albums_of(2, 3)) for _ in range(2))
    work(fake)

    assert first.id == second.id
    assert first.status().result == "succeeded"
    assert [event["total"] for event in fake.events] == [3, 3, 2]
