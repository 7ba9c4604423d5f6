"""Judges any tracker of batches by 30 black-box cases; ``python -m fanin_conformance --help`` runs them.

The promise: a case uses only the methods of its adapter, ends in a bounded time, and reports what was seen.

A case ends as pass, ``events not seen``, fail, ``not supported`` or error (``judging.py``); after three in a
row without an end the run stops.

Read in this order: ``adapter.py``: what a tracker needs. ``case.py``, ``cases/``: the sentences and their
steps. ``trial.py``: what a case is run with. ``judging.py``, ``reporting.py``: the verdicts and the table.
``over_http.py``: the adapter of fanin.
"""

from fanin_conformance.adapter import (
    Adapter,
    Added,
    Answer,
    Completion,
    Delivery,
    Group,
    NotSupported,
    Refused,
    Span,
    Status,
    Unreachable,
)
from fanin_conformance.cases import CASES, Case
from fanin_conformance.judging import Judgement, Verdict, judge
from fanin_conformance.trial import Effort

__all__ = [
    "CASES",
    "Adapter",
    "Added",
    "Answer",
    "Case",
    "Completion",
    "Delivery",
    "Effort",
    "Group",
    "Judgement",
    "NotSupported",
    "Refused",
    "Span",
    "Status",
    "Unreachable",
    "Verdict",
    "judge",
]
