"""A night of albums: each album is an item of the night, and its images are a batch of their own."""

import sys
from collections import defaultdict
from datetime import timedelta
from typing import Any, TypedDict

from fanin import Batch, ChunkItem, Fanin, send

fanin = Fanin()  # FANIN_URL, or the tables, in the environment
QUEUES = {"jpg": "thumbnails", "raw": "raws", "url": "downloads"}  # the suffix of an image: its queue


class Album(TypedDict):
    name: str
    images: list[str]


def publish(date: str, albums: list[Album]) -> Batch:
    """Publish *albums*, each as an item. A second run for the same date continues the first one."""
    name = f"night/{date}"
    with fanin.open(name, key=name, deadline=timedelta(hours=8)) as night:
        send("albums", night.add(len(albums), key="albums"), albums)
    return night


@fanin.acks_each(fail_after=3)
def split(item: ChunkItem) -> None:
    """Open the batch of an album, whose end acks the album: as failed if one of its images failed."""
    album: Album = item.row
    by_queue: dict[str, list[str]] = defaultdict(list)
    for image in album["images"]:
        by_queue[QUEUES[image.rpartition(".")[2]]].append(image)
    name = f"album/{album['name']}"
    with fanin.open(name, parent=item.id, parent_fails_on="any", results=True) as images:
        for queue, rows in by_queue.items():
            send(queue, images.add(len(rows)), rows, chunk=50)


def report(event: dict[str, Any], context: Any) -> None:
    """Print what came of an album, or of the night: the target of a rule for BatchCompleted."""
    ended = event["detail"]
    kind, _, name = (ended["userKey"] or "").partition("/")
    if kind == "album":
        sizes = [result["bytes"] for _, result in fanin.results(ended)]
        print(f"{name}: {len(sizes)} images, {sum(sizes)} bytes, {ended['failed']} failed")
    if kind == "night":
        failed = [album.user_key for album in fanin.children(ended["batchId"])]
        print(f"{name}: {ended['total']} albums, with failures: {failed}")


def albums_of(count: int, images: int) -> list[Album]:
    """Make up albums, in place of those of your users."""
    suffixes = list(QUEUES)
    names = [f"{number}.{suffixes[number % 3]}" for number in range(images)]
    return [{"name": f"album-{number}", "images": names} for number in range(count)]


if __name__ == "__main__":
    date, count, images = sys.argv[1:]
    print(publish(date, albums_of(int(count), int(images))).id)
