"""The order in which a store in memory returns rows that are equal in an index: DynamoDB defines none."""

from __future__ import annotations

from zlib import crc32


def tied(key: object) -> tuple[int, str]:
    """Return the rank of the row *key* among its equals: by a hash, so that no test can rely on the order.

    It is the same in each read, as a walk from one page to the next needs it.
    """
    name = str(key)
    return crc32(name.encode(errors="surrogatepass")), name
