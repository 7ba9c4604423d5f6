"""The judgements as a table for people, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence, Sized

from fanin_conformance.case import Case
from fanin_conformance.judging import Judgement, Verdict

SEEN_CHARACTERS = 160


def line_of(judgement: Judgement) -> str:
    """Return the row of one case: id, verdict, seconds, and what it demands, or what was seen instead."""
    case = judgement.case
    row = f"{case.id:<4} {judgement.verdict:<13} {judgement.seconds:7.2f} s  {case.then}"
    seen = clean(judgement.seen)
    if not judgement.seen:
        return row
    if judgement.verdict is Verdict.PASS:
        return f"{row} ({seen})"
    return f"{row}\n{'':29}{seen}"


def clean(text: str) -> str:
    """Return *text*, which may quote an answer, as one short printable line."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    return line if len(line) <= SEEN_CHARACTERS else f"{line[: SEEN_CHARACTERS - 3]}..."


def summary_of(judgements: Sequence[Judgement]) -> str:
    """Return the last line: how many cases ended how."""
    counts = Counter(each.verdict for each in judgements)
    parts = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]]
    return f"{counted(judgements)}: {', '.join(parts) or 'none'}"


def counted(cases: Sized) -> str:
    """Return how many cases there are, as a phrase."""
    return "1 case" if len(cases) == 1 else f"{len(cases)} cases"


def listed(cases: Sequence[Case]) -> str:
    """Return the sentences of *cases*, with their origins."""
    return "\n".join(f"{each.id:<4} {each.sentence}\n     From: {each.origin}." for each in cases)


def json_of(judgements: Sequence[Judgement], rounds: int, items: int) -> str:
    """Return all as a JSON document."""
    cases = [
        {
            "id": each.case.id,
            "given": each.case.given,
            "when": each.case.when,
            "then": each.case.then,
            "origin": each.case.origin,
            "verdict": each.verdict.value,
            "seen": each.seen,
            "seconds": round(each.seconds, 3),
        }
        for each in judgements
    ]
    return json.dumps({"rounds": rounds, "items": items, "cases": cases}, indent=2)
