"""The documents of the API, as they are, and the values that the client reads from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fanin.client.http_bodies.codec import Document

if TYPE_CHECKING:
    from fanin.client.transports.http import HttpTransport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer: its *document*, and the *value* that a reader of the client made of it."""

    document: Document
    value: T


class Api:
    """Sends one request for each call, with the retries of *transport*."""

    def __init__(self, transport: HttpTransport) -> None:
        self.transport = transport

    def get(self, path: str, reader: Callable[[Document], T], **query: str | None) -> Answer[T]:
        """Return the answer of a GET; a parameter that is None is left out."""
        return self.transport.administer("GET", path, query, both(reader))

    def post(
        self, path: str, body: Mapping[str, Any], key: str, reader: Callable[[Document], T]
    ) -> Answer[T]:
        """Return the answer of a POST under an idempotency key."""
        return self.transport.administer("POST", path, body, both(reader), key)

    def delete(self, path: str, reader: Callable[[Document], T]) -> Answer[T]:
        """Return the answer of a DELETE."""
        return self.transport.administer("DELETE", path, {}, both(reader))

    def pages(self, path: str, reader: Callable[[Document], T], **query: str | None) -> Iterator[Answer[T]]:
        """Yield the pages of a list, a request each."""
        cursor: str | None = None
        while True:
            page = self.get(path, reader, **query, cursor=cursor)
            yield page
            cursor = page.document.get("cursor")
            if cursor is None:
                return


def both(reader: Callable[[Document], T]) -> Callable[[Document], Answer[T]]:
    """Return what reads a document as the answer with it and the value of *reader*."""
    return lambda document: Answer(document, reader(document))
