"""Secrets among the committed files: what detect-secrets finds, beside what was looked at and is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Findings = set[tuple[str, str, str]]
"""Of each finding its file, its kind and the hash of its text."""


def findings(report: Mapping[str, Any]) -> Findings:
    """Read a report, or a baseline, of detect-secrets."""
    return {
        (path, finding["type"], finding["hashed_secret"])
        for path, found in report["results"].items()
        for finding in found
    }


def unseen(report: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[str]:
    """Return the findings that the baseline has not, each as its file and line, in order."""
    known = findings(baseline)
    return sorted(
        f"{path}:{finding['line_number']} {finding['type']}"
        for path, found in report["results"].items()
        for finding in found
        if (path, finding["type"], finding["hashed_secret"]) not in known
    )
