"""A BullMQ flow as an adapter: a process of Node has the jobs, and each ack completes one."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from lab.conforming.whole import Sent, Whole
from lab.peers.installing import bullmq_folder

SCRIPT = Path(__file__).with_name("flow.mjs")
SECONDS = 60


class Flow(Whole):
    """The parent runs after its children, also if some failed (``ignoreDependencyOnFailure``)."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        command = ["node", str(SCRIPT), str(bullmq_folder()), str(url).rpartition(":")[2]]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.node = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]  # noqa: S603
        self.numbers, self.sending = itertools.count(), threading.Lock()
        self.waiting: dict[int, Future[Any]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, batch: str, sent: Sent) -> None:
        self._call("send", batch=batch, ids=sent.items)

    def work(self, item: str, fails: bool) -> None:
        try:
            self._call("work", item=item, fails=fails)
        except ValueError:
            return  # BullMQ refuses the second end of a job

    def ends(self) -> Sequence[tuple[str, bool]]:
        return [(batch, succeeded) for batch, succeeded in self._call("ends")]

    def _call(self, verb: str, **given: object) -> Any:
        """Return the answer of the process. Raises ValueError if BullMQ raised."""
        number, answer = next(self.numbers), Future[Any]()
        self.waiting[number] = answer
        with self.sending:
            self.node.stdin.write(json.dumps({"id": number, "verb": verb, **given}) + "\n")
            self.node.stdin.flush()
        return answer.result(SECONDS)

    def _read(self) -> None:
        for line in self.node.stdout:
            found = json.loads(line)
            future = self.waiting.pop(found["id"])
            if "error" in found:
                future.set_exception(ValueError(found["error"]))
            else:
                future.set_result(found["answer"])
