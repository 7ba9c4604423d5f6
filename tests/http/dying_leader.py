"""A leader who dies in the middle of a bundle: ``python -m tests.http.dying_leader TENANT TASK``.

It is the deployed function's own code in a process of its own, with the function's environment, up to the
first claim; what follows a claim, the process does not live to see. It exits with 9.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from fanin.grouper import Bundle, Claim, Grouper, TaskKey, TaskMessage, Timing
from functions.wiring import grouping

DIED = 9


@dataclass(frozen=True)
class Mortal:
    """The store, for as long as the process is alive: until a claim has been written."""

    store: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def claim(self, bundle: Bundle, joining: tuple[str, ...]) -> Claim:
        self.store.claim(bundle, joining)
        os._exit(DIED)


def main(tenant: str, task: str) -> None:
    world = grouping.grouper().world
    mortal = replace(world, store=Mortal(world.store), timing=Timing(chunk=4))
    Grouper(mortal).lead(TaskMessage(TaskKey(tenant, task)))


if __name__ == "__main__":
    main(*sys.argv[1:])
