"""Accepted cdk-nag findings: each is accepted where it stands, with its reason."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import IConstruct


def accept(scope: IConstruct, reason: str, *findings: str) -> None:
    """Accept *findings* (rule ids, with the resource for IAM5) on *scope* and what is below it."""
    accepted = [cdk.Acknowledgment(id=finding, reason=reason) for finding in findings]
    cdk.Validations.of(scope).acknowledge(*accepted)
