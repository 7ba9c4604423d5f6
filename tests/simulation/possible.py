"""What can befall each request of the tracker's store."""

from __future__ import annotations

from tests.simulating.faults import ON_READS, ON_TRANSACTIONS, ON_WRITES

READS = (
    *("named", "get", "children", "receipt", "groups", "is_confirmed", "is_put", "pages", "glance"),
    *("samples", "due", "live", "listing", "children_from"),
)
WRITES = ("create", "notice", "confirm", "mark_put", "sample", "free_sample", "remember")
TRANSACTIONS = (
    *("create_under", "reserve", "end_child", "transition", "extend", "postpone", "prepare", "add_bits"),
    *(
        "create_pages",
        "replace_bits",
        "replace_pages",
        "heal_bits",
        "add_count",
        "mark_tail",
        "compact",
        "cancel_children",
    ),
)
POSSIBLE = {
    **dict.fromkeys(READS, ON_READS),
    **dict.fromkeys(WRITES, ON_WRITES),
    **dict.fromkeys(TRANSACTIONS, ON_TRANSACTIONS),
}
"""The faults that each request of the store port can meet; what a transaction touches can meet one."""
