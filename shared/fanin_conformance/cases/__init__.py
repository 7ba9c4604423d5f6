"""All cases, by number."""

from __future__ import annotations

from fanin_conformance.case import Case, all_of
from fanin_conformance.cases import endings, large, lifecycle, races, refusals, repeats

__all__ = ["CASES", "Case"]

MODULES = (lifecycle, races, repeats, refusals, endings, large)
CASES: dict[str, Case] = {
    each.id: each
    for each in sorted(
        (each for module in MODULES for each in all_of(vars(module))), key=lambda each: int(each.id[1:])
    )
}
"""The cases by their ids, in order. A number that is absent has no case here."""
