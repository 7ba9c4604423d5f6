"""Requests that must be refused, as data: each over handlers or over HTTP, with what may be answered."""

from tests.api.bad_inputs.acks import ITEMS, RANGES, REASONS
from tests.api.bad_inputs.batches import COUNTS, IDS, SETTINGS, USER_KEYS, WHERE
from tests.api.bad_inputs.forms import FORMS, KEYS
from tests.api.bad_inputs.lists import QUERIES, WINDOWS
from tests.api.bad_inputs.publications import PUBLICATIONS
from tests.api.bad_inputs.table import Bad

__all__ = ["ALL", "Bad"]

ALL = [
    *FORMS,
    *USER_KEYS,
    *SETTINGS,
    *REASONS,
    *QUERIES,
    *WINDOWS,
    *KEYS,
    *COUNTS,
    *WHERE,
    *IDS,
    *ITEMS,
    *RANGES,
    *PUBLICATIONS,
]
