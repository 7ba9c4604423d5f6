"""Item ids for tests whose jobs and tasks only carry them."""

from zlib import crc32

BATCH = "6c3f6e7e-3b7d-4a53-9d4e-0f5b1c2d3e4f"
GROUP = "00000000-0000-8000-8000-10f6e2780566"


def item_named(name: str | int) -> str:
    """Return the id of the item that a test calls *name*; a number is its index."""
    return f"{BATCH}:{GROUP}:{name if isinstance(name, int) else crc32(name.encode())}"
