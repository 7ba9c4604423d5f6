"""Judges any tracker of batches by 30 black-box cases; ``python -m fanin.conformance --help`` runs them."""

from fanin.conformance.adapter import (
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
from fanin.conformance.cases import CASES, Case
from fanin.conformance.judging import Judgement, Verdict, judge
from fanin.conformance.trial import Effort

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
