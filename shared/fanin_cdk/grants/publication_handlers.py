"""The handlers of publications, and what each is granted on the tracker's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanin_cdk.grants.handlers import CHANGE, CHANGE_PAGES, LOOK, READ_PAGES, Handler, all_of

PUBLICATION_API: Mapping[str, Sequence[Handler]] = {
    "read_batches": (
        Handler(name="get_publication", routes=("GET /v1/publications/{batchId}",), batches=LOOK),
    ),
    "write_batches": (
        Handler(
            name="start_publication", routes=("POST /v1/publications",), batches=CHANGE, pages=READ_PAGES
        ),
    ),
}
"""Handlers of functions that the API has anyway: none of them reads an object, or sends its rows."""
PUBLICATION_ROUTES = all_of(PUBLICATION_API)
# Its time is for some parts; half of it is reserved for the last one.
CONTINUE_PUBLICATION = Handler(
    name="continue_publication",
    batches=CHANGE,
    pages=CHANGE_PAGES,
    timeout_seconds=120,
    memory_mb=1024,
    loops=True,
)
