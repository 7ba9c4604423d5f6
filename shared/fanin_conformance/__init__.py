"""Judges any tracker of batches by 30 black-box cases; ``python -m fanin_conformance --help`` runs them."""

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
