"""The caps of a fan-out, checked before its batch is opened: how many items, and what they may cost."""

from __future__ import annotations

from dataclasses import dataclass

from fanin.cost.estimate import estimate
from fanin.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Caps:
    """At most so many *items*, and so many dollars of *cost*; None: no such cap."""

    items: int | None = None
    cost: float | None = None

    def check(self, items: int, size: int, chunk: int | None, copies: float = 1.0) -> None:
        """Raise InvalidRequest if *items* pass a cap. *size*: bytes of their rows; *copies*: of each item.

        The cost is the most of the estimate: of messages of *chunk* rows, without functions and API calls.
        """
        if self.items is not None and items > self.items:
            raise InvalidRequest(
                f"{items:,} items are more than the {self.items:,} of --max-items; nothing was sent: send"
                " fewer, or raise the cap"
            )
        _, most = estimate(round(copies * items), round(copies * size), chunk or 1).dollars
        if self.cost is not None and most > self.cost:
            raise InvalidRequest(
                f"{items:,} items cost up to ${most:,.6f}, more than the ${self.cost:,.6f} of --max-cost;"
                " nothing was sent: send fewer, or more in a message with --chunk, or raise the cap"
            )


UNCAPPED = Caps()
