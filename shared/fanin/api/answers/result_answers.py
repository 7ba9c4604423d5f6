"""The answer about the results of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field

from fanin.api.answers.batch_answers import Answer, Instant, Optional
from fanin.api.cursors import list_cursors as cursors
from fanin.instants import iso
from fanin.item_results.files import File, Index
from fanin.tracker.rules.model import Manifest

FILES_A_PAGE = 100


class ManifestAnswer(Answer):
    """The parts that the acks of the batch wrote, which its end has fixed."""

    manifest: str
    parts: int
    size: Annotated[int, Field(serialization_alias="bytes")]

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        return cls(manifest=manifest.name, parts=manifest.parts, size=manifest.size)


class ResultFile(Answer):
    """A gzipped file of JSON lines, `{"itemId", "result"}`, in the order of the items.

    *url* expires. *first*, *last*: the first and the last of its items, counted from 0 in the batch.
    """

    url: str
    first: int
    last: int
    items: int
    size: Annotated[int, Field(serialization_alias="bytes")]


class ItemResultAnswer(Answer):
    """The result of one item."""

    item_id: str
    result: Any


class BatchResults(Answer):
    """The results of an ended batch, in *files*, a page of them; or that of the *item* that was asked for.

    *ready*: false while they are gathered: each request goes on with that, so repeat it.
    """

    ready: bool
    manifest: ManifestAnswer
    items: int | None = Optional
    files: list[ResultFile] | None = Optional
    expires_at: Instant | None = Optional
    item: ItemResultAnswer | None = Optional
    cursor: str | None = Optional

    @classmethod
    def page(
        cls, manifest: Manifest, index: Index, first: int, link: Callable[[str], str], until: datetime
    ) -> Self:
        """Return the page of files of *index* that begins with file *first*."""
        after = first + FILES_A_PAGE
        return cls(
            ready=True,
            manifest=ManifestAnswer.of(manifest),
            items=index.items,
            files=_files(index.files[first:after], link),
            expires_at=iso(until),
            cursor=cursors.of_item(after) if after < len(index.files) else None,
        )


def _files(files: Sequence[File], link: Callable[[str], str]) -> list[ResultFile]:
    return [ResultFile.like(file, url=link(file.name)) for file in files]
