"""The work on images: on Lambda, by a loop in threads, and on asyncio."""

import asyncio
import sys

from night import fanin

from fanin import ChunkItem


@fanin.acks_each(fail_after=3, results=True)
def thumbnail(item: ChunkItem) -> dict[str, int]:
    """Work on an image of the queue ``thumbnails``: a Lambda handler."""
    return size_of(item.row)


def develop(item: ChunkItem) -> dict[str, int]:
    """Work on an image of the queue ``raws``: called in threads."""
    return size_of(item.row)


async def download(item: ChunkItem) -> dict[str, int]:
    """Work on an image of the queue ``downloads``: awaited, a hundred at once."""
    await asyncio.sleep(0.01)
    return size_of(item.row)


def size_of(name: str) -> dict[str, int]:
    """Return the result of an image; stands for your work."""
    if name.startswith("broken"):
        raise fanin.Failed(f"{name} is no image")
    return {"bytes": 1000 + len(name)}


if __name__ == "__main__":
    queue = sys.argv[1]
    work = {"raws": develop, "downloads": download}[queue]
    fanin.work(queue, work, each=True, fail_after=3, results=True)
