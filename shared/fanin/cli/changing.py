"""The verbs that change one batch: open, add, close, cancel, notify."""

from __future__ import annotations

from fanin.cli.arguments import Batch
from fanin.cli.verbs import Invocation, Verbs
from fanin.client import documents

verb = Verbs()


@verb("close", writes=True)
def close(call: Invocation, batch: Batch) -> None:
    """Close BATCH: its total is final. Prints its state.

    It completes once all items are acked.
    """
    answer = call.api.post(call.path(batch, "/close"), {}, call.key, documents.closed_of)
    call.output.value(answer.document, answer.value.state)
