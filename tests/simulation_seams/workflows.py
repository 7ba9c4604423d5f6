"""Step Functions as the tracker sees it: tasks that wait for a batch, each of which ends once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fanin.api.bus_events import workflow_callbacks
from fanin.tracker import BatchKey, State, Tracker
from tests.simulating.violation import require
from tests.simulation_seams.scenario import TENANT


@dataclass(eq=False)
class Workflows:
    """The tasks by their tokens, and how each ended and with which batch.

    *network* carries the requests that end a task; *batches*: what is stored; *reached*: batches for which
    a request to end a task came.
    """

    network: Any
    batches: dict[BatchKey, Any]
    ended: dict[str, tuple[str, str]] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)

    def resume(self, detail: dict[str, Any], tracker: Tracker) -> None:
        """End the task of an event by the production code."""
        workflow_callbacks.resume(json.dumps({"detail": detail}), tracker, lambda _: self)

    def succeed(self, token: str, output: str) -> bool:
        return self._send("succeed", token, output)

    def fail(self, token: str, error: str, cause: str) -> bool:
        return self._send("fail", token, cause)

    def _send(self, how: str, token: str, text: str) -> bool:
        ended: bool = self.network.send(self, "end", how, token, text)
        return ended

    def apply(self, name: str, args: tuple[Any, ...]) -> bool:
        """End a task; False if it had ended before."""
        how, token, text = args
        batch = self.batches[BatchKey(TENANT, json.loads(text)["batchId"])]
        require(not batch.is_alive, "resume", lambda: f"{how} of {token} came, its batch is {batch.state}")
        require(batch.state is State.COMPLETE or how == "fail", "resume", lambda: f"{batch.state}: {how}")
        self.reached.add(batch.batch_id)
        if token in self.ended:
            return False
        self.ended[token] = how, batch.batch_id
        return True

    def is_over(self, key: BatchKey) -> bool:
        """Whether an end of the task of a batch came."""
        return key.batch_id in self.reached
