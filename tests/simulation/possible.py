"""What can befall each request of the tracker's store."""

from __future__ import annotations

from tests.simulating.faults import ON_READS, ON_TRANSACTIONS, ON_WRITES

POSSIBLE = {
    "create": ON_WRITES,
    "named": ON_READS,
    "create_under": ON_TRANSACTIONS,
    "get": ON_READS,
    "reserve": ON_TRANSACTIONS,
    "children": ON_READS,
    "children_from": ON_READS,
    "end_child": ON_TRANSACTIONS,
    "cancel_children": ON_TRANSACTIONS,
    "receipt": ON_READS,
    "groups": ON_READS,
    "transition": ON_TRANSACTIONS,
    "extend": ON_TRANSACTIONS,
    "postpone": ON_TRANSACTIONS,
    "notice": ON_WRITES,
    "announced": ON_READS,
    "confirm": ON_WRITES,
    "is_put": ON_READS,
    "mark_put": ON_WRITES,
    "prepare": ON_TRANSACTIONS,
    "add_bits": ON_TRANSACTIONS,
    "replace_bits": ON_TRANSACTIONS,
    "heal_bits": ON_TRANSACTIONS,
    "add_count": ON_TRANSACTIONS,
    "mark_tail": ON_TRANSACTIONS,
    "compact": ON_TRANSACTIONS,
    "pages": ON_READS,
    "glance": ON_READS,
    "sample": ON_WRITES,
    "samples": ON_READS,
    "free_sample": ON_WRITES,
    "remember": ON_WRITES,
    "due": ON_READS,
    "live": ON_READS,
    "listing": ON_READS,
}
"""The faults that each request of the store port can meet; what a transaction touches can meet one."""
