"""The caps of a fan-out, checked before its batch is opened: how many items, and what they may cost."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from fanin.cost.estimate import estimate
from fanin.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Caps:
    """At most so many items, and so many dollars; None: no such cap. The names are those of the options."""

    max_items: int | None = None
    max_cost: float | None = None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Caps:
        """Return the caps among the *options* of a batch, and remove them from those."""
        return cls(**{cap.name: options.pop(cap.name, None) for cap in fields(cls)})

    def check(self, items: int, size: int, chunk: int | None, copies: float = 1.0) -> None:
        """Raise InvalidRequest if *items* pass a cap. *size*: bytes of their rows; *copies*: of each item.

        The cost is the most of the estimate: of messages of *chunk* rows, without functions and API calls.
        """
        if self.max_items is not None and items > self.max_items:
            raise InvalidRequest(
                f"{items:,} items are more than the {self.max_items:,} of --max-items; nothing was sent: send"
                " fewer, or raise the cap"
            )
        _, most = estimate(round(copies * items), round(copies * size), chunk or 1).dollars
        if self.max_cost is not None and most > self.max_cost:
            raise InvalidRequest(
                f"{items:,} items cost up to ${most:,.6f}, more than the ${self.max_cost:,.6f} of --max-cost;"
                " nothing was sent: send fewer, or more in a message with --chunk, or raise the cap"
            )


UNCAPPED = Caps()
