"""All cases, by number."""

from __future__ import annotations

from fanin.conformance import crashes, endings, large, lifecycle, races, refusals, repeats
from fanin.conformance.case import Case, all_of

__all__ = ["CASES", "Case"]

MODULES = (lifecycle, races, repeats, refusals, endings, crashes, large)
CASES: dict[str, Case] = {
    each.id: each
    for each in sorted(
        (each for module in MODULES for each in all_of(vars(module))), key=lambda each: int(each.id[1:])
    )
}
"""The cases by their ids, in order. A number that is absent is one of docs/peers.md without a case here."""
